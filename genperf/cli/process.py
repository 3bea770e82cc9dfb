"""What a command needs of its process: open standard streams, and signals that end it in order."""

from __future__ import annotations

import io
import os
import signal
import sys
from types import FrameType


class Stopped(KeyboardInterrupt):
    """A signal ended the process, as Ctrl-C does."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def stop_in_order() -> None:
    """Let SIGTERM, as of a scheduler, and SIGHUP do what Ctrl-C does: what is fitted is kept.

    A signal that is ignored already (`nohup`) stays ignored.
    """
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
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
