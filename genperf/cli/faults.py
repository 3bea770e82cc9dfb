"""A fault of genperf itself: one line with a number to report, never a traceback."""

from __future__ import annotations

import os
import traceback
import zlib
from pathlib import Path

import genperf

#: The exit status of a fault of genperf itself: "internal software error" of sysexits.h.
FAULT_STATUS = 70
#: Prints the traceback as well, for those who mend it.
TRACEBACK_VARIABLE = "GENPERF_TRACEBACK"


def is_numeric(error: BaseException) -> bool:
    """Tell whether an error is of numbers: too large, divided by zero, or a matrix that cannot be solved with."""
    # numpy is not imported for this: help costs nothing.
    return isinstance(error, ArithmeticError) or type(error).__name__ == "LinAlgError"


def numeric_message(error: BaseException) -> str:
    """Return a message about numbers with which a computation failed.

    Examples
    --------
    >>> print(numeric_message(ZeroDivisionError("division by zero")))
    error: nothing can be computed with these numbers: division by zero (number ...)
      try: ask nearer to the data, or fit the model again; its file may have been changed
    """
    return (
        f"error: nothing can be computed with these numbers: {_text_of(error)} (number {_number(error)})\n"
        "  try: ask nearer to the data, or fit the model again; its file may have been changed"
    )


def fault_message(error: BaseException) -> str:
    """Return one line about an error that no message was written for.

    The number tells the place in the code, so that two reports of one fault have one number.

    Examples
    --------
    >>> try:
    ...     {}["a"]
    ... except KeyError as error:
    ...     print(fault_message(error))
    error: a fault of genperf, not of your data: KeyError: 'a'; please report it as number ...
    """
    kind, text = type(error).__name__, _text_of(error)
    return (
        f"error: a fault of genperf, not of your data: {kind}{': ' * bool(text)}{text}; "
        f"please report it as number {_number(error)} of version {genperf.__version__} with the command"
    )


def _text_of(error: BaseException) -> str:
    return " ".join(str(error.args[-1] if isinstance(error, OverflowError) and error.args else error).split())[:200]


def _number(error: BaseException) -> str:
    """Return six digits of a kind of error, its place and the version."""
    text = f"{genperf.__version__} {type(error).__name__} {_place(error)}"
    return f"{zlib.crc32(text.encode()) % 1_000_000:06d}"


def traceback_text(error: BaseException) -> str:
    """Return the traceback where the environment asks for it, and else nothing."""
    if not os.environ.get(TRACEBACK_VARIABLE):
        return ""
    return "".join(traceback.format_exception(error))


def _place(error: BaseException) -> str:
    """Return the innermost line of genperf that the error passed."""
    home = str(Path(genperf.__file__).parent)
    inner = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(home)]
    return f"{Path(inner[-1].filename).relative_to(home).as_posix()}:{inner[-1].lineno}" if inner else ""
