"""A family whose phases are measured: each is fitted to its column, and the total is composed from them."""

from collections.abc import Collection, Sequence
from contextlib import suppress
from functools import cached_property

import numpy as np
import pandas as pd
from msgspec import Struct
from msgspec.structs import replace

from genperf.arrays import Array
from genperf.errors import FitError, Note, counted
from genperf.estimate.candidates import CLEAR_GAIN, affordable, best_of, candidates_of
from genperf.estimate.fit import estimate
from genperf.estimate.options import FitOptions
from genperf.estimate.outcome import Fitted, FittedPhase, PhaseTimes, estimated, unidentified
from genperf.estimate.problem import problem_of
from genperf.expression import Expression
from genperf.models import Family, family_named, held_at
from genperf.panel import Table
from genperf.panel.options import phase_seconds
from genperf.panel.panel import Target
from genperf.prediction import Ensemble
from genperf.solver import solve
from genperf.table.cells import with_columns

#: Losses that are defined where the measured time is zero.
DEFINED_AT_ZERO = ("absolute", "squared")


def estimate_phases(family: Family, table: Table, options: FitOptions, seed: int) -> Ensemble:
    """Fit each measured phase of a family to its column, and the other constants to the total with those held."""
    fit = _PhaseFit(table, options, seed)
    overlaps = [family_named(name) for name in family.overlaps]
    # `s-sgd` takes the best of its overlaps; `s-sgd-full` is one of them and stays it: a better one is only named.
    chooses_overlap = family.name not in overlaps[0].overlaps
    expressions, phases, notes = fit.parts(overlaps[0] if chooses_overlap else family)
    if not phases:
        laws = held_at(family.expressions(table.panel), options.fix) if chooses_overlap else expressions
        alone = estimate(laws, table, options, seed, family.choice)
        return replace(alone, notes=(*notes, *alone.notes))
    # Where the total determines no composition, the first is tried again, for the error that says why.
    composed = fit.composed(expressions, phases) or [fit.whole(expressions[0], phases)]
    composition = composed[0] if chooses_overlap else _nearest(composed)
    compositions = composed if chooses_overlap else [composition]
    # No other composition can be clearly nearer to a total that is met.
    exact = _errors(composition).mean() <= CLEAR_GAIN
    alternatives = [] if exact else fit.overlapped(overlaps[1:] if chooses_overlap else overlaps, phases)
    nearest = _nearest([*compositions, *alternatives])
    chosen = nearest if chooses_overlap else composition
    if nearest is not chosen:
        name, error = nearest.expression.family, 100.0 * float(_errors(nearest).mean())
        text = f"with the overlap of '{name}' the composed total has a mean error of {error:.1f} %"
        notes.append(Note(f"{text}: try --model {name}", "overlap"))
    return estimated(chosen, table, fit.medians, options, [_note(chosen), *notes])


class _PhaseFit(Struct, frozen=True, eq=False, dict=True):
    """Fits the phases of a table, and the total that they make up."""

    table: Table
    options: FitOptions
    seed: int

    @cached_property
    def medians(self) -> Table:
        """The table with one row per configuration."""
        return self.table.medians()

    def parts(self, family: Family) -> tuple[list[Expression], list[FittedPhase], list[Note]]:
        """Return a family's expressions with the best law of every phase, the fits of the phases, and notes."""
        columns, notes = self._columns([p for p in self.table.phases if p in family.phases])
        while True:
            measured_phases = [column.phase for column in columns]
            expressions = held_at(family.expressions(self.table.panel, measured_phases), self.options.fix)
            for column in columns:
                expressions = self._with_best_law(column, family.phases[column.phase], expressions)
            fits, reasons = list[FittedPhase](), dict[PhaseTimes, str]()
            for column in columns:
                fit_or_reason = self._part(column, of_phase(expressions[0], family.phases[column.phase]))
                if isinstance(fit_or_reason, str):
                    reasons[column] = fit_or_reason
                else:
                    fits.append(fit_or_reason)
            if not reasons:
                return expressions, fits, notes
            # The terms of a phase depend on the other measured phases, so fit again without those left out.
            for column, reason in reasons.items():
                text = f"column '{column.name}' is left out, and {column.phase} fitted to the total: {reason}"
                notes.append(Note(text, "phase_left_out"))
            columns = [column for column in columns if column not in reasons]

    def _columns(self, phases: Collection[str]) -> tuple[list[PhaseTimes], list[Note]]:
        """Read the columns of some phases; cells that cannot be used are noted and left out."""
        table, columns, notes = self.table, [], []
        for phase in phases:
            name = table.phases[phase]
            seconds, faults = phase_seconds(table.frame[name])
            if faults:
                first_fault = min(faults)
                text = (
                    f"column '{name}': {counted(len(faults), 'cell')} cannot be used, and {phase} is fitted without; "
                    f"the first: '{table.frame[name].iloc[first_fault]}' {faults[first_fault]}"
                )
                notes.append(Note(text, "phase_cells"))
            usable = np.isfinite(seconds)
            if not usable.any():
                continue
            timed = replace(table, frame=with_columns(table.frame, {name: seconds}), target=Target(name)).take(usable)
            rows = pd.unique(table.configuration[usable]).astype(np.int64)
            columns.append(PhaseTimes(phase, name, timed.medians(), rows))
        return columns, notes

    def _with_best_law(
        self, column: PhaseTimes, terms: Collection[str], expressions: Sequence[Expression]
    ) -> list[Expression]:
        """Return the expressions with the law of a phase that predicts its column best, from held-out rows."""
        law_of_expression = [of_phase(expression, terms) for expression in expressions]
        laws = list(dict.fromkeys(law for law in law_of_expression if law is not None))
        best = law_of_expression[0]
        if len(laws) > 1 and best is not None:
            informative = np.logical_and.reduce([column.informative(law) for law in laws])
            comparable = column.medians.measured[informative]
            # Errors are relative, so no time may be zero.
            if comparable.all() and comparable.size > max(len(law.constants) for law in laws):
                medians = column.medians.take(informative)
                best = best_of(candidates_of(laws, medians, self.options, self.seed)).expression
        return [expression for expression, law in zip(expressions, law_of_expression, strict=True) if law == best]

    def _part(self, column: PhaseTimes, law: Expression | None) -> FittedPhase | str:
        """Fit a phase to its column by a law; where that cannot be, return the reason as a text."""
        if law is None:
            return "the table does not show what it depends on, or its constants are held"
        informative = column.informative(law)
        if not informative.any():
            return "it was measured only where it takes no time"
        medians, rows, options = column.medians.take(informative), column.rows[informative], self.options
        count = len(law.constants)
        if count > len(medians):
            return f"it was measured in too few configurations ({len(medians)}) for its {count} constants"
        if not medians.measured.any():
            return FittedPhase(column, law, rows, remark="zero throughout")
        remark, has_zeros = "", not medians.measured.all()
        if has_zeros and options.loss not in DEFINED_AT_ZERO:
            options, remark = replace(options, loss="squared"), "zero in places, so by squared errors"
        # λ is cross-validated by relative errors, which a time of zero has none of.
        problem = problem_of(law, medians, options, options.strength if has_zeros else self._strength(law, medians))
        solution = solve(problem, options.solver, self.seed)
        # For the same reason, what changes a prediction is then seen relative to the mean time.
        judged = replace(problem, measured=np.full(len(rows), problem.measured.mean())) if has_zeros else problem
        undetermined = unidentified(judged, law, solution.constants, held=np.zeros(count, bool))
        return FittedPhase(column, law, rows, problem, solution, remark, undetermined)

    def _strength(self, law: Expression, medians: Table) -> float:
        """Return λ: the one that is requested, or that with which a law predicts held-out rows best."""
        if self.options.lam != "cv":
            return self.options.strength
        return best_of(candidates_of([law], medians, self.options, self.seed)).strength

    def composed(self, expressions: Sequence[Expression], phases: Sequence[FittedPhase]) -> list[Fitted]:
        """Compose fitted phases by each law of what the total shows; those that it does not determine are left out."""
        out: list[Fitted] = []
        for expression in expressions:
            with suppress(FitError):
                out.append(self.whole(expression, phases))
        return out

    def whole(self, expression: Expression, phases: Sequence[FittedPhase]) -> Fitted:
        """Take the phases' constants, and fit the others to the total; a `FitError` where it shows too little."""
        phase_constants = {name: value for phase in phases for name, value in phase.values.items()}
        names = expression.constant_names
        if phase_constants.keys() >= set(names):
            default = self.options.strength
            strength = max(default if p.problem is None else p.problem.penalty.strength for p in phases)
            return Fitted(expression, problem_of(expression, self.medians, self.options, strength), None, phases)
        remaining = expression.with_fixed({name: value for name, value in phase_constants.items() if name in names})
        affordable([remaining], len(self.medians))
        total = problem_of(expression, self.medians, self.options, self._strength(remaining, self.medians))
        # A constant of a phase has its value for both bounds and for its start.
        limits = zip(names, total.lower, total.upper, total.start, strict=True)
        pinned_limits = [[phase_constants[name]] * 3 if name in phase_constants else bounds for name, *bounds in limits]
        lower, upper, start = np.array(pinned_limits).T
        pinned = replace(total, lower=lower, upper=upper, start=start)
        return Fitted(expression, total, solve(pinned, self.options.solver, self.seed), phases)

    def overlapped(self, families: Sequence[Family], phases: Sequence[FittedPhase]) -> list[Fitted]:
        """Compose fitted phases with other families' overlaps, of whose constants the total determines the others."""
        measured, measured_terms = [p.column.phase for p in phases], [p.expression.terms for p in phases]
        with_same_phases: list[Expression] = []
        for family in (f for f in families if f.shown(measured)):
            for written in family.expressions(self.medians.panel, measured):
                fix = {name: value for name, value in self.options.fix.items() if name in written.constant_names}
                expression = written.with_fixed(fix)
                laws = [of_phase(expression, family.phases[phase]) for phase in measured]
                if [law and law.terms for law in laws] == measured_terms:
                    with_same_phases.append(expression)
        return self.composed(with_same_phases, phases)


def of_phase(expression: Expression, names: Collection[str]) -> Expression | None:
    """Return the sum of some terms; None where there are none, or no constant in them."""
    terms = tuple(t for t in expression.terms if t.name in names)
    used = frozenset[str]().union(*(t.names for t in terms))
    constants = tuple(c for c in expression.constants if c.name in used)
    return replace(expression, terms=terms, constants=constants, total=None) if terms and constants else None


def _unmeasured(total: Fitted) -> tuple[int, int]:
    """Return how many terms have no column, and how many constants are fitted to the total."""
    measured = {term.name for phase in total.parts for term in phase.expression.terms}
    return sum(term.name not in measured for term in total.expression.terms), int(np.sum(~total.held))


def _errors(total: Fitted) -> Array:
    """Return |composed/measured − 1| of each configuration's total."""
    return np.asarray(np.abs(total.problem.predict(total.constants[None, :])[0] / total.problem.measured - 1.0))


def _note(total: Fitted) -> Note:
    """Return the column of each phase, the constants of the total, and the error of the composed total."""
    phases, configurations = [], total.problem.measured.size
    for phase in total.parts:
        count = len(phase.column.rows)
        where = f"{count} of {configurations} configurations" if count < configurations else ""
        details = filter(None, [f"'{phase.column.name}'", where, phase.remark])
        phases.append(f"{phase.column.phase} ({', '.join(details)})")
    names = [name for name, is_held in zip(total.expression.constant_names, total.held, strict=True) if not is_held]
    from_total = f"; {', '.join(names)} from the total, with these held" if names else ""
    text = f"fitted to separate columns: {', '.join(phases)}{from_total}. The composed total has a mean error of "
    return Note(f"{text}{100.0 * _errors(total).mean():.1f} %", "phases")


def _nearest(composed: Sequence[Fitted]) -> Fitted:
    """Return the first composition, or the one that is clearly nearest to the measured total."""
    nearest, *alternatives = composed
    # What no column shows can only bring a fitted total nearer, so it has to be clearly nearer than without.
    for unmeasured in sorted({_unmeasured(total) for total in alternatives}):
        alike = (total for total in alternatives if _unmeasured(total) == unmeasured)
        best = min(alike, key=lambda total: float(_errors(total).mean()))
        gain = _errors(nearest) - _errors(best)
        if gain.mean() > max(CLEAR_GAIN, gain.std() / np.sqrt(gain.size)):
            nearest = best
    return nearest
