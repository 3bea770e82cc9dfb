"""Factors in the names of files."""

from __future__ import annotations

import re
from pathlib import PurePath

from genperf.errors import GenperfError

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
#: What a value is: a number or a word; or else, where no name like the pattern is made of those, anything.
_VALUES = (re.compile(r"\d+(?:\.\d+)?|[^\W_]+"), re.compile(r"\d+(?:\.\d+)?|[^/]+"))


def factors_from_name(pattern: str, path: str) -> dict[str, str]:
    """Read factors from a file's name.

    Parameters
    ----------
    pattern : str
        The name, with `{factor}` where a factor's value stands, and `*` where anything may. As many folders of the path
        are compared as the pattern has.

    Raises
    ------
    GenperfError
        Where the pattern names no factor, or the file's name does not match it.

    Examples
    --------
    >>> factors_from_name("run_{workers}_{batch}*.json", "traces/run_8_32.pt.trace.json")
    {'workers': '8', 'batch': '32'}
    >>> factors_from_name("gpus{workers}/*.json", "traces/gpus16/rank0.json")
    {'workers': '16'}
    """
    pieces = _PLACEHOLDER.split(pattern)
    names, between = [name.strip() for name in pieces[1::2]], "".join(pieces[::2])
    if not names or not all(names) or len(set(names)) < len(names) or "{" in between or "}" in between:
        raise GenperfError(
            f"'{pattern}' must name each factor once, in braces", where="--from-name", hint="run_{workers}_{batch}.json"
        )
    parts = "/".join(PurePath(path).parts[-(pattern.count("/") + 1) :])
    tokens = _tokens(pieces[::2])
    values = next(filter(None, (_matched(tokens, parts, kind) for kind in _VALUES)), None)
    if values is None:
        raise GenperfError(
            f"the file's name does not match '{pattern}' (--from-name)",
            where=path,
            hint="put * where anything may stand",
        )
    return {name: value.strip() for name, value in zip(names, values, strict=True)}


def _tokens(fixed: list[str]) -> list[str | None]:
    """Return the parts of a pattern: fixed text, "*" for anything, None for a value."""
    tokens: list[str | None] = []
    for number, piece in enumerate(fixed):
        tokens += [None] * (number > 0)
        for place, part in enumerate(piece.split("*")):
            tokens += ["*"] * (place > 0) + [part] * bool(part)
    return tokens


def _matched(tokens: list[str | None], text: str, kind: re.Pattern[str]) -> list[str] | None:
    """Return the values of a pattern in a text, the earlier ones as long as possible; None without a match."""
    failed: set[tuple[int, int]] = set()

    def rest(number: int, start: int) -> list[str] | None:
        if number == len(tokens):
            return [] if start == len(text) else None
        if (number, start) in failed:
            return None
        token = tokens[number]
        if token not in (None, "*"):
            fits = text.startswith(str(token), start)
            after = rest(number + 1, start + len(str(token))) if fits else None
        else:
            slash = text.find("/", start)
            furthest = len(text) if slash < 0 else slash
            after = None
            for end in range(furthest, start - (token == "*"), -1):
                if token is None and not kind.fullmatch(text, start, end):
                    continue
                after = rest(number + 1, end)
                if after is not None:
                    after = after if token == "*" else [text[start:end], *after]
                    break
        if after is None:
            failed.add((number, start))
        return after

    return rest(0, 0)
