"""Factors in the names of files."""

from __future__ import annotations

import re
from pathlib import PurePath

from genperf.errors import GenperfError

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
#: What a value is: a number or a word; or else, where no name like the pattern is made of those, anything.
_VALUES = (r"(\d+(?:\.\d+)?|[^\W_]+)", r"(\d+(?:\.\d+)?|[^/]+)")


def factors_from_name(pattern: str, path: str) -> dict[str, str]:
    """Read factors from a file's name.

    Parameters
    ----------
    pattern : str
        The name, with `{factor}` where a factor's value stands, and `*` where anything may. As many folders of the path
        are compared as the pattern has.
    path : str

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
    fixed = ["[^/]*".join(re.escape(part) for part in piece.split("*")) for piece in pieces[::2]]
    match = next(filter(None, (re.fullmatch(value.join(fixed), parts) for value in _VALUES)), None)
    if not match:
        raise GenperfError(
            f"the file's name does not match '{pattern}' (--from-name)",
            where=path,
            hint="put * where anything may stand",
        )
    return {name: value.strip() for name, value in zip(names, match.groups(), strict=True)}
