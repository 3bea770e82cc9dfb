"""Evenly spread points."""

import json
from pathlib import Path

import numpy as np

from genperf.arrays import Array

#: Direction numbers of each dimension (Joe & Kuo 2008), of so many binary digits, shape (digits, dimensions): those of
#: scipy, whose import takes half a second.
DIRECTIONS = np.array(json.loads(Path(__file__).with_suffix(".json").read_text("utf-8")), np.int64).T


def sobol(points: int, dimension: int) -> Array:
    """Return the first points of a Sobol' sequence, each moved to the middle of its cell, shape (points, dimension).

    The points are a power of two: every half, quarter, … of the cube then holds its share exactly.
    """
    before = np.arange(points - 1)
    # The lowest zero bit of the number before is the one that changes in Gray-code order.
    lowest = np.log2(~before & (before + 1)).astype(int)
    steps = np.concatenate([np.zeros((1, dimension), np.int64), DIRECTIONS[lowest, :dimension]])
    return np.asarray(np.bitwise_xor.accumulate(steps, axis=0) / 2.0 ** len(DIRECTIONS) + 0.5 / points)
