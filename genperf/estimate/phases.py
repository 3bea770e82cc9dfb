"""A family whose phases are measured: each is fitted to its column, and the total is composed from them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.errors import FitError, Note
from genperf.estimate.candidates import candidates_of
from genperf.estimate.fit import estimate
from genperf.estimate.options import FitOptions
from genperf.estimate.outcome import Estimate, at_bounds, look_back_alone, spread_of, unidentified
from genperf.estimate.problem import problem_of
from genperf.estimate.select import affordable, best_of
from genperf.estimate.weights import BOOTSTRAP, drawn_weights, held_out_misfit, resampled
from genperf.expression import Expression
from genperf.formula import names_in
from genperf.models import Family, family_named, held_at
from genperf.prediction import Member, Status
from genperf.solver import Problem, Solution, polish, solve
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
    """Fit a phase to its column."""
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
    problem = problem_of(part, medians, replace(options, loss=loss), strength)
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
    """Return the expressions with the law of a phase that predicts its column best, from configurations held out."""
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
    """Return which rows depend on a phase's constants: not those where it is zero whatever they are (one worker)."""
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


@dataclass(frozen=True)
class PhaseSettings:
    """Comparing overlaps of the same phases."""

    #: Decrease of the mean relative error from which on another overlap is named. A guess: 1 % of the time is near the
    #: noise of repeats.
    min_gain: float = 0.01


PHASES = PhaseSettings()


def estimate_phases(family: Family, table: Table, options: FitOptions, seed: int) -> Estimate:
    """Fit a family to a table that measures some of its phases.

    Each measured phase is fitted to its column, by the law that predicts it best where the family has several. The
    other constants are fitted to the total, with those of the phases held. A bootstrap replicate draws the same
    configurations for every phase and for the total, so that the draws of different phases belong together. The errors
    of predictions are those of the composed total.

    Parameters
    ----------
    table : Table
        With its repeats.

    Returns
    -------
    Estimate
        With notes: the column of each phase, the error of the composed total, and whether another overlap of the same
        phases has a smaller one. A family of several overlaps takes that of the smallest error.
    """
    chooses = family.candidates is not None
    overlaps = [family_named(name) for name in family.overlaps] if chooses else [family]
    expressions, parts, notes = _parts(overlaps[0], table, options, seed)
    if not parts:
        laws = held_at(family.expressions(table.factors, options.mapping), options.fix) if chooses else expressions
        estimated = estimate(laws, table, options, seed, family.choice)
        return replace(estimated, notes=(*notes, *estimated.notes))
    medians, request = table.medians(), (options, seed)
    composed = _composed_laws(expressions, parts, medians, request)
    whole = _nearest([*composed, *_overlapped(overlaps[1:], parts, medians, request)])
    if not chooses:
        notes += _better_overlap(family, whole, medians, request)
    expression, total, best = whole.expression, whole.total, whole.constants
    counts = resampled(len(medians), options.draws, np.random.default_rng([seed, 1]))
    draws = whole.refit(counts)
    residuals = np.log(total.measured / total.predict(best[None, :])[0])
    evidence = look_back_alone(total, medians, whole.without)
    spread = spread_of(table, held_out_misfit(total, draws, counts), residuals, best.size, evidence)
    unknown = {name for part in parts for name in part.unidentified}
    unknown |= set(unidentified(total, expression, best, whole.held)) if not whole.held.all() else set()
    member = Member(
        expression,
        best,
        draws,
        1.0,
        whole.status(options.solver),
        at_bounds(total, expression, best),
        tuple(name for name in expression.constant_names if name in unknown),
    )
    return Estimate(member, whole.strength, spread, evidence, (_composition_note(whole, medians), *notes))


def _parts(
    family: Family, table: Table, options: FitOptions, seed: int
) -> tuple[list[Expression], list[Part], list[Note]]:
    """Fit the phases to their columns, and write the family's expressions for these phases."""
    columns, notes = read_columns(table, [p for p in table.phases if p in family.phases])
    while True:
        written = family.expressions(table.factors, options.mapping, [c.phase for c in columns])
        expressions = held_at(written, options.fix)
        for column in columns:
            expressions = by_its_column(column, family.phases[column.phase], expressions, options, seed)
        fitted = {c.phase: part_of(c, family.phases[c.phase], expressions[0], options, seed) for c in columns}
        left_out = {phase: why for phase, why in fitted.items() if isinstance(why, str)}
        if not left_out:
            return expressions, [part for part in fitted.values() if isinstance(part, Part)], notes
        # The terms of a phase depend on the other measured phases, so fit again without those left out.
        notes += [
            Note(
                f"column '{c.name}' is left out, and {c.phase} fitted to the total: {left_out[c.phase]}",
                "phase_left_out",
            )
            for c in columns
            if c.phase in left_out
        ]
        columns = [c for c in columns if c.phase not in left_out]


#: The options of a fit, and the seed of its searches.
_Request = tuple[FitOptions, int]


@dataclass(frozen=True, eq=False)
class _Composed:
    """Fitted phases, and the whole fitted to the total with their constants held."""

    expression: Expression
    parts: Sequence[Part]
    #: Over all constants.
    total: Problem
    #: Shape (n,).
    constants: Array
    #: Shape (n,). Constants that come from the parts.
    held: Mask
    #: Of the other constants, fitted to the total; None where there are none.
    remainder: Solution | None
    #: λ of the total, or of the phases where they have all constants.
    strength: float

    def refit(self, counts: Array) -> Array:
        """Return the constants fitted to repeated configurations, (sets, configurations) → (sets, n)."""
        sets = np.broadcast_to(self.constants, (len(counts), self.constants.size)).copy()
        for part in self.parts:
            if part.problem is not None:
                places = [self.expression.constant_names.index(name) for name in part.names]
                weights = drawn_weights(part.problem, counts[:, part.rows])
                sets[:, places] = polish(part.problem, sets[:, places], weights, BOOTSTRAP).constants
        if self.remainder is None:
            return sets
        return polish(self.total, sets, drawn_weights(self.total, counts), BOOTSTRAP, self.held).constants

    def without(self, train: Mask) -> Array | None:
        """Return the constants fitted to some configurations; None where a phase was measured in none of them."""
        problems = [(part.problem, train[part.rows]) for part in self.parts if part.problem is not None]
        if not all(problem.weights[rows].any() for problem, rows in problems):
            return None
        return np.asarray(self.refit(train[None, :].astype(float))[0])

    def status(self, solver: str) -> Status:
        """Return how the searches ended: the cost is that of the total."""
        evaluations = sum(part.evaluations for part in self.parts)
        converged = all(part.converged for part in self.parts)
        cost = float(self.total.cost(self.constants[None, :])[0])
        if self.remainder is None:
            return Status(solver, cost, converged, evaluations, 1, 1)
        of_total = self.remainder
        evaluations += of_total.evaluations
        return Status(solver, cost, converged and of_total.converged, evaluations, of_total.restarts, of_total.agreed)

    @property
    def unmeasured(self) -> tuple[int, int]:
        """How many terms have no column, and how many constants are fitted to the total."""
        measured = {term.name for part in self.parts for term in part.expression.terms}
        return sum(term.name not in measured for term in self.expression.terms), int(np.sum(~self.held))

    @property
    def errors(self) -> Array:
        """|composed/measured − 1| of each configuration's total."""
        return np.asarray(np.abs(self.total.predict(self.constants[None, :])[0] / self.total.measured - 1.0))


def _composed(expression: Expression, parts: Sequence[Part], medians: Table, request: _Request) -> _Composed:
    """Take the phases' constants, and fit the others to the total."""
    options, seed = request
    known = {n: float(v) for part in parts for n, v in zip(part.names, part.constants, strict=True)}
    names = expression.constant_names
    held = np.array([name in known for name in names])
    values = np.array([known.get(name, 0.0) for name in names])
    if held.all():
        strength = max(part.strength for part in parts)
        total = problem_of(expression, medians, options, strength)
        return _Composed(expression, parts, total, values, held, None, strength)
    others = expression.with_fixed({name: value for name, value in known.items() if name in names})
    affordable([others], len(medians))
    strength = options.strength
    if options.lam == "cv":
        strength = best_of(candidates_of([others], medians, options, seed)).strength
    total = problem_of(expression, medians, options, strength)
    pinned = replace(
        total,
        lower=np.where(held, values, total.lower),
        upper=np.where(held, values, total.upper),
        start=np.where(held, values, total.start),
    )
    remainder = solve(pinned, options.solver, seed)
    return _Composed(expression, parts, total, remainder.constants, held, remainder, strength)


def _composed_laws(
    expressions: Sequence[Expression], parts: Sequence[Part], medians: Table, request: _Request
) -> list[_Composed]:
    """Compose fitted phases by each law of what the total shows."""
    out, failure = [], None
    for expression in expressions:
        try:
            out.append(_composed(expression, parts, medians, request))
        except FitError as error:
            failure = failure or error
    if failure is not None and not out:
        raise failure
    return out


def _overlapped(
    families: Sequence[Family], parts: Sequence[Part], medians: Table, request: _Request
) -> list[_Composed]:
    """Compose fitted phases with other families' overlaps, which may lack a constant that is fixed."""
    options, measured = request[0], [part.column.phase for part in parts]
    out: list[_Composed] = []
    for family in families:
        if not family.shown(measured):
            continue
        expressions = []
        for written in family.expressions(medians.factors, options.mapping, measured):
            fix = {name: value for name, value in options.fix.items() if name in written.constant_names}
            expression = written.with_fixed(fix)
            laws = (of_phase(expression, family.phases[part.column.phase]) for part in parts)
            if all(law and law.terms == part.expression.terms for law, part in zip(laws, parts, strict=True)):
                expressions.append(expression)
        try:
            out += _composed_laws(expressions, parts, medians, request)
        except FitError:
            continue  # the total does not determine the constants that this overlap leaves to it
    return out


def _composition_note(whole: _Composed, medians: Table) -> Note:
    """Name the column of each phase, the constants of the total, and the error of the composed total."""
    phases = []
    for part in whole.parts:
        measured = len(part.column.rows)
        where = f"{measured} of {len(medians)} configurations" if measured < len(medians) else ""
        details = [f"'{part.column.name}'", where, part.remark]
        phases.append(f"{part.column.phase} ({', '.join(d for d in details if d)})")
    names = [name for name, is_held in zip(whole.expression.constant_names, whole.held, strict=True) if not is_held]
    from_total = f"; {', '.join(names)} from the total, with these held" if names else ""
    text = (
        f"fitted to separate columns: {', '.join(phases)}{from_total}. The composed total has a mean error of "
        f"{100.0 * whole.errors.mean():.1f} %"
    )
    return Note(text, "phases")


def _better_overlap(family: Family, whole: _Composed, medians: Table, request: _Request) -> list[Note]:
    """Name another overlap of the same phases, if its total is clearly nearer to the measured one."""
    others = _overlapped([family_named(name) for name in family.overlaps], whole.parts, medians, request)
    nearest = _nearest([whole, *others])
    if nearest is whole:
        return []
    name, error = nearest.expression.family, float(nearest.errors.mean())
    text = f"with the overlap of '{name}' the composed total has a mean error of {100.0 * error:.1f} %"
    return [Note(f"{text}: try --model {name}", "overlap")]


def _nearest(composed: Sequence[_Composed]) -> _Composed:
    """Return the first composition, or the one that is clearly nearest to the measured total."""
    nearest, *others = composed
    # What no column shows can only bring a fitted total nearer, so it has to be clearly nearer than without.
    for size in sorted({other.unmeasured for other in others}):
        best = min((o for o in others if o.unmeasured == size), key=lambda other: float(other.errors.mean()))
        gain = nearest.errors - best.errors
        if gain.mean() > max(PHASES.min_gain, gain.std() / np.sqrt(gain.size)):
            nearest = best
    return nearest
