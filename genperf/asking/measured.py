"""A question about what was measured: answered by the runs themselves, with what their steps spread."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from genperf.arrays import Mask
from genperf.errors import TableError, counted
from genperf.formula.amounts import amount
from genperf.panel.evidence import ColumnEvidence
from genperf.panel.read import Recognised
from genperf.panel.reading import Reading, column_named
from genperf.table.cells import Source
from genperf.vocabulary.headers import STEP_WORDS, Header, header_of
from genperf.words.numbers import join_values, three_digits, with_unit

#: A value, its ends, and how it is known.
Measured = tuple[float, float, float, str]


def only_run(opened: Recognised) -> Reading | None:
    """Return the reading of a table whose runs are all of one configuration, or are scaled by nothing; else None."""
    try:
        reading = opened.reading
    except TableError:
        alone = opened.alone
        if not opened.source.runs and len(opened.source) > 1:
            raise
        return alone
    varied = [n for n in reading.of("setting", "kind") if reading.evidence[n].varies]
    return None if varied or not (opened.source.runs or len(opened.source) == 1) else reading


def rows_with(reading: Reading, at: Mapping[str, str]) -> Mask:
    """Return which rows have what is asked; a count that was not measured is refused."""
    rows = np.ones(len(next(iter(reading.evidence.values())).texts), dtype=bool)
    for name, text in at.items():
        column = reading.scale if name == "count" else column_named(name, reading.evidence)
        if column is None:
            what = f"the runs are of one configuration, and no column is '{name}'"
            raise TableError(
                what, hint=f"measure a second scale and name both: genperf ask RUN1 RUN2 --at {name}={text}"
            )
        same = _same(reading.evidence[column], text)
        if not same.any():
            levels = ", ".join(reading.evidence[column].levels[:4]) or "nothing"
            what = f"{column} was {levels} in every run: nothing shows how {column}={text} does"
            raise TableError(what, hint=f"measure a second scale, such as {column}={text}, and name both")
        rows &= same
    return rows


def _same(evidence: ColumnEvidence, text: str) -> Mask:
    value = amount(text)
    if value is None or not evidence.numeric:
        return np.array([one.strip().lower() == text.strip().lower() for one in evidence.texts.tolist()], dtype=bool)
    return np.asarray(np.isclose(evidence.values, value, rtol=1e-9))


def measured(source: Source, reading: Reading, name: str, rows: Mask) -> Measured | None:
    """Return what some rows measured of a column; None where they did not."""
    values = reading.evidence[name].values
    rows = rows & np.isfinite(values)
    if not rows.any():
        return None
    value = float(np.median(values[rows]))
    if rows.sum() > 1:
        low, high = float(values[rows].min()), float(values[rows].max())
        return value, low, high, f"median of {counted(int(rows.sum()), 'run')}"
    if name in source.steady and source.steady[name][rows][0][0] > 0:
        steps, low, high, slow = source.steady[name][rows][0].tolist()
        outliers = f", {int(slow)} over twice it" if slow else ""
        return value, low, high, f"median of {counted(int(steps), 'step')}{outliers}, nine in ten"
    return value, value, value, "one value"


def inverted(measurement: Measured) -> Measured:
    """Return the time of a step that a rate of steps shows."""
    value, low, high, how = measurement
    return 1.0 / value, 1.0 / high, 1.0 / low, how


def is_step_rate(header: Header) -> bool:
    """Tell whether a column counts steps per second."""
    return header.kind == "rate" and header.counted in STEP_WORDS and not header.shared


def wants_step(want: str | None) -> bool:
    """Tell whether the time of a step is wanted."""
    header = header_of(want or "")
    return header.kind == "time" and header.of == "step"


def measured_sentences(
    quantity: str, unit: str, measurement: Measured, at: Mapping[str, Any], scale: str | None
) -> dict[str, str]:
    """Return what was measured, and what a second scale would need."""
    value, low, high, how = measurement
    place = f" at {join_values(at)}" if at else ""
    spread = "" if low == high else f" from {three_digits(low)} to {with_unit(three_digits(high), unit)}"
    count = scale or "gpus"
    return {
        "expect": f"Measured: {quantity} of {with_unit(three_digits(value), unit)}{place} ({how}{spread}).",
        "next": f"One scale was measured: a run at another count of {count} shows how it scales "
        f"(genperf ask RUN1 RUN2 --at {count}=64).",
    }
