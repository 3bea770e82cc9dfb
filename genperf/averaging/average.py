"""`auto` on a table of many factors: several of the best expressions, robustly fitted, averaged in ln T.

They are generic expressions, and those of the literature's families that know all of the table's factors. Their
residuals are kriged: carried from the measured configurations to those near them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from genperf.averaging.fitted import AVERAGE, Fitted, fit_member, log_times
from genperf.averaging.kriging import HeldOut, Residuals, checked, residuals_of, scaled
from genperf.averaging.look_back import Past, look_back
from genperf.averaging.surfaces import stacked
from genperf.averaging.trend import Trend, axis_of
from genperf.discrepancy import Discrepancy, Exponential
from genperf.engine.phases import doing
from genperf.errors import ModelError, Note, counted
from genperf.estimate import FitOptions, fewer_factors
from genperf.estimate.bootstrap import bootstrap
from genperf.estimate.candidates import candidates_of
from genperf.estimate.diagnose import at_bounds, unidentified
from genperf.estimate.order import CONTENT_SEED, in_order
from genperf.estimate.select import Candidate, affordable, judged_rows, ranked
from genperf.expression import Expression
from genperf.formula import names_in
from genperf.models import MODELS, Factors
from genperf.models.generic import generic, structure_named, structures
from genperf.models.scale import following_counts
from genperf.prediction import Ensemble, Member, Spread
from genperf.table import Factor, Table, Target
from genperf.table.design import design_notes

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


def fit_factors(table: Table, options: FitOptions, seed: int) -> Ensemble:
    """Fit expressions to a table of many factors, several of them.

    The structures, families and λ that best predict held-out configurations inside the table are each fitted with
    Huber's weights; the time is their geometric mean, times what measured configurations near the asked one are off by
    (`kriged`).

    Parameters
    ----------
    table : Table
        With its repeats: each configuration's median is fitted.

    Raises
    ------
    FitError
        Where there are too few configurations for any expression: how many are needed.
    """
    table = in_order(table)
    medians = table.medians()
    following = following_counts(medians)
    generics, left_out = fewer_factors(table, lambda factors: _expressions(factors, options, following))
    known = literature(medians.factors, options.mapping, medians.target) if options.structure == "auto" else []
    known = [e.with_fixed(options.fix) for e in known]
    partial = [e for e in known if MODELS[e.family].partial]
    usable, larger = affordable([*generics, *(e for e in known if e not in partial)], len(medians))
    partial = [e for e in partial if len(e.constants) <= AVERAGE.constants_per_row * len(medians)]
    candidates = candidates_of(usable, medians, options, seed, robust=True)
    of_partial = candidates_of(partial, medians, options, seed, robust=True) if partial else []
    best = _best_average(candidates, of_partial, medians, options, seed)
    chosen, fitted, rows = best.chosen, best.fitted, best.rows
    residuals, learned, errors = best.residuals, best.learned, best.errors
    rng = np.random.default_rng([CONTENT_SEED, 1])
    members = [_member(f, 1.0 / len(fitted), options.draws // len(fitted), rng) for f in fitted]
    noise = table.noise()
    noise = noise if np.isfinite(noise) else 0.0
    doing("learning a surface beside the expressions")
    beside = stacked(learned, chosen[0].folds, errors)
    errors = beside.errors
    kriging = scaled(learned, residuals, errors, _drawn(fitted, members), noise)
    read = {name for f in fitted for name in f.expression.factors}
    discrepancy = beside.attached(kriging.krige(residuals), learned.table, read)
    doing("predicting the largest scale from the smaller ones")
    past = Past(fitted, medians, rows, kriging)
    axis = axis_of(medians, options.mapping)
    trend = Trend(axis, 1.0 if axis is None else past.share_of_trend(axis))
    evidence, per_doubling = look_back(past, trend)
    members = trend.members(members, medians.columns)
    return Ensemble(
        tuple(replace(m, discrepancy=discrepancy) for m in members),
        Spread(noise=noise, misfit=kriging.misfit, per_doubling=per_doubling),
        tuple(evidence),
        {
            "approach": "factors",
            "weights": "huber",
            "kriging": _named(discrepancy),
            "trend": trend.share,
            "surface": beside.weight,
            "lambda": _strengths(chosen),
            **_held_out(errors),
        },
        (
            *design_notes(table),
            *left_out,
            *larger,
            *_choice_notes(chosen, discrepancy, errors),
            *_thinned(discrepancy, len(medians)),
        ),
    )


@dataclass(frozen=True, eq=False)
class Averaged:
    """Expressions that are averaged, and how their kriged mean errs on held-out configurations.

    Attributes
    ----------
    chosen : sequence of Candidate
        Best first.
    fitted : sequence of Fitted
        To all rows.
    rows : ndarray of int of shape (judged,)
        The rows that the kriging was learned from.
    residuals : ndarray of shape (judged,)
        ln(measured/fitted).
    """

    chosen: Sequence[Candidate]
    fitted: Sequence[Fitted]
    rows: npt.NDArray[np.intp]
    residuals: Array
    learned: Residuals
    errors: HeldOut


def _best_average(
    candidates: Sequence[Candidate], beside: Sequence[Candidate], medians: Table, options: FitOptions, seed: int
) -> Averaged:
    """Average the best candidates; those beside them instead, or together with them, where that errs less kriged."""
    sets = [candidates, beside, [*candidates, *beside]] if beside else [candidates]
    choices: dict[tuple[int, ...], list[Candidate]] = {}
    for some in sets:
        ordered = ranked(some)
        limit = ordered[0].error * (1.0 + AVERAGE.close)
        chosen = [c for c in ordered[: AVERAGE.most_members] if not c.error > limit]
        choices.setdefault(tuple(map(id, chosen)), chosen)
    averages = [_averaged(chosen, medians, options, seed) for chosen in choices.values()]
    judged = [average for average in averages if average.errors.errors.size]
    return min(judged, key=lambda average: average.errors.mean_error) if judged else averages[0]


def _averaged(chosen: Sequence[Candidate], medians: Table, options: FitOptions, seed: int) -> Averaged:
    """Fit the chosen expressions to all rows, and learn the kriging of their mean."""
    everything = np.ones(len(medians), bool)
    doing(f"fitting {counted(len(chosen), 'expression')}")
    fitted = [fit_member(c, medians, everything, options, seed) for c in chosen]
    rows = judged_rows(len(medians), np.random.default_rng([CONTENT_SEED, 2]))
    residuals = (np.log(medians.measured) - _mean(fitted))[rows]
    doing("learning from the residuals")
    axis = axis_of(medians, options.mapping)
    carried = () if axis is None else axis.names
    learned = residuals_of(medians.take(rows), residuals, np.random.default_rng([CONTENT_SEED, 5]), carried)
    learned, errors = checked(chosen, learned)
    return Averaged(chosen, fitted, rows, residuals, learned, errors)


def _expressions(factors: Sequence[Factor], options: FitOptions, following: frozenset[str]) -> list[Expression]:
    """Return the generic expressions that are worth trying."""
    # What differs between levels is carried by kriging: interactions beside it lower no error.
    worth_trying = structures(factors)
    if options.structure != "auto":
        wanted = "product" if options.structure == "grown" else options.structure
        worth_trying = [s for s in worth_trying if s.name == wanted] or [structure_named(wanted)]
    return [generic(factors, s, following).with_fixed(options.fix) for s in worth_trying]


def literature(
    factors: Sequence[Factor], mapping: Mapping[str, str] | None = None, target: Target | None = None
) -> list[Expression]:
    """Write down the literature's families that know every factor that varies.

    A family that leaves a factor out cannot compete with the generic expression, which has them all; one that knows
    them all says how they act together, as a ring's traffic 2·M·(n − 1)/n of message and workers. A `partial` family
    competes all the same: the discrepancy carries what it leaves out. One that cannot read a column (a word that it
    does not know) is left out.

    Parameters
    ----------
    mapping : mapping of str to str, optional
        Canonical name → column.
    target : Target, optional
        What was measured, a time where omitted: `partial` families of another quantity do not compete.

    Examples
    --------
    >>> workers = Factor("workers", "extrinsic", lower=1.0, upper=8.0, distinct=4, positive=True)
    >>> size = Factor("bytes", "intrinsic", lower=1e6, upper=4e6, distinct=3, positive=True)
    >>> sorted({expression.family for expression in literature([workers, size])})
    ['adam', 'parameter-server', 'peer-to-peer', 'ring-allreduce', 's-sgd']
    """
    varying = {f.name for f in factors if f.distinct > 1}
    matched = Factors(tuple(factors), mapping or {})
    expressions: list[Expression] = []
    for family in MODELS.values():
        # What only a measured phase shows, the total alone does not.
        if family.missing(matched) or family.shown_by:
            continue
        if family.quantity != ("memory" if target is not None and target.is_memory else "time") and family.partial:
            continue
        if family.partial:
            with suppress(ModelError):
                expressions += family.expressions(factors, mapping)
            continue
        nodes = [node for need in family.needs if (node := matched.node(need.name)) is not None]
        if varying <= {name for node in nodes for name in names_in(node)}:
            candidates = family.expressions(factors, mapping)
            whole = candidates[:1] if family.choice == "largest" else candidates
            known = {e.node for e in expressions}
            expressions += [e for e in whole if varying <= set(e.factors) and e.node not in known]
    return expressions


def _mean(fitted: Sequence[Fitted]) -> Array:
    return np.asarray(np.mean([f.logarithms for f in fitted], axis=0))


def _member(fitted: Fitted, weight: float, draws: int, rng: np.random.Generator) -> Member:
    """Return a fitted expression with its bootstrap draws."""
    replicates = bootstrap(fitted.problem, fitted.constants, max(draws, AVERAGE.fewest_draws), rng)
    return Member(
        fitted.expression,
        fitted.constants,
        replicates.constants,
        weight,
        fitted.status,
        at_bounds(fitted.problem, fitted.expression, fitted.constants),
        unidentified(fitted.problem, fitted.expression, fitted.constants),
        _name(fitted.expression),
    )


def _name(expression: Expression) -> str:
    if expression.family != "generic":
        return expression.family
    count = len(expression.terms) - 1
    return f"generic, {count} term{'s' * (count != 1)}"


def _drawn(fitted: Sequence[Fitted], members: Sequence[Member]) -> float:
    """Return the variance of ln T over the draws, mean over the table."""
    drawn = np.vstack([log_times(f.problem, m.draws) for f, m in zip(fitted, members, strict=True)])
    # In some draw a family may leave nothing of a row's time, as a ring's of one worker: that is no spread to take off.
    drawn = drawn[:, np.all(np.isfinite(drawn), axis=0)]
    return float(np.mean(np.var(drawn, axis=0))) if drawn.shape[1] else 0.0


def _held_out(errors: HeldOut) -> dict[str, str | float | None]:
    """Return the mean error on held-out configurations in %, where there were any."""
    return {"held_out_error": 100.0 * errors.mean_error} if errors.errors.size else {}


def _strengths(chosen: Sequence[Candidate]) -> str:
    """Return λ of each averaged expression, for the record."""
    return ", ".join(f"{c.strength:g}" for c in chosen)


def _named(discrepancy: Discrepancy | None) -> str:
    """Return the factors of each effect, for the record."""
    if discrepancy is None or not isinstance(discrepancy.kernel, Exponential):
        return "none"
    return "; ".join(", ".join(e.rates) for e in discrepancy.kernel.effects)


def _thinned(discrepancy: Discrepancy | None, configurations: int) -> list[Note]:
    if discrepancy is None or len(discrepancy.logarithms) == configurations:
        return []
    count = len(discrepancy.logarithms)
    return [Note(f"residuals are carried on from {count} of {configurations} configurations", "anchors")]


def _choice_notes(chosen: Sequence[Candidate], discrepancy: Discrepancy | None, errors: HeldOut) -> list[Note]:
    """Say which expressions are averaged, and how they erred on held-out configurations."""
    if not np.isfinite(chosen[0].error):
        return [Note("too few configurations to hold any out: the structure is the smallest", "not_chosen")]
    expressions = [c.expression for c in chosen]
    counts = sorted({len(e.terms) - 1 for e in expressions if e.family == "generic"})
    few = counted(counts[0], "term") if counts else ""
    terms = [f"{counts[0]} to {counted(counts[-1], 'term')}" if len(counts) > 1 else few] if counts else []
    families = [name for name in dict.fromkeys(e.family for e in expressions) if name != "generic"]
    names = [*(f"generic expressions of {t}" for t in terms), *families]
    many = f"the mean of {len(chosen)}: {', '.join(names)}" if len(chosen) > 1 else ", ".join(names)
    error = f"{100.0 * chosen[0].error:.1f} %"
    if discrepancy is not None:
        error += f", and by {100.0 * errors.mean_error:.1f} % with the residuals of its neighbours"
    return [Note(f"{many}; on held-out configurations the best one erred by {error}", "chosen")]
