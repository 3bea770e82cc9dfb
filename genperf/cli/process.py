"""What a command needs of its process: open standard streams, signals that end it in order, a fault as one line."""

import io
import os
import signal
import sys
import traceback
import zlib
from pathlib import Path
from types import FrameType

import genperf

#: The exit status of a fault of genperf itself: "internal software error" of sysexits.h.
FAULT_STATUS = 70
#: Prints the traceback as well, for those who mend it.
TRACEBACK_VARIABLE = "GENPERF_TRACEBACK"


class Stopped(KeyboardInterrupt):
    """A signal ended the process, as Ctrl-C does."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def stop_in_order() -> None:
    """Let SIGTERM, as of a scheduler, SIGHUP and Ctrl-C, also pressed twice, end the process with what is fitted kept.

    A signal that is ignored already (`nohup`) stays ignored.
    """
    for name in ("SIGTERM", "SIGHUP", "SIGINT"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _stop)


def _stop(number: int, frame: FrameType | None) -> None:
    # A second one must not interrupt the saving.
    signal.signal(number, signal.SIG_IGN)
    raise Stopped(number)


def open_closed_streams() -> None:
    """Open the standard streams that the caller closed: no other file may get their numbers.

    Reading an input that was closed gives nothing, and writing to an output that was closed is an error, as in other
    programs. What is written to closed standard errors is dropped.
    """
    for number, name, mode in ((0, "stdin", os.O_RDONLY), (1, "stdout", os.O_RDONLY), (2, "stderr", os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.dup2(os.open(os.devnull, mode), number)
            if getattr(sys, name) is None:
                binary = io.FileIO(number, "r" if name == "stdin" else "w", closefd=False)
                buffered = io.BufferedReader(binary) if name == "stdin" else io.BufferedWriter(binary)
                setattr(sys, name, io.TextIOWrapper(buffered, encoding="utf-8", errors="backslashreplace"))


def drop_output() -> None:
    """Drop what is left to print, also when Python flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def fault(error: BaseException) -> tuple[str, int]:
    """Return one line about an error that no message was written for, and the exit status.

    The number is that of the place in the code, so that two reports of one fault have one number. Where the environment
    sets `GENPERF_TRACEBACK`, the traceback is printed before.
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
