"""What a computation does and how long it will take, on standard error: a bar on a terminal, elsewhere one line."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

import click

from genperf.engine import listening

#: Seconds of work without a sign of progress: people wait so long without a thought (as below).
UNSEEN_S = 2.0
#: Called with the number done and of all.
Progress = Callable[[int, int], None]


@contextmanager
def progress(quiet: bool = False, what: str = "") -> Iterator[Progress | None]:
    """Show the phases of a computation; or only how many of `what` are done, by the function that is yielded."""
    if quiet:
        yield None
        return
    with _bar() if sys.stderr.isatty() else _one_line() as show:
        if what:
            yield partial(show, what)
        else:
            with listening(show):
                yield None


@contextmanager
def _bar() -> Iterator[Callable[[str, int, int], None]]:
    """Draw the phase with a bar, the number done, the time taken and the time left, after the first seconds."""
    started = time.monotonic()
    with ExitStack() as stack:
        update: Callable[..., None] | None = None

        def show(phase: str, done: int, total: int) -> None:
            nonlocal update
            if update is None and time.monotonic() - started > UNSEEN_S:
                update = stack.enter_context(_drawn())
            if update is not None:
                update(description=phase, completed=done, total=total or None)

        yield show


@contextmanager
def _drawn() -> Iterator[Callable[..., None]]:
    """Draw a bar on standard error until the work ends, and yield what updates it."""
    from rich import progress as drawn
    from rich.console import Console

    start = (drawn.SpinnerColumn(), drawn.TextColumn("{task.description}"), drawn.BarColumn())
    times = (drawn.MofNCompleteColumn(), drawn.TimeElapsedColumn(), drawn.TimeRemainingColumn())
    with drawn.Progress(*start, *times, console=Console(stderr=True), transient=True) as bar:
        yield partial(bar.update, bar.add_task("", total=None))


@contextmanager
def _one_line() -> Iterator[Callable[[str, int, int], None]]:
    """Print once how long a phase that counts will take, where it is long."""
    announced, current, start, done_before = False, "", 0.0, 0

    def show(phase: str, done: int, total: int) -> None:
        nonlocal announced, current, start, done_before
        if phase != current:
            current, start, done_before = phase, time.monotonic(), done
            return
        elapsed = time.monotonic() - start
        # Before two seconds the estimate is poor.
        if announced or elapsed < UNSEEN_S or done <= done_before:
            return
        left = elapsed / (done - done_before) * (total - done)
        # For less, people keep their attention without a word (Nielsen, "Usability Engineering", 1993).
        if left >= 10.0:
            announced = True
            click.echo(f"{phase}: {done:,} of {total:,} done, about {left:.0f} s left", err=True)

    yield show
