"""Populations: where a search begins, and the best members of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from genperf.solver.problem import Problem

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PopulationSettings:
    """How the first population is spread."""

    #: Width of the search, in scales of the constant, on a side where the constant has no bound. A coefficient of one
    #: scale explains the whole mean value, so ten leave room for terms that cancel. A guess.
    unbounded_scales: float = 10.0
    #: Least number of members, so that problems of one or two constants are covered too. A guess.
    min_members: int = 24


POPULATION = PopulationSettings()


def box(problem: Problem) -> tuple[Array, Array]:
    """Return finite lower and upper bounds of the constants: a search needs a box to begin in."""
    width = POPULATION.unbounded_scales * problem.scale
    lower = np.where(np.isfinite(problem.lower), problem.lower, np.minimum(problem.upper, 0.0) - width)
    upper = np.where(np.isfinite(problem.upper), problem.upper, np.maximum(problem.lower, 0.0) + width)
    return lower, upper


def members_of(dimensions: int, per_dimension: int) -> int:
    """Return the size of a population."""
    return max(POPULATION.min_members, per_dimension * dimensions)


def first_populations(lower: Array, upper: Array, rngs: Sequence[np.random.Generator], per_dimension: int) -> Array:
    """Draw a Latin hypercube over the box for each generator.

    Parameters
    ----------
    lower, upper : ndarray of shape (d,)
        Corners of the box.
    rngs : sequence of Generator
        One for each population.
    per_dimension : int
        Members per dimension; there are at least `PopulationSettings.min_members`.

    Returns
    -------
    ndarray of shape (populations, members, d)

    Examples
    --------
    >>> members = first_populations(np.zeros(1), np.ones(1), [np.random.default_rng(0)], 4)[0, :, 0]
    >>> np.histogram(members, 24, (0.0, 1.0))[0].tolist() == [1] * 24
    True
    """
    d = lower.size
    size = members_of(d, per_dimension)
    cells = np.stack([np.argsort(rng.random((d, size)), axis=1).T + rng.random((size, d)) for rng in rngs])
    return np.asarray(lower + cells / size * (upper - lower))


def ranked(members: Array, costs: Array, places: int | npt.NDArray[np.intp]) -> Array:
    """Return the best members of every population, or those at given places of the ranking by cost.

    Parameters
    ----------
    members : ndarray of shape (populations, size, d)
    costs : ndarray of shape (populations, size)
    places : int or ndarray of int
        A number of members, best first; or places in the ranking, 0 the best.

    Returns
    -------
    ndarray of shape (populations, places, d)
    """
    order = np.argsort(costs, axis=1, kind="stable")
    order = order[:, :places] if isinstance(places, int) else order[:, places]
    return np.take_along_axis(members, order[:, :, None], axis=1)


def down_the_ranking(size: int, count: int) -> npt.NDArray[np.intp]:
    """Return evenly spread places of a ranking, from the best to the last, so that several basins are polished.

    Examples
    --------
    >>> down_the_ranking(24, 4).tolist()
    [0, 7, 15, 23]
    """
    return np.unique(np.linspace(0, size - 1, count).astype(np.intp))
