"""The model file: JSON with a schema version. Reading one never runs anything from it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from genperf.errors import FormulaError, ModelError
from genperf.result.arrays import ARRAYS
from genperf.result.fit_result import FitResult, GroupedResult
from genperf.result.layout import FailureRecord, File, GroupRecord, of_groups, refused
from genperf.result.records import ENCODER, decode_hook, record_of, result_of
from genperf.table.content import CONTENT, read_bounded
from genperf.table.delimited import DELIMITERS

_MAKE = "make one with genperf fit TABLE … -o model.json"
#: The version of the layout that this genperf writes.
VERSION = 3
#: Bytes in which a model file names its version.
_HEAD_BYTES = 300


def dump_model(result: FitResult | GroupedResult) -> str:
    """Return the model file's text: the same result gives the same bytes.

    Examples
    --------
    >>> import genperf as gp
    >>> import pandas as pd
    >>> runs = pd.DataFrame({"workers": [1, 2, 4, 8], "seconds": [9.0, 5.0, 3.0, 2.0]})
    >>> result = gp.fit(gp.read_table(runs, time="seconds", extrinsic="workers"), model="amdahl")
    >>> again = parse_model(dump_model(result))
    >>> bool((again.predict({"workers": 16}).time == result.predict({"workers": 16}).time).all())
    True
    """
    return "".join(model_pieces(result))


def model_pieces(result: FitResult | GroupedResult) -> Iterator[str]:
    """Yield the model file's text piece by piece, a group to a line: the text of a fleet is large."""
    head = {"program": "genperf", "schema_version": VERSION, "group": result.group}
    yield _text(head)[:-1] + ',"groups":['
    between = "\n"
    for key, fitted in result.results.items():
        yield between + _text(GroupRecord(key, record_of(fitted)))
        between = ",\n"
    failures = [FailureRecord(key, why) for key, why in result.failures.items()]
    yield '\n],"failures":' + _text(failures) + "}\n"


def _text(value: object) -> str:
    return ENCODER.encode(value).decode("utf-8")


def parse_model(text: str | bytes, where: str = "model") -> FitResult | GroupedResult:
    """Read a model file's text."""
    plain = _plain(text, where)
    if (place := _extreme(plain)) is not None:
        raise ModelError(f"is not a whole model file: {place}: larger than {ARRAYS.largest:g} in size", where=where)
    try:
        file = msgspec.convert(plain, File, dec_hook=decode_hook)
        refused(of_groups(file))
        results = {group.key: result_of(group.model) for group in file.groups}
    except msgspec.ValidationError as error:
        complaint, _, place = str(error).partition(" - at `$.")
        shown = f"{place.rstrip('`')}: {complaint.lower()}" if place else complaint.lower()
        raise ModelError(f"is not a whole model file: {shown}", where=where) from None
    except FormulaError as error:
        raise ModelError(f"holds a formula that is refused: {error}", where=where) from None
    except ModelError as error:
        raise ModelError(error.message, where=where, hint=error.hint) from None
    if not file.group:
        if len(results) != 1:
            raise ModelError("holds no model", where=where)
        return next(iter(results.values()))
    return GroupedResult(file.group, results, {failure.key: failure.reason for failure in file.failures})


def _extreme(value: object) -> str | None:
    """Return the place of the first number that no fit writes and nothing can be computed with; None without one."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key != "seed" and (place := _extreme(item)) is not None:
                return f"{key}{'.' * (place[:1] not in ('', '['))}{place}"
    elif isinstance(value, list):
        for number, item in enumerate(value):
            if (place := _extreme(item)) is not None:
                return f"[{number}]{'.' * (place[:1] not in ('', '['))}{place}"
    elif isinstance(value, int | float) and abs(value) > ARRAYS.largest:
        return ""
    return None


def _plain(text: str | bytes, where: str) -> dict[str, Any]:
    """Return the file as plain values, of a version that is known."""
    try:
        plain = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        if _is_table(text):
            hint = f"fit it first: genperf fit {where} -o model.json, which says what is missing"
            raise ModelError("is a table of runs, not a model", where=where, hint=hint) from None
        hint = "it may be cut off: fit again with -o, or restore it"
        raise ModelError("is not a whole model file", where=where, hint=hint) from None
    if not isinstance(plain, dict) or plain.get("program") != "genperf":
        raise ModelError("is not a genperf model", where=where, hint=_MAKE)
    version = plain.get("schema_version")
    if not isinstance(version, int) or isinstance(version, bool):
        raise ModelError("is not a whole model file: schema_version: expected a whole number", where=where)
    if version != VERSION:
        hint = "update genperf" if version > VERSION else "fit it again: genperf fit TABLE … -o model.json"
        raise ModelError(f"has schema version {version}; this genperf reads {VERSION}", where=where, hint=hint)
    return plain


def _is_table(text: str | bytes) -> bool:
    """Tell whether a file that is no JSON looks like a table: Parquet, compressed, or lines with one delimiter."""
    head = text[:4096].encode() if isinstance(text, str) else text[:4096]
    if head.startswith((b"PAR1", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")):
        return True
    if head.lstrip(b"\xef\xbb\xbf \r\n\t").startswith((b"{", b"[")):
        return False
    lines = [line for line in head.decode("utf-8", "replace").splitlines() if line.strip() and line[0] != "#"]
    return bool(lines) and "\0" not in lines[0] and any(lines[0].count(mark) for mark in DELIMITERS)


def save_model(result: FitResult | GroupedResult, path: str | Path) -> None:
    """Write a model file.

    Parameters
    ----------
    path : str or Path
        The file is JSON, and is replaced where it exists.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import genperf as gp
    >>> import pandas as pd
    >>> runs = pd.DataFrame({"workers": [1, 2, 4, 8], "seconds": [9.0, 5.0, 3.0, 2.0]})
    >>> result = gp.fit(gp.read_table(runs, time="seconds", extrinsic="workers"), model="amdahl")
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.json"
    >>> save_model(result, path)
    >>> load_model(path).model
    'amdahl'
    """
    Path(path).write_text(dump_model(result), encoding="utf-8")


def load_model(path: str | Path) -> FitResult | GroupedResult:
    """Read a model file, as `genperf fit -o` or `save_model` wrote it.

    Nothing in the file is run: it is data, and its formulas are read by genperf's own parser.

    Raises
    ------
    ModelError
        Where there is no such file, or it cannot be used: the field is named.

    Examples
    --------
    See `save_model`.
    """
    where = str(path)
    try:
        return parse_model(read_bounded(path, CONTENT.max_streamed_bytes), where)
    except FileNotFoundError:
        raise ModelError("no such file", where=where, hint=_MAKE) from None
    except IsADirectoryError:
        raise ModelError("is a directory, not a model", where=where) from None
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise ModelError(f"cannot be read ({reason})", where=where) from None


def is_model(path: str | Path) -> bool:
    """Tell whether a path is that of a model file; what cannot be read counts as one, whose error says more."""
    try:
        with Path(path).expanduser().open("rb") as file:
            start = file.read(_HEAD_BYTES)
    except (OSError, ValueError):
        return True
    return not start.strip() or b'"genperf"' in start or b'"schema_version"' in start or b"\0" in start
