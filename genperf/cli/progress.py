"""A progress bar with the rate and the time left, on a terminal's standard error alone."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(what: str, quiet: bool = False) -> Iterator[Callable[[int, int], None] | None]:
    """Draw a bar with the rate and the time left while something is done.

    Parameters
    ----------
    what : str
        What is counted: "groups".
    quiet : bool

    Yields
    ------
    callable or None
        To be called with the number done and of all; None where there is no terminal.
    """
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
