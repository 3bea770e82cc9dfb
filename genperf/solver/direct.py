"""Differential evolution of every constant, as published."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, OptimizeResult, differential_evolution

from genperf.solver.evolve import CROSSOVER, MOST_GENERATIONS, MUTATION, PATIENCE
from genperf.solver.found import AGREE, Found, Watch, found
from genperf.solver.polish import polish
from genperf.solver.population import box, down_the_ranking, first_populations, ranked
from genperf.solver.problem import Problem

Array = npt.NDArray[np.float64]

#: Members of a population, for each constant.
SIZE = 8
#: Members of the last population that are polished.
POLISHED = 8


def direct_search(problem: Problem, rngs: Sequence[np.random.Generator], given: Array, watch: Watch) -> Found:
    """Let `scipy.optimize.differential_evolution` search all constants, and polish what it leaves.

    Parameters
    ----------
    problem : Problem
    rngs : sequence of Generator
        One for each search.
    given : ndarray of shape (sets, n)
        Polished beside.
    watch : callable
        Is told of costs as they are found.
    """
    lower, upper = box(problem)
    populations = first_populations(lower, upper, rngs, SIZE)
    members, spent = [], 0
    for rng, population in zip(rngs, populations, strict=True):
        last, evaluations = _evolved(problem, (lower, upper), rng, population, watch)
        members.append(last)
        spent += evaluations
    return found(polish(problem, np.vstack([given, *members]), watch=watch), len(given), len(rngs), spent)


def _evolved(
    problem: Problem, bounds: tuple[Array, Array], rng: np.random.Generator, population: Array, watch: Watch
) -> tuple[Array, int]:
    """Evolve a population until its best cost rests; return some of the last one, and the evaluations."""
    history: list[float] = []
    last: dict[str, Array] = {}

    def each(intermediate_result: OptimizeResult) -> None:
        history.append(float(intermediate_result.fun))
        watch(history[-1])
        last["population"] = np.array(intermediate_result.population)
        last["energies"] = np.array(intermediate_result.population_energies)
        if len(history) > PATIENCE and history[-1] > (1.0 - AGREE) * history[-1 - PATIENCE]:
            raise StopIteration

    evaluations = 0

    def cost(x: Any, /) -> Any:
        nonlocal evaluations
        evaluations += x.shape[1]
        return problem.cost(np.asarray(x, float).T)

    differential_evolution(
        cost,
        Bounds(*bounds),
        init=population,
        maxiter=MOST_GENERATIONS,
        mutation=MUTATION,
        recombination=CROSSOVER,
        tol=AGREE,
        polish=False,
        vectorized=True,
        updating="deferred",
        rng=rng,
        callback=each,
    )
    places = down_the_ranking(len(population), POLISHED)
    return ranked(last["population"][None], last["energies"][None], places)[0], evaluations
