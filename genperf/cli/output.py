"""What a command shows: its result as tables, JSON, CSV or a figure, and how long it will take, on standard error."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import click
from msgspec import Struct

from genperf.cli.writing import write_whole
from genperf.engine import listening

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from rich.text import Text

    from genperf.table.cells import Cells

#: What is shown or written: columns by name, or a DataFrame.
Shown: TypeAlias = Union["pd.DataFrame", Mapping[str, "Cells"]]
#: A number as people read it, with its unit: 20,500 or 2.2 million, 40 %, 3.2 h; or nothing.
_NUMBER = re.compile(
    r"–?|([-+]?[\d,]*\.?\d+(e[-+]?\d+)?|[-+]?inf|nan)( million| billion| trillion)?( ?%| (s|min|h|d))?", re.IGNORECASE
)
PICTURES = ("png", "svg", "pdf")
#: Seconds of work without a sign of progress: people wait so long without a thought (as below).
UNSEEN_S = 2.0
#: Called with the number done and of all.
Progress = Callable[[int, int], None]
#: Control characters other than the end of a line and the tabulator, marks of the direction of writing, and what has no
#: width and joins no letters.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")


class Output(Struct, frozen=True):
    """How one call of a command shows its result."""

    as_json: bool = False
    quiet: bool = False
    no_color: bool = False
    raw: bool = False  #: Whether texts that begin with = + - @ are written as they are.
    output: str | None = None  #: The file of a table or a model; `-` is standard output.
    plot: str | None = None  #: The file of a figure.

    def note(self, text: str) -> None:
        """Print a remark beside the result, on standard error."""
        if not self.quiet:
            tell(text, err=True)

    def notes(self, notes: Iterable[object]) -> None:
        """Print what a fit or an answer remarks, each on a line."""
        for note in notes:
            self.note(f"note: {note}")

    def written(self, answer: Any, table: Shown | None = None) -> bool:
        """Write an answer's table, where a file is named; and as JSON, where wanted, it or several: then True."""
        if table is not None and self.output:
            from genperf.table.cells import csv_pieces

            write_whole(self.output, csv_pieces(table, self.raw))
            self.wrote(self.output)
        if self.as_json:
            show_json([*map(_plain, answer)] if isinstance(answer, list) else _plain(answer))
        return self.as_json

    def wrote(self, path: str) -> None:
        """Print that a file was written; standard output speaks for itself."""
        if path != "-":
            self.note(f"wrote {path}")

    def draw(self, figure: Callable[[], Figure]) -> None:
        """Write a figure in the format of the file's ending, where a file is named."""
        if self.plot:
            from genperf.plots import image, kind_of

            write_whole(self.plot, image(figure(), kind_of(self.plot)))
            self.note(f"wrote {self.plot}")

    def frame(self, table: Shown, title: str | None = None) -> None:
        """Print a table as aligned text."""
        rows = zip(*([cell(v) for v in cells.tolist()] for _, cells in table.items()), strict=True)
        show_rows([str(name) for name, _ in table.items()], rows, title)

    def styled(self, lines: Iterable[Text]) -> None:
        """Print styled lines: with colours on a terminal, the same text without them elsewhere."""
        colored = sys.stdout.isatty() and not self.no_color and "NO_COLOR" not in os.environ
        for line in lines:
            if colored and visible(line.plain) == line.plain:
                from rich.console import Console

                Console(highlight=False, soft_wrap=True).print(line)
            else:
                tell(line.plain)

    def lines(self, content: Iterable[str | tuple[str, Shown]]) -> None:
        """Print sentences, and tables with their titles."""
        for line in content:
            if isinstance(line, str):
                tell(line)
            else:
                self.frame(line[1], line[0])


def _plain(answer: Any) -> dict[str, Any]:
    """Return an answer as plain values."""
    return answer if isinstance(answer, dict) else answer.to_dict()


def tell(text: str, err: bool = False) -> None:
    """Print a line: what a name holds of control characters is written out, so that no terminal obeys it."""
    click.echo(visible(text), err=err)


def tell_all(lines: Iterable[object]) -> None:
    """Print some lines."""
    for line in lines:
        tell(str(line))


def visible(text: str) -> str:
    """Return a text without characters that steer a terminal, turn the direction of writing or cannot be seen."""
    return _STEERING.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def show_json(value: Any) -> None:
    """Print strict JSON: what is not finite or is missing is null, what JSON has no type for (a date) is text."""
    from genperf.table.clean import finite, is_missing

    def as_text(value: Any) -> str | None:
        return None if is_missing(value) else str(value)

    click.echo(json.dumps(finite(value), indent=1, allow_nan=False, ensure_ascii=False, default=as_text))


def show_predictions(table: Shown) -> None:
    """Print predictions; where the lines would not fit, the reasons of the verdicts are footnotes."""
    columns = {str(name): [cell(v) for v in cells.tolist()] for name, cells in table.items()}
    widths = [max(len(name), *map(len, cells), 0) for name, cells in columns.items() if len(cells)]
    footnotes = list[str]()
    # In a pipe, as on a terminal of 80 columns.
    if "reason" in columns and sum(widths) + 2 * len(widths) > shutil.get_terminal_size().columns:
        from genperf.words.verdict import with_footnotes

        columns["verdict"], footnotes = with_footnotes(columns["verdict"], columns.pop("reason"))
    show_rows(list(columns), zip(*columns.values(), strict=True))
    for footnote in footnotes:
        tell(footnote)


def show_rows(head: Sequence[str], rows: Iterable[Sequence[str]], title: str | None = None) -> None:
    """Print rows of text under a head; numbers are aligned to the right."""
    head, body = [visible(name) for name in head], [[visible(text) for text in row] for row in rows]
    right = [
        bool(body) and all(_NUMBER.fullmatch(row[j].replace("±", "").strip()) for row in body) for j in range(len(head))
    ]
    widths = [max(len(head[j]), *(len(row[j]) for row in body), 0) if body else len(head[j]) for j in range(len(head))]
    if title:
        tell(title)
    for row in [head, *body]:
        cells = [c.rjust(w) if aligned else c.ljust(w) for c, w, aligned in zip(row, widths, right, strict=True)]
        click.echo("  ".join(cells).rstrip())


def cell(value: Any) -> str:
    """Write one value for a person: `64`, `0.2917`, and `–` where there is none."""
    if value is None or (isinstance(value, float) and value != value):
        return "–"
    if isinstance(value, float):
        # A count or a batch is read in full, whatever its size.
        is_whole = value.is_integer() or abs(value) >= 1e4
        if is_whole and abs(value) < 1e9:
            return f"{value + 0.0:.0f}"
        from genperf.words.numbers import setting_text

        return setting_text(value) if float(f"{value:.4g}") == value > 1.0 else f"{value:.4g}"
    return str(value)


@contextmanager
def progress(quiet: bool = False, what: str = "") -> Iterator[Progress | None]:
    """Show on a terminal the phases of a computation; or how many of `what` are done, by the function yielded."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    with _bar() as show:
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
                from rich import progress as drawn
                from rich.console import Console

                start = (drawn.SpinnerColumn(), drawn.TextColumn("{task.description}"), drawn.BarColumn())
                times = (drawn.MofNCompleteColumn(), drawn.TimeElapsedColumn(), drawn.TimeRemainingColumn())
                bar = drawn.Progress(*start, *times, console=Console(stderr=True), transient=True)
                update = partial(stack.enter_context(bar).update, bar.add_task("", total=None))
            if update is not None:
                update(description=phase, completed=done, total=total or None)

        yield show
