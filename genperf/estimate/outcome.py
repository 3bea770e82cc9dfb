"""The result of fitting one expression: a member, and the errors of its predictions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from genperf.errors import Note
from genperf.prediction import Evidence, Member, Spread
from genperf.table import Table

Array = npt.NDArray[np.float64]

#: Misfit of ln T where too few configurations are measured to estimate it: 10 %, a usual error of a fit inside its
#: range (`docs/results/generic.md`).
UNKNOWN_MISFIT = 0.1
#: Root mean square over mean absolute value of normal errors, about √(π/2).
RMS_OVER_MEAN = 1.25


@dataclass(frozen=True)
class GrowthSettings:
    """How errors grow beyond the largest measured scale."""

    #: Least share of the error at the largest scale that is attributed to the extrapolation, however large the misfit
    #: inside the range. A guess: errors that are all misfit would promise equal errors at any distance.
    min_share: float = 1.0 / 3.0


GROWTH = GrowthSettings()


@dataclass(frozen=True, eq=False)
class Estimate:
    """One fitted member with the errors of its predictions."""

    member: Member
    #: λ, as given or chosen.
    strength: float
    spread: Spread
    evidence: tuple[Evidence, ...]
    notes: tuple[Note, ...] = ()
    #: Mean relative error on configurations that a choice held out, where there was one.
    held_out: float | None = None
    #: What λ comes from, where it is not given.
    strength_by: str = "default"


def spread_of(table: Table, misfit: float, residuals: Array, constants: int, evidence: Sequence[Evidence]) -> Spread:
    """Estimate the errors of predictions that the draws do not contain.

    Parameters
    ----------
    table : Table
        With its repeats, which show the noise.
    misfit : float
        Root mean square of ln(measured/predicted) of held-out configurations; where it is not finite the residuals
        stand for it.
    residuals : ndarray of shape (rows,)
        ln(measured/fitted).
    constants : int
        Number of fitted constants.
    evidence : sequence of Evidence
        Largest scales predicted from smaller ones.
    """
    if not np.isfinite(misfit):
        freedom = max(1, residuals.size - constants)
        misfit = max(float(np.sqrt(np.sum(residuals**2) / freedom)), UNKNOWN_MISFIT)
    rates = [growth(RMS_OVER_MEAN * e.error, misfit, e.doublings) for e in evidence if e.doublings > 0]
    noise = table.noise()
    return Spread(
        noise=noise if np.isfinite(noise) else 0.0, misfit=misfit, per_doubling=max(rates) if rates else misfit
    )


def growth(error: float, misfit: float, doublings: float) -> float:
    """Return what each doubling adds to the standard deviation of ln T.

    Parameters
    ----------
    error : float
        Root mean square of ln(predicted/measured) at the largest scale, predicted from smaller ones.
    misfit : float
        The part of it that configurations inside the range have too; but a share `GrowthSettings.min_share` of the
        error always counts as growth.
    doublings : float
        log₂ of the largest scale over the next smaller one.

    Examples
    --------
    >>> round(growth(0.5, 0.4, 1.0), 6), round(growth(0.3, 0.4, 1.0), 6)
    (0.3, 0.1)
    """
    return math.sqrt(max(error**2 - misfit**2, (GROWTH.min_share * error) ** 2)) / doublings
