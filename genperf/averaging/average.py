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

from genperf.averaging.effects import counts_of
from genperf.averaging.kriging import HeldOut, Residuals, ScaledKriging, checked, residuals_of, scaled
from genperf.discrepancy import Discrepancy, Exponential
from genperf.engine.phases import doing
from genperf.errors import ModelError, Note, counted
from genperf.estimate import FitOptions, fewer_factors
from genperf.estimate.bootstrap import bootstrap
from genperf.estimate.candidates import candidates_of, fit_parts, reweighted
from genperf.estimate.diagnose import at_bounds, unidentified
from genperf.estimate.last_point import last_point_errors
from genperf.estimate.order import CONTENT_SEED, in_order
from genperf.estimate.outcome import growth
from genperf.estimate.problem import problem_of
from genperf.estimate.select import Candidate, affordable, judged_rows, ranked
from genperf.estimate.starts import spread_starts
from genperf.expression import Expression
from genperf.formula import names_in
from genperf.losses import loss_named, penalty_named
from genperf.models import MODELS, Factors
from genperf.models.generic import generic, structure_named, structures
from genperf.models.scale import following_counts
from genperf.prediction import Ensemble, Evidence, Member, Spread, Status
from genperf.solver import Problem, polish
from genperf.table import Factor, Table, Target

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class AverageSettings:
    """How expressions are chosen, fitted and averaged.

    Attributes
    ----------
    most_members : int
        Expressions that are averaged at most; more changed nothing on `pytorch_cpu.csv` (`docs/decisions.md`).
    close : float
        How much more than the best one an averaged expression may err on held-out configurations, as a share.
    constants_per_row : float
        Constants per configuration, at most, of a `partial` family. Coefficients of physical terms that are not
        negative need fewer configurations than powers: on the 16 of `docs/transformers.md` the held-out error is
        14.8 % with the family and 26.3 % without. A guess: 0.8 leaves a few to judge with.
    count_powers : tuple of (float, float)
        Bounds of a count's power: beyond the data the target grows at most in proportion to a count (a single serial
        resource is the worst case) and falls at most in inverse proportion (the work perfectly shared).
    starts : int
        Places from which a member is fitted, beside its constants on the rows that it was chosen on.
    agreement : float
        Share of the cost within which two starts reached the same optimum.
    settling_rounds, refit_rounds : int
        Rounds in which Huber's weights settle: of a member, and of a fit to some of its rows that begins from it.
    fewest_draws : int
        Draws of a member at least.
    """

    most_members: int = 4
    close: float = 0.1
    constants_per_row: float = 0.8
    count_powers: tuple[float, float] = (-1.0, 1.0)
    starts: int = 4
    agreement: float = 1e-3
    settling_rounds: int = 4
    refit_rounds: int = 3
    fewest_draws: int = 20


AVERAGE = AverageSettings()


@dataclass(frozen=True, eq=False)
class Fitted:
    """A member fitted to some rows of a table.

    Attributes
    ----------
    expression : Expression
    strength : float
        λ.
    problem : Problem
        Over all rows, with Huber's weights in the last round: zero for the rows left out.
    weights : ndarray of shape (rows,)
        The table's.
    constants : ndarray of shape (n,)
    status : Status
    """

    expression: Expression
    strength: float
    problem: Problem
    weights: Array
    constants: Array
    status: Status

    @property
    def logarithms(self) -> Array:
        """The ln of the predicted seconds, at every row of the table."""
        return np.asarray(log_times(self.problem, self.constants[None, :])[0])


def fit_factors(table: Table, options: FitOptions, seed: int) -> Ensemble:
    """Fit expressions to a table of many factors, several of them.

    The structures, families and λ that best predict held-out configurations inside the table are each fitted with
    Huber's weights; the time is their geometric mean, times what measured configurations near the asked one are off by
    (`kriged`).

    Parameters
    ----------
    table : Table
        With its repeats: each configuration's median is fitted.
    options : FitOptions
    seed : int

    Returns
    -------
    Ensemble

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
    beside = candidates_of(partial, medians, options, seed, robust=True) if partial else []
    best = _best_average(candidates, beside, medians, options, seed)
    chosen, fitted, rows = best.chosen, best.fitted, best.rows
    residuals, learned, errors = best.residuals, best.learned, best.errors
    rng = np.random.default_rng([CONTENT_SEED, 1])
    members = tuple(_member(f, 1.0 / len(fitted), options.draws // len(fitted), rng) for f in fitted)
    noise = table.noise()
    noise = noise if np.isfinite(noise) else 0.0
    kriging = scaled(learned, residuals, errors, _drawn(fitted, members), noise)
    discrepancy = kriging.krige(residuals)
    doing("predicting the largest scale from the smaller ones")
    evidence, per_doubling = _look_back(fitted, medians, rows, kriging)
    return Ensemble(
        tuple(replace(m, discrepancy=discrepancy) for m in members),
        Spread(noise=noise, misfit=kriging.misfit, per_doubling=per_doubling),
        tuple(evidence),
        {
            "approach": "factors",
            "weights": "huber",
            "kriging": _named(discrepancy),
            "lambda": _strengths(chosen),
            **_held_out(errors),
        },
        (*left_out, *larger, *_choice_notes(chosen, discrepancy, errors), *_thinned(discrepancy, len(medians))),
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
    learned : Residuals
    errors : HeldOut
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
    """Average the best candidates; those beside them instead, or together with them, where that errs less kriged.

    A family that leaves a column to the discrepancy is judged with it, not before it.

    Parameters
    ----------
    candidates : sequence of Candidate
        Of expressions that know every factor.
    beside : sequence of Candidate
        Of families that do not.
    medians : Table
        One row per configuration.
    options : FitOptions
    seed : int
    """
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
    """Fit the chosen expressions to all rows, and learn the kriging of their mean.

    Parameters
    ----------
    chosen : sequence of Candidate
    medians : Table
        One row per configuration.
    options : FitOptions
    seed : int
    """
    everything = np.ones(len(medians), bool)
    doing(f"fitting {counted(len(chosen), 'expression')}")
    fitted = [fit_member(c, medians, everything, options, seed) for c in chosen]
    rows = judged_rows(len(medians), np.random.default_rng([CONTENT_SEED, 2]))
    residuals = (np.log(medians.measured) - _mean(fitted))[rows]
    doing("learning from the residuals")
    learned = residuals_of(medians.take(rows), residuals, np.random.default_rng([CONTENT_SEED, 5]))
    learned, errors = checked(chosen, learned)
    return Averaged(chosen, fitted, rows, residuals, learned, errors)


def fit_member(chosen: Candidate, table: Table, counted: Mask, options: FitOptions, seed: int) -> Fitted:
    """Fit a chosen expression to the rows that count.

    Parameters
    ----------
    chosen : Candidate
        Whose expression and λ are taken, and nothing of what was fitted.
    table : Table
        One row per configuration.
    counted : ndarray of bool of shape (rows,)
    options : FitOptions
    seed : int
    """
    loss, penalty = loss_named(options.loss), penalty_named(options.penalty, chosen.strength)
    problem = problem_of(chosen.expression, table, loss, penalty)
    weights = np.where(counted, problem.weights, 0.0)[None, :]
    starts = spread_starts(problem, AVERAGE.starts, np.random.default_rng([seed, 4]))
    starts = np.vstack([chosen.constants, starts])
    sets, costs = fit_parts(problem, starts[None], weights)
    constants, weights = reweighted(problem, sets[:, 0], weights, AVERAGE.settling_rounds)
    weighted = problem.reweighted(weights[0])
    agreed = int(np.sum(costs[0] <= costs[0, 0] * (1.0 + AVERAGE.agreement)))
    end = polish(weighted, constants)
    status = Status("multi-start", float(end.cost[0]), bool(end.converged[0]), end.evaluations, len(starts), agreed)
    return Fitted(chosen.expression, chosen.strength, weighted, problem.weights, end.constants[0], status)


def refitted(fitted: Fitted, trains: Mask) -> Array:
    """Return the ln of the seconds that an expression predicts at all rows, fitted to some of them.

    Parameters
    ----------
    fitted : Fitted
        To all rows: where each of these fits begins.
    trains : ndarray of bool of shape (parts, rows)

    Returns
    -------
    ndarray of shape (parts, rows)
    """
    problem = fitted.problem.reweighted(fitted.weights)
    weights = np.where(trains, fitted.weights, 0.0)
    starts = np.repeat(fitted.constants[None, None, :], len(trains), axis=0)
    sets, _ = fit_parts(problem, starts, weights)
    return log_times(problem, reweighted(problem, sets[:, 0], weights, AVERAGE.refit_rounds)[0])


def log_times(problem: Problem, constants: Array) -> Array:
    """Return ln T of sets of constants, shape (sets, rows)."""
    with np.errstate(all="ignore"):
        return np.asarray(np.log(problem.predict(constants)))


def _expressions(factors: Sequence[Factor], options: FitOptions, following: frozenset[str]) -> list[Expression]:
    """Return the generic expressions that are worth trying.

    Parameters
    ----------
    factors : sequence of Factor
    options : FitOptions
    following : frozenset of str
        Counts that rise with another one.
    """
    # What differs between levels is carried by kriging: exponents of levels beside it lower no error.
    worth_trying = [s for s in structures(factors) if not s.varied]
    if options.structure != "auto":
        worth_trying = [s for s in worth_trying if s.name == options.structure] or [structure_named(options.structure)]
    return [generic(factors, s, AVERAGE.count_powers, following).with_fixed(options.fix) for s in worth_trying]


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
    factors : sequence of Factor
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
    """Return a fitted expression with its bootstrap draws.

    Parameters
    ----------
    fitted : Fitted
    weight : float
        Share of the ensemble.
    draws : int
    rng : Generator
    """
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


def _look_back(
    fitted: Sequence[Fitted], medians: Table, rows: npt.NDArray[np.intp], kriging: ScaledKriging
) -> tuple[list[Evidence], float]:
    """Predict the largest value of each count from those up to half of it.

    Where fewer than two values are at half of it and below, all smaller ones are taken.

    Parameters
    ----------
    fitted : sequence of Fitted
    medians : Table
        One row per configuration.
    rows : ndarray of int of shape (judged,)
        The rows that the kriging was learned from.
    kriging : ScaledKriging

    Returns
    -------
    evidence : list of Evidence
    per_doubling : float
        Standard deviation of ln T that each doubling adds: the errors that misfit and kriging do not expect.
    """
    counts = counts_of(medians.factors)
    if not counts:
        return [], kriging.error
    trains = np.array([_trained(medians.columns[factor.name]) for factor in counts])
    by_count = np.mean([refitted(f, trains) for f in fitted], axis=0)
    evidence, steps = [], []
    for factor, train, predicted in zip(counts, trains, by_count, strict=True):
        values = medians.columns[factor.name]
        held = values == values.max()
        errors, expected = (predicted - np.log(medians.measured))[held], kriging.misfit**2
        discrepancy = kriging.krige((np.log(medians.measured) - predicted)[rows], train[rows])
        if discrepancy is not None:
            mean, variance = discrepancy.forecast(medians.take(held).columns)
            errors, expected = errors + mean[0], expected + float(np.mean(variance))
        if not np.all(np.isfinite(errors)):
            continue
        doublings = float(np.log2(values.max() / values[train].max()))
        last = last_point_errors([medians.take(train | held)], factor.name, held[train | held][None, :])[0]
        error = float(np.mean(np.abs(errors)))
        evidence.append(Evidence(factor.name, float(values.max()), doublings, error, float(last)))
        steps.append(growth(float(np.sqrt(np.mean(errors**2))), float(np.sqrt(expected)), doublings))
    return evidence, max(steps) if steps else kriging.error


def _trained(values: Array) -> Mask:
    """Return the rows up to half of a count's largest value; up to the second largest where those have one value."""
    levels = np.unique(values)
    near = levels[levels <= levels[-1] / 2.0]
    return np.asarray(values <= (near[-1] if len(near) > 1 else levels[-2]))


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
    """Say which expressions are averaged, and how they erred on held-out configurations.

    Parameters
    ----------
    chosen : sequence of Candidate
        Best first.
    discrepancy : Discrepancy or None
    errors : HeldOut
        With the residuals of the neighbours.
    """
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
