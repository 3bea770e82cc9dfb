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
    told = " ".join(str(error).split())[:200]
    kind = type(error).__name__
    number = zlib.crc32(f"{genperf.__version__} {kind} {_place(error)}".encode()) % 1_000_000
    return (
        f"error: a fault of genperf, not of your data: {kind}{': ' * bool(told)}{told}; "
        f"please report it as number {number:06d} of version {genperf.__version__} with the command"
    )


def traceback_text(error: BaseException) -> str | None:
    """Return the traceback where the environment asks for it."""
    if not os.environ.get(TRACEBACK_VARIABLE):
        return None
    return "".join(traceback.format_exception(error))


def _place(error: BaseException) -> str:
    """Return the innermost line of genperf that the error passed."""
    home = str(Path(genperf.__file__).parent)
    inner = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(home)]
    return f"{Path(inner[-1].filename).relative_to(home).as_posix()}:{inner[-1].lineno}" if inner else ""
