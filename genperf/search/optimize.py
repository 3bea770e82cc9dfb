"""`optimize`: the best configurations of a grid, exactly, with how certain their order is."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from msgspec import Struct
from msgspec.structs import asdict, replace

from genperf.arrays import Array, Index, front_of
from genperf.attribution.answers import Line, PrintedAnswer
from genperf.attribution.draws import shares
from genperf.errors import LISTED, GenperfError, Note, attempted, counted
from genperf.facts import check_interval
from genperf.formula import names_in, quote_name
from genperf.panel.machine import Machine
from genperf.panel.panel import Target
from genperf.panel.quantities import REPORTED_BESIDE, paid_for, prices_of_runs
from genperf.prediction.predict import THROUGHPUT
from genperf.prediction.schema import model_names
from genperf.result import FitResult, GroupedResult, answering
from genperf.search.problem import (
    BUDGET,
    CAPACITY,
    DEADLINE,
    JOINT_DRAWS,
    VERDICT,
    Evaluation,
    Goal,
    Job,
    Search,
    best_first,
    capacity_constraints,
    models_of,
    read_problem,
    regret_of,
    winners,
)
from genperf.search.space import Space, checked_space, in_model_names, read_grid
from genperf.words.growth import price_text, prices_text
from genperf.words.numbers import (
    duration_text,
    heading,
    join_values,
    million_of,
    only_for_times,
    setting_text,
    singular,
    suited_unit,
    three_digits,
    with_article,
)

#: Points of a Pareto front that a person is shown, at least: as many as the best configurations where these are more.
LEAST_OF_FRONT = 5


class Optimum(PrintedAnswer, frozen=True, eq=False):
    """The best configurations of a grid."""

    minimize: str  #: What is least, or most where it is `maximized`.
    interval: float  #: Nominal coverage of the intervals.
    deadline: float | None  #: Seconds, kept by the upper end of the interval.
    #: `configurations`, `feasible`: how many there are, and how many satisfy the constraints and keep the deadline by
    #: their central time.
    configurations: int
    feasible: int
    #: The best first: the configuration, `objective`, the predicted value in a column with the quantity's name
    #: (`time`), `lower, upper` (of a new run), `fits` where runs failed (the probability that one does not), `total`
    #: where there are steps, `cost` where machines are counted, `meets` where `where` reads the prediction (the share
    #: of the ensemble's draws in which it holds), `wins` (the share of the ensemble's draws in which it
    #: is the best of these that are feasible in the draw), `verdict, reason`.
    best: pd.DataFrame
    #: The Pareto front of total time against cost, the fastest first, with the same columns but `objective` and `wins`;
    #: `keeps_deadline` where there is one. Where a capacity is given, or the verdict decides, of the configurations
    #: that were looked at and keep them. Empty where machines are not counted, or no time is predicted.
    front: pd.DataFrame
    #: A row per constraint: `constraint`, `excludes` (how many configurations fail it), `alone` (how many fail it and
    #: no other).
    excluded: pd.DataFrame
    #: What is predicted.
    quantity: Target
    notes: tuple[Note, ...] = ()
    maximized: bool = False
    #: The share by which the first is at most worse than the best of those listed, with the probability `interval`;
    #: infinite where it is infeasible in more of the draws; None for several groups, whose draws are independent.
    regret: float | None = None
    spent: str = ""  #: What the cost counts where no price is given, such as gpu-hours; empty with a price.

    @property
    def configuration(self) -> dict[str, Any]:
        """The best configuration by name."""
        end = list(self.best.columns).index("objective")
        return {str(k): v for k, v in self.best.iloc[0, :end].to_dict().items()}

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        plain = super().to_dict()
        aim, maximized, _ = plain.pop("minimize"), plain.pop("maximized"), plain.pop("spent")
        return plain | {
            "maximize" if maximized else "minimize": aim,
            "regret": self.regret if self.regret is not None and np.isfinite(self.regret) else None,
            "notes": [asdict(note) for note in self.notes],
        }

    @property
    def title(self) -> str:
        """The aim and the size of the search: `least gpu-hours of 12 feasible of 64 configurations`."""
        deadline = f", {duration_text(self.deadline)} kept by the upper end" if self.deadline is not None else ""
        if self.minimize == self.quantity.name and not self.quantity.is_time:
            aim = heading(self.quantity)
        elif self.minimize == "cost" and self.spent:
            aim = self.spent
        else:
            aim = self.minimize
        size = "most" if self.maximized else "least"
        return f"{size} {aim} of {self.feasible:,} feasible of {self.configurations:,} configurations{deadline}"

    @property
    def reason(self) -> str:
        """How far the best configuration's prediction can be trusted, in a line."""
        best_row = self.best.iloc[0]
        text = f"the best is '{best_row['verdict']}': {best_row['reason']}"
        if self.regret is None or (len(self.best) < 2 and np.isfinite(self.regret)):
            return text
        if not np.isfinite(self.regret):
            odds = f"{100 * (1.0 - self.interval):.3g} %"
            return f"{text}\nit misses a condition that reads the prediction in more than {odds} of the model's draws"
        odds = f"{100 * self.interval:g} % probability"
        if self.regret <= 0.0:
            return f"{text}\nit is the best of those shown with at least {odds}"
        return f"{text}\nit is at most {100.0 * self.regret:.1f} % worse than the best of those shown, with {odds}"

    @property
    def tables(self) -> list[tuple[str, pd.DataFrame]]:
        """Titles and tables for a person, without the reasons of every row."""
        spent, per_unit = self.spent or "cost", _per_unit(self.best)
        titled = [(self.title, self.best)]
        # Where all are on the front they are shown already.
        if len(self.front) and not len(self.front) == len(self.best) == self.feasible:
            million = million_of(self.quantity.samples)
            front = f"throughput against the {spent} of {million}" if per_unit else f"time against {spent}"
            shown_front = self.front.head(max(len(self.best), LEAST_OF_FRONT))
            count = f", {len(shown_front)} of {len(self.front)}" if len(shown_front) < len(self.front) else ""
            titled.append((f"Pareto front of {front}{count}", shown_front))
        tables = []
        for title, frame in titled:
            # The cost of one unit of work is shown as that of a million.
            of_million = frame.assign(cost=1e6 * frame["cost"]) if per_unit and "cost" in frame else frame
            table, same = _for_people(of_million, self.quantity, list(self.configuration))
            titled_table = table.rename(columns={"cost": f"{spent} per M" if per_unit else spent})
            tables.append((f"{title}; each with {same}" if same else title, titled_table))
        return tables

    @property
    def content(self) -> list[Line]:
        """The tables, how far the best can be trusted, and the notes."""
        return [*self.tables, self.reason, *(f"note: {n}" for n in self.notes)]


def _per_unit(frame: pd.DataFrame) -> bool:
    """Return whether `total` and `cost` are those of one unit of the work: a throughput is then one over the total."""
    return {"throughput", "total"} <= set(frame) and bool(np.allclose(frame["throughput"] * frame["total"], 1.0))


def _for_people(frame: pd.DataFrame, target: Target, settings: Collection[str]) -> tuple[pd.DataFrame, str]:
    """Return a table of configurations to print, and what is the same in all; settings keep all their digits."""
    # What another column says again, or what means nothing to a person.
    dropped = ["reason", *(n for n in frame.columns if str(n).endswith("_lower") and n not in THROUGHPUT)]
    dropped += [f"{name}_upper" for name in REPORTED_BESIDE if name in frame]
    if "objective" in frame and any(
        np.allclose(frame["objective"], frame[name], rtol=1e-9, atol=0.0)
        for name in ("throughput", "total", "cost", target.name)
        if name in frame
    ):
        dropped.append("objective")
    if _per_unit(frame):
        dropped.append("total")
    if target.throughput and "throughput" in frame:
        # The time is that of one unit of the work, or of a step that nobody measured.
        dropped += [target.name, "lower", "upper"]
    elif "throughput" in frame:
        dropped += [name for name in THROUGHPUT[1:] if name in frame]
    printed = frame.drop(columns=dropped)
    size, unit = suited_unit(float(frame[target.name].iloc[0]), target.unit)
    printed = printed.assign(**{n: printed[n] / size for n in (target.name, "lower", "upper") if n in printed})
    constant = {
        name: _cell(name, printed[name].iloc[0], settings)
        for name in (*settings, "fits")
        if name in printed and len(printed) > 1 and len(set(printed[name])) == 1
    }
    printed = printed.drop(columns=list(constant))
    cells = {str(name): [_cell(str(name), value, settings) for value in printed[name]] for name in printed.columns}
    # That every run fits goes without a word.
    constants_shown = [f"{name}={value}" for name, value in constant.items() if (name, value) != ("fits", "1")]
    table = pd.DataFrame(cells).rename(columns={target.name: heading(replace(target, unit=unit))})
    return table, ", ".join(constants_shown)


def _cell(name: str, value: object, settings: Collection[str]) -> str:
    """Return a cell as text."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return str(value)
    if name in settings:
        # What a group does not have, or what follows from others there.
        if np.isnan(value):
            return "–"
        return setting_text(value) if value >= 1e6 else f"{value:.15g}"
    if name in ("wins", "meets"):
        return f"{100 * value:.0f} %"
    return duration_text(value) if name == "total" else three_digits(value)


Group = Mapping[str, str]
#: Fields of a job that may be formulas.
FORMULAS = ("steps", "per", "price", "work")

# How much of the best configurations is looked at and shown, and how groups are compared.
#: Configurations whose intervals are computed, at most, to keep a deadline: a second or two.
MAX_INTERVALS = 20_000
#: Points of a Pareto front that are shown, evenly along a longer one.
SHOWN_FRONT = 50
#: Intervals computed at once: twice the number of answers first, then doubled up to this many.
MAX_BLOCK = 512


def optimize(
    result: FitResult | GroupedResult,
    over: Mapping[str, Any],
    where: str | Sequence[str] = (),
    minimize: str | None = None,
    *,
    job: Job = Job(),  # noqa: B008 - frozen
    goal: Goal = Goal(),  # noqa: B008 - frozen
    interval: float = 0.9,
    top: int = 10,
) -> Optimum:
    """Find the best configurations for a fitted model; every one of the grid is evaluated, so the answer is exact.

    The model's time is most often that of one step, and least time per step is not least time per sample where steps
    differ in their work: minimise `time/(workers*batch)`, or give the steps of a `Job`.

    Parameters
    ----------
    result : FitResult or GroupedResult
        Of groups the best configurations of all are answered, with the group's values first.
    over : mapping of str to values
        Values by name, combined each with each: sequences, single values, or text as `1:256` (ends included), `0:64:8`,
        `1:256:*2`, `32,64,128` or `fp16,fp32`. Names that are not the model's may be used where a formula reads them. A
        factor with one measured value may be left out. For a level that was not measured the measured ones stand.
    where : str or sequence of str
        What must hold: `workers*batch <= 8192`, `batch % workers == 0`, `time_1/(workers*time) >= 0.8`.
    minimize : str, optional
        A formula over the configuration and the quantities: `time` (or the name of another predicted quantity);
        `time_1`, the same on one worker and node; for times `total`, `time*steps`; `machines`; `cost`,
        `machines*total*price`. Where omitted, the cost beside a deadline, else the predicted quantity; where the work
        of a step is known and varies, the most `throughput`.
    job : Job
        Steps, machines and their price, for models of a time.
    goal : Goal
        What else an answer must be: done by a deadline, likely to fit, trusted. What failed in the table is no answer.
    interval : float
        Nominal coverage of the intervals.
    top : int
        How many configurations to answer with.

    Returns
    -------
    Optimum
        Of equal objectives the cheapest is first, then the first in the grid, whose last axis runs fastest.

    Raises
    ------
    GenperfError
        Where no configuration is feasible (naming the constraint that excludes most), the grid is too large, or a
        formula is refused.

    Examples
    --------
    >>> runs = pd.DataFrame({"workers": [1, 2, 4, 8, 16], "seconds": [9.0, 5.1, 3.2, 2.7, 3.4]})
    >>> result = gp.fit(gp.read_table(runs, time="seconds", extrinsic="workers"), model="ernest")
    >>> optimum = gp.optimize(result, {"workers": "1:64"}, where="workers % 2 == 0")
    >>> optimum.feasible, optimum.configuration
    (32, {'workers': 8.0})
    """
    check_interval(interval)
    if top < 1:
        raise GenperfError(f"at least one configuration is shown, not {top}", hint="--top 10")
    goal.check()
    if goal.maximize is not None and minimize is not None:
        raise GenperfError("one formula is to be small and another large", hint="--minimize or --maximize")
    constraints = [where] if isinstance(where, str) else list(where)
    models, over = models_of(result, over)
    task = _Task(over, constraints, minimize, job, goal, interval, top)
    attempts = [(group, attempted(_solve, model, task, group)) for group, model in models]
    if len({solved.search.goal.maximize for _, solved in attempts if isinstance(solved, _Solved)}) > 1:
        # The work of a step is known of some groups alone: what all have is its time.
        task = replace(task, minimize=models[0][1].schema.target.name)
        attempts = [(group, attempted(_solve, model, task, group)) for group, model in models]
    failures = [(group, error) for group, error in attempts if isinstance(error, GenperfError)]
    if len(failures) == len(attempts):
        error = failures[0][1]
        if len({failure.message for _, failure in failures}) == 1:
            raise error
        messages = [f"{', '.join(group.values())}: {failure.message}" for group, failure in failures]
        more = [f"{len(messages) - LISTED} more without an answer"] if len(messages) > LISTED else []
        raise GenperfError("; ".join([*messages[:LISTED], *more]), hint=error.hint)
    notes = [Note(f"{', '.join(group.values())}: {error.message}", "group_infeasible") for group, error in failures]
    return _optimum_of([attempt for _, attempt in attempts if isinstance(attempt, _Solved)], task, notes[:LISTED])


class _Task(Struct, frozen=True):
    """The question that `optimize` answers."""

    over: Mapping[str, Any]
    where: Sequence[str]
    minimize: str | None
    job: Job
    goal: Goal
    interval: float
    top: int


class _Solved(Struct, frozen=True, eq=False):
    """The best configurations of one model."""

    search: Search
    evaluation: Evaluation
    positions: Index  #: Shape (rows,). Positions of the best in the grid.
    #: `best`, `front`: as in `Optimum`, the group's values first, without `wins`.
    best: pd.DataFrame
    front: pd.DataFrame
    notes: tuple[Note, ...]


def _optimum_of(solved: Sequence[_Solved], task: _Task, notes: Sequence[Note]) -> Optimum:
    """Return the best of what models answer, each with the share of joint draws in which it is the best."""
    search = solved[0].search
    goal, target = search.goal, search.result.schema.target
    frames = [
        solution.best.assign(_model=place, _row=np.arange(len(solution.best))) for place, solution in enumerate(solved)
    ]
    best = pd.concat(frames, ignore_index=True)
    objective = best["objective"].to_numpy(float) * (1.0 if goal.maximize is None else -1.0)
    order = best_first(objective, best["cost"].to_numpy(float) if "cost" in best else 0.0 * objective)
    best = best.iloc[order[: task.top]].reset_index(drop=True)
    verdict_columns = ["verdict", "reason"]
    table = best.drop(columns=[*verdict_columns, "_model", "_row"])
    models, rows = (best[name].to_numpy(dtype=int) for name in ("_model", "_row"))
    if search.problem.further:
        pairs = zip(models.tolist(), rows.tolist(), strict=True)
        table["meets"] = [float(solved[model].search.meets(solved[model].positions[[row]])[0]) for model, row in pairs]
    table["wins"], regret = _wins_and_regret(solved, models, rows, task.interval)
    fronts = [solution.front for solution in solved if not solution.front.empty]
    front = pd.concat(fronts, ignore_index=True) if fronts else pd.DataFrame()
    if len(fronts) > 1:
        front = front.iloc[_thinned_front(_front_places(front, target.name))].reset_index(drop=True)
    price_notes = _price_notes([solution.search for solution in solved])
    per = _per(search.result, search.job)
    names_count = per.isidentifier() or any(per == factor.name for factor in search.result.panel.factors)
    excluded = pd.concat([_excluded(s.search, s.evaluation) for s in solved])
    return Optimum(
        minimize=search.aim,
        interval=task.interval,
        deadline=goal.deadline,
        configurations=sum(solution.search.space.size for solution in solved),
        feasible=sum(solution.evaluation.feasible for solution in solved),
        best=table.assign(**{word: best[word] for word in verdict_columns}),
        front=front,
        excluded=excluded.groupby("constraint", sort=False, as_index=False)[["excludes", "alone"]].sum(),
        quantity=target,
        notes=(*dict.fromkeys(note for solution in solved for note in solution.notes), *price_notes, *notes),
        maximized=goal.maximize is not None,
        regret=regret,
        # Without a price the hours of all that is counted: gpu-hours.
        spent="" if search.job.priced else f"{singular(per) if names_count else 'machine'}-hours",
    )


def _wins_and_regret(
    solved: Sequence[_Solved], models: Index, rows: Index, interval: float
) -> tuple[Array, float | None]:
    """Return the share of draws in which each answer is the best, and the regret of the first: of one group alone."""
    models_used = list(dict.fromkeys(models.tolist()))
    if len(models_used) == 1:
        only = solved[models_used[0]]
        drawn, share = only.search.objectives(only.positions[rows]), shares(only.search.result.members)
        return share @ winners(drawn), regret_of(drawn, share, interval) if len(solved) == 1 else None
    # Groups are drawn independently of each other.
    drawn = np.empty((JOINT_DRAWS, len(rows)))
    for place in models_used:
        of_model, solution = models == place, solved[place]
        drawn[:, of_model] = solution.search.joint(solution.positions[rows[of_model]], JOINT_DRAWS, (place,))
    return winners(drawn).mean(axis=0), None


def _thinned_front(positions: Index) -> Index:
    """Return a Pareto front, thinned evenly along it where it is long."""
    shown_points = min(positions.size, SHOWN_FRONT)
    return np.asarray(positions[np.linspace(0, positions.size - 1, shown_points).round().astype(int)])


def _front_places(frame: pd.DataFrame, predicted: str) -> Index:
    """Return the rows of answers that no other has less time than, and less cost: the Pareto front."""
    time = "total" if "total" in frame else predicted
    return front_of(frame[time].to_numpy(float), frame["cost"].to_numpy(float))


def _solve(result: FitResult, task: _Task, group: Group) -> _Solved:
    """Return the best configurations of one model; formulas may read its group's values."""
    search = _search_of(result, task, group)
    evaluation = search.run()
    if not evaluation.positions.size:
        raise _no_answer(search, evaluation, 0, {})
    positions, best, not_looked_at = _best(search, evaluation, task.top)
    not_looked_at = ": ".join(filter(None, (", ".join(group.values()), not_looked_at))) if not_looked_at else ""
    front, thinned = _front(search, evaluation, positions)
    # The values of their group come first.
    best, front = (frame if frame.empty else frame.assign(**group)[[*group, *frame]] for frame in (best, front))
    texts = [*_notes_of(search, evaluation), ("not_all_looked_at", not_looked_at), ("front_thinned", thinned)]
    notes = tuple(Note(text, kind) for kind, text in texts if text)
    return _Solved(search, evaluation, positions, best, front, notes)


def _search_of(result: FitResult, task: _Task, group: Group) -> Search:
    """Return the search of one model."""
    columns = model_names(task.over, result.schema)
    axes = read_grid({columns[name]: values for name, values in task.over.items()})
    result = answering(result, axes)
    schema, goal, minimize = result.schema, task.goal, task.minimize
    job = _with_price_of_runs(task.job, result, group)
    _check_limits(schema.target, goal, job)
    constraints = [in_model_names(text, schema) for text in task.where]
    constraints += capacity_constraints(goal.capacity, schema, result.further)
    formulas = {name: text for name, text in asdict(job).items() if name in FORMULAS and isinstance(text, str)}
    job = replace(job, **{name: in_model_names(text, schema) for name, text in formulas.items()})
    step = result.panel.within(group).work_of_step(job.work)
    work = step.proportional
    aims = [in_model_names(text, schema) for text in (minimize, goal.maximize) if text is not None]
    space = checked_space(axes, schema, [*constraints, *aims, *job.formulas], group)
    constraints += _splits_divide(result.panel.machine, space)
    # Of several groups each may have another work, though it is constant in each.
    differs_by_group = bool(group) and work is not None and not names_in(work)
    varies = work is not None and (schema.target.throughput or names_in(work) & space.varied or differs_by_group)
    what = goal.maximize or minimize or schema.target.name
    if not aims and varies and not job.sized and goal.deadline is None:
        what, goal = "throughput", replace(goal, maximize="throughput")
    elif not aims and schema.target.is_rate:
        goal = replace(goal, maximize=quote_name(schema.target.name))
    elif not aims and goal.deadline is not None and _per(result, job):
        # What keeps a deadline is compared by what it costs, as in a plan of `ask`.
        what = minimize = "cost"
    aim = schema.target.name
    if goal.maximize is not None or minimize is not None:
        aim = in_model_names(f"-({goal.maximize})" if minimize is None else minimize, schema)
    per_unit = not job.sized and work is not None and (bool(schema.target.throughput) or "throughput" in aim)
    problem = read_problem(
        result, space, step, constraints, aim, job, per_unit=per_unit, budget=goal.budget is not None
    )
    return Search(result, space, problem, task.interval, goal, job, step, what)


def _with_price_of_runs(job: Job, result: FitResult, group: Group) -> Job:
    """Return a job with the price that the table has of its runs where none is given: a condition for each level."""
    paid = prices_of_runs(result.panel.legend, group)
    if job.priced or not result.schema.target.is_time or not paid:
        return job
    price = repr(paid[-1][1].per_second)
    for levels, level_price in paid[-2::-1]:
        is_level = " and ".join(f"{quote_name(name)} == '{level}'" for name, level in levels.items())
        price = f"where({is_level}, {level_price.per_second!r}, {price})"
    price_text = " or ".join(level_price.text for _, level_price in paid)
    return replace(job, price=price, price_text=price_text, per=job.per or paid[0][1].per)


def _splits_divide(machine: Machine, space: Space) -> list[str]:
    """Return the condition that the ways divide the devices, `gpus % (tp*pp) == 0`, where they did in every run."""
    columns = [machine.part_name(part) for part in ("workers", *machine.splits)]
    if not (machine.splits_divide and columns[0] in space.varied and {*columns} <= {*space.names}):
        return []
    devices, *ways = map(quote_name, columns)
    ways += [f"{machine.further_ways:g}"] if machine.further_ways > 1.0 else []
    return [f"{devices} % ({'*'.join(ways)}) == 0"]


def _price_notes(searches: Sequence[Search]) -> list[Note]:
    """Return the note of what the cost is of and of its price, of several where groups have their own."""
    search, job = searches[0], searches[0].job
    texts = [(text, s) for s in searches for text in s.job.price_text.split(" or ") if text]
    prices = [price_text(text, _per(s.result, s.job)) for text, s in texts]
    if not prices or not _per(search.result, job):
        return []
    by_work = bool(search.result.schema.target.throughput) or "throughput" in search.aim
    of_one = "" if job.sized or by_work else f"that of {with_article(search.result.panel.timed)}, "
    return [Note(f"cost is {of_one}at {prices_text(prices)}", "price")]


def _notes_of(search: Search, evaluation: Evaluation) -> list[tuple[str, str]]:
    """Return the kinds and texts of notes on a search: what was supposed, and what was left out."""
    target, space, goal, job = search.result.schema.target, search.space, search.goal, search.job
    aim, step = search.aim, search.step
    by_work = bool(target.throughput) or "throughput" in aim
    notes = []
    if space.taken:
        notes.append(("taken", f"not given, and taken at: {join_values(space.taken)}; --over varies them"))
    if step.assumption and by_work:
        notes.append(("work_assumed", f"{step.assumption}; {search.result.panel.work_option} says otherwise"))
    if evaluation.unfit:
        text = f"{counted(evaluation.unfit, 'configuration')} left out: a run fits with a probability below "
        text += f"{goal.fits:g}, or was measured as failed"
        text += f"; {evaluation.uncertain:,} of them uncertain" if evaluation.uncertain else ""
        notes.append(("may_not_fit", text))
    of_a_step = target.is_time and not target.throughput and goal.maximize is None and aim in (target.name, "cost")
    if of_a_step and not job.sized and step.total is not None and space.varied & names_in(step.total):
        text = f"the {aim} is that of a step, and steps of different numbers of samples are compared; "
        notes.append(("per_step", f"{text}for the {aim} of N samples: --samples N"))
    if evaluation.not_finite:
        text = f"{evaluation.not_finite:,} configurations have no finite prediction or objective and are left out"
        notes.append(("not_finite", text))
    return notes


def _check_limits(target: Target, goal: Goal, job: Job) -> None:
    """Refuse a deadline of what has no duration, and a budget of what has no price."""
    for name, limit in (("deadline", goal.deadline), ("budget", goal.budget)):
        if limit is not None and not target.is_time:
            raise GenperfError(only_for_times(f"{name}s", target), hint=f"leave --{name} out")
        if limit is not None and target.throughput and not job.sized:
            raise GenperfError(
                f"a {name} needs to know how much there is to do: a throughput was measured, and no step",
                hint="--samples N, in the unit of the throughput",
            )
    if goal.budget is not None and not job.priced:
        raise GenperfError("a budget needs a price", hint="--price 2/h, with --per COLUMN for what it is paid")


def _best(search: Search, evaluation: Evaluation, top: int) -> tuple[Index, pd.DataFrame, str]:
    """Return the positions of the best configurations and their table, with a note where not all were looked at."""
    order = evaluation.positions[best_first(evaluation.objective, evaluation.cost)]
    if not search.goal.searched:
        return order[:top], search.answers(order[:top]), ""
    frames: list[pd.DataFrame] = []
    looked, answered, block_size = 0, 0, 2 * top
    #: By limit, how many of those looked at keep it, whatever the other limits say.
    keep_alone: dict[str, int] = {}
    while answered < top and looked < min(len(order), MAX_INTERVALS):
        block = order[looked : looked + block_size]
        frame = search.answers(block).set_index(block)
        limits = search.keeps(frame, block)
        keep_alone = {name: keep_alone.get(name, 0) + int(rows.sum()) for name, rows in limits.items()}
        frames.append(frame[np.logical_and.reduce(list(limits.values()))])
        looked, answered, block_size = looked + len(block), answered + len(frames[-1]), min(2 * block_size, MAX_BLOCK)
    if not answered:
        raise _no_answer(search, evaluation, looked, keep_alone)
    what = " and ".join(keep_alone)
    late = ", by the upper end of the interval" if {DEADLINE, BUDGET} & keep_alone.keys() else ""
    note = f"left out by {what}{late}: {looked - answered:,} of the {looked:,} best" if answered < looked else ""
    if answered < top and looked < len(order):
        note = f"only the {looked:,} best were looked at for {what}; {len(order) - looked:,} more may keep it"
    best = pd.concat(frames)[:top]
    return best.index.to_numpy(), best.reset_index(drop=True), note


def _front(search: Search, evaluation: Evaluation, best: Index) -> tuple[pd.DataFrame, str]:
    """Return the Pareto front of total time against cost, thinned where it is long, and a note where it is."""
    *_, places_in_grid = evaluation.front
    positions = places_in_grid.astype(np.intp)
    if not positions.size:
        return pd.DataFrame(), ""
    if search.goal.capacity or search.goal.trusted or search.goal.budget is not None:
        # Of the configurations that keep all limits but the deadline, as the answers do.
        positions = np.union1d(positions, best)
        frame = search.answers(positions)
        limits = [keeps for name, keeps in search.keeps(frame, positions).items() if name != DEADLINE]
        keeps_all = np.logical_and.reduce(limits)
        positions = positions[keeps_all][_front_places(frame[keeps_all], search.problem.predicted)]
    along_front = _thinned_front(positions)
    note = f"the Pareto front has {positions.size:,} configurations; {along_front.size} along it are shown"
    frame = search.answers(along_front).drop(columns="objective")
    if search.goal.deadline is not None:
        in_time = search.latest(frame, along_front) <= search.goal.deadline
        # The last two columns are the verdict and its reason.
        frame.insert(len(frame.columns) - 2, "keeps_deadline", in_time)
    return frame, note if along_front.size < positions.size else ""


def _excluded(search: Search, evaluation: Evaluation) -> pd.DataFrame:
    """Return how many configurations fail each constraint, and how many fail no other: `Optimum.excluded`."""
    texts = [c.text for c in search.problem.constraints]
    return pd.DataFrame({"constraint": texts, "excludes": evaluation.excludes, "alone": evaluation.only_this})


_MEASURE = "or measure more: genperf suggest"


def _no_answer(search: Search, evaluation: Evaluation, looked: int, keep_alone: Mapping[str, int]) -> GenperfError:
    """Return why there is no answer: a constraint, or a limit that intervals and verdicts decide, and how far it is."""
    goal, size, remaining = search.goal, search.space.size, evaluation.positions.size
    none_looked = "no configuration" if looked == 1 else f"none of the {looked:,} best configurations"
    broken = next((name for name, count in keep_alone.items() if not count), None)
    if not remaining and not evaluation.feasible and evaluation.unfit:
        may, reason, lower = "would", "the failed runs show it", ""
        if evaluation.uncertain:
            may, reason = "may", f"the largest probability of fitting is {evaluation.likeliest:.2g}"
            lower = f"--fits {np.floor(100 * evaluation.likeliest) / 100:g}, "
        text = (
            f"{counted(evaluation.unfit, 'configuration')} {may} fail, and no other satisfies the constraints; {reason}"
        )
        hint = f"smaller values in --over, {lower}or measure runs that fit"
    elif not remaining and goal.budget is not None and goal.budget < evaluation.cheapest < np.inf:
        text = f"no configuration costs at most {three_digits(goal.budget)}: the cheapest costs "
        text, hint = text + three_digits(evaluation.cheapest), "a larger --budget, or other values in --over"
    elif broken == DEADLINE or (not remaining and evaluation.late):
        text, hint = _no_deadline_kept(search, evaluation, looked)
    elif not remaining and evaluation.feasible:
        quantity = search.problem.predicted
        text = f"none of {evaluation.feasible:,} feasible configurations has a finite {quantity} and objective"
        hint = "ask nearer to the measured range"
    elif not remaining:
        excluded = _excluded(search, evaluation)
        strictest = excluded.iloc[int(excluded["excludes"].argmax())]
        easiest = excluded.iloc[int(excluded["alone"].argmax())]
        text = f"none of {size:,} configurations is feasible; '{strictest['constraint']}' excludes most, "
        text += f"{strictest['excludes']:,}"
        if size == 1:
            text = f"the configuration is not feasible: '{strictest['constraint']}' excludes it"
        hint = "relax it" if strictest["excludes"] < size else "relax it: nothing on this grid satisfies it"
        if easiest["alone"]:
            hint = f"without '{easiest['constraint']}' {easiest['alone']:,} would be left"
    elif broken == BUDGET:
        text = f"the upper end of the cost is above {goal.budget:g} for each of the {looked:,} best"
        hint = f"a larger --budget, a smaller --interval, {_MEASURE}"
    elif broken == CAPACITY:
        limits = " and ".join(f"{name} below {most:g}" for name, most in goal.capacity.items())
        text = f"{none_looked} keeps {limits} with a probability of {goal.fits:g}"
        hint = f"smaller values in --over, a lower --fits, {_MEASURE}"
    elif broken == VERDICT:
        text = f"{none_looked} has a trusted prediction: {'it' if looked == 1 else 'each'} is extrapolating-blind"
        hint = "values nearer to the measured ones, or measure some: genperf suggest"
    else:
        text = f"{none_looked} keeps {' and '.join(keep_alone)} at once"
        hint = "relax one of them"
    return GenperfError(text, hint=hint)


def _no_deadline_kept(search: Search, evaluation: Evaluation, looked: int) -> tuple[str, str]:
    """Return that nothing keeps a deadline and what to try, where so many of the best were looked at."""
    fastest, deadline = map(duration_text, (evaluation.fastest, search.goal.deadline or 0.0))
    fastest, count = f"the fastest takes {fastest}", evaluation.positions.size
    if not count:
        within = "no configuration" if search.goal.budget is None else "no configuration within the budget"
        return f"{within} is done within {deadline}: {fastest}", "a later --deadline, or more machines"
    text = f"the upper end of the {100 * search.interval:g} % interval is after {deadline}"
    if looked < count:
        return f"{text} for each of the {looked:,} best", f"vary fewer values: {count:,} have a central time before it"
    which = f"each of the {looked:,} configurations" if looked > 1 else "the only configuration"
    text = f"{text} for {which} with a central time before it ({fastest})"
    return text, f"a later --deadline, a smaller --interval, {_MEASURE}"


def _per(result: FitResult, job: Job) -> str:
    """Return the name of what is paid for, such as `gpus` or the formula of `--per`; empty where nothing counts it."""
    return job.per or ("" if result.panel.counted_node is None else paid_for(result.panel, None)[0])
