"""The search behind `optimize`: a model over a space, block by block, and what is told of the configurations found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.advice.front import Front
from genperf.advice.objective import Problem, value
from genperf.advice.space import Columns, Space
from genperf.attribution.draws import log_paths, shares
from genperf.errors import GenperfError
from genperf.formula import Formula, Name
from genperf.prediction import central_times
from genperf.result import FitResult

Array = npt.NDArray[np.float64]
Positions = npt.NDArray[np.int64]
Truth = npt.NDArray[np.bool_]

#: Configurations evaluated at once, and values of draws at once where a central time needs all draws.
BLOCK, DRAWN = 1 << 16, 1 << 22
#: Of such a model more configurations than this are refused: each takes about as long as a thousand of another.
MOST_DRAWN = 100_000


@dataclass(eq=False)
class Found:
    """What an evaluation of the whole grid leaves: the feasible configurations with a finite objective."""

    excludes: npt.NDArray[np.int64]
    alone: npt.NDArray[np.int64]
    feasible: int = 0
    blank: int = 0
    late: int = 0
    fastest: float = np.inf
    front: Front = field(default_factory=Front)
    positions: Positions = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    objective: Array = field(default_factory=lambda: np.empty(0))

    def in_order(self) -> Positions:
        """Return the positions, the best first."""
        return np.asarray(self.positions[np.argsort(self.objective, kind="stable")])


@dataclass(frozen=True, eq=False)
class Search:
    """A model, a space and a problem."""

    result: FitResult
    space: Space
    problem: Problem
    interval: float
    deadline: float | None

    def run(self) -> Found:
        """Evaluate the grid, block by block."""
        count = len(self.problem.constraints)
        found = Found(np.zeros(count, np.int64), np.zeros(count, np.int64))
        positions, objectives = [], []
        size, rows = self.space.grid.size, self._rows()
        self._check_drawn()
        for start in range(0, size, rows):
            at, objective = self._block(start, min(start + rows, size), found)
            positions.append(at)
            objectives.append(objective)
        found.positions, found.objective = np.concatenate(positions), np.concatenate(objectives)
        return found

    @property
    def _walks(self) -> bool:
        """Whether a central time is a median over all draws."""
        return any(m.series_discrepancy is not None for m in self.result.members)

    @property
    def _draws(self) -> int:
        return sum(len(m.draws) for m in self.result.members)

    def _rows(self) -> int:
        return max(256, min(BLOCK, DRAWN // self._draws)) if self._walks else BLOCK

    def _check_drawn(self) -> None:
        """Refuse what would take hours, after a look at what the constraints leave."""
        size = self.space.grid.size
        if not self._walks or size <= MOST_DRAWN:
            return
        untimed = [c.formula for c in self.problem.constraints if not c.timed]
        left = 0
        for start in range(0, size, BLOCK):
            stop = min(start + BLOCK, size)
            columns, holds = self.space.block(start, stop), np.ones(stop - start, bool)
            for formula in untimed:
                holds &= _holds(formula, columns, stop - start)
            left += int(holds.sum())
        if left > MOST_DRAWN:
            raise GenperfError(
                f"every time of this model is a median over {self._draws:,} draws, and {left:,} configurations are to "
                f"be evaluated; at most {MOST_DRAWN:,} are",
                hint="vary fewer values (workers=1:256:*2), add a constraint, or fit one family",
            )

    def _block(self, start: int, stop: int, found: Found) -> tuple[Positions, Array]:
        """Return the configurations of a block that may be answers, with their objective."""
        columns = self.space.block(start, stop)
        positions = np.arange(start, stop)
        untimed = [c for c in self.problem.constraints if not c.timed]
        fails = [~_holds(c.formula, columns, len(positions)) for c in untimed]
        columns, positions = _keep(columns, positions, self._count(found, 0, fails, len(positions)))
        if not positions.size:
            return positions, np.empty(0)
        timed = self.timed(columns)
        some = [c for c in self.problem.constraints if c.timed]
        fails = [~_holds(c.formula, timed, len(positions)) for c in some]
        timed, positions = _keep(timed, positions, self._count(found, len(untimed), fails, len(positions)))
        found.feasible += positions.size
        objective, total = value(self.problem.objective, timed), value(self.problem.total, timed)
        objective = np.broadcast_to(objective, positions.shape)
        finite = np.isfinite(objective) & np.isfinite(total)
        found.blank += int(np.sum(~finite))
        if self.problem.cost is not None:
            cost = np.broadcast_to(value(self.problem.cost, timed), positions.shape)
            shown = finite & np.isfinite(cost)
            found.front.add(total[shown], cost[shown], positions[shown])
        if self.deadline is not None:
            found.fastest = min(found.fastest, float(total[finite].min(initial=np.inf)))
            late = finite & (total > self.deadline)
            found.late += int(late.sum())
            finite &= ~late
        return positions[finite], objective[finite]

    def _count(self, found: Found, first: int, fails: Sequence[Truth], rows: int) -> Truth:
        """Count what each constraint excludes, and return which rows all of them leave."""
        number = np.zeros(rows, np.int16)
        for failed in fails:
            number += failed
        for j, failed in enumerate(fails, start=first):
            found.excludes[j] += int(failed.sum())
            found.alone[j] += int(np.sum(failed & (number == 1)))
        return np.asarray(number == 0)

    def timed(self, columns: Columns) -> Columns:
        """Return configurations with their times, and their times on one worker where something reads these."""
        timed: Columns = {**columns, "time": central_times(self.result.members, self._read(columns))}
        if self.problem.needs_alone:
            alone = self._read(self.space.alone(columns, self.problem.alone))
            timed["time_1"] = central_times(self.result.members, alone)
        return timed

    def drawn(self, columns: Columns) -> Columns:
        """Return configurations with the times of every draw, shape (draws, rows), in the place of the central ones."""
        drawn: Columns = {**columns, "time": np.exp(log_paths(self.result, self._read(columns)))}
        if self.problem.needs_alone:
            alone = self._read(self.space.alone(columns, self.problem.alone))
            drawn["time_1"] = np.exp(log_paths(self.result, alone))
        return drawn

    def _read(self, columns: Columns) -> Columns:
        return {name: columns[name] for name in self.space.factors}

    def answers(self, positions: Positions) -> pd.DataFrame:
        """Return configurations with everything that is told of them."""
        columns = self.space.take(positions)
        timed = self.timed(columns)
        predicted = self.result.predict(self.space.frame(columns), self.interval)
        frame = pd.DataFrame({a.name: columns[a.name] for a in self.space.grid.axes})
        frame["objective"] = np.broadcast_to(value(self.problem.objective, timed), positions.shape)
        frame = frame.assign(**{name: predicted[name].to_numpy() for name in ("time", "lower", "upper")})
        if self.problem.total.node != Name("time"):
            frame["total"] = value(self.problem.total, timed)
        if self.problem.cost is not None:
            frame["cost"] = np.broadcast_to(value(self.problem.cost, timed), positions.shape)
        return frame.assign(verdict=predicted["verdict"].to_numpy(), reason=predicted["reason"].to_numpy())

    def latest(self, frame: pd.DataFrame, positions: Positions) -> Array:
        """Return the upper ends of the total times."""
        columns = self.space.take(positions)
        return np.asarray(value(self.problem.total, {**columns, "time": frame["upper"].to_numpy(dtype=float)}))

    def wins(self, positions: Positions) -> Array:
        """Return the share of the ensemble's draws in which each configuration is the best of these.

        Draws in which several are equally good are shared between them.
        """
        objective = value(self.problem.objective, self.drawn(self.space.take(positions)))
        share = shares(self.result.members)
        drawn = np.broadcast_to(objective, (share.size, positions.size))
        drawn = np.where(np.isfinite(drawn), drawn, np.inf)
        least = drawn == drawn.min(axis=1, keepdims=True)
        return np.asarray(share @ (least / least.sum(axis=1, keepdims=True)))


def _holds(formula: Formula, columns: Columns, rows: int) -> Truth:
    holds = formula.evaluate({name: columns[name] for name in formula.names})
    return np.asarray(np.broadcast_to(holds, rows), bool)


def _keep(columns: Columns, positions: Positions, kept: Truth) -> tuple[Columns, Positions]:
    if kept.all():
        return columns, positions
    return {name: values[kept] for name, values in columns.items()}, positions[kept]
