"""Differential evolution: first populations, their evolution, and their best members."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from genperf.arrays import Array, Index
from genperf.solver.problem import Problem


@dataclass(frozen=True)
class EvolutionSettings:
    """Differential evolution, best/1/bin with dither."""

    #: Range of the factor of the step between two members; drawn anew for every population and generation (dither).
    #: scipy's default is 0.5 to 1; a little lower converges sooner. A guess.
    mutation: tuple[float, float] = (0.4, 0.9)
    #: Chance of each coordinate to come from the mutant. Large values speed convergence (Storn & Price 1997). A guess.
    crossover: float = 0.8
    #: Generations without a lower best cost after which a population has converged. A guess.
    patience: int = 12
    #: Bounds the time; populations converge long before. A guess.
    max_generations: int = 400
    #: Width of the search, in scales of the constant, on a side where the constant has no bound. A coefficient of one
    #: scale explains the whole mean value, so ten leave room for terms that cancel. A guess.
    unbounded_scales: float = 10.0
    #: Least number of members, so that problems of one or two constants are covered too. A guess.
    min_members: int = 24


EVOLUTION = EvolutionSettings()


def evolve(
    cost: Callable[[Array], Array],
    populations: Array,
    costs: Array,
    bounds: tuple[Array, Array],
    rngs: Sequence[np.random.Generator],
    tolerance: float,
) -> tuple[Array, Array, int]:
    """Evolve populations independently of each other, each until it has converged.

    Storn & Price (1997), best/1/bin with dither; a coordinate that leaves the box is drawn anew. A population has
    converged when all its costs agree to a share `tolerance`. It has also when its best cost fell by less than that in
    `EvolutionSettings.patience` generations. `scipy.optimize.differential_evolution` has one population; a few in one
    array cost little more than one.

    Parameters
    ----------
    populations : ndarray of shape (populations, size, d)
    costs : ndarray of shape (populations, size)
    bounds : pair of ndarray of shape (d,)

    Returns
    -------
    populations : ndarray of shape (populations, size, d)
    costs : ndarray of shape (populations, size)

    Examples
    --------
    >>> rngs = [np.random.default_rng(i) for i in range(2)]
    >>> start = np.stack([rng.uniform(-4.0, 4.0, (20, 2)) for rng in rngs])
    >>> def bowl(x):
    ...     return 1.0 + np.sum((x - 1.0) ** 2, axis=1)
    >>> box = np.full(2, -4.0), np.full(2, 4.0)
    >>> _, costs, _ = evolve(bowl, start, bowl(start.reshape(-1, 2)).reshape(2, 20), box, rngs, 1e-3)
    >>> costs.min(axis=1).round(2).tolist()
    [1.0, 1.0]
    """
    populations, costs = populations.copy(), costs.copy()
    size, d = populations.shape[1:]
    active = np.arange(len(populations))
    history = [costs.min(axis=1)]
    evaluations = 0
    for generation in range(1, EVOLUTION.max_generations + 1):
        trials = np.stack([_trials(populations[i], costs[i], bounds, rngs[i]) for i in active.tolist()])
        trial_costs = cost(trials.reshape(-1, d)).reshape(len(active), size)
        evaluations += trial_costs.size
        better = trial_costs < costs[active]
        populations[active] = np.where(better[:, :, None], trials, populations[active])
        costs[active] = np.where(better, trial_costs, costs[active])
        history.append(costs.min(axis=1))
        converged = costs.max(axis=1) <= (1.0 + tolerance) * history[-1]
        if generation >= EVOLUTION.patience:
            converged |= history[-1] >= (1.0 - tolerance) * history[-1 - EVOLUTION.patience]
        active = active[~converged[active]]
        if active.size == 0:
            break
    return populations, costs, evaluations


def _trials(members: Array, costs: Array, bounds: tuple[Array, Array], rng: np.random.Generator) -> Array:
    """Return one trial for every member: near the best one, along the difference of two others."""
    size, d = members.shape
    index = np.arange(size)
    first = rng.integers(1, size, size)
    second = rng.integers(1, size - 1, size)
    second += second >= first
    step = members[(index + first) % size] - members[(index + second) % size]
    mutant = members[costs.argmin()] + rng.uniform(*EVOLUTION.mutation) * step
    crossed = rng.random((size, d)) < EVOLUTION.crossover
    crossed[index, rng.integers(0, d, size)] = True
    trial = np.where(crossed, mutant, members)
    lower, upper = bounds
    outside = (trial < lower) | (trial > upper)
    return np.where(outside, lower + rng.random((size, d)) * (upper - lower), trial)


def box_of(problem: Problem) -> tuple[Array, Array]:
    """Return finite lower and upper bounds of the constants: a search needs a box to begin in."""
    width = EVOLUTION.unbounded_scales * problem.scale
    lower = np.where(np.isfinite(problem.lower), problem.lower, np.minimum(problem.upper, 0.0) - width)
    upper = np.where(np.isfinite(problem.upper), problem.upper, np.maximum(problem.lower, 0.0) + width)
    return lower, upper


def members_of(dimensions: int, per_dimension: int) -> int:
    """Return the size of a population."""
    return max(EVOLUTION.min_members, per_dimension * dimensions)


def first_populations(lower: Array, upper: Array, rngs: Sequence[np.random.Generator], per_dimension: int) -> Array:
    """Draw a Latin hypercube over the box for each generator.

    Parameters
    ----------
    lower, upper : ndarray of shape (d,)
        Corners of the box.

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


def ranked(members: Array, costs: Array, places: int | Index) -> Array:
    """Return the best members of every population, or those at given places of the ranking by cost.

    Members have the shape (populations, size, d), and their costs (populations, size).
    """
    order = np.argsort(costs, axis=1, kind="stable")
    order = order[:, :places] if isinstance(places, int) else order[:, places]
    return np.take_along_axis(members, order[:, :, None], axis=1)


def down_the_ranking(size: int, count: int) -> Index:
    """Return evenly spread places of a ranking, from the best to the last, so that several basins are polished.

    Examples
    --------
    >>> down_the_ranking(24, 4).tolist()
    [0, 7, 15, 23]
    """
    return np.unique(np.linspace(0, size - 1, count).astype(np.intp))
