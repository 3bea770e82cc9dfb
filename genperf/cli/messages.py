"""Lines for people, on standard output and standard error; a fault of genperf itself as one line with a number."""

from __future__ import annotations

import os
import re
import traceback
import zlib
from pathlib import Path

import click

import genperf

#: Control characters other than the end of a line and the tabulator, marks of the direction of writing, and what has no
#: width and joins no letters.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
#: The exit status of a fault of genperf itself: "internal software error" of sysexits.h.
FAULT_STATUS = 70
#: Prints the traceback as well, for those who mend it.
TRACEBACK_VARIABLE = "GENPERF_TRACEBACK"


def tell(text: str, err: bool = False) -> None:
    """Print a line: what a name holds of control characters is written out, so that no terminal obeys it."""
    click.echo(visible(text), err=err)


def say(text: str, quiet: bool = False) -> None:
    """Print a remark beside the result, on standard error."""
    if not quiet:
        tell(text, err=True)


def visible(text: str) -> str:
    r"""Return a text without characters that steer a terminal, turn the direction of writing or cannot be seen.

    Examples
    --------
    >>> print(visible("net\x1b[2J\u202e"))
    net\x1b[2J\u202e
    """
    return _STEERING.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def fault(error: BaseException) -> tuple[str, int]:
    """Return one line about an error that no message was written for, and the exit status.

    The number is that of the place in the code, so that two reports of one fault have one number. Where the environment
    sets `GENPERF_TRACEBACK`, the traceback is printed before.

    Examples
    --------
    >>> try:
    ...     {}["a"]
    ... except KeyError as error:
    ...     print(fault(error)[0])
    error: a fault of genperf, not of your data: KeyError: 'a'; please report it as number ...
    >>> print(fault(ZeroDivisionError("division by zero"))[0])
    error: nothing can be computed with these numbers: division by zero (number ...)
      try: ask nearer to the data, or fit the model again; its file may have been changed
    """
    kind = type(error).__name__
    text = " ".join(str(error.args[-1] if isinstance(error, OverflowError) and error.args else error).split())[:200]
    number = f"{zlib.crc32(f'{genperf.__version__} {kind} {_place(error)}'.encode()) % 1_000_000:06d}"
    before = "".join(traceback.format_exception(error)) if os.environ.get(TRACEBACK_VARIABLE) else ""
    # Numbers too large, divided by zero, or a matrix that cannot be solved with; numpy is not imported for this.
    if isinstance(error, ArithmeticError) or kind == "LinAlgError":
        hint = "  try: ask nearer to the data, or fit the model again; its file may have been changed"
        return f"{before}error: nothing can be computed with these numbers: {text} (number {number})\n{hint}", 1
    report = f"please report it as number {number} of version {genperf.__version__} with the command"
    return f"{before}error: a fault of genperf, not of your data: {kind}{text and ': '}{text}; {report}", FAULT_STATUS


def _place(error: BaseException) -> str:
    """Return the innermost line of genperf that the error passed."""
    home = str(Path(genperf.__file__).parent)
    inner = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(home)]
    return f"{Path(inner[-1].filename).relative_to(home).as_posix()}:{inner[-1].lineno}" if inner else ""
