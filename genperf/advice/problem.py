"""What `optimize` looks for: the job, the goal, and formulas over the factors and what follows from a prediction."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.arrays import Array, Mask
from genperf.errors import FormulaError, GenperfError, ModelError
from genperf.formula import Call, Formula, Name, Node, call, parse, parse_number, render, substitute
from genperf.panel import Panel
from genperf.panel.derived import ONE, Quantities
from genperf.panel.work import one_worker_names
from genperf.prediction import Schema
from genperf.table import Target
from genperf.words.quantity import heading

Columns = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Job:
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
        return [str(self.price), *(text for text in (self.per, self.steps) if text is not None)]


#: Verdicts of predictions that may be recommended with `trusted`.
TRUSTED = ("ok", "caution")


@dataclass(frozen=True)
class Goal:
    """What a recommended configuration must be, beside the constraints of `where`.

    Examples
    --------
    >>> Goal(fits=1.5).check()
    Traceback (most recent call last):
    ...
    genperf.errors.GenperfError: a probability of fitting of 1.5 cannot be asked for
      try: --fits 0.95, at least 0 and below 1
    """

    #: A formula that is to be large, in place of one that is to be small.
    maximize: str | None = None
    #: Seconds within which all steps must be done, kept by the upper end of the interval and not only by the central
    #: value. For models of a time.
    deadline: float | None = None
    #: What all steps may cost, kept like the deadline. For models of a time, with a price.
    budget: float | None = None
    #: The least probability that a run does not fail. The default leaves one failure in twenty.
    fits: float = 0.95
    #: Whether only predictions with the verdict `ok` or `caution` are answers.
    trusted: bool = False
    #: Predicted quantities by name, each with the value below which a run must stay with the probability `fits`: the
    #: main one, or one fitted beside it (`--also`).
    capacity: Mapping[str, float] = field(default_factory=dict)

    def check(self) -> None:
        """Refuse numbers that nothing can keep."""
        if self.deadline is not None and not 0.0 < self.deadline < np.inf:
            raise GenperfError(f"a deadline of {self.deadline:g} s cannot be kept", hint="--deadline SECONDS, above 0")
        if self.budget is not None and not 0.0 < self.budget < np.inf:
            raise GenperfError(f"a budget of {self.budget:g} cannot be kept", hint="--budget 20000, above 0")
        if not 0.0 <= self.fits < 1.0:
            raise GenperfError(
                f"a probability of fitting of {self.fits:g} cannot be asked for",
                hint="--fits 0.95, at least 0 and below 1",
            )
        if self.capacity and self.fits <= 0.5:
            raise GenperfError(
                f"a capacity is not kept with a probability of {self.fits:g}", hint="--fits 0.95, above 0.5"
            )
        for name, value in self.capacity.items():
            if not (value > 0.0 and np.isfinite(value)):
                raise GenperfError(f"a capacity of {value:g} cannot be kept", hint=f"--capacity {name}=80, above 0")

    @property
    def searched(self) -> bool:
        """Whether intervals or verdicts decide on the answers."""
        return self.deadline is not None or self.budget is not None or self.trusted or bool(self.capacity)

    @property
    def interval_of_capacity(self) -> float:
        """The nominal coverage whose upper end is exceeded with the probability 1 − `fits`."""
        return 2.0 * self.fits - 1.0


@dataclass(frozen=True)
class Predicted:
    """The names of what follows from a prediction, which formulas may read beside the factors."""

    #: What the model predicts; `time` by default.
    quantity: Target
    #: The further quantities that it predicts beside.
    further: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The predicted value."""
        return self.quantity.name

    @property
    def on_one_worker(self) -> str:
        """The predicted value on one worker: `time_1`."""
        return f"{self.name}_1"

    @property
    def names(self) -> tuple[str, ...]:
        """All of them; `total` is the time of all steps, `cost` that on all machines times their price."""
        return (self.name, self.on_one_worker, *self.further, "throughput", "total", "machines", "cost")

    @property
    def values(self) -> frozenset[str]:
        """Those that come from a model, and not from the others."""
        return frozenset({self.name, self.on_one_worker, *self.further})


@dataclass(frozen=True)
class Constraint:
    """A comparison that must hold."""

    text: str
    formula: Formula
    #: Whether it reads a prediction: those that do not are evaluated first.
    predicted: bool


@dataclass(frozen=True)
class Problem:
    """The objective and the constraints, as formulas over the factors and the predicted values alone."""

    #: The names of the predicted values.
    predicted: Predicted
    #: Those that read no prediction first.
    constraints: tuple[Constraint, ...]
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
    def decisive(self) -> tuple[Formula, ...]:
        """The objective, and the constraints that read a prediction."""
        return self.objective, *(c.formula for c in self.constraints if c.predicted)

    @property
    def reads_one_worker(self) -> bool:
        """Whether any formula reads the prediction on one worker."""
        return any(self.predicted.on_one_worker in f.names for f in self.decisive)


def value(formula: Formula, columns: Columns) -> Array:
    """Return a formula's values over some columns, which may be of shape (rows,) and (draws, rows)."""
    return np.asarray(formula.evaluate({name: columns[name] for name in formula.names}), float)


@dataclass(frozen=True)
class Vocabulary:
    """The names that formulas may read."""

    #: Of the model, by the field's names.
    factors: Panel
    #: `names`, `texts`: what a configuration has, and which of it is text.
    names: tuple[str, ...]
    texts: tuple[str, ...]
    #: The names of the predicted values.
    predicted: Predicted
    #: The work of a step, where it is known.
    work: Node | None = None

    @property
    def quantities(self) -> list[str]:
        """What follows from a prediction; a factor of the name of such a quantity stays the factor."""
        return [q for q in self.predicted.names if q not in self.names]

    def number(self, text: str, quantities: bool = False) -> Formula:
        """Read a formula that is a number; if `quantities`, it may also read what follows from a prediction."""
        names = [*self.names, *(self.quantities if quantities else [])]
        formula = parse_number(text, names, self.texts)
        if formula.logical:
            raise FormulaError(
                "a number is needed here, not a comparison",
                text=text,
                column=0,
                width=len(text),
                hint="--where takes comparisons",
            )
        return formula


def read_problem(
    words: Vocabulary, where: Sequence[str], minimize: str, job: Job, *, per_unit: bool = False
) -> Problem:
    """Read the formulas.

    Parameters
    ----------
    minimize : str
        The name of the predicted quantity (`time`: of all steps), `cost`, or a formula.
    per_unit : bool
        Whether time and cost are those of one unit of the work, where the job has no size.

    Raises
    ------
    FormulaError
        For a formula that is refused, or a constraint that is not a comparison.
    ModelError
        Where a formula reads a quantity that the model's factors do not give.

    Examples
    --------
    >>> from genperf.table import Factor
    >>> factors = Panel((Factor("workers", "extrinsic", 1, 16, distinct=5, integer=True, positive=True),))
    >>> words = Vocabulary(factors, ("workers",), (), Predicted(Target("step_s")))
    >>> problem = read_problem(words, ["workers % 2 == 0 and workers < 9"], "cost", Job())
    >>> [c.text for c in problem.constraints]
    ['workers%2 == 0', 'workers < 9']
    >>> render(problem.objective.node)
    'workers*time'
    """
    predicted = words.predicted
    for name in {predicted.name, predicted.on_one_worker} & set(words.names):
        raise ModelError(f"'{name}' is what the model predicts, and a factor is named so", hint="rename the column")
    timed = predicted.quantity.is_time
    if not timed and (job.sized or job.priced):
        raise ModelError(
            f"steps and prices are those of a time, and this model predicts {heading(predicted.quantity)}",
            hint="leave --steps and --price out",
        )
    follow = _quantities(words, job, per_unit)
    whole = Formula("total", follow.node("total")) if timed else Formula(predicted.name, Name(predicted.name))
    objective = whole if minimize == predicted.name else words.number(minimize, quantities=True)
    parts = [Formula(render(node), node) for node in _parts_of(where, words)]
    one_worker = one_worker_names(words.factors, words.names)
    _check_quantities([objective, *parts], words, follow, one_worker)
    constraints = [_constraint(part, words, follow) for part in parts]
    return Problem(
        predicted=predicted,
        constraints=tuple(sorted(constraints, key=lambda c: c.predicted)),
        objective=_substituted(objective, words, follow),
        total=whole,
        throughput=_known("throughput", follow, timed),
        cost=_known("cost", follow, timed),
        one_worker=one_worker,
    )


def _quantities(words: Vocabulary, job: Job, per_unit: bool) -> Quantities:
    """Return what follows from a prediction and the job."""
    for option, text in (("--steps", job.steps), ("--per", job.per)):
        _refuse_not_positive(option, text, words)
    counts = [Name(f.name) for f in words.factors.counts if f.name in words.names]
    machines = words.number(job.per).node if job.per is not None else next(iter(counts), None)
    given = {"value": Name(words.predicted.name), "machines": machines, "work": words.work, "steps": ONE, "price": ONE}
    if job.steps is not None:
        given["steps"] = words.number(str(job.steps)).node
    elif job.samples is not None or per_unit:
        given["steps"] = call("divide", 1.0 if job.samples is None else job.samples, _known_work(words))
    if job.priced:
        given["price"] = words.number(str(job.price)).node
    return Quantities({name: node for name, node in given.items() if node is not None})


def _known(name: str, follow: Quantities, timed: bool) -> Formula | None:
    """Return a quantity as a formula; None where it is not known, and of what is no time."""
    return Formula(name, follow.node(name)) if timed and follow.has(name) else None


def _refuse_not_positive(option: str, text: str | None, words: Vocabulary) -> None:
    """Refuse a number of steps or machines that is no count."""
    if text is None:
        return
    formula = words.number(text)
    if not formula.names and not float(formula.evaluate({})) > 0.0:
        raise GenperfError(f"{option} is {text.strip()}; a number above zero is needed", hint=f"{option} 1000")


def _known_work(words: Vocabulary) -> Node:
    """Return the work of a step."""
    if words.work is None:
        raise ModelError(
            "the work of a step is not known: no throughput was measured, and no column is a batch",
            hint="--steps FORMULA in place of --samples, for example --steps '1e6/(32*workers)'; of epochs --steps 90",
        )
    return words.work


def _check_quantities(
    formulas: Sequence[Formula], words: Vocabulary, follow: Quantities, one_worker: Sequence[str]
) -> None:
    """Refuse formulas that read what this model does not give."""
    read = frozenset().union(*(f.names for f in formulas)) & set(words.quantities)
    predicted = words.predicted
    if not predicted.quantity.is_time and read & {"total", "cost"}:
        name = min(read & {"total", "cost"})
        raise ModelError(
            f"'{name}' needs a model of a time, and this one predicts {heading(predicted.quantity)}",
            hint=f"a formula over the factors and {predicted.name}",
        )
    for name in sorted(read & {"throughput", "machines", "cost"}):
        follow.node(name)
    if predicted.on_one_worker in read and not one_worker:
        raise ModelError(
            f"{predicted.on_one_worker} is the {predicted.name} on one worker, and no factor that is varied counts "
            "the workers"
        )


def _parts_of(where: Sequence[str], words: Vocabulary) -> list[Node]:
    """Read constraints, split at `and`, so that each part can be told apart when nothing satisfies all of them."""
    parts = []
    for text in where:
        formula = parse(text, [*words.names, *words.quantities], words.texts)
        if not formula.logical:
            raise FormulaError(
                "a constraint is a comparison", text=text, column=0, width=len(text), hint=f"{text} <= 64"
            )
        parts += _split(formula.node)
    return parts


def _split(node: Node) -> list[Node]:
    if isinstance(node, Call) and node.function == "and":
        return [part for argument in node.arguments for part in _split(argument)]
    return [node]


def _constraint(part: Formula, words: Vocabulary, follow: Quantities) -> Constraint:
    """Return a constraint over the factors and the predicted values."""
    formula = _substituted(part, words, follow)
    return Constraint(formula.text, formula, bool(formula.names & words.predicted.values))


def _substituted(formula: Formula, words: Vocabulary, follow: Quantities) -> Formula:
    """Return a formula with what follows from a prediction written out."""
    read = [name for name in words.quantities if name in formula.names and follow.has(name)]
    return Formula(formula.text, substitute(formula.node, {name: follow.node(name) for name in read}))


def capacity_constraints(capacity: Mapping[str, float], schema: Schema, further: Collection[str] = ()) -> list[str]:
    """Return the constraints that the central prediction keeps each capacity.

    Parameters
    ----------
    further : collection of str
        The further quantities that the model predicts.

    Raises
    ------
    GenperfError
        For a name that the model does not predict.
    """
    target = schema.target
    for name, value in capacity.items():
        if name == target.name or name in further:
            continue
        if schema.column(name) in {f.name for f in schema.factors}:
            raise GenperfError(
                f"'{name}' is a factor of the model and not what it predicts", hint=f"--where '{name} <= {value:g}'"
            )
        raise GenperfError(
            f"a capacity of '{name}' needs a model of it, and this one predicts {heading(target)}",
            hint=f"genperf fit TABLE … --also {name}=COLUMN:UNIT fits it beside; or a model of --quantity {name}:UNIT",
        )
    return [f"{name} <= {value!r}" for name, value in capacity.items()]


def trusted_rows(frame: pd.DataFrame) -> Mask:
    """Return which answers have a verdict that `trusted` asks for."""
    return frame["verdict"].isin(TRUSTED).to_numpy(dtype=bool)
