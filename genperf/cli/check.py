"""`genperf check`: reads, validates, summarises; nothing is fitted."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from genperf.cli import decorators as shared
from genperf.cli.decorators import option
from genperf.cli.output import Output, tell, tell_all
from genperf.cli.writing import writable, write_whole
from genperf.errors import LISTED, Note, TableError, counted, listed

if TYPE_CHECKING:
    from genperf.panel import Table
    from genperf.table.cells import Source
    from genperf.table.clean import Rejection


def rejected_lines(rejected: Sequence[Rejection]) -> list[str]:
    """Return a line per column with bad cells: the first of them, and how many more rows have one there."""
    lines = []
    for column in dict.fromkeys(r.column for r in rejected):
        bad = [r for r in rejected if r.column == column]
        more = len({r.line for r in bad}) - 1
        lines.append(f"{bad[0]}" + (f"; {counted(more, 'more row')} in this column" if more else ""))
    return lines


@shared.command("check")
@shared.source("table")
@option("--as-read", metavar="CSV", callback=writable, help="Write the table as it is understood here.")
@option("--verbose", "-v", is_flag=True, help="Print the role of each column with its reasons.")
@shared.table_options
@shared.shown(*shared.RESULT)
def check(table: str, as_read: str | None, verbose: bool, roles: dict[str, Any], out: Output) -> None:
    """Read TABLE (CSV, JSON, Parquet, or - for standard input), and summarise its factors, repeats and faults.

    With --as-read, no column need be named.
    """
    from genperf.cli.options import read, recognised_table
    from genperf.panel.table import design_notes
    from genperf.table.cells import as_csv

    opened = recognised_table(table, roles)
    source = opened.source
    if as_read is not None:
        if not len(source.lines):
            hint = "give every row the fields of the header"
            raise TableError(source.ragged[0].complaint, where=source.name, hint=hint)
        write_whole(as_read, as_csv(source))
        if not opened.given.whole:
            # How it was understood, without a role of any column.
            columns, steps = list(source.columns), [str(step) for step in source.steps]
            if not out.written({"source": source.name, "rows": len(source), "columns": columns, "steps": steps}):
                tell(f"{source.name}: {counted(len(source), 'row')}, {counted(len(columns), 'column')}")
                _show_rows(source, out)
                out.notes(source.steps)
            return
    if verbose:
        tell_all(f"{name}: {meaning}" for name, meaning in opened.reading.table_columns.items())
    measured = read(opened, roles)
    notes = [*measured.notes, *([] if measured.group else design_notes(measured))]
    facts = _facts_of(measured, notes)
    if not out.written(facts):
        _show_table(measured, facts, out)
        tell_all(_passed_over(source, measured.unused))
        if source.steps:
            _show_rows(source, out)
        out.notes(notes)


def _passed_over(source: Source, unused: Collection[str]) -> list[str]:
    """Return a sentence for each column of numbers in no role that has cells of something else."""
    from genperf.table.clean import Rejection, filled, mostly_numbers, numbers

    sentences = []
    for name in unused:
        cells = [*source.columns.get(name, ())]
        faults = {row: why for row, why in numbers(cells)[1].items() if filled([cells[row]])[0]}
        if faults and len(cells) == len(source.lines) and mostly_numbers(cells):
            row, why = min(faults.items())
            bad = Rejection(source.name, int(source.lines[row]), name, str(cells[row]), why, source.unit)
            more = f", as are {counted(len(faults) - 1, 'more cell')}" if len(faults) > 1 else ""
            sentences.append(f"{bad.complaint}{more}; nothing is made of this column, and its rows are used")
    return sentences


def _facts_of(table: Table, notes: Sequence[Note]) -> dict[str, Any]:
    """Return what is known of a table: the fields of the JSON."""
    from genperf.table.cells import records

    target, low, high = table.target, float(table.extremes[0].min()), float(table.extremes[1].max())
    return {
        "source": table.source,
        "rows": table.rows,
        "configurations": len(table.medians()),
        "rejected": [str(r) for r in table.rejected],
        "failed": len(table.failures),
        "target": {"name": target.name, "column": target.column, "unit": target.unit, "min": low, "max": high},
        **({"time": {"column": target.column, "min": low, "max": high}} if target.is_time else {}),
        "further": {
            name: {"column": also.target.column, "unit": also.target.unit, "rows": also.rows}
            for name, also in table.further.items()
        },
        "noise": table.noise(),
        "factors": records(table.summary()),
        "group": list(table.group),
        "phases": table.phases,
        "unused": list(table.unused),
        "derived": table.derived,
        "notes": [str(n) for n in notes],
        "sha256": table.sha256,
    }


def _show_table(table: Table, facts: Mapping[str, Any], out: Output) -> None:
    """Print what is known of a table for people."""
    from genperf.models import MODELS
    from genperf.panel.options import shown_phases

    tell(f"{table.source}: {counted(table.rows, 'row')}, {counted(facts['configurations'], 'configuration')}")
    noise = facts["noise"]
    tell(_range_of(table))
    for also in table.further.values():
        tell(f"{_range_of(also)}, {counted(also.rows, 'row')}")
    tell("repeats: " + (f"vary by {100 * noise:.1f} %" if noise == noise else "none, so the noise is not known"))
    if table.group:
        tell(f"groups: {table.group_count} of {', '.join(table.group)}")
    out.frame(table.summary())
    if table.phases:
        families = [f.name for f in MODELS.values() if f.phases and f.shown({*table.phases})]
        tell(f"phases: {shown_phases(table.phases)}; {', '.join(families)} fit each on its own column")
    if table.legend is not None and table.legend.price_column:
        tell(f"price: {table.legend.price_column}")
    if unused := [name for name in table.unused if name not in table.phases.values()]:
        tell(f"left out, in no role: {listed(unused)}")
    if len(table.failures):
        tell(f"failed: {counted(len(table.failures), 'run')}")
    if table.rejected:
        tell(f"rejected: {counted(table.rejected_rows, 'row')}")
        tell_all(f"  {line}" for line in rejected_lines(table.rejected))


def _range_of(table: Table) -> str:
    """Return what was measured in words: its name, its column and its range, of a throughput as it was measured."""
    from genperf.words.numbers import rate_unit, texts_in_unit

    target = table.target
    name, column, unit = target.name, target.column, target.unit
    low, high = float(table.extremes[0].min()), float(table.extremes[1].max())
    if target.throughput:
        rates = table.frame[target.throughput].to_numpy(float)
        name, column, unit = "throughput", target.throughput, rate_unit(target.samples)
        low, high = float(rates.min()), float(rates.max())
    smallest, largest, unit = texts_in_unit(low, high, unit=unit)
    return f"{name}: {f'{column}, ' if column != name else ''}{smallest} to {largest} {unit}".rstrip()


def _show_rows(source: Source, out: Output) -> None:
    """Show the first rows of a table as it was understood."""
    import numpy as np

    from genperf.table.clean import label

    leading_cells = {name: np.array([label(cell) for cell in cells[:LISTED]]) for name, cells in source.columns.items()}
    more = max(0, len(source.lines) - LISTED)
    out.frame(leading_cells, title="as understood" + (f", before {counted(more, 'more row')}" if more else ""))
