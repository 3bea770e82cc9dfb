"""JSON of other tools: read as data, and every fault named by its place."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from genperf.errors import TableError
from genperf.importers.imported import FormatError, plain, shortened

_KINDS = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}


def parse_json(text: str, name: str, first_line: int = 1) -> Any:
    """Read JSON, control characters in its strings included.

    Examples
    --------
    >>> parse_json('{"results": [', "runs.json")
    Traceback (most recent call last):
    ...
    genperf.errors.TableError: runs.json: line 1, column 14: the file is cut off here
      try: export it again
    """
    if not text.strip():
        raise TableError("the file is empty", where=name, hint="export it again")
    try:
        return json.loads(text, strict=False)
    except json.JSONDecodeError as error:
        place = f"{name}: line {error.lineno + first_line - 1}, column {error.colno}"
        # Python names the start of a string that has no end.
        if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
            raise TableError("the file is cut off here", where=place, hint="export it again") from None
        raise FormatError(f"this is not JSON ({error.msg.lower()})", where=place) from None
    except RecursionError:
        raise TableError("is nested too deeply to be read", where=name) from None
    except ValueError as error:
        # Python refuses whole numbers of thousands of digits.
        raise TableError(f"holds a number that cannot be read ({error})", where=name) from None


@dataclass(frozen=True)
class Json:
    """A value of a JSON file and its place there.

    Examples
    --------
    >>> file = Json({"times": [0.5, "fast"]}, "runs.json")
    >>> [t.number() for t in file.member("times").list()]
    Traceback (most recent call last):
    ...
    genperf.errors.TableError: runs.json: times[1]: a number is expected here, not text ('fast')
    """

    value: Any
    file: str
    path: str = ""

    @property
    def where(self) -> str:
        """The place, for messages."""
        return f"{self.file}: {self.path}" if self.path else self.file

    def has(self, key: str) -> bool:
        """Return whether this is an object with such a member."""
        return isinstance(self.value, dict) and key in self.value

    def member(self, key: str) -> Json:
        """Return a member of an object."""
        self._expect(dict)
        if key not in self.value:
            has = ", ".join(shortened(plain(k)) for k in list(self.value)[:6]) or "nothing"
            raise TableError(f"has no '{key}' (it has {has})", where=self.where)
        return Json(self.value[key], self.file, f"{self.path}.{key}" if self.path else key)

    def object(self) -> dict[str, Json]:
        """Return an object's members."""
        self._expect(dict)
        dot = f"{self.path}." if self.path else ""
        named = {plain(key): value for key, value in self.value.items()}
        return {key: Json(value, self.file, f"{dot}{shortened(key)}") for key, value in named.items()}

    def list(self) -> list[Json]:
        """Return a list's items."""
        self._expect(list)
        return [Json(value, self.file, f"{self.path}[{i}]") for i, value in enumerate(self.value)]

    def text(self) -> str:
        """Return a text."""
        self._expect(str)
        return plain(self.value)

    def number(self) -> int | float:
        """Return a finite number."""
        value = self.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._unexpected("a number")
        try:
            finite = math.isfinite(value)
        except OverflowError:
            finite = False
        if not finite:
            raise TableError("is not a finite number", where=self.where)
        return value

    def _expect(self, kind: type) -> None:
        if not isinstance(self.value, kind):
            raise self._unexpected(_KINDS[kind])

    def _unexpected(self, wanted: str) -> TableError:
        kind = _KINDS.get(type(self.value), "a number")
        shown = f" ('{shortened(plain(self.value))}')" if isinstance(self.value, str) else ""
        return TableError(f"{wanted} is expected here, not {kind}{shown}", where=self.where)
