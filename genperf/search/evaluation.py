"""The search behind `optimize`: a model evaluated at every point of a space, block by block."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from msgspec import Struct, field

from genperf.arrays import Array, Index, Mask
from genperf.attribution.draws import curves_of, shares
from genperf.errors import GenperfError
from genperf.formula import Formula, Name, Number
from genperf.panel.quantities import beside
from genperf.prediction import Query, central_times, predicted_columns
from genperf.prediction.predict import THROUGHPUT, central_values
from genperf.result import FitResult
from genperf.search.problem import TRUSTED, Goal, SearchProblem, value
from genperf.search.space import Columns, Space

#: The names of the limits that intervals and verdicts decide.
DEADLINE, BUDGET, CAPACITY, VERDICT = "the deadline", "the budget", "the capacity", "the verdict"


# How much is evaluated at once, and in all.
#: Configurations evaluated at once: 65,536 rows of a dozen columns stay in the processor's cache.
BLOCK_ROWS = 1 << 16
#: Draws × configurations at once, where a central value needs all draws: 4 million take 32 MB.
BLOCK_VALUES = 1 << 22
#: Configurations in a block at least, however many draws there are.
LEAST_BLOCK_ROWS = 256
#: Objectives that agree in so many digits are equal: what is left are rounding errors.
TIED_DIGITS = 9
#: More are refused where a central value needs all draws: 10,000 take 13 seconds (experiments/results/optimize.md).
MAX_DRAWN_CONFIGURATIONS = 100_000


#: The cost where no machines are counted.
ZERO = Formula("0", Number(0.0))
#: Draws of alternatives together: a probability of one half is then known to half a per cent.
JOINT_DRAWS = 10_000


def front_of(times: Array, costs: Array) -> Index:
    """Return the places of a Pareto front of two numbers in order of the first; of equal points the earliest."""
    order = np.lexsort((costs, times))
    least = np.minimum.accumulate(costs[order])
    return np.asarray(order[least < np.append(np.inf, least[:-1])])


class Evaluation(Struct, eq=False):
    """The whole grid, evaluated: the feasible configurations with a finite objective."""

    #: Shape (constraints,). How many configurations fail each constraint, and how many fail it and no other.
    excludes: Index
    only_this: Index
    #: Configurations that satisfy all constraints, and whose central time keeps the deadline.
    feasible: int = 0
    #: Feasible ones without a finite prediction or objective.
    not_finite: int = 0
    #: Otherwise feasible ones whose central time is after the deadline.
    late: int = 0
    #: The least total time of those that satisfy all constraints.
    fastest: float = np.inf
    #: `unfit`, `uncertain`: configurations that satisfy all constraints but may fail; and how many of them are
    #: uncertain.
    unfit: int = 0
    uncertain: int = 0
    #: The largest probability of fitting of those left out.
    likeliest: float = 0.0
    #: Shape (3, points). The Pareto front of total time against cost: both, and where the points stand in the grid.
    front: Array = field(default_factory=lambda: np.empty((3, 0)))
    #: Shape (candidates,). Where the feasible ones with a finite objective stand in the grid, the late ones left out.
    positions: Index = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    #: `objective`, `cost`: shape (candidates,). The cost is 0 where no machines are counted.
    objective: Array = field(default_factory=lambda: np.empty(0))
    cost: Array = field(default_factory=lambda: np.empty(0))

    def count(self, places: slice, fails: Mask) -> Mask:
        """Count what the constraints at some places exclude, and return which rows all of them leave."""
        number = fails.sum(axis=0, dtype=np.int16)
        self.excludes[places] += fails.sum(axis=1)
        self.only_this[places] += np.sum(fails & (number == 1), axis=1)
        return np.asarray(number == 0)

    def add_to_front(self, points: Array) -> None:
        """Take in points whose positions are larger than those of the points before."""
        both = np.hstack([self.front, points])
        self.front = both[:, front_of(*both[:2])]


class Search(Struct, frozen=True, eq=False):
    """A model, a space and a problem."""

    result: FitResult
    space: Space
    problem: SearchProblem
    #: Nominal coverage.
    interval: float
    goal: Goal

    def run(self) -> Evaluation:
        """Evaluate the grid, block by block: first the constraints that read no prediction, then what they leave."""
        count = len(self.problem.constraints)
        evaluation = Evaluation(np.zeros(count, np.intp), np.zeros(count, np.intp))
        grid, rows = np.arange(self.space.size), BLOCK_ROWS
        if self.problem.simple:
            blocks_of_grid = []
            for block in _blocks(grid, rows):
                fails = _fails(self.problem.simple, self.space.take(block), block.shape)
                blocks_of_grid.append(block[evaluation.count(np.s_[: len(fails)], fails)])
            grid = np.concatenate(blocks_of_grid)
        # The draws of all members, where a central time is a median over them.
        draws = sum(len(m.draws) for m in self.result.members)
        if any(m.discrepancy is not None for m in self.result.members):
            if len(grid) > MAX_DRAWN_CONFIGURATIONS:
                raise GenperfError(
                    f"every prediction of this model is a median over {draws:,} draws, and {len(grid):,} "
                    f"configurations are to be evaluated; at most {MAX_DRAWN_CONFIGURATIONS:,} are",
                    hint="vary fewer values (workers=1:256:*2), add a constraint, or fit one family",
                )
            rows = max(LEAST_BLOCK_ROWS, min(rows, BLOCK_VALUES // draws))
        if grid.size:
            blocks = [self._answers(block, evaluation) for block in _blocks(grid, rows)]
            evaluation.positions, evaluation.objective, evaluation.cost = map(np.concatenate, zip(*blocks, strict=True))
        return evaluation

    def _answers(self, positions: Index, evaluation: Evaluation) -> tuple[Index, Array, Array]:
        """Return the configurations of a block that may be answers, with their objective and their cost."""
        problem, shape = self.problem, positions.shape
        predicted = self.predicted(self.space.take(positions))
        satisfies = evaluation.count(np.s_[len(problem.simple) :], _fails(problem.further, predicted, shape))
        satisfies &= self._fitting(predicted, satisfies, evaluation)
        formulas = (problem.objective, problem.total, problem.cost or ZERO)
        objective, total, cost = (np.broadcast_to(value(formula, predicted), shape) for formula in formulas)
        finite = satisfies & np.isfinite(objective) & np.isfinite(total)
        if problem.cost is not None:
            plotted = finite & np.isfinite(cost)
            evaluation.add_to_front(np.array([total[plotted], cost[plotted], positions[plotted]]))
        late = finite & (total > (self.goal.deadline or np.inf))
        evaluation.fastest = min(evaluation.fastest, float(total[finite].min(initial=np.inf)))
        evaluation.not_finite += int(np.sum(satisfies & ~finite))
        evaluation.late += int(late.sum())
        evaluation.feasible += int(np.sum(satisfies & ~late))
        answers = finite & ~late
        return positions[answers], objective[answers], cost[answers]

    def _fitting(self, columns: Columns, satisfies: Mask, evaluation: Evaluation) -> Mask:
        """Return which configurations are likely enough to fit, and count the others that satisfy the constraints."""
        feasibility, least = self.result.feasibility, self.goal.fits
        if feasibility is None:
            return satisfies
        factors = self._factors(columns)
        probability, fails = feasibility.probability(factors), feasibility.known_to_fail(factors)
        left_out = satisfies & (fails | (probability < least))
        evaluation.unfit += int(left_out.sum())
        evaluation.uncertain += int(np.sum(left_out & ~fails & (probability > 1.0 - least)))
        evaluation.likeliest = max(evaluation.likeliest, float(probability[left_out].max(initial=0.0)))
        return ~left_out

    def predicted(self, columns: Columns) -> Columns:
        """Return configurations with their predictions, and those on one worker where a formula reads these."""
        factors = self._factors(columns)
        further = central_values(self.result, factors, len(next(iter(columns.values()))))
        return {**self._with(columns, lambda f: central_times(self.result.members, f)), **further}

    def drawn(self, columns: Columns) -> Columns:
        """Return configurations with the predictions of every draw, each of shape (draws, rows).

        A further quantity has other draws: each draw of the main one is paired with one of them by their shares.
        """
        out = self._with(columns, lambda factors: np.exp(curves_of(self.result, factors).paths))
        count = len(shares(self.result.members))
        for place, (name, further_result) in enumerate(self.result.further.items()):
            if self.problem.reads(name):
                share = shares(further_result.members)
                pairs = np.random.default_rng((self.result.seed, place)).choice(len(share), size=count, p=share)
                out[name] = np.exp(curves_of(further_result, self._factors(columns)).paths)[pairs]
        return out

    def _with(self, columns: Columns, predict: Callable[[Columns], Array]) -> Columns:
        problem = self.problem
        out: Columns = {**columns, problem.predicted: predict(self._factors(columns))}
        if problem.reads(problem.on_one_worker):
            reduced = self.space.reduced(columns, problem.one_worker)
            out[problem.on_one_worker] = predict(self._factors(reduced))
        return out

    def _factors(self, columns: Columns) -> Columns:
        return {name: columns[name] for name in self.space.factors}

    def answers(self, positions: Index) -> pd.DataFrame:
        """Return the rows of `Optimum.best` for some positions, without `wins`."""
        columns, problem = self.space.take(positions), self.problem
        central, answer = self.predicted(columns), self._judged(columns, self.interval)
        cells: Columns = {name: columns[name] for name in self.space.axes}
        sign = 1.0 if self.goal.maximize is None else -1.0
        cells["objective"] = sign * np.broadcast_to(value(problem.objective, central), positions.shape)
        if problem.throughput is not None:
            # The longest time is the smallest throughput.
            for rate, end in zip(THROUGHPUT, (problem.predicted, "upper", "lower"), strict=True):
                cells[rate] = value(problem.throughput, {**columns, problem.predicted: answer[end]})
        fits = ["fits"] if self.result.feasibility is not None else []
        cells |= {n: answer[n] for n in (problem.predicted, "lower", "upper", *self.result.further_names, *fits)}
        if problem.total.node != Name(problem.predicted):
            cells["total"] = value(problem.total, central)
        if problem.cost is not None:
            cells["cost"] = np.broadcast_to(value(problem.cost, central), positions.shape)
        ends = [answer[end] for end in (problem.predicted, "lower", "upper")]
        cells |= {n: v for n, v in beside(self.result.panel, columns, ends).items() if n not in cells}
        return pd.DataFrame({**cells, "verdict": answer["verdict"], "reason": answer["reason"]})

    def _judged(self, columns: Columns, interval: float) -> Columns:
        """Return the predictions of configurations, with the ends of their intervals and with verdicts."""
        query = Query(len(next(iter(columns.values()))), self._factors(columns))
        return predicted_columns(self.result, query, interval, "prediction")

    def keeps(self, frame: pd.DataFrame, positions: Index) -> dict[str, Mask]:
        """Return which answers keep each limit that an interval or a verdict decides, by the limit's name."""
        limits: dict[str, Mask] = {}
        if self.goal.deadline is not None:
            limits[DEADLINE] = self.latest(frame, positions) <= self.goal.deadline
        if self.goal.budget is not None:
            most = frame["cost"] * frame["upper"] / frame[self.problem.predicted]
            limits[BUDGET] = most.to_numpy(dtype=float) <= self.goal.budget
        if self.goal.capacity:
            predicted = self._judged(self.space.take(positions), self.goal.interval_of_capacity)
            uppers = {
                n: predicted["upper" if n == self.problem.predicted else f"{n}_upper"] for n in self.goal.capacity
            }
            limits[CAPACITY] = np.logical_and.reduce([uppers[n] <= most for n, most in self.goal.capacity.items()])
        if self.goal.trusted:
            limits[VERDICT] = frame["verdict"].isin(TRUSTED).to_numpy(dtype=bool)
        return limits

    def latest(self, frame: pd.DataFrame, positions: Index) -> Array:
        """Return the upper ends of the total times."""
        columns = self.space.take(positions)
        upper = frame["upper"].to_numpy(dtype=float)
        return np.asarray(value(self.problem.total, {**columns, self.problem.predicted: upper}))

    def wins(self, positions: Index) -> Array:
        """Return the share of the draws in which each configuration is the best feasible one; ties share a draw."""
        return np.asarray(shares(self.result.members) @ winners(self._objectives(positions)))

    def meets(self, positions: Index) -> Array:
        """Return the share of the ensemble's draws in which each configuration meets the conditions on predictions."""
        share = shares(self.result.members)
        breaking = self._breaking(self.drawn(self.space.take(positions)), (share.size, positions.size))
        return np.asarray(np.minimum(share @ ~breaking, 1.0))

    def _breaking(self, columns: Columns, shape: tuple[int, int]) -> Mask:
        """Return where a draw breaks a condition that reads the prediction."""
        return np.asarray(_fails(self.problem.further, columns, shape).any(axis=0))

    def regret(self, positions: Index, probability: float) -> float:
        """Return by which share the first configuration is worse than the best of these, at most with a probability."""
        drawn, share = self._objectives(positions), shares(self.result.members)
        least = drawn.min(axis=1)
        with np.errstate(all="ignore"):
            worse = np.where(drawn[:, 0] == least, 0.0, np.abs(drawn[:, 0] - least) / np.abs(least))
        worse = np.where(np.isfinite(least), worse, np.inf)
        order = np.argsort(worse, kind="stable")
        place = min(int(np.searchsorted(np.cumsum(share[order]), probability)), len(order) - 1)
        return float(worse[order][place])

    def joint(self, positions: Index, draws: int, seed: tuple[int, ...]) -> Array:
        """Return the objective in so many draws of the ensemble, by their shares, shape (draws, rows)."""
        share = shares(self.result.members)
        chosen = np.random.default_rng((self.result.seed, *seed)).choice(share.size, size=draws, p=share)
        return self._objectives(positions)[chosen]

    def _objectives(self, positions: Index) -> Array:
        """Return the objective of every draw, infinite where it is not finite or not feasible, shape (draws, rows)."""
        columns = self.drawn(self.space.take(positions))
        shape = (shares(self.result.members).size, positions.size)
        objective = np.broadcast_to(value(self.problem.objective, columns), shape)
        feasible = np.isfinite(objective) & ~self._breaking(columns, shape)
        if self.goal.deadline is not None:
            feasible = feasible & (np.broadcast_to(value(self.problem.total, columns), shape) <= self.goal.deadline)
        return np.where(feasible, objective, np.inf)


def best_first(objective: Array, cost: Array) -> Index:
    """Return the places of objectives from the least on; of equal ones, but for rounding errors, the cheapest first."""
    with np.errstate(divide="ignore"):
        digit = 10.0 ** (np.floor(np.log10(np.abs(objective))) - TIED_DIGITS)
    rounded = np.where(digit > 0.0, np.round(objective / np.where(digit > 0.0, digit, 1.0)) * digit, objective)
    return np.lexsort((cost, rounded))


def winners(drawn: Array) -> Array:
    """Return whether each row has the least finite objective of each draw, shape (draws, rows); ties share one."""
    least = drawn.min(axis=1, keepdims=True)
    with np.errstate(all="ignore"):
        tied = np.isfinite(least) & np.isclose(drawn, least, rtol=10.0**-TIED_DIGITS, atol=0.0)
    return np.asarray(tied / np.maximum(tied.sum(axis=1, keepdims=True), 1))


def _blocks(positions: Index, rows: int) -> list[Index]:
    """Return positions in blocks of so many at most."""
    return [positions[start : start + rows] for start in range(0, len(positions), rows)]


def _fails(formulas: Sequence[Formula], columns: Columns, shape: tuple[int, ...]) -> Mask:
    """Return whether each comparison does not hold, shape (comparisons, *shape)."""
    fails = np.empty((len(formulas), *shape), dtype=bool)
    for row, formula in zip(fails, formulas, strict=True):
        row[:] = value(formula, columns) == 0.0
    return fails
