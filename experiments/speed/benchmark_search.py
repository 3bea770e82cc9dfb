"""One fit of `generic`: the search beside plain differential evolution, and its replicates.

The rows of `benchmark_engine.py` named `search` and `replicates`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from msgspec import field
from msgspec.structs import fields
from scipy.optimize import Bounds, OptimizeResult, differential_evolution

import genperf as gp
from experiments.speed.benchmarking import PEER_REPEATS, REPEATS, Row, median_time, show, timed
from genperf.estimate import FitOptions
from genperf.estimate.outcome import Fitted, resampled
from genperf.estimate.problem import problem_of
from genperf.expression import Expression
from genperf.models.generic import Structure, generic
from genperf.solver import Problem, solve
from genperf.solver.search import RESTARTS

STRUCTURES = ("separable", "per-term")
#: Where a search has no bound of its own, plain differential evolution is given that of `solver="de"`.
REACH = 10.0
#: How near the best known cost is near enough; starts of the search for that, and generations of plain evolution.
NEAR, STARTS, GENERATIONS = 1e-3, 15, 1000
REPLICATES = 1000


def cpu_problem(structure: str) -> tuple[Expression, Problem]:
    table = gp.datasets.load("pytorch_cpu")
    expression = generic(table.factors, Structure(structure))  # type: ignore[arg-type]
    return expression, problem_of(expression, table.medians(), FitOptions())


def plain_objective(structure: str) -> Callable[[np.ndarray], float]:
    """Write the cost as one would by hand: numpy over the rows, one set of constants at a time."""
    table = gp.datasets.load("pytorch_cpu")
    expression = generic(table.factors, Structure(structure))  # type: ignore[arg-type]
    medians, (_, problem) = table.medians(), cpu_problem(structure)
    names = list(expression.constant_names)
    scaled = {f.name: medians.columns[f.name] / float(f"{f.centre:.3g}") for f in table.factors}
    inside = [f.name for f in table.factors if f.role == "intrinsic"]
    workers, measured = scaled["workers"], medians.measured
    shared = "q_workers" in names
    at = {name: j for j, name in enumerate(names)}
    q = [at["q_workers" if shared else f"q_{f}_workers"] for f in inside]
    a, p = [at[f"a_{f}"] for f in inside], [at[f"p_{f}"] for f in inside]
    constant, columns = at["C"], [scaled[f] for f in inside]
    scale, penalised = problem.scale, problem.penalised

    def cost(x: np.ndarray) -> float:
        times = np.full(measured.size, x[constant])
        for i, column in enumerate(columns):
            times += x[a[i]] * column ** x[p[i]] * workers ** x[q[i]]
        return float(np.mean((times / measured - 1.0) ** 2) + 0.5e-4 * np.sum(np.where(penalised, x / scale, 0.0) ** 2))

    check = np.where(problem.coefficient, problem.scale * 0.3, 0.4)
    assert abs(cost(check) / problem.cost(check[None])[0] - 1.0) < 1e-9, "the two costs are not the same"
    return cost


def plain_evolution(problem: Problem, cost: Callable[[np.ndarray], float], goal: float, seed: int, most: int) -> Any:
    """Run scipy's differential evolution as it comes, until it reaches a cost or its own end."""
    reach = REACH * problem.scale
    lower = np.where(np.isfinite(problem.lower), problem.lower, -reach)
    upper = np.where(np.isfinite(problem.upper), problem.upper, reach)
    reached: list[float] = []
    start = time.process_time()

    def enough(intermediate_result: OptimizeResult) -> bool:
        if intermediate_result.fun <= goal and not reached:
            reached.append(time.process_time() - start)
        return bool(reached)

    found = differential_evolution(cost, Bounds(lower, upper), rng=seed, callback=enough, maxiter=most)
    return (reached[0] if reached else time.process_time() - start), float(found.fun), bool(reached)


@dataclass(frozen=True)
class Run:
    """A projected search: seconds to its own end, the cost there, and when it had seen which cost."""

    seconds: float
    cost: float
    seen: tuple[tuple[float, float], ...]

    def until(self, goal: float) -> float:
        """Return seconds until it first was at a cost or below; infinite where it never was."""
        return next((seconds for seconds, cost in self.seen if cost <= goal), np.inf)


class Watched(Problem):
    """A problem that keeps when it had seen which cost."""

    seen: list[tuple[float, float]] = field(default_factory=list)

    def _cost_of(self, *sets: Any) -> np.ndarray:
        cost = super()._cost_of(*sets)
        self.seen.append((time.process_time(), float(cost.min())))
        return cost


def watched(problem: Problem, seed: int, restarts: int) -> Run:
    of_search = Watched(**{each.name: getattr(problem, each.name) for each in fields(problem)})
    start = time.process_time()
    found = solve(of_search, seed=seed, restarts=restarts)
    seconds = time.process_time() - start
    return Run(seconds, found.cost, tuple((at - start, cost) for at, cost in of_search.seen))


def search() -> Iterator[Row]:
    for structure in STRUCTURES:
        (_, problem), cost = cpu_problem(structure), plain_objective(structure)
        best = solve(problem, seed=100, restarts=STARTS).cost
        runs = {
            restarts: [watched(problem, seed, restarts) for seed in range(n)]
            for restarts, n in ((1, 4 * REPEATS), (RESTARTS, 4 * REPEATS))
        }
        best = min([best, *(run.cost for some in runs.values() for run in some)])
        most, goal = GENERATIONS, (1.0 + NEAR) * best
        peers = [plain_evolution(problem, cost, goal, seed, most) for seed in range(PEER_REPEATS)]
        theirs = median(t for t, _, _ in peers)
        reached = sum(done for *_, done in peers)
        off = median(value for _, value, _ in peers) / best - 1.0
        for restarts, some in runs.items():
            worst = max(run.cost for run in some) / best - 1.0
            what = "one projected search" if restarts == 1 else f"a fit, which searches {restarts} times to see optima"
            for ours, until in (
                (median(run.seconds for run in some), "to its own end"),
                (median(run.until(goal) for run in some), "until it first is within 0.1 % of the best known cost"),
            ):
                yield Row(
                    f"`generic`, {structure} ({problem.start.size} constants), `pytorch_cpu.csv`: {what}, {until}, "
                    "against one plain `differential_evolution`",
                    f"{show(ours)}; at the end of {len(some)} at most {worst:.2%} above the best known",
                    f"{show(theirs)}; {reached} of {len(peers)} came within 0.1 %, the median ended {off:.1%} above",
                    f"{theirs / ours:.0f} × faster",
                    "≥ 50 ×, < 1 s, ≤ 0.1 %",
                    theirs / ours >= 50 and ours < 1.0 and worst <= NEAR,
                )


def replicates() -> Iterator[Row]:
    for structure in STRUCTURES:
        expression, problem = cpu_problem(structure)
        one, found = timed(lambda p=problem: solve(p))
        one = median([one, *(timed(lambda p=problem: solve(p))[0] for _ in range(REPEATS - 1))])
        fitted, counts = Fitted(expression, problem, found), resampled(problem.measured.size, REPLICATES)
        many = median_time(lambda f=fitted, c=counts: f.refit(c), REPEATS)
        yield Row(
            f"{REPLICATES} bootstrap replicates of the {structure} fit, against one fit",
            show(many),
            show(one),
            f"{many / one:.1f} × one fit",
            "< 20 ×",
            many / one < 20,
        )
