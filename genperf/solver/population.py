"""Populations: where a search begins, and the best of what it holds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from genperf.solver.problem import Problem

Array = npt.NDArray[np.float64]

#: Where a constant has no bound of its own, a search goes to this many times its scale.
REACH = 10.0
#: A population has at least this many members.
SMALLEST = 24


def box(problem: Problem) -> tuple[Array, Array]:
    """Return bounds that are finite: a search has to begin somewhere."""
    reach = REACH * problem.scale
    lower = np.where(np.isfinite(problem.lower), problem.lower, np.minimum(problem.upper, 0.0) - reach)
    upper = np.where(np.isfinite(problem.upper), problem.upper, np.maximum(problem.lower, 0.0) + reach)
    return lower, upper


def first_populations(lower: Array, upper: Array, rngs: Sequence[np.random.Generator], per_dimension: int) -> Array:
    """Spread a population over the box for each generator, Latin hypercubes of shape (populations, members, d).

    Examples
    --------
    >>> members = first_populations(np.zeros(1), np.ones(1), [np.random.default_rng(0)], 4)[0, :, 0]
    >>> np.histogram(members, 24, (0.0, 1.0))[0].tolist() == [1] * 24
    True
    """
    d = lower.size
    size = max(SMALLEST, per_dimension * d)
    cells = np.stack([np.argsort(rng.random((d, size)), axis=1).T + rng.random((size, d)) for rng in rngs])
    return np.asarray(lower + cells / size * (upper - lower))


def ranked(members: Array, costs: Array, places: int | npt.NDArray[np.intp]) -> Array:
    """Return the first few members of every population by cost, or those at some places of the ranking.

    Parameters
    ----------
    members : ndarray of shape (populations, size, d)
    costs : ndarray of shape (populations, size)
    places : int or ndarray of int
    """
    order = np.argsort(costs, axis=1, kind="stable")
    order = order[:, :places] if isinstance(places, int) else order[:, places]
    return np.take_along_axis(members, order[:, :, None], axis=1)


def down_the_ranking(size: int, count: int) -> npt.NDArray[np.intp]:
    """Return the place of the best and of others down to the last, so that several basins are polished.

    Examples
    --------
    >>> down_the_ranking(24, 4).tolist()
    [0, 7, 15, 23]
    """
    return np.unique(np.linspace(0, size - 1, count).astype(np.intp))
