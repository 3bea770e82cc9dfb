"""`genperf check`: reads, validates, summarises; nothing is fitted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from genperf.cli import decorators as shared
from genperf.cli.decorators import option
from genperf.cli.output import Output, tell, tell_all
from genperf.cli.writing import writable, write_whole
from genperf.errors import LISTED, TableError, counted, listed

if TYPE_CHECKING:
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
    from genperf.models import MODELS
    from genperf.panel.options import shown_phases
    from genperf.panel.table import design_notes
    from genperf.table.cells import as_csv, records

    opened = recognised_table(table, roles)
    source = opened.source
    if as_read is not None:
        if not len(source.lines):
            hint = "give every row the fields of the header"
            raise TableError(source.ragged[0].complaint, where=source.name, hint=hint)
        write_whole(as_read, as_csv(source))
        if not opened.given.whole:
            _show_source(source, out)
            return
    if verbose:
        tell_all(f"{name}: {meaning}" for name, meaning in opened.reading.table_columns.items())
    measured = read(opened, roles)
    notes = [*measured.notes, *([] if measured.group else design_notes(measured))]
    configurations, noise, target = len(measured.medians()), measured.noise(), measured.target
    low, high = float(measured.extremes[0].min()), float(measured.extremes[1].max())
    further = {
        name: {"column": p.target.column, "unit": p.target.unit, "rows": p.rows} for name, p in measured.further.items()
    }
    facts = {
        "source": measured.source,
        "rows": measured.rows,
        "configurations": configurations,
        "rejected": [str(r) for r in measured.rejected],
        "failed": len(measured.failures),
        "target": {"name": target.name, "column": target.column, "unit": target.unit, "min": low, "max": high},
        **({"time": {"column": target.column, "min": low, "max": high}} if target.is_time else {}),
        "further": further,
        "noise": noise,
        "factors": records(measured.summary()),
        "group": list(measured.group),
        "phases": measured.phases,
        "unused": list(measured.unused),
        "derived": measured.derived,
        "notes": [str(n) for n in notes],
        "sha256": measured.sha256,
    }
    if out.written(facts):
        return
    tell(f"{measured.source}: {counted(measured.rows, 'row')}, {counted(configurations, 'configuration')}")
    column = f"{target.column}, " if target.column != target.name else ""
    tell(f"{target.name}: {column}{low:.4g} to {high:.4g} {target.unit}".rstrip())
    for name, also in measured.further.items():
        span = f"{also.extremes[0].min():.4g} to {also.extremes[1].max():.4g} {also.target.unit}".rstrip()
        tell(f"{name}: {also.target.column}, {span}, {counted(also.rows, 'row')}")
    tell("repeats: " + (f"vary by {100 * noise:.1f} %" if noise == noise else "none, so the noise is not known"))
    if measured.group:
        tell(f"groups: {measured.group_count} of {', '.join(measured.group)}")
    out.frame(measured.summary())
    if measured.phases:
        phase_names = set(measured.phases)
        families = [f.name for f in MODELS.values() if f.phases and f.shown(phase_names)]
        tell(f"phases: {shown_phases(measured.phases)}; {', '.join(families)} fit each on its own column")
    if measured.legend is not None and measured.legend.price_column:
        tell(f"price: {measured.legend.price_column}")
    unused = [name for name in measured.unused if name not in measured.phases.values()]
    if unused:
        tell(f"left out, in no role: {listed(unused)}")
    if len(measured.failures):
        tell(f"failed: {counted(len(measured.failures), 'run')}")
    if measured.rejected:
        tell(f"rejected: {counted(measured.rejected_rows, 'row')}")
        tell_all(f"  {line}" for line in rejected_lines(measured.rejected))
    if source.steps:
        _show_rows(source, out)
    out.notes(notes)


def _show_source(source: Source, out: Output) -> None:
    """Show how a table was understood, without a role of any column."""
    columns, steps = list(source.columns), [str(step) for step in source.steps]
    if out.written({"source": source.name, "rows": len(source.lines), "columns": columns, "steps": steps}):
        return
    tell(f"{source.name}: {counted(len(source.lines), 'row')}, {counted(len(source.columns), 'column')}")
    _show_rows(source, out)
    out.notes(source.steps)


def _show_rows(source: Source, out: Output) -> None:
    """Show the first rows of a table as it was understood."""
    import numpy as np

    from genperf.table.clean import label

    leading_cells = {name: np.array([label(cell) for cell in cells[:LISTED]]) for name, cells in source.columns.items()}
    more = max(0, len(source.lines) - LISTED)
    out.frame(leading_cells, title="as understood" + (f", before {counted(more, 'more row')}" if more else ""))
