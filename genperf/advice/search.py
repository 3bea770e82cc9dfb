"""The search behind `optimize`: a model evaluated at every point of a space, block by block."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from genperf.advice.problem import TRUSTED, Goal, Problem, value
from genperf.advice.space import Columns, Space
from genperf.arrays import Array, Index, Mask
from genperf.attribution.draws import curves_of, shares
from genperf.errors import GenperfError
from genperf.formula import Formula, Name
from genperf.prediction import central_times
from genperf.prediction.predict import ENDS, THROUGHPUT, central_values
from genperf.result import FitResult
from genperf.table.cells import with_columns

#: The names of the limits that intervals and verdicts decide.
DEADLINE, BUDGET, CAPACITY, VERDICT = "the deadline", "the budget", "the capacity", "the verdict"


@dataclass(frozen=True)
class SearchSettings:
    """How much is evaluated at once, and in all."""

    #: Configurations evaluated at once: 65,536 rows of a dozen columns stay in the processor's cache.
    block_rows: int = 1 << 16
    #: Draws × configurations at once, where a central value needs all draws: 4 million take 32 MB.
    block_values: int = 1 << 22
    #: Configurations in a block at least, however many draws there are.
    least_rows: int = 256
    #: Objectives that agree in so many digits are equal: what is left are rounding errors.
    tied_digits: int = 9
    #: More are refused where a central value needs all draws: 10,000 take 13 seconds (docs/results/optimize.md).
    max_drawn_configurations: int = 100_000


SEARCH = SearchSettings()
#: Draws of alternatives together: a probability of one half is then known to half a per cent.
JOINT_DRAWS = 10_000


class Front:
    """The points than which no other point is smaller in one quantity and not larger in the other: a Pareto front.

    Points are added block by block; `first` rises, `second` falls, and `positions` are where they came from, of equal
    points the first.

    Examples
    --------
    >>> front = Front()
    >>> front.add(np.array([1.0, 2.0, 3.0]), np.array([9.0, 9.5, 4.0]), np.arange(3))
    >>> front.add(np.array([2.5]), np.array([5.0]), np.array([3]))
    >>> front.positions
    array([0, 3, 2])
    """

    def __init__(self) -> None:
        self.first: Array = np.empty(0)
        self.second: Array = np.empty(0)
        self.positions: Index = np.empty(0, dtype=np.intp)

    def add(self, first: Array, second: Array, positions: Index) -> None:
        """Take in a block of points, whose positions are larger than those of the blocks before."""
        # Most points of a later block are beaten by the front there is: they need no sorting.
        left = np.searchsorted(self.first, first, side="right") - 1
        least = np.where(left >= 0, self.second[np.maximum(left, 0)] if self.second.size else np.inf, np.inf)
        kept = second < least
        x = np.concatenate([self.first, first[kept]])
        y = np.concatenate([self.second, second[kept]])
        where = np.concatenate([self.positions, positions[kept]])
        order = np.lexsort((where, y, x))
        falling = y[order]
        best_before = np.concatenate([[np.inf], np.minimum.accumulate(falling)[:-1]]) if falling.size else falling
        chosen = order[falling < best_before]
        self.first, self.second, self.positions = x[chosen], y[chosen], where[chosen]


def front_of(first: Array, second: Array, positions: Index) -> Index:
    """Return the positions of the Pareto front of some points."""
    front = Front()
    front.add(first, second, positions)
    return front.positions


@dataclass(eq=False)
class Evaluation:
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
    #: The least total time of those that satisfy all constraints; infinite where there is no deadline.
    fastest: float = np.inf
    #: `unfit`, `uncertain`: configurations that satisfy all constraints but may fail; and how many of them are
    #: uncertain.
    unfit: int = 0
    uncertain: int = 0
    #: The largest probability of fitting of those left out.
    likeliest: float = 0.0
    #: Of total time against cost.
    front: Front = field(default_factory=Front)
    #: Shape (candidates,). Where the feasible ones with a finite objective stand in the grid, the late ones left out.
    positions: Index = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    #: `objective`, `cost`: shape (candidates,). The cost is 0 where no machines are counted.
    objective: Array = field(default_factory=lambda: np.empty(0))
    cost: Array = field(default_factory=lambda: np.empty(0))

    def in_order(self) -> Index:
        """Return the positions, the best first; of equal objectives, but for rounding errors, the cheapest first."""
        return np.asarray(self.positions[best_first(self.objective, self.cost)])

    def count(self, first: int, fails: Sequence[Mask], rows: int) -> Mask:
        """Count what each constraint from place `first` on excludes, and return which rows all of them leave."""
        number = np.zeros(rows, np.int16)
        for failed in fails:
            number += failed
        for j, failed in enumerate(fails, start=first):
            self.excludes[j] += int(failed.sum())
            self.only_this[j] += int(np.sum(failed & (number == 1)))
        return np.asarray(number == 0)


@dataclass(frozen=True, eq=False)
class Search:
    """A model, a space and a problem."""

    result: FitResult
    space: Space
    problem: Problem
    #: Nominal coverage.
    interval: float
    goal: Goal

    def run(self) -> Evaluation:
        """Evaluate the grid, block by block."""
        count = len(self.problem.constraints)
        evaluation = Evaluation(np.zeros(count, np.intp), np.zeros(count, np.intp))
        size, rows = self.space.grid.size, SEARCH.block_rows
        if self._walks:
            self._check_drawn()
            rows = max(SEARCH.least_rows, min(rows, SEARCH.block_values // self._walks))
        blocks = [self._block(start, min(start + rows, size), evaluation) for start in range(0, size, rows)]
        evaluation.positions, evaluation.objective, evaluation.cost = map(np.concatenate, zip(*blocks, strict=True))
        return evaluation

    @property
    def _walks(self) -> int:
        """The draws of all members where a central time is a median over them; else 0."""
        members = self.result.members
        return sum(len(m.draws) for m in members) if any(m.discrepancy is not None for m in members) else 0

    def _check_drawn(self) -> None:
        """Refuse what would take hours, after a look at what the constraints leave."""
        size = self.space.grid.size
        if size <= SEARCH.max_drawn_configurations:
            return
        left = 0
        for start in range(0, size, SEARCH.block_rows):
            stop = min(start + SEARCH.block_rows, size)
            columns, holds = self.space.take(np.arange(start, stop)), np.ones(stop - start, bool)
            for formula in self.problem.simple:
                holds &= _holds(formula, columns, stop - start)
            left += int(holds.sum())
        if left > SEARCH.max_drawn_configurations:
            raise GenperfError(
                f"every prediction of this model is a median over {self._walks:,} draws, and {left:,} configurations "
                f"are to be evaluated; at most {SEARCH.max_drawn_configurations:,} are",
                hint="vary fewer values (workers=1:256:*2), add a constraint, or fit one family",
            )

    def _block(self, start: int, stop: int, evaluation: Evaluation) -> tuple[Index, Array, Array]:
        """Return the configurations of a block that may be answers, with their objective and their cost."""
        positions = np.arange(start, stop)
        columns = self.space.take(positions)
        fails = [~_holds(formula, columns, len(positions)) for formula in self.problem.simple]
        columns, positions = _keep(columns, positions, evaluation.count(0, fails, len(positions)))
        if not positions.size:
            return positions, np.empty(0), np.empty(0)
        predicted = self.predicted(columns)
        first = len(fails)
        fails = [~_holds(formula, predicted, len(positions)) for formula in self.problem.further]
        predicted, positions = _keep(predicted, positions, evaluation.count(first, fails, len(positions)))
        predicted, positions = _keep(predicted, positions, self._fitting(predicted, evaluation))
        evaluation.feasible += positions.size
        objective, total = value(self.problem.objective, predicted), value(self.problem.total, predicted)
        objective = np.broadcast_to(objective, positions.shape)
        finite = np.isfinite(objective) & np.isfinite(total)
        evaluation.not_finite += int(np.sum(~finite))
        cost = np.zeros(positions.shape)
        if self.problem.cost is not None:
            cost = np.array(np.broadcast_to(value(self.problem.cost, predicted), positions.shape))
            shown = finite & np.isfinite(cost)
            evaluation.front.add(total[shown], cost[shown], positions[shown])
        if self.goal.deadline is not None:
            evaluation.fastest = min(evaluation.fastest, float(total[finite].min(initial=np.inf)))
            late = finite & (total > self.goal.deadline)
            evaluation.late += int(late.sum())
            evaluation.feasible -= int(late.sum())
            finite &= ~late
        return positions[finite], objective[finite], cost[finite]

    def _fitting(self, columns: Columns, evaluation: Evaluation) -> Mask:
        """Return which configurations are likely enough to fit, and count the others."""
        feasibility, least = self.result.feasibility, self.goal.fits
        if feasibility is None:
            return np.ones(len(next(iter(columns.values()))), dtype=bool)
        probability = feasibility.probability(self._factors(columns))
        fails = feasibility.known_to_fail(self._factors(columns))
        left_out = fails | (probability < least)
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
        for place, (name, one) in enumerate(self.result.further.items()):
            if self.problem.reads(name):
                share = shares(one.members)
                pairs = np.random.default_rng((self.result.seed, place)).choice(len(share), size=count, p=share)
                out[name] = np.exp(curves_of(one, self._factors(columns)).paths)[pairs]
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
        columns = self.space.take(positions)
        central = self.predicted(columns)
        answer = self.result.predict(self.space.frame(columns), self.interval)
        name = self.problem.predicted
        frame = pd.DataFrame({a.name: columns[a.name] for a in self.space.grid.axes})
        sign = 1.0 if self.goal.maximize is None else -1.0
        frame["objective"] = sign * np.broadcast_to(value(self.problem.objective, central), positions.shape)
        ends = {column: answer[column].to_numpy(dtype=float) for column in (name, "lower", "upper")}
        if self.problem.throughput is not None:
            # The longest time is the smallest throughput.
            for rate, end in zip(THROUGHPUT, (name, "upper", "lower"), strict=True):
                frame[rate] = value(self.problem.throughput, {**columns, name: ends[end]})
        further = [f"{one}{end}" for one in self.result.further for end in ENDS]
        frame = with_columns(frame, {**ends, **{column: answer[column].to_numpy() for column in further}})
        if self.result.feasibility is not None:
            frame["fits"] = answer["fits"].to_numpy()
        if self.problem.total.node != Name(name):
            frame["total"] = value(self.problem.total, central)
        if self.problem.cost is not None:
            frame["cost"] = np.broadcast_to(value(self.problem.cost, central), positions.shape)
        return frame.assign(verdict=answer["verdict"].to_numpy(), reason=answer["reason"].to_numpy())

    def keeps(self, frame: pd.DataFrame, positions: Index) -> dict[str, Mask]:
        """Return which answers keep each limit that an interval or a verdict decides, by the limit's name."""
        limits: dict[str, Mask] = {}
        if self.goal.deadline is not None:
            limits[DEADLINE] = self.latest(frame, positions) <= self.goal.deadline
        if self.goal.budget is not None:
            most = frame["cost"] * frame["upper"] / frame[self.problem.predicted]
            limits[BUDGET] = most.to_numpy(dtype=float) <= self.goal.budget
        if self.goal.capacity:
            rows = self.space.frame(self.space.take(positions))
            predicted = self.result.predict(rows, self.goal.interval_of_capacity)
            keeps = [
                predicted["upper" if name == self.problem.predicted else f"{name}_upper"] <= most
                for name, most in self.goal.capacity.items()
            ]
            limits[CAPACITY] = np.logical_and.reduce([k.to_numpy(dtype=bool) for k in keeps])
        if self.goal.trusted:
            limits[VERDICT] = frame["verdict"].isin(TRUSTED).to_numpy(dtype=bool)
        return limits

    def latest(self, frame: pd.DataFrame, positions: Index) -> Array:
        """Return the upper ends of the total times."""
        columns = self.space.take(positions)
        upper = frame["upper"].to_numpy(dtype=float)
        return np.asarray(value(self.problem.total, {**columns, self.problem.predicted: upper}))

    def wins(self, positions: Index) -> Array:
        """Return the share of the ensemble's draws in which each configuration is the best of these that are feasible.

        A draw counts for each of those that are equally good in it, and for none where none is feasible.
        """
        return np.asarray(shares(self.result.members) @ winners(self._objectives(positions)))

    def regret(self, positions: Index, probability: float) -> float:
        """Return by which share the first configuration is worse than the best of these, at most with a probability.

        It is zero where it is the best in that share of the draws; infinite where it is infeasible in too many of them.
        """
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
        feasible = np.isfinite(objective)
        for formula in self.problem.further:
            feasible = feasible & _holds(formula, columns, shape)
        if self.goal.deadline is not None:
            feasible = feasible & (np.broadcast_to(value(self.problem.total, columns), shape) <= self.goal.deadline)
        return np.where(feasible, objective, np.inf)


def best_first(objective: Array, cost: Array) -> Index:
    """Return the places of objectives from the least on; of equal ones, but for rounding errors, the cheapest first."""
    with np.errstate(divide="ignore"):
        digit = 10.0 ** (np.floor(np.log10(np.abs(objective))) - SEARCH.tied_digits)
    rounded = np.where(digit > 0.0, np.round(objective / np.where(digit > 0.0, digit, 1.0)) * digit, objective)
    return np.lexsort((cost, rounded))


def winners(drawn: Array) -> Mask:
    """Return which rows have the least finite objective of each draw, shape (draws, rows)."""
    least = drawn.min(axis=1, keepdims=True)
    return np.asarray(np.isfinite(least) & np.isclose(drawn, least, rtol=10.0**-SEARCH.tied_digits, atol=0.0))


def _holds(formula: Formula, columns: Columns, shape: int | tuple[int, ...]) -> Mask:
    """Return whether a comparison holds, in each row."""
    return np.asarray(np.broadcast_to(value(formula, columns) != 0.0, shape))


def _keep(columns: Columns, positions: Index, kept: Mask) -> tuple[Columns, Index]:
    """Return some of the rows, and where they stand."""
    if kept.all():
        return columns, positions
    return {name: values[kept] for name, values in columns.items()}, positions[kept]
