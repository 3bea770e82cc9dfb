"""Evenly spread points."""

import json
from pathlib import Path

import numpy as np

from genperf.arrays import Array, Integers

#: Binary digits of a point.
BITS = 30
#: Degree, coefficients and initial numbers of the polynomial of each dimension from the second on (Joe & Kuo 2008).
POLYNOMIALS: list[tuple[int, int, list[int]]] = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))


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
    """Return the direction numbers of a dimension, m_i shifted to the left by bits − 1 − i, shape (bits,).

    m_i = m_(i−s) ⊕ 2^s·m_(i−s) ⊕ 2·a_1·m_(i−1) ⊕ … ⊕ 2^(s−1)·a_(s−1)·m_(i−s+1)    with the degree s, coefficients a
    """
    degree, coefficients, initial = POLYNOMIALS[dimension - 1] if dimension else (0, 0, [1] * BITS)
    m = list(initial)
    for i in range(len(m), BITS):
        m.append(m[i - degree] ^ (m[i - degree] << degree))
        for j in range(1, degree):
            m[i] ^= (coefficients >> (degree - 1 - j) & 1) * (m[i - j] << j)
    return np.array([m[i] << (BITS - 1 - i) for i in range(BITS)], np.int64)
