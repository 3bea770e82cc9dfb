"""Evenly spread points."""

import numpy as np

from genperf.arrays import Array, Integers

#: Binary digits of a point.
BITS = 30
#: Degree, coefficients and initial numbers of the polynomial of each dimension from the second on (Joe & Kuo 2008).
POLYNOMIALS = (
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
    (6, 1, (1, 3, 3, 9, 7, 49)),
    (6, 13, (1, 1, 1, 15, 21, 21)),
    (6, 16, (1, 3, 1, 13, 27, 49)),
    (6, 19, (1, 1, 1, 15, 7, 5)),
    (6, 22, (1, 3, 1, 15, 13, 25)),
    (6, 25, (1, 1, 5, 5, 19, 61)),
    (7, 1, (1, 3, 7, 11, 23, 15, 103)),
    (7, 4, (1, 3, 7, 13, 13, 15, 69)),
    (7, 7, (1, 1, 3, 13, 7, 35, 63)),
    (7, 8, (1, 3, 5, 9, 1, 25, 53)),
    (7, 14, (1, 3, 1, 13, 9, 35, 107)),
    (7, 19, (1, 3, 1, 5, 27, 61, 31)),
    (7, 21, (1, 1, 5, 11, 19, 41, 61)),
    (7, 28, (1, 3, 5, 3, 3, 13, 69)),
)


def sobol(points: int, dimension: int) -> Array:
    """Return the first points of a Sobol' sequence, each moved to the middle of its cell, shape (points, dimension).

    The points are a power of two: every half, quarter, … of the cube then holds its share exactly.
    """
    if dimension > len(POLYNOMIALS) + 1:
        from scipy.stats.qmc import Sobol  # half a second to import

        return np.asarray(Sobol(dimension, scramble=False).random(points) + 0.5 / points)
    directions = np.stack([_directions(j) for j in range(dimension)], axis=1)
    before = np.arange(points - 1)
    # The lowest zero bit of the number before is the one that changes in Gray-code order.
    lowest = np.log2(~before & (before + 1)).astype(int)
    steps = np.concatenate([np.zeros((1, dimension), np.int64), directions[lowest]])
    return np.asarray(np.bitwise_xor.accumulate(steps, axis=0) / 2.0**BITS + 0.5 / points)


def _directions(dimension: int) -> Integers:
    """Return the direction numbers of a dimension, shape (bits,)."""
    degree, coefficients, initial = POLYNOMIALS[dimension - 1] if dimension else (0, 0, (1,) * BITS)
    m = list(initial)
    for i in range(len(m), BITS):
        m.append(m[i - degree] ^ (m[i - degree] << degree))
        for j in range(1, degree):
            m[i] ^= (coefficients >> (degree - 1 - j) & 1) * (m[i - j] << j)
    return np.array([m[i] << (BITS - 1 - i) for i in range(BITS)], np.int64)
