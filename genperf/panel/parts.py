"""The columns of a table that measure parts of a step → their shares of it, which stay with the models of the table."""

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from genperf.arrays import Array, Mask
from genperf.facts import StepPart
from genperf.panel.evidence import TableColumn
from genperf.panel.legend import Legend
from genperf.panel.prices import groups_of
from genperf.panel.reading import Reading
from genperf.vocabulary.headers import TIME_UNITS

#: Relative difference up to which parts make up a step: timers overlap, and leave something out.
_MAKE_UP = 0.1


def with_parts(legend: Legend, reading: Reading) -> Legend:
    """Return a legend with the measured parts of a time: all other times where they add up to it, else the phases."""
    total = reading.columns[reading.quantities[0]]
    if total.kind != "time" or reading.scale is None:
        return legend
    phases = [c for c in reading.with_role("phase") if c.kind == "time"]
    others = [c for c in reading.with_role("measured") if c.kind == "time" and c is not total]
    step, counts = _seconds(total), reading.columns[reading.scale].values
    for columns, least in (([*phases, *others], 1.0 - _MAKE_UP), (phases, 0.0)):
        if not columns:
            continue
        with np.errstate(all="ignore"):
            shares = np.stack([_seconds(column) for column in columns]) / step
        sums = shares.sum(axis=0)
        ended = np.isfinite(sums)
        if ended.any() and np.all((least <= sums[ended]) & (sums[ended] <= 1.0 + _MAKE_UP)):
            parts = [
                part
                for levels, rows in groups_of(reading, len(counts), reading.roles.group)
                for part in _parts_of(columns, shares, counts, rows & ended, levels)
            ]
            return replace(legend, parts=tuple(parts))
    return legend


def _seconds(column: TableColumn) -> Array:
    """Return the times of a column in seconds."""
    numerator, denominator = TIME_UNITS.get(column.header.unit, (1, 1))
    return np.asarray(column.values * numerator / denominator)


def _parts_of(
    columns: Sequence[TableColumn], shares: Array, counts: Array, rows: Mask, levels: dict[str, str]
) -> list[StepPart]:
    """Return the parts of some runs, the largest at their largest count first; none where no run has all of them."""
    if not rows.any():
        return []
    ends = float(counts[rows].min()), float(counts[rows].max())
    medians = [np.median(shares[:, rows & (counts == end)], axis=1).tolist() for end in ends]
    parts = [
        StepPart(column.name, ends, (first, last), levels)
        for column, first, last in zip(columns, *medians, strict=True)
    ]
    return sorted(parts, key=lambda part: -part.shares[1])
