"""Sobol' points: evenly spread points of the unit cube, always the same ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import gammaincinv, ndtri

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class SobolSettings:
    """Settings of the sequence.

    Attributes
    ----------
    bits : int
        Binary digits of a point: 2^30 points differ, and sums stay exact in doubles.
    """

    bits: int = 30


SOBOL = SobolSettings()


@lru_cache(maxsize=1)
def _polynomials() -> tuple[tuple[int, int, tuple[int, ...]], ...]:
    """Return the degree, coefficients and initial numbers of each dimension's primitive polynomial."""
    return (
        (1, 0, (1,)),
        (2, 1, (1, 3)),
        (3, 1, (1, 3, 1)),
        (3, 2, (1, 1, 1)),
        (4, 1, (1, 1, 3, 3)),
        (4, 4, (1, 3, 5, 13)),
        (5, 2, (1, 1, 5, 5, 17)),
        (5, 4, (1, 1, 5, 5, 5)),
        (5, 7, (1, 1, 7, 11, 19)),
        (5, 11, (1, 1, 5, 1, 1)),
        (5, 13, (1, 1, 1, 3, 11)),
        (5, 14, (1, 3, 5, 5, 31)),
    )


def sobol(points: int, dimension: int) -> Array:
    """Return the first points of a Sobol' sequence, each moved to the middle of its cell.

    Parameters
    ----------
    points : int
        Best a power of two: every half, quarter, … of the cube then holds its share exactly.
    dimension : int
        At most 13.

    Returns
    -------
    ndarray of shape (points, dimension)
        Above 0 and below 1.

    Examples
    --------
    >>> sobol(4, 2)
    array([[0.125, 0.125],
           [0.625, 0.625],
           [0.875, 0.375],
           [0.375, 0.875]])
    """
    directions = np.stack([_directions(j) for j in range(dimension)], axis=1)
    number = np.zeros((points, dimension), np.int64)
    for i in range(1, points):
        # The lowest zero bit of i − 1 is the one that changes in Gray-code order.
        lowest = (~(i - 1) & i).bit_length() - 1
        number[i] = number[i - 1] ^ directions[lowest]
    return np.asarray((number / 2.0**SOBOL.bits + 0.5 / points) % 1.0)


def _directions(dimension: int) -> npt.NDArray[np.int64]:
    if dimension == 0:
        return np.array([1 << (SOBOL.bits - 1 - i) for i in range(SOBOL.bits)], np.int64)
    degree, coefficients, initial = _polynomials()[dimension - 1]
    m = list(initial)
    for i in range(degree, SOBOL.bits):
        value = m[i - degree] ^ (m[i - degree] << degree)
        for j in range(1, degree):
            if coefficients >> (degree - 1 - j) & 1:
                value ^= m[i - j] << j
        m.append(value)
    return np.array([m[i] << (SOBOL.bits - 1 - i) for i in range(SOBOL.bits)], np.int64)


@lru_cache(maxsize=64)
def student_points(points: int, dimension: int, freedom: float, shifts: int, seed: int = 0) -> Array:
    """Return points of a standard Student-t distribution, several sets of them.

    Parameters
    ----------
    points : int
        In a set.
    freedom : float
        Degrees of freedom.
    shifts : int
        Sets; each is the first one shifted around the unit cube.
    seed : int
        Of the shifts, in which error estimates differ. Fits always use 0.

    Returns
    -------
    ndarray of shape (shifts, points, dimension)
    """
    shift = np.random.default_rng([seed, dimension]).random((shifts, 1, dimension + 1))
    uniform = (sobol(points, dimension + 1) + shift) % 1.0
    uniform = np.clip(uniform, 1e-9, 1.0 - 1e-9)
    scale = np.sqrt(0.5 * freedom / gammaincinv(0.5 * freedom, uniform[..., -1:]))
    drawn = np.asarray(ndtri(uniform[..., :-1]) * scale)
    drawn.flags.writeable = False
    return drawn
