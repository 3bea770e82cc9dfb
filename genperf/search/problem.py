"""What `optimize` looks for: the job, the goal, and formulas over the factors and what follows from a prediction."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct, field

from genperf.arrays import Array, Columns
from genperf.errors import FormulaError, GenperfError, ModelError
from genperf.formula import Call, Formula, Name, Node, call, parse, parse_number, render, substitute
from genperf.panel import Panel
from genperf.panel.quantities import ONE, QUANTITIES, Quantities, read_columns
from genperf.panel.target import Target
from genperf.panel.work import one_worker_names
from genperf.prediction import Schema
from genperf.result import FitResult, GroupedResult
from genperf.table.clean import label
from genperf.words.numbers import join_values
from genperf.words.quantity import heading
from genperf.words.verdict import LIKELY_TO_FIT


class Job(Struct, frozen=True):
    """What is to be run, and what it costs."""

    #: How many steps there are, a formula: `90*1281167/(workers*batch)`. One where omitted.
    steps: str | None = None
    #: What counts that which a price is for, a formula; the workers, or else the nodes, where omitted.
    per: str | None = None
    #: Of a machine for a second, a number or a formula over the configuration: `3.06/3600`, `where(gpu == 'v100', 3.06,
    #: 12.24)/3600`.
    price: float | str = 1.0
    #: In the place of the steps: the work in all, in the unit of the throughput or of the batch.
    samples: float | None = None
    #: The price as it was given, with its time: `2.5/h`.
    price_text: str = ""
    #: The samples of a step, a formula over the columns; from the columns where omitted.
    work: str | None = None

    @property
    def sized(self) -> bool:
        """Whether it is known how much there is to do."""
        return self.steps is not None or self.samples is not None

    @property
    def priced(self) -> bool:
        """Whether a price is given: 1 is none."""
        return str(self.price).strip() not in ("1", "1.0")

    @property
    def formulas(self) -> list[str]:
        """The formulas there are."""
        return [str(self.price), *(text for text in (self.per, self.steps, self.work) if text is not None)]


#: Verdicts of predictions that may be recommended with `trusted`.
TRUSTED = ("ok", "caution")


class Goal(Struct, frozen=True):
    """What a recommended configuration must be, beside the constraints of `where`."""

    #: A formula that is to be large, in place of one that is to be small.
    maximize: str | None = None
    #: Seconds within which all steps must be done, kept by the upper end of the interval and not only by the central
    #: value. For models of a time.
    deadline: float | None = None
    #: What all steps may cost, kept like the deadline. For models of a time, with a price.
    budget: float | None = None
    #: The least probability that a run does not fail. The default leaves one failure in twenty.
    fits: float = LIKELY_TO_FIT
    #: Whether only predictions with the verdict `ok` or `caution` are answers.
    trusted: bool = False
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

    @property
    def interval_of_capacity(self) -> float:
        """The nominal coverage whose upper end is exceeded with the probability 1 − `fits`."""
        return 2.0 * self.fits - 1.0


class SearchProblem(Struct, frozen=True):
    """The objective and the constraints, as formulas over the factors and the predicted values alone."""

    #: The name of the predicted value.
    predicted: str
    #: The comparisons that must hold: `simple` read no prediction, and are evaluated first.
    simple: tuple[Formula, ...]
    further: tuple[Formula, ...]
    #: It is to be small.
    objective: Formula
    #: The time of all steps, or of one unit of the work; the predicted value itself where that is no time.
    total: Formula
    #: The work of a step over its time; None where that work is not known.
    throughput: Formula | None
    #: None where no column counts the machines, or where the model predicts no time.
    cost: Formula | None
    #: The factors that are 1 on one worker.
    one_worker: tuple[str, ...]

    @property
    def constraints(self) -> tuple[Formula, ...]:
        """All comparisons that must hold."""
        return self.simple + self.further

    @property
    def on_one_worker(self) -> str:
        """The name of the predicted value on one worker: `time_1`."""
        return f"{self.predicted}_1"

    def reads(self, name: str) -> bool:
        """Tell whether a predicted value decides on the answer."""
        return any(name in formula.names for formula in (self.objective, *self.further))


def value(formula: Formula, columns: Columns) -> Array:
    """Return a formula's values over some columns, which may be of shape (rows,) and (draws, rows)."""
    return np.asarray(formula.evaluate({name: columns[name] for name in formula.names}), float)


class Vocabulary(Struct, frozen=True):
    """The names that formulas may read."""

    #: What the model predicts; `time` by default.
    target: Target
    #: Of the model, by the field's names.
    factors: Panel
    #: `names`, `texts`: what a configuration has, and which of it is text.
    names: tuple[str, ...]
    texts: tuple[str, ...]
    #: The further quantities that it predicts beside.
    further: tuple[str, ...] = ()
    #: The work of a step, where it is known, or what it is assumed to be in proportion to.
    work: Node | None = None
    assumed: bool = False

    @property
    def predicted(self) -> tuple[str, ...]:
        """The names of the values that come from a model: the predicted one, that on one worker, and the further."""
        return (self.target.name, f"{self.target.name}_1", *self.further)

    @property
    def quantities(self) -> list[str]:
        """What follows from a prediction; a factor of the name of such a quantity stays the factor."""
        return [q for q in (*self.predicted, "machines", *QUANTITIES) if q not in self.names]

    def number(self, text: str, quantities: bool = False) -> Formula:
        """Read a formula that is a number; if `quantities`, it may also read what follows from a prediction."""
        names = [*self.names, *(self.quantities if quantities else [])]
        return parse_number(text, names, self.texts, logical=False)

    def count(self, option: str, text: str) -> Node:
        """Read a number of steps or machines."""
        formula = self.number(text)
        if not formula.names and not float(formula.evaluate({})) > 0.0:
            raise GenperfError(f"{option} is {text.strip()}; a number above zero is needed", hint=f"{option} 1000")
        return formula.node


def read_problem(
    words: Vocabulary, where: Sequence[str], minimize: str, job: Job, *, per_unit: bool = False
) -> SearchProblem:
    """Read the formulas."""
    target, (predicted, on_one_worker, *_) = words.target, words.predicted
    for name in {predicted, on_one_worker} & set(words.names):
        raise ModelError(f"'{name}' is what the model predicts, and a factor is named so", hint="rename the column")
    if not target.is_time and (job.sized or job.priced):
        raise ModelError(
            f"steps and prices are those of a time, and this model predicts {heading(target)}",
            hint="leave --steps and --price out",
        )
    follow = _quantities(words, job, per_unit)
    total = Formula("total", follow.node("total")) if target.is_time else Formula(predicted, Name(predicted))
    objective = total if minimize == predicted else words.number(minimize, quantities=True)
    comparisons = [Formula(render(node), node) for text in where for node in _comparisons(text, words)]
    read = frozenset().union(*(f.names for f in (objective, *comparisons))) & set(words.quantities)
    if not target.is_time and read & {"total", "cost"}:
        raise ModelError(
            f"'{min(read & {'total', 'cost'})}' needs a model of a time, and this one predicts {heading(target)}",
            hint=f"a formula over the factors and {predicted}",
        )
    for name in sorted(read & {"throughput", "machines", "cost"}):
        follow.node(name)
    one_worker = one_worker_names(words.factors, words.names)
    if on_one_worker in read and not one_worker:
        what = "and no factor that is varied counts the workers"
        raise ModelError(f"{on_one_worker} is the {predicted} on one worker, {what}")

    def written_out(formula: Formula) -> Formula:
        there = [name for name in words.quantities if name in formula.names and follow.has(name)]
        return Formula(formula.text, substitute(formula.node, {name: follow.node(name) for name in there}))

    constraints = [written_out(comparison) for comparison in comparisons]
    further = [c for c in constraints if c.names & {*words.predicted}]
    throughput, cost = (
        Formula(name, follow.node(name)) if target.is_time and follow.has(name) else None
        for name in ("throughput", "cost")
    )
    return SearchProblem(
        predicted=predicted,
        simple=tuple(c for c in constraints if c not in further),
        further=tuple(further),
        objective=written_out(objective),
        total=total,
        throughput=throughput,
        cost=cost,
        one_worker=one_worker,
    )


def _quantities(words: Vocabulary, job: Job, per_unit: bool) -> Quantities:
    """Return what follows from a prediction and the job."""
    counted = next((Name(f.name) for f in words.factors.counts if f.name in words.names), None)
    nodes = {"value": Name(words.target.name), "work": words.work, "steps": ONE, "price": ONE}
    nodes |= {name: words.factors.node(name) for name in read_columns()}
    if job.steps is not None:
        nodes["steps"] = words.count("--steps", job.steps)
    elif job.samples is not None or per_unit:
        if words.work is None or (words.assumed and job.samples is not None):
            raise ModelError(
                "the work of a step is not known: no throughput was measured, and no column is a batch",
                hint="--work '32*workers'; or --steps FORMULA in place of --samples, for example "
                "--steps '1e6/(32*workers)'; of epochs --steps 90",
            )
        nodes["steps"] = call("divide", 1.0 if job.samples is None else job.samples, words.work)
    nodes["machines"] = counted if job.per is None else words.count("--per", job.per)
    if job.priced:
        nodes["price"] = words.number(str(job.price)).node
    return Quantities({name: node for name, node in nodes.items() if node is not None})


def _comparisons(text: str, words: Vocabulary) -> list[Node]:
    """Read a constraint, split at `and`, so that each part can be told apart when nothing satisfies all of them."""
    formula = parse(text, [*words.names, *words.quantities], words.texts)
    if not formula.logical:
        raise FormulaError("a constraint is a comparison", text=text, column=0, width=len(text), hint=f"{text} <= 64")
    return _split(formula.node)


def _split(node: Node) -> list[Node]:
    if isinstance(node, Call) and node.function == "and":
        return [node_part for argument in node.arguments for node_part in _split(argument)]
    return [node]


def models_of(
    fitted: FitResult | GroupedResult, at: Mapping[str, Any]
) -> tuple[list[tuple[dict[str, str], FitResult]], dict[str, Any]]:
    """Return the models of the groups that some values leave, with their groups, and the values of no group column."""
    if isinstance(fitted, FitResult):
        return [({}, fitted)], dict(at)
    wanted = {name: _levels(values) for name, values in at.items() if name in fitted.group}
    every = [(dict(zip(fitted.group, key, strict=True)), result) for key, result in fitted.results.items()]
    left = [(group, result) for group, result in every if all(group[n] in levels for n, levels in wanted.items())]
    if not left:
        some = "; ".join(", ".join(key) for key in list(fitted.results)[:4]) or "none was fitted"
        named = join_values({name: at[name] for name in wanted})
        raise GenperfError(f"no group has {named}", hint=f"the groups are {some}")
    return left, {name: values for name, values in at.items() if name not in wanted}


def _levels(values: Any) -> set[str]:
    """Return the values of a group column that are named."""
    if isinstance(values, str):
        return {text.strip() for text in values.split(",")}
    return {label(value) for value in (values if isinstance(values, Iterable) else [values])}


def capacity_constraints(capacity: Mapping[str, float], schema: Schema, further: Collection[str] = ()) -> list[str]:
    """Return the constraints that the central prediction keeps each capacity."""
    target = schema.target
    for name, value in capacity.items():
        if name == target.name or name in further:
            continue
        if schema.panel.column(name) in {f.name for f in schema.factors}:
            raise GenperfError(
                f"'{name}' is a factor of the model and not what it predicts", hint=f"--where '{name} <= {value:g}'"
            )
        raise GenperfError(
            f"a capacity of '{name}' needs a model of it, and this one predicts {heading(target)}",
            hint=f"genperf fit TABLE … --also {name}=COLUMN:UNIT fits it beside; or a model of --quantity {name}:UNIT",
        )
    return [f"{name} <= {value!r}" for name, value in capacity.items()]
