"""A progress bar with the rate and the time left, on a terminal's standard error alone."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import click

from genperf.engine.phases import listening
from genperf.errors import counted


@dataclass(frozen=True)
class LongSettings:
    """What is worth a line where there is no terminal."""

    #: Seconds of a phase before the time left is estimated.
    observed_s: float = 2.0
    #: Seconds left that are announced. A guess: shorter ones are waited for.
    announced_s: float = 10.0
    #: Configurations times factors of a table above which a fit of many factors is announced. 300 × 40 took 4 s and 20
    #: 000 × 20 took 16 s on one shared core.
    announced_cells: int = 100_000


LONG = LongSettings()


@contextmanager
def progress_bar(what: str, quiet: bool = False) -> Iterator[Callable[[int, int], None] | None]:
    """Draw a bar with the rate and the time left while something is done."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TimeRemainingColumn
    from rich.progress import Task as Shown
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Shown) -> Text:
            speed = task.finished_speed or task.speed
            return Text("" if speed is None else f"{speed:.3g}/s")

    columns = (BarColumn(), MofNCompleteColumn(), what, Rate(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def phases_shown(quiet: bool = False) -> Iterator[None]:
    """Show what a computation does: on a terminal all the time, elsewhere one line where it will take long."""
    if quiet:
        yield
        return
    if not sys.stderr.isatty():
        with listening(_OneLine()):
            yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        with listening(
            lambda phase, done, total: bar.update(task, description=phase, completed=done, total=total or None)
        ):
            yield


class _OneLine:
    """Says once how long a phase that counts will take, where it is long."""

    def __init__(self) -> None:
        self.announced = False
        self.phase, self.start, self.first = "", 0.0, 0

    def __call__(self, phase: str, done: int, total: int) -> None:
        now = time.monotonic()
        if phase != self.phase:
            self.phase, self.start, self.first = phase, now, done
            return
        elapsed = now - self.start
        if self.announced or elapsed < LONG.observed_s or done <= self.first:
            return
        left = elapsed / (done - self.first) * (total - done)
        if left >= LONG.announced_s:
            self.announced = True
            click.echo(f"{phase}: {done:,} of {total:,} done, about {left:.0f} s left", err=True)


def announced(configurations: int, factors: int, quiet: bool) -> None:
    """Say before a fit that it will take long."""
    if not quiet and configurations * factors >= LONG.announced_cells:
        click.echo(
            f"fitting {configurations:,} configurations of {counted(factors, 'factor')}: this may take "
            "a minute or more; a family (--model amdahl) or fewer factors take seconds",
            err=True,
        )
