"""Named pipes: opened without waiting for ever for a process at the other end."""

from __future__ import annotations

import errno
import os
import stat
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from genperf.errors import GenperfError


@dataclass(frozen=True)
class PipeSettings:
    """How long the other end of a named pipe is waited for."""

    #: Until a process opens the other end; what it does after that may take any time. A guess: two commands of one line
    #: start within a second, also on a busy machine within ten.
    seconds: float = 10.0
    #: Seconds between two looks.
    pause: float = 0.02


PIPE = PipeSettings()


def is_pipe(path: str | Path) -> bool:
    """Tell whether a path names a pipe that exists."""
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def read_pipe(path: str | Path, most: int) -> bytes:
    """Read a named pipe to its end, once a process writes to it.

    Parameters
    ----------
    most : int
        Bytes that are read at most.

    Raises
    ------
    GenperfError
        Where no process opens the other end in time.
    OSError
        Where it cannot be opened.
    """
    import select

    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(handle, "rb", buffering=0) as file:
        events = select.poll()
        events.register(handle, select.POLLIN)
        deadline = time.monotonic() + PIPE.seconds
        while True:
            # An event is data, or a writer that came and left; a writer that has written nothing yet makes none.
            event = events.poll(1000.0 * PIPE.pause)
            first = file.read(most)
            if event or first != b"":
                break
            if time.monotonic() > deadline:
                raise _nobody(path, "writer")
        # Without a byte there is a writer that is still at work.
        os.set_blocking(handle, True)
        pieces = [first or b""]
        held = len(pieces[0])
        while held < most and (piece := file.read(most - held)):
            pieces.append(piece)
            held += len(piece)
    return b"".join(pieces)


def open_pipe_to_write(path: str | Path) -> IO[bytes]:
    """Open a named pipe to write to it, once a process reads it.

    Raises
    ------
    GenperfError
        Where no process opens the other end in time.
    OSError
        Where it cannot be opened.
    """
    deadline = time.monotonic() + PIPE.seconds
    while True:
        try:
            handle = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            if time.monotonic() > deadline:
                raise _nobody(path, "reader") from None
            time.sleep(PIPE.pause)
        else:
            os.set_blocking(handle, True)
            return os.fdopen(handle, "wb")


def _nobody(path: str | Path, who: str) -> GenperfError:
    does = "reads" if who == "reader" else "writes to"
    return GenperfError(
        f"is a pipe that no process {does}; waited {PIPE.seconds:g} s",
        hint=f"start the {who} first, or name a file",
        where=str(path),
    )
