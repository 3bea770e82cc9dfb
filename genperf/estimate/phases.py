"""A family whose phases are measured: each fitted on its own column, the total composed from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from genperf.errors import FitError, Note
from genperf.estimate.bootstrap import ENOUGH, STEPS, drawn_weights, resampled, unseen_misfit
from genperf.estimate.diagnose import at_bounds, unidentified
from genperf.estimate.fit import estimate
from genperf.estimate.look_back import Mask, look_back
from genperf.estimate.options import FitOptions
from genperf.estimate.outcome import Estimate, spread_of
from genperf.estimate.phase_parts import Part, part_of, read_columns
from genperf.estimate.problem import problem_of
from genperf.estimate.select import affordable, best_of, candidates_of
from genperf.expression import Expression
from genperf.losses import loss_named, penalty_named
from genperf.models import Family, family_named
from genperf.prediction import Member, Status
from genperf.solver import Problem, Solution, polish, solve
from genperf.table import Table

Array = npt.NDArray[np.float64]

#: Another overlap is named where it composes the total better by more than this share of the time.
MATERIAL = 0.01


def estimate_phases(family: Family, table: Table, options: FitOptions, seed: int) -> Estimate:
    """Fit a family to a table that measures some of its phases.

    Each measured phase is fitted to its own column; what is left is fitted to the total, with the constants found held.
    A bootstrap replicate draws the same configurations for every phase and for the total, so that the draws of
    different phases belong together. The errors that predictions are known to make are those of the composed total.

    Parameters
    ----------
    family : Family
    table : Table
        With its repeats.
    options : FitOptions
    seed : int

    Returns
    -------
    Estimate
        With notes: what was fitted where, how well the composed total meets the measured one, and whether another
        overlap of the same phases would meet it better.
    """
    expression, parts, notes = _parts(family, table, options, seed)
    if not parts:
        found = estimate([expression], table, options, seed)
        return replace(found, notes=(*notes, *found.notes))
    medians = table.medians()
    whole = _composed(expression, parts, medians, options, seed)
    total, best = whole.total, whole.constants
    counts = resampled(len(medians), options.draws, np.random.default_rng([seed, 1]))
    draws = whole.refit(counts)
    residual = np.log(total.measured / total.times(best[None, :])[0])
    evidence = tuple(look_back(total, medians, whole.without))
    spread = spread_of(table, unseen_misfit(total, draws, counts), residual, best.size, evidence)
    blind = {name for part in parts for name in part.unidentified}
    blind |= set(unidentified(total, expression, best, whole.held)) if not whole.held.all() else set()
    member = Member(
        expression,
        best,
        draws,
        1.0,
        whole.status(options.solver),
        at_bounds(total, expression, best),
        tuple(name for name in expression.constant_names if name in blind),
    )
    notes += [_said(whole, medians), *_better_overlap(family, whole, medians, options, seed)]
    return Estimate(member, whole.strength, spread, evidence, tuple(notes))


def _parts(family: Family, table: Table, options: FitOptions, seed: int) -> tuple[Expression, list[Part], list[Note]]:
    """Write the family down for the phases whose constants their columns determine, and fit these."""
    columns, notes = read_columns(table, [p for p in table.phases if p in family.phases])
    while True:
        expression = _written(family, table, [c.phase for c in columns], options)
        fitted = {c.phase: part_of(c, family.phases[c.phase], expression, options, seed) for c in columns}
        left_out = {phase: why for phase, why in fitted.items() if isinstance(why, str)}
        if not left_out:
            return expression, [part for part in fitted.values() if isinstance(part, Part)], notes
        # Which terms there are depends on what else is measured.
        notes += [
            Note(
                f"column '{c.name}' is left out, and {c.phase} fitted to the total: {left_out[c.phase]}",
                "phase_left_out",
            )
            for c in columns
            if c.phase in left_out
        ]
        columns = [c for c in columns if c.phase not in left_out]


def _written(family: Family, table: Table, phases: Sequence[str], options: FitOptions) -> Expression:
    (expression,) = family.expressions(table.factors, options.mapping, phases)
    return expression.with_fixed(options.fix)


@dataclass(frozen=True, eq=False)
class _Composed:
    """Fitted phases, and the whole fitted to the total with their constants held.

    Attributes
    ----------
    expression : Expression
    parts : sequence of Part
    total : Problem
        Over all constants.
    constants : ndarray of shape (n,)
    held : ndarray of bool of shape (n,)
        Constants that come from the parts.
    rest : Solution or None
        How the others were found; None where there are none.
    strength : float
        λ of the total, or of the phases where nothing is left to be found.
    """

    expression: Expression
    parts: Sequence[Part]
    total: Problem
    constants: Array
    held: Mask
    rest: Solution | None
    strength: float

    def refit(self, counts: Array, steps: int = STEPS, tolerance: float = ENOUGH) -> Array:
        """Fit again with the configurations counted so often, (sets, configurations) → (sets, n)."""
        sets = np.broadcast_to(self.constants, (len(counts), self.constants.size)).copy()
        for part in self.parts:
            if part.problem is not None:
                own = [self.expression.constant_names.index(name) for name in part.names]
                weights = drawn_weights(part.problem, counts[:, part.rows])
                sets[:, own] = polish(part.problem, sets[:, own], weights, steps, tolerance).constants
        if self.rest is None:
            return sets
        return polish(self.total, sets, drawn_weights(self.total, counts), steps, tolerance, self.held).constants

    def without(self, train: Mask) -> Array | None:
        """Fit again to some of the configurations; None where a phase was measured in none of them."""
        problems = [(part.problem, train[part.rows]) for part in self.parts if part.problem is not None]
        if not all(problem.weights[rows].any() for problem, rows in problems):
            return None
        return np.asarray(self.refit(train[None, :].astype(float))[0])

    def status(self, solver: str) -> Status:
        """Say how the searches ended: the cost is that of the total."""
        spent = sum(part.evaluations for part in self.parts)
        settled = all(part.settled for part in self.parts)
        cost = float(self.total.cost(self.constants[None, :])[0])
        if self.rest is None:
            return Status(solver, cost, settled, spent, 1, 1)
        rest = self.rest
        return Status(solver, cost, settled and rest.settled, spent + rest.evaluations, rest.restarts, rest.agreed)

    @property
    def off(self) -> Array:
        """|composed/measured − 1| of each configuration's total."""
        return np.asarray(np.abs(self.total.times(self.constants[None, :])[0] / self.total.measured - 1.0))


def _composed(
    expression: Expression, parts: Sequence[Part], medians: Table, options: FitOptions, seed: int
) -> _Composed:
    """Put the phases' constants in, and find the others from the total.

    They are held by bounds of no width, and not written into the expression, so that it stays homogeneous of degree
    one in all its coefficients together, as the solver takes it to be.
    """
    known = {n: float(v) for part in parts for n, v in zip(part.names, part.constants, strict=True)}
    names = expression.constant_names
    held = np.array([name in known for name in names])
    values = np.array([known.get(name, 0.0) for name in names])
    if held.all():
        strength = max(part.strength for part in parts)
        return _Composed(
            expression, parts, _problem(expression, medians, options, strength), values, held, None, strength
        )
    left = expression.with_fixed({name: value for name, value in known.items() if name in names})
    affordable([left], len(medians))
    strength = options.strength
    if options.lam == "cv":
        strength = best_of(candidates_of([left], medians, options, seed)).strength
    total = _problem(expression, medians, options, strength)
    pinned = replace(
        total,
        lower=np.where(held, values, total.lower),
        upper=np.where(held, values, total.upper),
        start=np.where(held, values, total.start),
    )
    rest = solve(pinned, options.solver, seed)
    return _Composed(expression, parts, total, rest.constants, held, rest, strength)


def _overlapped(family: Family, parts: Sequence[Part], medians: Table, options: FitOptions, seed: int) -> _Composed:
    """Compose fitted phases as another family does; it may lack a constant that is fixed."""
    (expression,) = family.expressions(medians.factors, options.mapping, [part.column.phase for part in parts])
    fix = {name: value for name, value in options.fix.items() if name in expression.constant_names}
    return _composed(expression.with_fixed(fix), parts, medians, options, seed)


def _problem(expression: Expression, medians: Table, options: FitOptions, strength: float) -> Problem:
    return problem_of(expression, medians, loss_named(options.loss), penalty_named(options.penalty, strength))


def _said(whole: _Composed, medians: Table) -> Note:
    """Say what was fitted where, and how well the composed total meets the measured one."""
    shown = []
    for part in whole.parts:
        few = len(part.column.rows)
        where = f"{few} of {len(medians)} configurations" if few < len(medians) else ""
        told = [f"'{part.column.name}'", where, part.remark]
        shown.append(f"{part.column.phase} ({', '.join(t for t in told if t)})")
    left = [name for name, is_held in zip(whole.expression.constant_names, whole.held, strict=True) if not is_held]
    rest = f"; {', '.join(left)} from the total, with these held" if left else ""
    text = (
        f"fitted on columns of their own: {', '.join(shown)}{rest}. The total composed from them is off by "
        f"{100.0 * whole.off.mean():.1f} % on average"
    )
    return Note(text, "phases")


def _better_overlap(family: Family, whole: _Composed, medians: Table, options: FitOptions, seed: int) -> list[Note]:
    """Say where the same phases, overlapped otherwise, meet the measured total better: how the check of it ends."""
    errors: dict[str, Array] = {}
    for name in family.overlaps:
        try:
            errors[name] = _overlapped(family_named(name), whole.parts, medians, options, seed).off
        except FitError:
            continue  # more of its constants are left to the total than that determines
    best = min(errors, key=lambda name: errors[name].mean(), default=None)
    if best is None:
        return []
    gain = whole.off - errors[best]
    if gain.mean() <= max(MATERIAL, gain.std() / np.sqrt(gain.size)):
        return []
    text = (
        f"the same phases overlapped as in '{best}' are off by {100.0 * errors[best].mean():.1f} %: "
        f"the measured total speaks for --model {best}"
    )
    return [Note(text, "overlap")]
