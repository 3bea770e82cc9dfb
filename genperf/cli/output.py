"""Showing results: tables for people, JSON for machines, files written whole or not at all."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import click

from genperf.cli.tell import tell, visible
from genperf.table.cells import neutral

if TYPE_CHECKING:
    import pandas as pd

    from genperf.table.cells import Cells

#: What is shown or written: columns by name, or a DataFrame.
Shown: TypeAlias = Union["pd.DataFrame", Mapping[str, "Cells"]]
#: A number as people read it, with its unit: 20,500 or 2.2 million, 40 %, 3.2 h; or nothing.
_NUMBER = re.compile(
    r"–?|([-+]?[\d,]*\.?\d+(e[-+]?\d+)?|[-+]?inf|nan)( million| billion| trillion)?( ?%| (s|min|h|d))?", re.IGNORECASE
)
#: What a cell of CSV is quoted for.
_QUOTED = re.compile('[",\r\n]')
#: Columns of a line that is printed to a file or a pipe: those of a terminal by default.
LINE = 80


def show_json(value: Any) -> None:
    """Print strict JSON: what is not finite or is missing is null, what JSON has no type for (a date) is text."""
    click.echo(json.dumps(finite(value), indent=1, allow_nan=False, ensure_ascii=False, default=_as_text))


def _as_text(value: Any) -> str | None:
    from genperf.table.clean import is_missing

    return None if is_missing(value) else str(value)


def finite(value: Any) -> Any:
    """Replace numbers that JSON does not have by None, and numpy's by Python's.

    Examples
    --------
    >>> finite({"r2": float("nan"), "mape": [1.5]})
    {'r2': None, 'mape': [1.5]}
    """
    if isinstance(value, dict):
        return {str(k): finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [finite(v) for v in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not (value == value and abs(value) != float("inf")):
        return None
    return value


def records(table: Shown) -> list[dict[str, Any]]:
    """Return a row of a table as a mapping, each by itself.

    Examples
    --------
    >>> import numpy as np
    >>> records({"workers": np.array([8.0, 64.0]), "verdict": np.array(["ok", "caution"])})
    [{'workers': 8.0, 'verdict': 'ok'}, {'workers': 64.0, 'verdict': 'caution'}]
    """
    columns = {str(name): cells.tolist() for name, cells in table.items()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def csv_text(table: Shown, raw: bool = False) -> str:
    r"""Write a table as CSV, floating-point numbers to nine digits, and nothing where a value is missing.

    Unless `raw`, an apostrophe stands before a text that a spreadsheet would take for a formula.

    Examples
    --------
    >>> import numpy as np
    >>> csv_text({"nodes": np.array([2, 4]), "time": np.array([0.1, np.nan]), "reason": np.array(["far, wide", ""])})
    'nodes,time,reason\n2,0.1,"far, wide"\n4,,\n'
    """
    return "".join(csv_pieces([table], raw))


def csv_pieces(tables: Iterable[Shown], raw: bool = False) -> Iterator[str]:
    """Yield the text of tables with the same columns as one CSV: the head once, then the rows of each."""
    for number, table in enumerate(tables):
        columns = [_csv_cells(cells, raw) for _, cells in table.items()]
        if len(columns) == 1:
            # An empty line would be no row.
            columns = [[text or '""' for text in columns[0]]]
        rows = [",".join(row) for row in zip(*columns, strict=True)]
        if number == 0:
            rows.insert(0, ",".join(_quoted(str(name) if raw else neutral(str(name))) for name, _ in table.items()))
        yield "".join(f"{row}\n" for row in rows)


def _csv_cells(cells: Cells, raw: bool) -> list[str]:
    """Return the text of a column's cells; what is missing is empty."""
    from genperf.table.clean import is_missing

    if cells.dtype.kind == "M":
        # A Series of days is written without their midnights.
        cells = cells.astype(str)
    values = cells.tolist()
    if cells.dtype.kind == "f":
        texts = map("{:.9g}".format, values)
        return ["" if text == "nan" else text for text in texts]
    # Verdicts and levels repeat: of each text once.
    known: dict[str, str] = {}
    for value in values:
        if isinstance(value, str) and value not in known:
            known[value] = _quoted(value if raw else neutral(value))
    return [
        known[value] if isinstance(value, str) else "" if is_missing(value) else _quoted(str(value)) for value in values
    ]


def _quoted(text: str) -> str:
    """Return a cell as CSV has it: in quotes where it holds a delimiter, a quote or the end of a line."""
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text


def show_frame(table: Shown, title: str | None = None, plain: bool = False) -> None:
    """Print a table: drawn on a terminal, plain aligned text in a pipe.

    Parameters
    ----------
    plain : bool
        Plain text on a terminal as well.
    """
    rows = zip(*([cell(v) for v in cells.tolist()] for _, cells in table.items()), strict=True)
    show_rows([str(name) for name, _ in table.items()], rows, title, plain)


def show_predictions(table: Shown, plain: bool = False) -> None:
    """Print predictions; where the lines would not fit, the reasons of the verdicts stand below as footnotes."""
    columns = {str(name): [cell(v) for v in cells.tolist()] for name, cells in table.items()}
    widths = [max(len(name), *map(len, cells), 0) for name, cells in columns.items() if len(cells)]
    room = shutil.get_terminal_size().columns if sys.stdout.isatty() else LINE
    if "reason" not in columns or sum(widths) + 2 * len(widths) <= room:
        show_frame(table, plain=plain)
        return
    reasons = columns.pop("reason")
    marks = {reason: f"[{k}]" for k, reason in enumerate((r for r in dict.fromkeys(reasons) if r), 1)}
    columns["verdict"] = [f"{v} {marks.get(r, '')}".rstrip() for v, r in zip(columns["verdict"], reasons, strict=True)]
    show_rows(list(columns), zip(*columns.values(), strict=True), plain=plain)
    for reason, mark in marks.items():
        tell(f"{mark} {reason}")


def show_rows(
    head: Sequence[str], rows: Iterable[Sequence[str]], title: str | None = None, plain: bool = False
) -> None:
    """Print rows of text under a head; numbers are aligned to the right.

    Parameters
    ----------
    head : sequence of str, shape (columns,)
    rows : iterable of sequence of str, each of shape (columns,)
    plain : bool
        Plain text on a terminal as well.
    """
    head, body = [visible(name) for name in head], [[visible(text) for text in row] for row in rows]
    right = [bool(body) and all(_numeric(row[j]) for row in body) for j in range(len(head))]
    if sys.stdout.isatty() and not plain and "NO_COLOR" not in os.environ:
        from rich.console import Console
        from rich.table import Table as Drawn
        from rich.text import Text

        drawn = Drawn(title=None if title is None else Text(visible(title)), title_justify="left")
        for name, aligned in zip(head, right, strict=True):
            drawn.add_column(name, justify="right" if aligned else "left")
        for row in body:
            drawn.add_row(*(Text(c) for c in row))
        Console().print(drawn)
        return
    widths = [max(len(head[j]), *(len(row[j]) for row in body), 0) if body else len(head[j]) for j in range(len(head))]
    if title:
        tell(title)
    for row in [head, *body]:
        cells = [c.rjust(w) if aligned else c.ljust(w) for c, w, aligned in zip(row, widths, right, strict=True)]
        click.echo("  ".join(cells).rstrip())


def _numeric(text: str) -> bool:
    return bool(_NUMBER.fullmatch(text.replace("±", "").strip()))


def cell(value: Any) -> str:
    """Write one value for a person.

    Examples
    --------
    >>> cell(0.123456), cell(32768.0), cell(None), cell(float("nan")), cell("mxnet")
    ('0.1235', '32768', '–', '–', 'mxnet')
    """
    if value is None or (isinstance(value, float) and value != value):
        return "–"
    if isinstance(value, float):
        # A count or a batch is read in full, whatever its size.
        whole = value.is_integer() or abs(value) >= 1e4
        return f"{value + 0.0:.0f}" if whole and abs(value) < 1e9 else f"{value:.4g}"
    return str(value)


def say(text: str, quiet: bool = False) -> None:
    """Print a remark beside the result, on standard error."""
    if not quiet:
        tell(text, err=True)
