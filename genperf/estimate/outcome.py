"""What a fit of one expression hands back, and the errors it is known to make."""

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

#: Used where too few configurations are measured to see the misfit: one tenth.
UNKNOWN_MISFIT = 0.1
#: Of what the largest scale was missed by, at least this share is put down to the growth, however large the misfit.
GROWTH = 1.0 / 3.0
#: Root mean square over mean absolute value, where errors are normal.
ROUND = 1.25


@dataclass(frozen=True, eq=False)
class Estimate:
    """One fitted member with what is known of its errors.

    Attributes
    ----------
    member : Member
    strength : float
        λ, as given or chosen.
    spread : Spread
    evidence : tuple of Evidence
    notes : tuple of Note
    """

    member: Member
    strength: float
    spread: Spread
    evidence: tuple[Evidence, ...]
    notes: tuple[Note, ...] = ()


def spread_of(table: Table, misfit: float, residuals: Array, constants: int, evidence: Sequence[Evidence]) -> Spread:
    """Gather what predictions of a fit err by beside its draws.

    Parameters
    ----------
    table : Table
        With its repeats, which tell the noise.
    misfit : float
        Of configurations that replicates did not see; where it is not finite the residuals stand for it.
    residuals : ndarray of shape (rows,)
        ln(measured/fitted).
    constants : int
        How many were fitted.
    evidence : sequence of Evidence
    """
    if not np.isfinite(misfit):
        freedom = max(1, residuals.size - constants)
        misfit = max(float(np.sqrt(np.sum(residuals**2) / freedom)), UNKNOWN_MISFIT)
    steps = [growth(ROUND * seen.error, misfit, seen.doublings) for seen in evidence if seen.doublings > 0]
    noise = table.noise()
    return Spread(
        noise=noise if np.isfinite(noise) else 0.0, misfit=misfit, per_doubling=max(steps) if steps else misfit
    )


def growth(error: float, misfit: float, doublings: float) -> float:
    """Return what each doubling adds to the standard deviation of ln T.

    Parameters
    ----------
    error : float
        Root mean square of ln(predicted/measured) at the largest scale, predicted from smaller ones.
    misfit : float
        The part of it that configurations inside the range have too; but a share `GROWTH` of the error is always put
        down to the growth.
    doublings : float
        How far the prediction went.

    Examples
    --------
    >>> round(growth(0.5, 0.4, 1.0), 6), round(growth(0.3, 0.4, 1.0), 6)
    (0.3, 0.1)
    """
    return math.sqrt(max(error**2 - misfit**2, (GROWTH * error) ** 2)) / doublings
