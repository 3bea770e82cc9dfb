"""How far a prediction can be trusted, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from genperf.prediction.query import Query
from genperf.prediction.schema import Schema
from genperf.table import Factor

Verdict = Literal["ok", "caution", "extrapolating-blind"]
VERDICTS: tuple[Verdict, ...] = ("ok", "caution", "extrapolating-blind")

#: Doublings beyond the measured range up to which a prediction is near, and beyond which it is blind.
NEAR, BLIND = 1.0, 2.0
#: Relative half width of the prediction interval above which a prediction is at most `caution`, and blind.
WIDE, VERY_WIDE = 0.3, 1.0
#: Scales a factor must have been measured at before anything is said beyond them.
FEWEST_SCALES = 3


@dataclass(frozen=True)
class Evidence:
    """What predicting the largest measured scale from the smaller ones showed.

    Attributes
    ----------
    factor : str
        The extrinsic factor along which it was done.
    held_out : float
        The scale that was predicted.
    doublings : float
        From the largest scale before it.
    error : float
        Mean |ln(predicted/measured)| of the model there.
    last_point : float
        The same for "it stays as it was at the largest scale before"; NaN where no rows can be compared.
    """

    factor: str
    held_out: float
    doublings: float
    error: float
    last_point: float


def doublings_beyond(factor: Factor, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return how many doublings each value lies outside the measured range of a factor, 0 inside.

    A factor that has values of zero or below is measured in shares of its range instead.

    Examples
    --------
    >>> doublings_beyond(Factor("workers", "extrinsic", 1, 16, positive=True), np.array([8.0, 64.0, 0.5]))
    array([0., 2., 1.])
    """
    if factor.positive and factor.lower > 0 and np.all(values > 0):
        above, below = np.log2(values / factor.upper), np.log2(factor.lower / values)
    else:
        width = max(factor.upper - factor.lower, abs(factor.upper), 1e-300)
        above, below = (values - factor.upper) / width, (factor.lower - values) / width
    return np.maximum(np.maximum(above, below), 0.0) + 0.0


def verdicts(
    schema: Schema,
    query: Query,
    evidence: Sequence[Evidence],
    unidentified: Sequence[str],
    relative_half_width: npt.NDArray[np.float64],
) -> tuple[list[Verdict], list[str]]:
    """Judge every row.

    Parameters
    ----------
    schema : Schema
    query : Query
    evidence : sequence of Evidence
    unidentified : sequence of str
        Constants the data does not determine.
    relative_half_width : ndarray of shape (rows,)
        Of the 90 % prediction interval.

    Returns
    -------
    verdicts, reasons : list of str
    """
    rows = len(query.frame)
    grade = np.zeros(rows, int)
    reasons: list[list[str]] = [[] for _ in range(rows)]

    def mark(where: npt.NDArray[np.bool_], level: int, text: Sequence[str] | str) -> None:
        for row in np.flatnonzero(where).tolist():
            grade[row] = max(grade[row], level)
            reasons[row].append(text if isinstance(text, str) else text[row])

    total = np.zeros(rows)
    beyond_scale = np.zeros(rows, bool)
    for factor in schema.factors:
        if not factor.numeric:
            continue
        values = query.columns[factor.name]
        far = doublings_beyond(factor, values)
        total += far
        beyond_scale |= (far > 0) & (factor.role == "extrinsic")
        told = [
            f"{factor.name}={v:g} is {_doublings(d)} outside the measured {factor.lower:g} to {factor.upper:g}"
            for v, d in zip(values, far, strict=True)
        ]
        if factor.distinct == 1:
            mark(far > 0, 2, [f"{factor.name} was only ever {factor.lower:g}: its effect was not seen"] * rows)
            continue
        mark(far > 0, 1, told)
        few = factor.distinct < FEWEST_SCALES
        mark((far > 0) & few, 2, f"{factor.name} was measured at {factor.distinct} values only")
    mark(total > BLIND, 2, [f"{_doublings(t)} outside the data in all" for t in total])
    if total.any():
        for seen in evidence:
            lost = seen.last_point == seen.last_point and seen.error > seen.last_point
            tested = f"predicting {seen.factor}={seen.held_out:g} from smaller scales"
            text = f"{tested}, the model erred by {_percent(seen.error)}"
            if lost:
                mark(beyond_scale, 2, f"{text}, and 'as at the largest scale' by {_percent(seen.last_point)}")
            elif seen.error > WIDE:
                mark(beyond_scale, 2, text)
            elif seen.error > WIDE / 3:
                mark(beyond_scale, 1, text)
    mark((relative_half_width > WIDE) & (relative_half_width <= VERY_WIDE), 1, "the interval is wide")
    mark(relative_half_width > VERY_WIDE, 2, "the interval is wider than the prediction")
    if unidentified:
        shown = ", ".join(unidentified[:4]) + (", …" if len(unidentified) > 4 else "")
        mark(total > NEAR, 1, f"not determined by the data: {shown}")
    chosen: list[Verdict] = [VERDICTS[g] for g in grade]
    return chosen, ["; ".join(r) if r else "inside the measured range" for r in reasons]


def _doublings(count: float) -> str:
    shown = f"{count:.1f}".removesuffix(".0")
    return f"{shown} doubling" + ("" if shown == "1" else "s")


def _percent(logarithm: float) -> str:
    return f"{100.0 * float(np.expm1(logarithm)):.0f} %"
