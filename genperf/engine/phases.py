"""The progress of a long computation, reported to a listener: a command on a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

#: Gets the phase in words, how much of it is done and of how much; 0 of 0 where it does not count.
Listener: TypeAlias = Callable[[str, int, int], None]
_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


def doing(phase: str, done: int = 0, total: int = 0) -> None:
    """Report what is computed now; a worker's process has no listener.

    Examples
    --------
    >>> with listening(lambda *heard: print(heard)):
    ...     doing("comparing expressions", 1, 12)
    ('comparing expressions', 1, 12)
    >>> doing("nobody listens")
    """
    listener = _LISTENER.get()
    if listener is not None:
        listener(phase, done, total)


@contextmanager
def listening(listener: Listener | None) -> Iterator[None]:
    """Pass the reports of `doing` to a function; None receives none."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)
