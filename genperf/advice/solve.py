"""One model searched for its best configurations: the problem is read, the grid evaluated, the answers are ranked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from genperf.advice.front import Front
from genperf.advice.goal import Goal, capacity_constraints
from genperf.advice.objective import Job, Predicted, Problem, Vocabulary, read_problem
from genperf.advice.search import BUDGET, DEADLINE, Evaluation, Positions, Search
from genperf.advice.space import Space, in_model_names, levels_over, read_space
from genperf.errors import GenperfError, Note, counted
from genperf.formula import Node, names_in
from genperf.panel.work import samples_formula, work_of_step
from genperf.prediction import Schema
from genperf.result import FitResult, answering
from genperf.words.growth import price_text
from genperf.words.numbers import duration_text
from genperf.words.quantity import only_for_times


@dataclass(frozen=True)
class OptimumSettings:
    """How much of the best configurations is looked at and shown."""

    #: Configurations whose intervals are computed, at most, to keep a deadline: a second or two.
    max_intervals: int = 20_000
    #: Of a longer Pareto front so many are shown, evenly along it.
    shown_front: int = 50
    #: Intervals computed at once: twice the number of answers first, then doubled up to this many.
    max_block: int = 512


OPTIMUM = OptimumSettings()


@dataclass(frozen=True)
class Task:
    """What `optimize` is asked for."""

    over: Mapping[str, Any]
    where: Sequence[str]
    minimize: str | None
    job: Job
    goal: Goal
    interval: float
    top: int


@dataclass(frozen=True, eq=False)
class Solved:
    """The best configurations of one model."""

    #: With the problem as it was read.
    search: Search
    evaluation: Evaluation
    #: Shape (rows,). Of the best, in the grid.
    positions: Positions
    #: `best`, `front`: as in `Optimum`, without `wins`.
    best: pd.DataFrame
    front: pd.DataFrame
    #: What is least, or most.
    minimize: str
    notes: tuple[Note, ...] = field(default=())

    @property
    def excluded(self) -> pd.DataFrame:
        """What each constraint excludes."""
        return _excluded(self.search.problem, self.evaluation)


def solve(result: FitResult, task: Task, group: Mapping[str, str] | None = None) -> Solved:
    """Return the best configurations of one model.

    Parameters
    ----------
    group : mapping of str to str, optional
        The group's values, which formulas may read.

    Raises
    ------
    GenperfError
        Where no configuration is feasible.
    """
    result = answering(result, levels_over(task.over, result.schema))
    schema, goal, minimize = result.schema, task.goal, task.minimize
    _check_limits(schema, goal, task.job)
    constraints = [in_model_names(text, schema) for text in task.where]
    constraints += capacity_constraints(goal.capacity, schema, result.further)
    constraints += [] if goal.budget is None else [f"cost <= {goal.budget!r}"]
    job, work = _in_model_names(task.job, schema), work_of_step(result.panel, group)
    aims = [in_model_names(text, schema) for text in (minimize, goal.maximize) if text is not None]
    space = read_space(task.over, schema, [*constraints, *aims, *job.formulas], group)
    chosen = not aims and not job.sized and goal.deadline is None and _work_varies(schema, space, work, bool(group))
    if chosen:
        goal = replace(goal, maximize="throughput")
    if goal.maximize is not None:
        minimize = f"-({goal.maximize})"
    aim = schema.target.name if minimize is None else in_model_names(minimize, schema)
    predicted = Predicted(schema.target, tuple(result.further))
    words = Vocabulary(result.panel, tuple(space.names), tuple(space.texts), predicted, work)
    by_work = bool(schema.target.throughput) or "throughput" in aim
    per_unit = not job.sized and by_work and work is not None
    problem = read_problem(words, constraints, aim, job, per_unit=per_unit)
    search = Search(result, space, problem, task.interval, goal)
    evaluation = search.run()
    if not evaluation.positions.size:
        raise _nothing_feasible(search, evaluation)
    positions, best, notes = _best(search, evaluation, task.top)
    front, front_notes = _front(search, evaluation, positions)
    return Solved(
        search=search,
        evaluation=evaluation,
        positions=positions,
        best=best,
        front=front,
        minimize=goal.maximize or minimize or schema.target.name,
        notes=(
            *(_why_throughput(schema) if chosen else []),
            *_may_not_fit(search, evaluation),
            *_price(result, task.job),
            *_per_step(search, minimize, job),
            *_not_finite(evaluation),
            *notes,
            *front_notes,
        ),
    )


def _check_limits(schema: Schema, goal: Goal, job: Job) -> None:
    """Refuse a deadline of what has no duration, and a budget of what has no price."""
    for name, limit in (("deadline", goal.deadline), ("budget", goal.budget)):
        if limit is None:
            continue
        if not schema.target.is_time:
            raise GenperfError(only_for_times(f"{name}s", schema.target), hint=f"leave --{name} out")
        if schema.target.throughput and not job.sized:
            raise GenperfError(
                f"a {name} needs to know how much there is to do: a throughput was measured, and no step",
                hint="--samples N, in the unit of the throughput",
            )
    if goal.budget is not None and not job.priced:
        raise GenperfError("a budget needs a price", hint="--price 2/h, with --per COLUMN for what it is paid")


def _work_varies(schema: Schema, space: Space, work: Node | None, grouped: bool) -> bool:
    """Return whether steps may differ in their work, so that the shortest is not the best."""
    if work is None:
        return False
    if grouped and not names_in(work):
        return True
    read = set(names_in(work))
    for name in read & set(space.derived):
        read |= space.derived[name].names
    varied = {a.name for a in space.grid.axes if len(a.values) > 1}
    return bool(schema.target.throughput) or bool(read & varied)


def _in_model_names(job: Job, schema: Schema) -> Job:
    """Return a job whose formulas read the model's columns."""
    steps, per = (t if t is None else in_model_names(str(t), schema) for t in (job.steps, job.per))
    price = in_model_names(job.price, schema) if isinstance(job.price, str) else job.price
    return replace(job, steps=steps, per=per, price=price)


def _best(search: Search, evaluation: Evaluation, top: int) -> tuple[Positions, pd.DataFrame, list[Note]]:
    """Return the best configurations; of those that keep the limits where intervals or verdicts decide."""
    order = evaluation.in_order()
    if not search.goal.searched:
        return order[:top], search.answers(order[:top]), []
    kept: list[Positions] = []
    frames: list[pd.DataFrame] = []
    looked, size, count, alone = 0, 2 * top, 0, dict[str, int]()
    while count < top and looked < min(len(order), OPTIMUM.max_intervals):
        some = order[looked : looked + size]
        frame = search.answers(some)
        limits = search.keeps(frame, some)
        alone = {name: alone.get(name, 0) + int(kept_rows.sum()) for name, kept_rows in limits.items()}
        keeps = np.logical_and.reduce(list(limits.values()))
        kept.append(some[keeps])
        frames.append(frame[keeps])
        looked, count, size = looked + len(some), count + int(keeps.sum()), min(2 * size, OPTIMUM.max_block)
    if not count:
        raise _kept_by_none(search, evaluation, looked, alone)
    notes = []
    if count < top and looked < len(order):
        what = " and ".join(alone)
        text = f"only the {looked:,} best were looked at for {what}; {len(order) - looked:,} more may keep it"
        notes.append(Note(text, "not_all_looked_at"))
    return np.concatenate(kept)[:top], pd.concat(frames, ignore_index=True)[:top], notes


def _front(search: Search, evaluation: Evaluation, best: Positions) -> tuple[pd.DataFrame, list[Note]]:
    """Return the Pareto front of total time against cost, thinned where it is long, and notes."""
    positions, notes = evaluation.front.positions, list[Note]()
    if not positions.size:
        return pd.DataFrame(), []
    if search.goal.capacity or search.goal.trusted or search.goal.budget is not None:
        positions = _front_of_kept(search, np.union1d(positions, best))
    shown = OPTIMUM.shown_front
    if positions.size > shown:
        text = f"the Pareto front has {positions.size:,} configurations; {shown} along it are shown"
        notes.append(Note(text, "front_thinned"))
        positions = positions[np.linspace(0, positions.size - 1, shown).round().astype(int)]
    frame = search.answers(positions).drop(columns="objective")
    if search.deadline is not None:
        frame.insert(len(frame.columns) - 2, "keeps_deadline", search.latest(frame, positions) <= search.deadline)
    return frame, notes


def _front_of_kept(search: Search, positions: Positions) -> Positions:
    """Return the Pareto front of the configurations that keep all limits but the deadline, as the answers do."""
    frame = search.answers(positions)
    limits = [kept for name, kept in search.keeps(frame, positions).items() if name != DEADLINE]
    kept = np.logical_and.reduce(limits)
    name = search.problem.predicted.name
    front = Front()
    total = frame["total" if "total" in frame else name].to_numpy(float)
    front.add(total[kept], frame["cost"].to_numpy(float)[kept], positions[kept])
    return front.positions


def _excluded(problem: Problem, evaluation: Evaluation) -> pd.DataFrame:
    texts = [c.text for c in problem.constraints]
    return pd.DataFrame({"constraint": texts, "excludes": evaluation.excludes, "alone": evaluation.only_this})


def _nothing_feasible(search: Search, evaluation: Evaluation) -> GenperfError:
    """Return why no configuration is left: the constraint that excludes most, or the deadline."""
    size = search.space.grid.size
    if not evaluation.feasible and evaluation.unfit:
        return GenperfError(
            f"{counted(evaluation.unfit, 'configuration')} may fail, and no other satisfies the constraints; the "
            f"largest probability of fitting is {evaluation.likeliest:.2g}",
            hint="smaller values in --over, a lower --fits, or measure runs that fit",
        )
    if evaluation.late:
        return _late(search, evaluation, 0)
    if evaluation.feasible:
        return GenperfError(
            f"none of {evaluation.feasible:,} feasible configurations has a finite {search.problem.predicted.name} and "
            "objective",
            hint="ask nearer to the measured range",
        )
    excluded = _excluded(search.problem, evaluation)
    strictest = excluded.iloc[int(excluded["excludes"].argmax())]
    easiest = excluded.iloc[int(excluded["alone"].argmax())]
    hint = "relax it" if strictest["excludes"] < size else "relax it: nothing on this grid satisfies it"
    if easiest["alone"]:
        hint = f"without '{easiest['constraint']}' {easiest['alone']:,} would be left"
    return GenperfError(
        f"none of {size:,} configurations is feasible; '{strictest['constraint']}' excludes most, "
        f"{strictest['excludes']:,}",
        hint=hint,
    )


def _kept_by_none(search: Search, evaluation: Evaluation, looked: int, alone: Mapping[str, int]) -> GenperfError:
    """Return the error where no configuration keeps the limits that intervals and verdicts decide."""
    broken = next((name for name, count in alone.items() if not count), None)
    if broken == DEADLINE:
        return _late(search, evaluation, looked)
    if broken == BUDGET:
        return GenperfError(
            f"the upper end of the cost is above {search.goal.budget:g} for each of the {looked:,} cheapest",
            hint="a larger --budget, a smaller --interval, or measure more: genperf suggest",
        )
    if broken == "the capacity":
        limits = " and ".join(f"{name} below {most:g}" for name, most in search.goal.capacity.items())
        return GenperfError(
            f"none of the {looked:,} best configurations keeps {limits} with a probability of {search.goal.fits:g}",
            hint="smaller values in --over, a lower --fits, or measure more: genperf suggest",
        )
    if broken == "the verdict":
        return GenperfError(
            f"none of the {looked:,} best configurations has a trusted prediction: each is extrapolating-blind",
            hint="values nearer to the measured ones, or measure some: genperf suggest",
        )
    return GenperfError(
        f"none of the {looked:,} best configurations keeps {' and '.join(alone)} at once", hint="relax one of them"
    )


def _late(search: Search, evaluation: Evaluation, looked: int) -> GenperfError:
    """Return the error of a deadline that nothing keeps, with how far it is away."""
    fastest, deadline = f"the fastest takes {duration_text(evaluation.fastest)}", duration_text(search.deadline or 0.0)
    if not evaluation.positions.size:
        within = "no configuration" if search.goal.budget is None else "no configuration within the budget"
        return GenperfError(
            f"{within} is done within {deadline}: {fastest}",
            hint="a later --deadline, or more machines",
        )
    share, count = f"{100 * search.interval:g} %", evaluation.positions.size
    if looked < count:
        return GenperfError(
            f"the upper end of the {share} interval is after {deadline} for each of the {looked:,} best",
            hint=f"vary fewer values: {count:,} have a central time before it",
        )
    return GenperfError(
        f"the upper end of the {share} interval is after {deadline} for each of the {looked:,} "
        f"configurations with a central time before it ({fastest})",
        hint="a later --deadline, a smaller --interval, or measure more: genperf suggest",
    )


def _may_not_fit(search: Search, evaluation: Evaluation) -> list[Note]:
    """Say how many configurations were left out because a run may fail, and of how many that is uncertain."""
    if not evaluation.unfit:
        return []
    left_out = f"{counted(evaluation.unfit, 'configuration')} left out: a run fits with a probability below"
    text = f"{left_out} {search.goal.fits:g}, or was measured as failed; {evaluation.uncertain:,} of them uncertain"
    return [Note(text, "may_not_fit")]


def _why_throughput(schema: Schema) -> list[Note]:
    """Say why throughput is the aim where nobody named one; of a measured throughput it goes without a word."""
    if schema.target.throughput:
        return []
    text = "the aim is the most throughput, as steps differ in their work; --minimize time is for the shortest step"
    return [Note(text, "most_throughput")]


def _not_finite(evaluation: Evaluation) -> list[Note]:
    if not evaluation.not_finite:
        return []
    text = f"{evaluation.not_finite:,} configurations have no finite prediction or objective and are left out"
    return [Note(text, "not_finite")]


def _per_step(search: Search, minimize: str | None, job: Job) -> list[Note]:
    """Return a note where steps of different numbers of samples are compared."""
    target = search.result.schema.target
    what = target.name if minimize is None else minimize
    if not target.is_time or target.throughput or what not in (target.name, "cost") or job.sized:
        return []
    varied = {a.name for a in search.space.grid.axes if len(a.values) > 1}
    samples = samples_formula(search.result.panel)
    if samples is None or not varied & samples[1]:
        return []
    text = f"the {what} is that of a step, and steps of different numbers of samples are compared"
    return [Note(f"{text}; for the {what} of N samples: --samples N", "per_step")]


def _price(result: FitResult, job: Job) -> list[Note]:
    """Return what a given price is for."""
    counted = result.panel.counted
    per = job.per or (counted.name if counted is not None else "")
    return [Note(f"cost is at {price_text(job.price_text, per)}", "price")] if job.price_text and per else []
