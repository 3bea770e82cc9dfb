"""What the data says of each constant: whether it determines it, and whether a bound does."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from genperf.expression import Expression
from genperf.solver import Problem

Array = npt.NDArray[np.float64]

#: Directions in which the times move by less than this share of the largest are not determined by the data.
FLAT = 1e-5
#: A constant that makes up at least this share of such a direction is named.
PART = 0.05


def at_bounds(problem: Problem, expression: Expression, constants: Array) -> tuple[str, ...]:
    """Name the constants that ended at a bound, coefficients at zero included."""
    room = 1e-6 * np.where(np.isfinite(problem.upper - problem.lower), problem.upper - problem.lower, problem.scale)
    held = (constants <= problem.lower + room) | (constants >= problem.upper - room)
    return tuple(c.name for c, at in zip(expression.constants, held, strict=True) if at and c.lower < c.upper)


def unidentified(
    problem: Problem, expression: Expression, constants: Array, held: npt.NDArray[np.bool_] | None = None
) -> tuple[str, ...]:
    """Name the constants that the data does not determine, given those that are held.

    The derivatives of the relative times by the constants (on their scales) span the directions the data sees; a
    constant that takes part in a direction with (nearly) no derivative can be changed, together with the others in it,
    without changing any predicted time. The exponents of a term whose coefficient is zero are such constants.
    """
    _, slopes = problem.jacobian(constants[None, :])
    size = np.maximum(np.abs(constants), problem.scale * np.where(problem.coefficient, 1e-3, 1.0))
    J = slopes[0] * size / problem.measured[:, None]
    free = np.ones(constants.size, bool) if held is None else ~held
    flat = np.zeros(constants.size, bool)
    flat[free] = undetermined(J[None, :, free])[0]
    return tuple(c.name for c, is_flat in zip(expression.constants, flat, strict=True) if is_flat)


def undetermined(slopes: Array) -> npt.NDArray[np.bool_]:
    """Tell which constants take part in a direction in which nothing moves.

    Parameters
    ----------
    slopes : ndarray of shape (sets, rows, n)
        Derivatives of the relative times by the constants on their scales.

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
    flat = padded <= FLAT * np.maximum(padded.max(axis=1, keepdims=True), 1e-300)
    part = np.einsum("sd,sdn->sn", flat.astype(float), directions**2)
    return np.asarray(part > PART)
