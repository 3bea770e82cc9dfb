"""A phase that a table measures in a separate column, fitted to that column."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.errors import Note
from genperf.estimate.candidates import candidates_of
from genperf.estimate.diagnose import unidentified
from genperf.estimate.options import FitOptions
from genperf.estimate.problem import problem_of
from genperf.estimate.select import best_of
from genperf.expression import Expression
from genperf.formula import names_in
from genperf.losses import loss_named, penalty_named
from genperf.solver import Problem, solve
from genperf.table import Table, Target, phase_seconds
from genperf.table.cells import with_columns

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Positions = npt.NDArray[np.int64]

#: Losses that are defined where the measured time is zero.
DEFINED_AT_ZERO = ("absolute", "squared")


@dataclass(frozen=True, eq=False)
class Column:
    """The measured times of a phase."""

    #: `phase`, `name`: the phase, and the column it is measured in.
    phase: str
    name: str
    #: One row per configuration in which it was measured; the target is the phase's time.
    medians: Table
    #: Shape (measured,). Numbers of these configurations in the table.
    rows: Positions


@dataclass(frozen=True, eq=False)
class Part:
    """A phase fitted to its column."""

    column: Column
    #: The sum of its terms.
    expression: Expression
    #: Shape (n,).
    constants: Array
    #: None where the phase takes no time wherever it was measured: there is nothing to fit.
    problem: Problem | None
    #: Shape (measured,). Numbers of the problem's rows in the table's configurations.
    rows: Positions
    #: λ.
    strength: float
    #: How the fit differs from the usual one, if it does.
    remark: str = ""
    evaluations: int = 0
    converged: bool = True
    #: Constants that the column does not determine.
    unidentified: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its constants."""
        return self.expression.constant_names


def read_columns(table: Table, phases: Collection[str]) -> tuple[list[Column], list[Note]]:
    """Read the columns of some phases; cells that cannot be used are noted and left out."""
    columns: list[Column] = []
    notes = []
    for phase in phases:
        name = table.phases[phase]
        seconds, faults = phase_seconds(table.frame[name])
        if faults:
            first = min(faults)
            count = f"{len(faults)} cell" + ("s" if len(faults) > 1 else "")
            text = (
                f"column '{name}': {count} cannot be used, and {phase} is fitted without; the first: "
                f"'{table.frame[name].iloc[first]}' {faults[first]}"
            )
            notes.append(Note(text, "phase_cells"))
        usable = np.isfinite(seconds)
        if not table.weights[usable].any():
            continue
        of_phase = replace(table, frame=with_columns(table.frame, {name: seconds}), target=Target(name)).take(usable)
        rows = pd.unique(table.configuration[usable]).astype(np.int64)
        columns.append(Column(phase, name, of_phase.medians(), rows))
    return columns, notes


def part_of(
    column: Column, terms: Collection[str], expression: Expression, options: FitOptions, seed: int
) -> Part | str:
    """Fit a phase to its column.

    Parameters
    ----------
    terms : collection of str
        Names of the terms that it measures.
    expression : Expression
        Of the whole family.

    Returns
    -------
    Part or str
        Why the phase cannot be fitted to its column, where it cannot.
    """
    part = of_phase(expression, terms)
    if part is None:
        return "the table does not show what it depends on, or its constants are held"
    medians, rows = column.medians, column.rows
    informative = _informative(part, medians)
    if not informative.any() or not medians.weights[informative].any():
        return "it was measured only where it takes no time"
    medians, rows = medians.take(informative), rows[informative]
    if len(part.constants) > len(medians):
        return f"it was measured in too few configurations ({len(medians)}) for its {len(part.constants)} constants"
    if not medians.measured.any():
        zeros = np.zeros(len(part.constants))
        return Part(column, part, zeros, None, rows, options.strength, "zero throughout")
    loss, remark = options.loss, ""
    if not medians.measured.all() and loss not in DEFINED_AT_ZERO:
        loss, remark = "squared", "zero in places, so by squared errors"
    strength = options.strength
    if options.lam == "cv" and medians.measured.all():
        strength = best_of(candidates_of([part], medians, options, seed)).strength
    problem = problem_of(part, medians, loss_named(loss), penalty_named(options.penalty, strength))
    solution = solve(problem, options.solver, seed)
    return Part(
        column,
        part,
        solution.constants,
        problem,
        rows,
        strength,
        remark,
        solution.evaluations,
        solution.converged,
        _unidentified(problem, part, solution.constants),
    )


def by_its_column(
    column: Column, terms: Collection[str], expressions: Sequence[Expression], options: FitOptions, seed: int
) -> list[Expression]:
    """Return the expressions with the law of a phase that predicts its column best, from configurations held out.

    Parameters
    ----------
    terms : collection of str
        Names of the terms that it measures.
    expressions : sequence of Expression
        Of the whole family; the first has the usual law, which is kept where the column cannot be compared with all.
    """
    sums = [of_phase(expression, terms) for expression in expressions]
    laws = list(dict.fromkeys(law for law in sums if law is not None))
    best = sums[0]
    if len(laws) > 1 and sums[0] is not None:
        informative = np.logical_and.reduce([_informative(law, column.medians) for law in laws])
        comparable = column.medians.measured[informative]
        if comparable.all() and comparable.size > max(len(law.constants) for law in laws):
            best = best_of(candidates_of(laws, column.medians.take(informative), options, seed)).expression
    return [expression for expression, law in zip(expressions, sums, strict=True) if law == best]


def _informative(part: Expression, medians: Table) -> Mask:
    """Tell which rows depend on a phase's constants: not those where it is zero whatever they are (one worker)."""
    ones: Mapping[str, float] = dict.fromkeys(part.constant_names, 1.0)
    return np.asarray(part.evaluate(medians.columns, ones) != 0.0)


def of_phase(expression: Expression, names: Collection[str]) -> Expression | None:
    """Return the sum of some terms; None where there are none, or no constant in them."""
    terms = tuple(t for t in expression.terms if t.name in names)
    used = frozenset[str]().union(*(names_in(t.node) for t in terms))
    constants = tuple(c for c in expression.constants if c.name in used)
    return replace(expression, terms=terms, constants=constants, total=None) if terms and constants else None


def _unidentified(problem: Problem, expression: Expression, constants: Array) -> tuple[str, ...]:
    """Name the constants that the column does not determine; relative to its mean where some values are zero."""
    if not problem.measured.all():
        problem = replace(problem, measured=np.full(problem.measured.size, problem.measured.mean()))
    return unidentified(problem, expression, constants)
