"""What `optimize` looks for, as formulas over the factors and the prediction, and the search of a grid by blocks."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from msgspec import Struct, field

from genperf.arrays import Array, Index, Mask, front_of
from genperf.attribution.draws import curves_of, shares
from genperf.errors import FormulaError, GenperfError, ModelError, did_you_mean, listed
from genperf.formula import Call, Formula, Name, Node, Number, call, parse, render, substitute
from genperf.panel import Panel
from genperf.panel.legend import newest_first
from genperf.panel.panel import StepWork
from genperf.panel.quantities import ONE, QUANTITIES, Quantities, beside, paid_for, quantities_of
from genperf.prediction import Query, Schema, central_times, predicted_columns
from genperf.prediction.predict import THROUGHPUT, central_values
from genperf.result import FitResult, GroupedResult
from genperf.search.space import Columns, Space
from genperf.table.clean import label
from genperf.words.numbers import heading, join_values
from genperf.words.verdict import LIKELY_TO_FIT


class Job(Struct, frozen=True):
    """The work to do, and its price."""

    steps: str | None = None  #: How many steps there are, a formula: `90*1281167/(workers*batch)`. One where omitted.
    #: What counts that which a price is for, a formula; the workers, or else the nodes, where omitted.
    per: str | None = None
    #: The price of a machine for a second, a number or a formula over the configuration: `3.06/3600`,
    #: `where(gpu == 'v100', 3.06, 12.24)/3600`.
    price: float | str = 1.0
    #: The work in all, in the place of the steps, in the unit of the throughput or of the batch.
    samples: float | None = None
    price_text: str = ""  #: The price as it was given, with its time: `2.5/h`.
    work: str | None = None  #: The samples of a step, a formula over the columns; from the columns where omitted.
    tokens: float | None = None  #: The work in all of a transformer, in the place of the samples.

    @property
    def sized(self) -> bool:
        """Whether it is known how much there is to do."""
        return any(size is not None for size in (self.steps, self.samples, self.tokens))

    @property
    def priced(self) -> bool:
        """Whether a price is given: 1 without a time is none."""
        return bool(self.price_text) or str(self.price).strip() not in ("1", "1.0")

    @property
    def formulas(self) -> list[str]:
        """The formulas that are given, that of the price among them."""
        return [str(self.price), *(text for text in (self.per, self.steps, self.work) if text is not None)]


#: Verdicts of predictions that may be recommended with `trusted`.
TRUSTED = ("ok", "caution")


class Goal(Struct, frozen=True):
    """The conditions of a recommended configuration, beside the constraints of `where`."""

    maximize: str | None = None  #: A formula that is to be large, in place of one that is to be small.
    #: Seconds within which all steps must be done, kept by the upper end of the interval and not only by the central
    #: value. For models of a time.
    deadline: float | None = None
    budget: float | None = None  #: What all steps may cost, kept like the deadline. For models of a time, with a price.
    #: The least probability that a run does not fail. The default leaves one failure in twenty.
    fits: float = LIKELY_TO_FIT
    trusted: bool = False  #: Whether only predictions with the verdict `ok` or `caution` are answers.
    #: Predicted quantities by name, each with the value below which a run must stay with the probability `fits`: the
    #: main one, or one fitted beside it (`--also`).
    capacity: Mapping[str, float] = field(default_factory=dict)

    def check(self) -> None:
        """Refuse numbers that nothing can keep."""
        limits = [
            ("deadline", self.deadline, " s", "--deadline SECONDS"),
            ("budget", self.budget, "", "--budget 20000"),
        ]
        limits += [("capacity", most, "", f"--capacity {name}=80") for name, most in self.capacity.items()]
        for what, limit, unit, example in limits:
            if limit is not None and not 0.0 < limit < np.inf:
                raise GenperfError(f"a {what} of {limit:g}{unit} cannot be kept", hint=f"{example}, above 0")
        if not 0.0 <= self.fits < 1.0:
            what = f"a probability of fitting of {self.fits:g} cannot be asked for"
            raise GenperfError(what, hint="--fits 0.95, at least 0 and below 1")
        if self.capacity and self.fits <= 0.5:
            what = f"a capacity is not kept with a probability of {self.fits:g}"
            raise GenperfError(what, hint="--fits 0.95, above 0.5")

    @property
    def searched(self) -> bool:
        """Whether intervals or verdicts decide on the answers."""
        return self.deadline is not None or self.budget is not None or self.trusted or bool(self.capacity)


class SearchProblem(Struct, frozen=True):
    """The objective and the constraints, as formulas over the factors and the predicted values alone."""

    predicted: str  #: The name of the predicted value.
    #: The comparisons that must hold: `simple` read no prediction, and are evaluated first.
    simple: tuple[Formula, ...]
    further: tuple[Formula, ...]
    objective: Formula  #: It is to be small.
    #: The time of all steps, or of one unit of the work; the predicted value itself where that is no time.
    total: Formula
    throughput: Formula | None  #: The work of a step over its time; None where that work is not known.
    cost: Formula | None  #: None where no column counts the machines, or where the model predicts no time.
    one_worker: tuple[str, ...]  #: The factors that are 1 on one worker.

    @property
    def constraints(self) -> tuple[Formula, ...]:
        """All comparisons that must hold."""
        return self.simple + self.further

    @property
    def on_one_worker(self) -> str:
        """The name of the predicted value on one worker: `time_1`."""
        return f"{self.predicted}_1"

    def reads(self, name: str) -> bool:
        """Tell whether the objective or a condition reads a predicted value."""
        return any(name in formula.names for formula in (self.objective, *self.further))


def value(formula: Formula, columns: Columns) -> Array:
    """Return a formula's values over columns of shape (rows,) or (draws, rows)."""
    return np.asarray(formula.evaluate({name: columns[name] for name in formula.names}), float)


def _number(text: str, space: Space, further: Sequence[str] = ()) -> Formula:
    """Read a formula that is a number, over what a configuration has and what else it may read."""
    return parse(text, [*space.names, *further], space.texts, value="number")


def _count(option: str, text: str, space: Space) -> Node:
    """Read the formula of an option that counts steps or machines; a number of its own is above zero."""
    formula = _number(text, space)
    if not formula.names and not float(formula.evaluate({})) > 0.0:
        raise GenperfError(f"{option} is {text.strip()}; a number above zero is needed", hint=f"{option} 1000")
    return formula.node


def read_problem(
    result: FitResult,
    space: Space,
    step: StepWork,
    where: Sequence[str],
    minimize: str,
    job: Job,
    *,
    per_unit: bool = False,
    budget: bool = False,
) -> SearchProblem:
    """Read the conditions `where` and the formula to `minimize`, with quantities such as `cost` written out."""
    target, panel = result.schema.target, result.panel
    on_one_worker = f"{target.name}_1"
    predictions = (target.name, on_one_worker, *result.further)
    # A factor with the name of a quantity stays the factor.
    readable = [name for name in (*predictions, "machines", *QUANTITIES) if name not in space.names]
    for name in {target.name, on_one_worker} & {*space.names}:
        raise ModelError(f"'{name}' is what the model predicts, and a factor is named so", hint="rename the column")
    if not target.is_time and (job.sized or job.priced):
        raise ModelError(
            f"steps and prices are those of a time, and this model predicts {heading(target)}",
            hint="leave --steps and --price out",
        )
    quantities = _quantities_of_job(panel, space, step, job, per_unit)
    total = Formula("total", quantities.node("total")) if target.is_time else Formula(target.name, Name(target.name))
    objective = total if minimize == target.name else _number(minimize, space, readable)
    comparisons = [part for text in where for part in _comparisons(text, space, readable)]
    read = frozenset().union(*(formula.names for formula in (objective, *comparisons))) & {*readable}
    if not target.is_time and read & {"total", "cost"}:
        raise ModelError(
            f"'{min(read & {'total', 'cost'})}' needs a model of a time, and this one predicts {heading(target)}",
            hint=f"a formula over the factors and {target.name}",
        )
    for name in sorted((read | ({"cost"} if budget else set())) & {"throughput", "machines", "cost"}):
        quantities.node(name)  # raises where the quantity is not known
    counts = (*panel.counts, panel.find("devices_per_node"))
    one_worker = tuple(f.name for f in counts if f is not None and f.name in space.names)
    if on_one_worker in read and not one_worker:
        what = "and no factor that is varied counts the workers"
        raise ModelError(f"{on_one_worker} is the {target.name} on one worker, {what}")

    def written_out(formula: Formula) -> Formula:
        """Return a formula with each quantity that it reads replaced by that quantity's own formula."""
        names = [name for name in readable if name in formula.names and quantities.has(name)]
        return Formula(formula.text, substitute(formula.node, {name: quantities.node(name) for name in names}))

    def known(name: str) -> Formula | None:
        """Return a quantity; None where it is not known, or where the prediction is no time."""
        return Formula(name, quantities.node(name)) if target.is_time and quantities.has(name) else None

    constraints = [written_out(comparison) for comparison in comparisons]
    return SearchProblem(
        predicted=target.name,
        simple=tuple(c for c in constraints if c.names.isdisjoint(predictions)),
        further=tuple(c for c in constraints if not c.names.isdisjoint(predictions)),
        objective=written_out(objective),
        total=total,
        # That of a supposed work only ranks.
        throughput=known("throughput") if per_unit or step.known != "assumed" else None,
        cost=known("cost"),
        one_worker=one_worker,
    )


def _comparisons(text: str, space: Space, readable: Sequence[str]) -> list[Formula]:
    """Return the comparisons that `and` joins in a condition: each is told apart when nothing satisfies all of them."""
    formula = parse(text, [*space.names, *readable], space.texts)
    if not formula.logical:
        raise FormulaError("a constraint is a comparison", text=text, column=0, width=len(text), hint=f"{text} <= 64")
    return [Formula(render(node), node) for node in _split(formula.node)]


def _quantities_of_job(panel: Panel, space: Space, step: StepWork, job: Job, per_unit: bool) -> Quantities:
    """Return total time, cost and throughput as formulas of a prediction and of the job's size and price."""
    # Without a price the cost is in hours of the machines.
    formulas: dict[str, Node | float | None] = {"work": step.proportional, "steps": ONE, "price": 1.0 / 3600.0}
    if job.steps is not None:
        formulas["steps"] = _count("--steps", job.steps, space)
    elif job.sized or per_unit:
        formulas["steps"] = _steps_of_job(panel, step, job)
    numeric = {f.name for f in panel.factors if f.numeric}
    is_counted = panel.counted_node is not None if job.per is None else panel.column(job.per) in numeric
    if is_counted:
        _, formulas["machines"] = paid_for(panel, job.per)
    elif job.per is not None:
        formulas["machines"] = _count("--per", job.per, space)
    if job.priced:
        formulas["price"] = _number(str(job.price), space).node
    return quantities_of(panel, formulas)


def _steps_of_job(panel: Panel, step: StepWork, job: Job) -> Node:
    """Return the steps of a job: its samples, or tokens, over those of a step; of one sample where it has no size."""
    # Where a step is a whole epoch or job, the samples are the number of these.
    work = step.total if step.whole and job.samples is not None else step.proportional
    if work is None or (step.total is None and job.sized):
        missing = "no throughput was measured, and no column is a batch"
        if step.of_one_a_node:
            missing = "nothing shows how many devices a node has"
        raise ModelError(
            f"the work of a step is not known: {missing}",
            hint=f"{panel.work_option}; or --steps FORMULA in place of --samples",
        )
    if job.sized:
        step.check_sized(job.samples)
    if job.tokens is None:
        return call("divide", 1.0 if job.samples is None else job.samples, work)
    # The tokens of a step are those of a second times its seconds: the rate at a time of one second.
    tokens_of_step = quantities_of(panel, {"work": work, "value": ONE}).node("tokens_per_s")
    return call("divide", job.tokens, tokens_of_step)


def _split(node: Node) -> list[Node]:
    """Return the comparisons that `and` joins."""
    if isinstance(node, Call) and node.function == "and":
        return [comparison for argument in node.arguments for comparison in _split(argument)]
    return [node]


def models_of(
    fitted: FitResult | GroupedResult, at: Mapping[str, Any]
) -> tuple[list[tuple[dict[str, str], FitResult]], dict[str, Any]]:
    """Return the models whose groups have the given levels, each after its group, and the values of other columns."""
    wanted = {name: _levels_in(value) for name, value in at.items() if name in fitted.group}
    groups = [(dict(zip(fitted.group, key, strict=True)), result) for key, result in fitted.results.items()]
    remaining = [(group, result) for group, result in groups if all(group[n] in levels for n, levels in wanted.items())]
    if not remaining:
        examples = "; ".join(", ".join(key) for key in list(fitted.results)[:4]) or "none was fitted"
        wanted_text = join_values({name: at[name] for name in wanted})
        raise GenperfError(f"no group has {wanted_text}", hint=f"the groups are {examples}")
    return remaining, {name: values for name, values in at.items() if name not in wanted}


def _levels_in(value: Any) -> set[str]:
    """Return the levels that a value names: one, several with commas between them, or those of a sequence."""
    if isinstance(value, str):
        # A level may hold a comma.
        value = [value, *value.split(",")]
    return {label(level).strip() for level in (value if isinstance(value, Iterable) else [value])}


def most_measured_group(models: Sequence[tuple[dict[str, str], FitResult]]) -> tuple[dict[str, str], FitResult]:
    """Return the group of a question that names none: of most counts, then the largest, then the latest, or first."""

    def rank(model: tuple[dict[str, str], FitResult]) -> tuple[int, float, list[tuple[int, str]]]:
        """Return a key that sorts the group first that has most counts, then the largest, then the latest levels."""
        group, result = model
        axis = result.panel.axis.factor
        counts = {float(run[axis.name]) for run in result.panel.runs} if axis is not None else {0.0}
        return -len(counts), -max(counts, default=0.0), [*map(newest_first, group.values())]

    return min(models, key=rank)


def capacity_constraints(capacity: Mapping[str, float], schema: Schema, further: Collection[str] = ()) -> list[str]:
    """Return the constraint that the central prediction keeps each capacity, such as `memory <= 80.0`."""
    target = schema.target
    for name, value in capacity.items():
        if name == target.name or name in further:
            continue
        if schema.panel.column(name) in {f.name for f in schema.factors}:
            what = f"'{name}' is a factor of the model and not what it predicts"
            raise GenperfError(what, hint=f"--where '{name} <= {value:g}'")
        predicted = listed([heading(target), *further])
        other = f"genperf fit TABLE … --also {name}=COLUMN:UNIT fits it beside; or a model of --quantity {name}:UNIT"
        what = f"a capacity of '{name}' needs a model of it, and this one predicts {predicted}"
        raise GenperfError(what, hint=did_you_mean(name, [target.name, *further]) or other)
    return [f"{name} <= {value!r}" for name, value in capacity.items()]


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


class Evaluation(Struct, eq=False):
    """The whole grid, evaluated: the feasible configurations with a finite objective."""

    #: Shape (constraints,). How many configurations fail each constraint, and how many fail it and no other.
    excludes: Index
    only_this: Index
    feasible: int = 0  #: Configurations that satisfy all constraints, and whose central time keeps the deadline.
    not_finite: int = 0  #: Feasible ones without a finite prediction or objective.
    late: int = 0  #: Otherwise feasible ones whose central time is after the deadline.
    #: The least cost of those that satisfy all constraints, and the least total time of those within the budget.
    cheapest: float = np.inf
    fastest: float = np.inf
    #: `unfit`, `uncertain`: configurations that satisfy all constraints but may fail; and how many of them are
    #: uncertain.
    unfit: int = 0
    uncertain: int = 0
    likeliest: float = 0.0  #: The largest probability of fitting of those left out.
    #: Shape (3, points). The Pareto front of total time against cost: both, and where the points stand in the grid.
    front: Array = field(default_factory=lambda: np.empty((3, 0)))
    #: Shape (candidates,). Where the feasible ones with a finite objective stand in the grid, the late ones left out.
    positions: Index = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    #: `objective`, `cost`: shape (candidates,). The cost is 0 where no machines are counted.
    objective: Array = field(default_factory=lambda: np.empty(0))
    cost: Array = field(default_factory=lambda: np.empty(0))

    def count(self, places: slice, fails: Mask) -> Mask:
        """Count which rows fail some constraints, shape (constraints, rows), and return which fail none of them."""
        failed = fails.sum(axis=0, dtype=np.int16)
        self.excludes[places] += fails.sum(axis=1)
        self.only_this[places] += np.sum(fails & (failed == 1), axis=1)
        return np.asarray(failed == 0)


class Search(Struct, frozen=True, eq=False):
    """A model, a space and a problem."""

    result: FitResult
    space: Space
    problem: SearchProblem
    #: Nominal coverage.
    interval: float
    goal: Goal
    job: Job
    step: StepWork  #: The work of a step.
    aim: str  #: What is least, or most.

    def run(self) -> Evaluation:
        """Evaluate the grid, block by block: first the constraints that read no prediction, then what they leave."""
        count = len(self.problem.constraints)
        evaluation = Evaluation(np.zeros(count, np.intp), np.zeros(count, np.intp))
        grid, rows = np.arange(self.space.size), BLOCK_ROWS
        if self.problem.simple:
            blocks_of_grid = []
            for block in np.split(grid, range(rows, len(grid), rows)):
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
            blocks = [self._answers(block, evaluation) for block in np.split(grid, range(rows, len(grid), rows))]
            evaluation.positions, evaluation.objective, evaluation.cost = map(np.concatenate, zip(*blocks, strict=True))
        return evaluation

    def _answers(self, positions: Index, evaluation: Evaluation) -> tuple[Index, Array, Array]:
        """Return the configurations of a block that may be answers, with their objective and their cost."""
        problem, shape = self.problem, positions.shape
        predicted = self.predicted(self.space.take(positions))
        satisfies = evaluation.count(np.s_[len(problem.simple) :], _fails(problem.further, predicted, shape))
        if (feasibility := self.result.feasibility) is not None:
            factors, least = self._factors(predicted), self.goal.fits
            probability, failed = feasibility.probability(factors), feasibility.known_to_fail(factors)
            left_out = satisfies & (failed | (probability < least))
            evaluation.unfit += int(left_out.sum())
            evaluation.uncertain += int(np.sum(left_out & ~failed & (probability > 1.0 - least)))
            evaluation.likeliest = max(evaluation.likeliest, float(probability[left_out].max(initial=0.0)))
            satisfies &= ~left_out
        formulas = (problem.objective, problem.total, problem.cost or ZERO)
        objective, total, cost = (np.broadcast_to(value(formula, predicted), shape) for formula in formulas)
        finite = satisfies & np.isfinite(objective) & np.isfinite(total)
        if problem.cost is not None:
            plotted = finite & np.isfinite(cost)
            points = np.hstack([evaluation.front, [total[plotted], cost[plotted], positions[plotted]]])
            times_and_costs = points[:2]
            evaluation.front = points[:, front_of(*times_and_costs)]
        evaluation.not_finite += int(np.sum(satisfies & ~finite))
        evaluation.cheapest = min(evaluation.cheapest, float(cost[finite].min(initial=np.inf)))
        dear = finite & (cost > (self.goal.budget or np.inf))
        evaluation.fastest = min(evaluation.fastest, float(total[finite & ~dear].min(initial=np.inf)))
        late = finite & ~dear & (total > (self.goal.deadline or np.inf))
        evaluation.late += int(late.sum())
        evaluation.feasible += int(np.sum(satisfies & ~late & ~dear))
        answers = finite & ~late & ~dear
        return positions[answers], objective[answers], cost[answers]

    def predicted(self, columns: Columns) -> Columns:
        """Return configurations with their predictions, and those on one worker where a formula reads these."""
        further = central_values(self.result, self._factors(columns), len(next(iter(columns.values()))))
        return {**self._with_predictions(columns, lambda f: central_times(self.result.members, f)), **further}

    def drawn(self, columns: Columns) -> Columns:
        """Return configurations with the predictions of every draw, (draws, rows), in pairs with further ones."""
        out = self._with_predictions(columns, lambda factors: np.exp(curves_of(self.result, factors).likely))
        count = len(shares(self.result.members))
        for place, (name, further_result) in enumerate(self.result.further.items()):
            if self.problem.reads(name):
                share = shares(further_result.members)
                pairs = np.random.default_rng((self.result.seed, place)).choice(len(share), size=count, p=share)
                out[name] = np.exp(curves_of(further_result, self._factors(columns)).likely)[pairs]
        return out

    def _with_predictions(self, columns: Columns, predict: Callable[[Columns], Array]) -> Columns:
        """Return configurations with what a function predicts of them, on one worker too where a formula reads that."""
        problem = self.problem
        out: Columns = {**columns, problem.predicted: predict(self._factors(columns))}
        if problem.reads(problem.on_one_worker):
            axes = {name: columns[name] for name in self.space.axes}
            ones = {name: np.ones(len(axes[name])) for name in problem.one_worker if name in axes}
            out[problem.on_one_worker] = predict(self._factors(self.space.completed(axes | ones)))
        return out

    def _factors(self, columns: Columns) -> Columns:
        """Return the columns of configurations that the model reads."""
        return {name: columns[name] for name in self.space.factors}

    def answers(self, positions: Index) -> pd.DataFrame:
        """Return the rows of `Optimum.best` for some positions, without `wins`."""
        columns, problem = self.space.take(positions), self.problem
        central, answer = self.predicted(columns), self._judged(columns, self.interval)
        cells: Columns = {name: columns[name] for name in self.space.axes}
        # What is largest was sought as the smallest of its negative.
        sign = 1.0 if self.goal.maximize is None else -1.0
        cells["objective"] = sign * np.broadcast_to(value(problem.objective, central), positions.shape)
        if problem.throughput is not None:
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
            # The nominal coverage whose upper end is exceeded with the probability 1 − `fits`.
            predicted = self._judged(self.space.take(positions), 2.0 * self.goal.fits - 1.0)
            upper = {n: predicted["upper" if n == self.problem.predicted else f"{n}_upper"] for n in self.goal.capacity}
            limits[CAPACITY] = np.logical_and.reduce([upper[n] <= most for n, most in self.goal.capacity.items()])
        if self.goal.trusted:
            limits[VERDICT] = frame["verdict"].isin(TRUSTED).to_numpy(dtype=bool)
        return limits

    def latest(self, frame: pd.DataFrame, positions: Index) -> Array:
        """Return the upper ends of the total times."""
        columns = self.space.take(positions)
        upper = frame["upper"].to_numpy(dtype=float)
        return np.asarray(value(self.problem.total, {**columns, self.problem.predicted: upper}))

    def meets(self, positions: Index) -> Array:
        """Return the share of the ensemble's draws in which each configuration meets the conditions on predictions."""
        share = shares(self.result.members)
        breaking = self._breaking(self.drawn(self.space.take(positions)), (share.size, positions.size))
        return np.asarray(np.minimum(share @ ~breaking, 1.0))

    def _breaking(self, columns: Columns, shape: tuple[int, int]) -> Mask:
        """Return where a draw breaks a condition that reads the prediction."""
        return np.asarray(_fails(self.problem.further, columns, shape).any(axis=0))

    def joint(self, positions: Index, draws: int, seed: tuple[int, ...]) -> Array:
        """Return the objective in so many draws of the ensemble, by their shares, shape (draws, rows)."""
        share = shares(self.result.members)
        chosen = np.random.default_rng((self.result.seed, *seed)).choice(share.size, size=draws, p=share)
        return self.objectives(positions)[chosen]

    def objectives(self, positions: Index) -> Array:
        """Return the objective of every draw, infinite where it is not finite or not feasible, shape (draws, rows)."""
        columns = self.drawn(self.space.take(positions))
        shape = (shares(self.result.members).size, positions.size)
        objective = np.broadcast_to(value(self.problem.objective, columns), shape)
        feasible = np.isfinite(objective) & ~self._breaking(columns, shape)
        limits = (self.problem.total, self.goal.deadline), (self.problem.cost, self.goal.budget)
        for formula, most in limits:
            if formula is not None and most is not None:
                feasible = feasible & (np.broadcast_to(value(formula, columns), shape) <= most)
        return np.where(feasible, objective, np.inf)


def best_first(objective: Array, cost: Array) -> Index:
    """Return the places of objectives from the least on; of equal ones, but for rounding errors, the cheapest first."""
    # Rounded to the last digit that counts: 1000.00000004 to 1000, whose digit is 1e-6. Of zero there is none.
    with np.errstate(divide="ignore"):
        digit = 10.0 ** (np.floor(np.log10(np.abs(objective))) - TIED_DIGITS)
    rounded = np.where(digit > 0.0, np.round(objective / np.where(digit > 0.0, digit, 1.0)) * digit, objective)
    return np.lexsort((cost, rounded))


def regret_of(drawn: Array, share: Array, probability: float) -> float:
    """Return the quantile over the draws, at a probability, of |f₁ − min f|/|min f| of the first objective f₁."""
    least = drawn.min(axis=1)
    with np.errstate(all="ignore"):
        worse = np.where(drawn[:, 0] == least, 0.0, np.abs(drawn[:, 0] - least) / np.abs(least))
    worse = np.where(np.isfinite(least), worse, np.inf)
    order = np.argsort(worse, kind="stable")
    place = min(int(np.searchsorted(np.cumsum(share[order]), probability)), len(order) - 1)
    return float(worse[order][place])


def winners(drawn: Array) -> Array:
    """Return 1 where a row has the least finite objective of its draw, else 0, shape (draws, rows); ties share it."""
    least = drawn.min(axis=1, keepdims=True)
    with np.errstate(all="ignore"):
        tied = np.isfinite(least) & np.isclose(drawn, least, rtol=10.0**-TIED_DIGITS, atol=0.0)
    return np.asarray(tied / np.maximum(tied.sum(axis=1, keepdims=True), 1))


def _fails(formulas: Sequence[Formula], columns: Columns, shape: tuple[int, ...]) -> Mask:
    """Return whether each comparison does not hold, shape (comparisons, *shape)."""
    fails = np.empty((len(formulas), *shape), dtype=bool)
    for row, formula in zip(fails, formulas, strict=True):
        row[:] = value(formula, columns) == 0.0
    return fails
