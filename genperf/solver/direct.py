"""Differential evolution of every constant, as published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from genperf.solver.evolve import EVOLUTION
from genperf.solver.optima import AGREEMENT, Optima, Watch, optima_of
from genperf.solver.polish import polish
from genperf.solver.population import box, down_the_ranking, first_populations, ranked
from genperf.solver.problem import Problem

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class DirectSettings:
    """The search of all constants by differential evolution."""

    #: Population size divided by the number of constants. Storn & Price (1997) advise 5 to 10.
    members_per_constant: int = 8
    #: Members of the last population that are polished, spread over its ranking. A guess.
    polished_members: int = 8


DIRECT = DirectSettings()


def direct_search(problem: Problem, rngs: Sequence[np.random.Generator], given: Array, watch: Watch) -> Optima:
    """Search all constants with `scipy.optimize.differential_evolution` and polish some of the last population.

    Parameters
    ----------
    rngs : sequence of Generator
        One for each search.
    given : ndarray of shape (sets, n)
        Starts that are polished beside the searches.
    watch : callable
        Called with the least cost whenever costs were computed.
    """
    lower, upper = box(problem)
    populations = first_populations(lower, upper, rngs, DIRECT.members_per_constant)
    members, evaluations = [], 0
    for rng, population in zip(rngs, populations, strict=True):
        last, spent = _evolved(problem, (lower, upper), rng, population, watch)
        members.append(last)
        evaluations += spent
    polished = polish(problem, np.vstack([given, *members]), watch=watch)
    return optima_of(polished, len(given), len(rngs), evaluations)


def _evolved(
    problem: Problem, bounds: tuple[Array, Array], rng: np.random.Generator, population: Array, watch: Watch
) -> tuple[Array, int]:
    """Evolve one population until its best cost stops falling."""
    # It takes a quarter of a second to import, and only this solver needs it.
    from scipy.optimize import Bounds, differential_evolution

    history: list[float] = []
    last: dict[str, Array] = {}

    def after_generation(intermediate_result: OptimizeResult) -> None:
        history.append(float(intermediate_result.fun))
        watch(history[-1])
        last["population"] = np.array(intermediate_result.population)
        last["energies"] = np.array(intermediate_result.population_energies)
        patience = EVOLUTION.patience
        if len(history) > patience and history[-1] > (1.0 - AGREEMENT.relative_cost) * history[-1 - patience]:
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
        maxiter=EVOLUTION.max_generations,
        mutation=EVOLUTION.mutation,
        recombination=EVOLUTION.crossover,
        tol=AGREEMENT.relative_cost,
        polish=False,
        vectorized=True,
        updating="deferred",
        rng=rng,
        callback=after_generation,
    )
    places = down_the_ranking(len(population), DIRECT.polished_members)
    return ranked(last["population"][None], last["energies"][None], places)[0], evaluations
