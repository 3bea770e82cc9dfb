"""Differential evolution of several populations at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

#: The step between two members is scaled by a number drawn from here in every generation (dither).
MUTATION = (0.4, 0.9)
#: Chance of each coordinate to come from the mutant.
CROSSOVER = 0.8
#: A population rests when its best cost has not fallen in this many generations.
PATIENCE = 12
MOST_GENERATIONS = 400


def evolve(
    cost: Callable[[Array], Array],
    populations: Array,
    costs: Array,
    bounds: tuple[Array, Array],
    rngs: Sequence[np.random.Generator],
    agree: float,
) -> tuple[Array, Array, int]:
    """Evolve populations that know nothing of each other, each until it rests.

    Storn & Price (1997), best/1/bin with dither; a coordinate that leaves the box is drawn anew. A population rests
    when its best cost has not fallen by a share `agree` in `PATIENCE` generations, or all its costs agree to it.
    `scipy.optimize.differential_evolution` has one population; a few in one array cost little more than one.

    Parameters
    ----------
    cost : callable
        Members (any number, d) → costs.
    populations : ndarray of shape (populations, size, d)
    costs : ndarray of shape (populations, size)
    bounds : pair of ndarray of shape (d,)
    rngs : sequence of Generator
        One for each population: what it does depends on no other.
    agree : float

    Returns
    -------
    populations : ndarray of shape (populations, size, d)
    costs : ndarray of shape (populations, size)
    evaluations : int

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
    moving = np.arange(len(populations))
    history = [costs.min(axis=1)]
    evaluations = 0
    for generation in range(1, MOST_GENERATIONS + 1):
        trials = np.stack([_trials(populations[i], costs[i], bounds, rngs[i]) for i in moving.tolist()])
        found = cost(trials.reshape(-1, d)).reshape(len(moving), size)
        evaluations += found.size
        better = found < costs[moving]
        populations[moving] = np.where(better[:, :, None], trials, populations[moving])
        costs[moving] = np.where(better, found, costs[moving])
        history.append(costs.min(axis=1))
        rests = costs.max(axis=1) <= (1.0 + agree) * history[-1]
        if generation >= PATIENCE:
            rests |= history[-1] >= (1.0 - agree) * history[-1 - PATIENCE]
        moving = moving[~rests[moving]]
        if moving.size == 0:
            break
    return populations, costs, evaluations


def _trials(members: Array, costs: Array, bounds: tuple[Array, Array], rng: np.random.Generator) -> Array:
    """Return one trial for every member: near the best one, along the difference of two others."""
    size, d = members.shape
    own = np.arange(size)
    first = rng.integers(1, size, size)
    second = rng.integers(1, size - 1, size)
    second += second >= first
    step = members[(own + first) % size] - members[(own + second) % size]
    mutant = members[costs.argmin()] + rng.uniform(*MUTATION) * step
    crossed = rng.random((size, d)) < CROSSOVER
    crossed[own, rng.integers(0, d, size)] = True
    trial = np.where(crossed, mutant, members)
    lower, upper = bounds
    outside = (trial < lower) | (trial > upper)
    return np.where(outside, lower + rng.random((size, d)) * (upper - lower), trial)
