"""Diagnosis of fitted constants: which the data determines, and which are at a bound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from genperf.expression import Expression
from genperf.solver import Problem

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class DiagnosisSettings:
    """When a constant counts as held by a bound, or as not determined."""

    #: Singular value over the largest one below which a direction is not determined: the predictions move so little
    #: along it. A guess, well above rounding.
    flat_ratio: float = 1e-5
    #: Share of such a direction from which a constant takes part in it. A guess.
    min_share: float = 0.05
    #: Distance from a bound, as a share of the range (or of the scale), within which a constant is at the bound.
    bound_room: float = 1e-6
    #: Size of a coefficient of zero, in its scale: its column of the derivatives would vanish otherwise.
    least_size: float = 1e-3


DIAGNOSIS = DiagnosisSettings()


def at_bounds(problem: Problem, expression: Expression, constants: Array) -> tuple[str, ...]:
    """Name the constants that ended at a bound, coefficients at zero included.

    Parameters
    ----------
    constants : ndarray of shape (n,)
    """
    held = near_bounds(constants, (problem.lower, problem.upper), problem.scale)
    return tuple(c.name for c, at in zip(expression.constants, held, strict=True) if at and c.lower < c.upper)


def near_bounds(constants: Array, bounds: tuple[Array, Array], scale: Array) -> npt.NDArray[np.bool_]:
    """Return which constants are at a bound but for rounding.

    Parameters
    ----------
    constants : ndarray of shape (..., n)
    bounds : pair of ndarray of shape (n,)
    scale : ndarray of shape (..., n)
        Stands for the range where it is infinite.

    Returns
    -------
    ndarray of bool of shape (..., n)
    """
    lower, upper = bounds
    room = DIAGNOSIS.bound_room * np.where(np.isfinite(upper - lower), upper - lower, scale)
    return np.asarray((constants <= lower + room) | (constants >= upper - room))


def unidentified(
    problem: Problem, expression: Expression, constants: Array, held: npt.NDArray[np.bool_] | None = None
) -> tuple[str, ...]:
    """Name the constants that the data does not determine.

    The derivatives of the relative predictions by the constants (on their scales) span the directions that the data
    determines. Along a direction with (nearly) no derivative the constants can change together without changing any
    prediction. The exponents of a term whose coefficient is zero are such constants.

    Parameters
    ----------
    constants : ndarray of shape (n,)
    held : ndarray of bool of shape (n,), optional
        Constants that are known, and not judged.
    """
    _, slopes = problem.jacobian(constants[None, :])
    size = np.maximum(np.abs(constants), problem.scale * np.where(problem.coefficient, DIAGNOSIS.least_size, 1.0))
    J = slopes[0] * size / problem.measured[:, None]
    free = np.ones(constants.size, bool) if held is None else ~held
    flat = np.zeros(constants.size, bool)
    flat[free] = undetermined(J[None, :, free])[0]
    return tuple(c.name for c, is_flat in zip(expression.constants, flat, strict=True) if is_flat)


def undetermined(slopes: Array) -> npt.NDArray[np.bool_]:
    """Return which constants take part in a direction along which no prediction moves.

    Parameters
    ----------
    slopes : ndarray of shape (sets, rows, n)
        Derivatives of the relative predictions by the constants on their scales.

    Returns
    -------
    ndarray of bool of shape (sets, n)

    Examples
    --------
    >>> undetermined(np.array([[[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]]]))
    array([[ True,  True, False]])
    """
    sets, rows, n = slopes.shape
    J = np.where(np.isfinite(slopes), slopes, 0.0)
    _, singular, directions = np.linalg.svd(J, full_matrices=rows < n)
    padded = np.zeros((sets, n))
    padded[:, : singular.shape[1]] = singular
    flat = padded <= DIAGNOSIS.flat_ratio * np.maximum(padded.max(axis=1, keepdims=True), 1e-300)
    share = np.einsum("sd,sdn->sn", flat.astype(float), directions**2)
    return np.asarray(share > DIAGNOSIS.min_share)
