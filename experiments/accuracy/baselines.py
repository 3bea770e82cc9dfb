"""What one would use in the place of genperf: non-negative least squares over columns, and a random forest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import nnls

from genperf.arrays import Array


def least_squares(fitted: Array, t: Array, asked: Array) -> Array:
    """Return what non-negative least squares of the relative error predict: columns of what is fitted, and asked."""
    constants, _ = nnls(fitted / t[:, None], np.ones_like(t))
    return np.asarray(asked @ constants)


def linear(columns: Callable[[Array], Array]) -> Callable[[Array, Array, Array], Array]:
    """Return the least squares over columns of the counts."""
    return lambda n, t, asked: least_squares(columns(n), t, columns(asked))


def random_forest(n: Array, t: Array, asked: Array) -> Array:
    from sklearn.ensemble import RandomForestRegressor

    forest = RandomForestRegressor(50, random_state=0).fit(np.log(n)[:, None], np.log(t))
    return np.exp(forest.predict(np.log(asked)[:, None]))
