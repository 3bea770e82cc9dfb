"""Which rows of a frame have equal settings, and the factors over these settings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.errors import Note
from genperf.formula import quote_name
from genperf.table.factor import Factor, Role, measure
from genperf.vocabulary.names import counted_by


def measure_factors(
    frame: pd.DataFrame, roles: Sequence[tuple[str, Role]], group: Sequence[str] = ()
) -> tuple[Factor, ...]:
    """Describe the factors over the distinct configurations of a frame.

    Parameters
    ----------
    roles : sequence of (str, Role)
        The factors' columns with their roles.
    group : sequence of str
        Columns that tell configurations apart as well.
    """
    names = [name for name, _ in roles]
    number = number_rows(frame, names + list(group))
    _, first = np.unique(number, return_index=True)
    return tuple(measure(name, role, frame[name].to_numpy()[first]) for name, role in roles)


def constant_notes(factors: Sequence[Factor]) -> tuple[Note, ...]:
    """Note which factors have a single value."""
    return tuple(
        Note(
            f"factor '{f.name}' has one value, {f.levels[0] if f.levels else format(f.lower, 'g')}: "
            "its effect cannot be fitted from this table",
            "factor_constant",
        )
        for f in factors
        if f.distinct == 1
    )


def zero_count_notes(factors: Sequence[Factor]) -> tuple[Note, ...]:
    """Note which counts of workers or nodes go down to zero, so that what divides by them cannot be fitted.

    Examples
    --------
    >>> zero_count_notes([Factor("nodes", "extrinsic", 0, 8, distinct=4)])[0].text
    "'nodes' goes down to 0: what divides by the nodes is left out; --where 'nodes > 0' leaves these rows out instead"
    """
    notes = []
    for factor in factors:
        counted = counted_by(factor.name)
        if counted in ("workers", "nodes") and factor.numeric and factor.lower <= 0.0:
            text = f"'{factor.name}' goes down to {factor.lower:g}: what divides by the {counted} is left out"
            hint = f"--where '{quote_name(factor.name)} > 0' leaves these rows out instead"
            notes.append(Note(f"{text}; {hint}", "count_zero"))
    return tuple(notes)


def number_rows(frame: pd.DataFrame, names: Sequence[str]) -> npt.NDArray[np.int64]:
    """Return for each row the number of its combination of values, counted by first appearance.

    Examples
    --------
    >>> number_rows(pd.DataFrame({"n": [4, 2, 4], "b": [8, 8, 8]}), ["n", "b"])
    array([0, 1, 0])
    """
    number = np.zeros(len(frame), dtype=np.int64)
    for name in dict.fromkeys(names):
        codes, values = pd.factorize(frame[name].to_numpy(), use_na_sentinel=False)
        # Numbering anew after each column keeps the product below rows², so it never overflows.
        number = pd.factorize(number * len(values) + codes)[0]
    return number.astype(np.int64)
