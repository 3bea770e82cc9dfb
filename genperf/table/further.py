"""Further measured quantities beside the main one: `--also memory=peak_gb:GB`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from genperf.errors import Note, TableError, counted
from genperf.table.cells import Cells
from genperf.table.clean import MISSING, labels
from genperf.table.failures import FailureRule
from genperf.table.roles import ReadOptions, roles_of
from genperf.table.source import Source
from genperf.table.target import TIME, Measurement, measurement_of

#: Names that formulas and predictions use already.
_TAKEN = frozenset(
    {TIME, "lower", "upper", "fits", "verdict", "reason", "throughput", "efficiency", "cost", "total", "machines"}
)


def further_of(also: Mapping[str, str] | str | Sequence[str] | None) -> dict[str, Measurement]:
    """Read which further quantities are measured, by the name that predictions call each.

    Parameters
    ----------
    also : mapping of str to str, str or sequence of str
        `NAME=COLUMN` or `NAME=COLUMN:UNIT`; a column alone is its name as well.

    Raises
    ------
    TableError
        For a name that is taken, or is not one.

    Examples
    --------
    >>> further_of("memory=peak_gb:GB")["memory"].target()
    Target(column='peak_gb', name='memory', unit='GB')
    >>> further_of({"time": "peak_gb"})
    Traceback (most recent call last):
    ...
    genperf.errors.TableError: a further quantity cannot be named 'time'
      try: --also NAME=COLUMN:UNIT with another name, as memory=peak_gb:GB
    """
    if isinstance(also, Mapping):
        pairs = [(str(name), str(text)) for name, text in also.items()]
    else:
        texts = [also] if isinstance(also, str) else list(also or ())
        pairs = [(name, column) if equals else ("", name) for name, equals, column in (t.partition("=") for t in texts)]
    measurements: dict[str, Measurement] = {}
    for name, text in pairs:
        measured = measurement_of(None, None, text.strip(), None) if text.strip() else None
        called = name.strip() or (measured.column if measured else "")
        if measured is None or not re.fullmatch(r"[^\W\d]\w*", called) or called in _TAKEN:
            hint = "--also NAME=COLUMN:UNIT with another name, as memory=peak_gb:GB"
            raise TableError(f"a further quantity cannot be named '{called}'", hint=hint)
        if called in measurements:
            raise TableError(f"two further quantities are named '{called}'", hint="give each its own name")
        measurements[called] = replace(measured, name=called)
    return measurements


def refuse_taken_names(names: Sequence[str], options: ReadOptions) -> None:
    """Refuse names of further quantities that a factor, a group or the main quantity has.

    Raises
    ------
    TableError
    """
    measured = options.roles.measurement
    taken = {name for name, _ in options.roles.named} - ({measured.column} if measured else set())
    taken |= {measured.target().name} if measured else set()
    for name in names:
        if name in taken:
            raise TableError(
                f"'{name}' is a factor, a group or the measured quantity already",
                hint="--also NAME=COLUMN:UNIT with another name",
            )


def options_for(measurement: Measurement, options: ReadOptions) -> ReadOptions:
    """Return how the rows are read for a further quantity: with the same factors, and no work of a step."""
    roles = options.roles
    factors = {
        role: [name for name, r in roles.factors if r == role] for role in ("intrinsic", "extrinsic", "categorical")
    }
    again = roles_of(factors, roles.group, measurement, roles.weight, roles.repeat)  # type: ignore[arg-type]
    return replace(options, roles=again, work=None, scaling=None, failures=FailureRule())


def aggregated_options_for(measurement: Measurement, options: ReadOptions) -> ReadOptions:
    """Return how rows are summarised for a further quantity: those in which it was not measured are left out."""
    return replace(options_for(measurement, options), failures=options.failures, skip_bad_rows=True)


def rows_with(measurement: Measurement, source: Source, options: ReadOptions) -> Source:
    """Return the rows in which a further quantity was measured: none of a run that failed, and no empty cell.

    Parameters
    ----------
    options : ReadOptions
        Of the main quantity: they tell which runs failed.

    Raises
    ------
    TableError
        Where it was measured in no run that succeeded.
    """
    if measurement.column not in source.columns:
        return source  # the reader names the columns there are
    main = options.roles.measurement
    failed = options.failures.failed(source.frame, [main.column] if main else [], source.name)
    there = filled(source.columns[measurement.column]) & ~failed
    if not there.any():
        raise TableError(
            f"column '{measurement.column}' holds no value of a run that succeeded", where=source.name, hint="--also"
        )
    return replace(source.take(np.flatnonzero(there)), ragged=())


def filled(cells: Cells) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which cells hold something.

    Examples
    --------
    >>> filled(np.array(["1.5", "", "nan"], dtype=object)).tolist()
    [True, False, False]
    """
    texts = labels(cells)
    return np.array([text.lower() not in {*MISSING, ""} for text in texts], dtype=bool)


def further_notes(name: str, measured: int, rows: int) -> tuple[Note, ...]:
    """Say in how many rows a further quantity was measured, where not in all."""
    if measured >= rows:
        return ()
    return (Note(f"{name} was measured in {measured:,} of {counted(rows, 'row')}", "further_measured"),)
