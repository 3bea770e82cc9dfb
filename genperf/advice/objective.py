"""What is to be small and what must hold, as formulas over the factors and the quantities that follow from a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from genperf.errors import FormulaError, ModelError
from genperf.formula import Call, Formula, Name, Node, call, parse, quote_name, render, substitute
from genperf.models.family import Factors

Array = npt.NDArray[np.float64]
Truth = npt.NDArray[np.bool_]
Columns = Mapping[str, npt.NDArray[Any]]

#: What a formula may read beside the factors. `time` is what the model predicts, `time_1` the same on one worker,
#: `total` the time of all steps, `cost` that on all machines times their price.
QUANTITIES = ("time", "time_1", "total", "machines", "cost")
#: Factors that are 1 where a configuration is reduced to one worker.
_ALONE = ("workers", "nodes", "devices_per_node")


@dataclass(frozen=True)
class Constraint:
    """Something that must hold.

    Attributes
    ----------
    text : str
    formula : Formula
    timed : bool
        Whether it needs a predicted time: those that do not are looked at first.
    """

    text: str
    formula: Formula
    timed: bool


@dataclass(frozen=True)
class Problem:
    """What is asked of every configuration, as formulas over the factors, `time` and `time_1` alone.

    Attributes
    ----------
    constraints : tuple of Constraint
        Those that need no time first.
    objective : Formula
        What is to be small.
    total : Formula
        The time of all steps.
    cost : Formula or None
        None where nothing counts the machines.
    alone : tuple of str
        The factors that are 1 on one worker.
    """

    constraints: tuple[Constraint, ...]
    objective: Formula
    total: Formula
    cost: Formula | None
    alone: tuple[str, ...]

    @property
    def needs_alone(self) -> bool:
        """Whether anything reads `time_1`."""
        return any("time_1" in f.names for f in (self.objective, *(c.formula for c in self.constraints)))


def value(formula: Formula, columns: Columns) -> Array:
    """Return a formula's values over some columns, which may be of shape (rows,) and (draws, rows)."""
    own = {name: columns[name] for name in formula.names}
    return np.asarray(formula.evaluate(own), float)


def read_problem(
    found: Factors,
    names: Sequence[str],
    texts: Sequence[str],
    where: Sequence[str],
    minimize: str,
    machines: str | None,
    price: float | str,
    steps: str | None,
) -> Problem:
    """Read the formulas.

    Parameters
    ----------
    found : Factors
        Of the model.
    names, texts : sequence of str
        What a configuration has, and what of it is text.
    where : sequence of str
        Constraints.
    minimize : str
        `time` (of all steps), `cost`, or a formula.
    machines, price, steps : str, float or None
        Formulas over the configuration; see `genperf.optimize`.

    Raises
    ------
    FormulaError
        For a formula that is refused, or a constraint that is not a comparison.
    ModelError
        Where a quantity is asked for that the model's factors do not give.

    Examples
    --------
    >>> from genperf.table import Factor
    >>> found = Factors((Factor("workers", "extrinsic", 1, 16, distinct=5, integer=True, positive=True),))
    >>> problem = read_problem(found, ["workers"], [], ["workers % 2 == 0 and workers < 9"], "cost", None, 1, None)
    >>> [c.text for c in problem.constraints]
    ['workers%2 == 0', 'workers < 9']
    >>> render(problem.objective.node)
    'workers*time'
    """
    for name in {"time", "time_1"} & set(names):
        raise ModelError(f"'{name}' is a predicted time here, and a factor is named so", hint="rename the column")
    own = machines if machines is not None else _machines(found, names)
    known = [q for q in QUANTITIES if q not in names]
    follow = _follow(own, price, steps, names, texts)
    aims = {"time": "total", "cost": "cost"}
    aim = aims.get(minimize, minimize) if minimize not in names else minimize
    objective = _number(aim, [*names, *known], texts)
    constraints = [_constraint(part, known, follow) for part in _parts_of(where, [*names, *known], texts)]
    alone = tuple(f.name for f in map(found.find, _ALONE) if f is not None and f.name in names)
    _check_given([objective, *(c.formula for c in constraints)], known, follow, alone)
    return Problem(
        constraints=tuple(sorted(constraints, key=lambda c: c.timed)),
        objective=_in_time(objective, known, follow),
        total=Formula("total", follow["total"]),
        cost=Formula("cost", follow["cost"]) if "cost" in follow else None,
        alone=alone,
    )


def _follow(
    machines: str | None, price: float | str, steps: str | None, names: Sequence[str], texts: Sequence[str]
) -> dict[str, Node]:
    """Write down what follows from a time: the time of all steps, and their cost."""
    total = Name("time") if steps is None else call("multiply", Name("time"), _number(str(steps), names, texts).node)
    if machines is None:
        return {"total": total}
    counted = _number(machines, names, texts).node
    paid = call("multiply", counted, total)
    return {
        "total": total,
        "machines": counted,
        "cost": call("multiply", paid, _number(str(price), names, texts).node) if price != 1 else paid,
    }


def _machines(found: Factors, names: Sequence[str]) -> str | None:
    """Say what counts the machines: nodes; or workers, each on as many as it has partitions, and servers."""
    column = {n: f.name for n in ("nodes", "workers", "partitions", "servers") if (f := found.find(n)) is not None}
    quoted = {canonical: quote_name(name) for canonical, name in column.items() if name in names}
    if "nodes" in quoted:
        return quoted["nodes"]
    if "workers" not in quoted:
        return None
    each = "*".join(quoted[n] for n in ("workers", "partitions") if n in quoted)
    return f"{each} + {quoted['servers']}" if "servers" in quoted else each


def _check_given(
    formulas: Sequence[Formula], known: Sequence[str], follow: Mapping[str, Node], alone: Sequence[str]
) -> None:
    asked = frozenset().union(*(f.names for f in formulas)) & set(known)
    if asked & {"cost", "machines"} and "machines" not in follow:
        raise ModelError(
            "a cost needs the number of machines, and the model has no factor nodes or workers",
            hint="--machines FORMULA, for example --machines 'replicas*partitions + servers'",
        )
    if "time_1" in asked and not alone:
        raise ModelError("time_1 is the time on one worker, and no factor that is varied counts the workers")


def _parts_of(where: Sequence[str], names: Sequence[str], texts: Sequence[str]) -> list[Node]:
    """Read constraints, split at `and`, so that each part can be told apart when nothing satisfies all of them."""
    found = []
    for text in where:
        formula = parse(text, names, texts)
        if not formula.logical:
            raise FormulaError(
                "a constraint is a comparison", text=text, column=0, width=len(text), hint=f"{text} <= 64"
            )
        found += _split(formula.node)
    return found


def _split(node: Node) -> list[Node]:
    if isinstance(node, Call) and node.function == "and":
        return [part for argument in node.arguments for part in _split(argument)]
    return [node]


def _constraint(node: Node, known: Sequence[str], follow: Mapping[str, Node]) -> Constraint:
    formula = _in_time(Formula(render(node), node), known, follow)
    return Constraint(formula.text, formula, bool(formula.names & {"time", "time_1"}))


def _in_time(formula: Formula, known: Sequence[str], follow: Mapping[str, Node]) -> Formula:
    """Put what follows from a time in; a factor of the name of such a quantity stays the factor."""
    return Formula(formula.text, substitute(formula.node, {q: follow[q] for q in known if q in follow}))


def _number(text: str, names: Sequence[str], texts: Sequence[str]) -> Formula:
    formula = parse(text, names, texts)
    if formula.logical:
        raise FormulaError(
            "a number is needed here, not a comparison",
            text=text,
            column=0,
            width=len(text),
            hint="--where takes comparisons",
        )
    return formula
