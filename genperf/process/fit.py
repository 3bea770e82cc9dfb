"""`auto` on a table of many factors: one process about several means, stacked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from msgspec import structs
from scipy.special import stdtrit

from genperf.discrepancy import Beyond, Part, Process, Product, Stack
from genperf.discrepancy.stack import NORMAL
from genperf.engine.phases import doing
from genperf.errors import FitError, Note
from genperf.estimate import FitOptions
from genperf.estimate.outcome import last_point_error
from genperf.estimate.prepare import CONTENT_SEED, in_order, levels_by_content
from genperf.formula import evaluate, parse, quote_name, render
from genperf.growth.measured import Anchors
from genperf.panel import Panel
from genperf.prediction import Ensemble, Evidence, Member, Spread, Status
from genperf.process.axes import axes_of, derived
from genperf.process.growth import Growth, growth_of
from genperf.process.means import means_of
from genperf.process.settings import SIZES, STACK
from genperf.process.sizes import Fit, fit_sizes
from genperf.process.stacking import (
    Candidate,
    HeldOut,
    common_error,
    cuts_of,
    fold_numbers,
    predict_held_out,
    row_weights,
    weights_of,
    within_measured_nodes,
)
from genperf.process.sums import Coefficients, fit_sum, log_sum, without_traces
from genperf.table import Table
from genperf.table.axis import several_nodes
from genperf.table.design import design_notes

Array = npt.NDArray[np.float64]


def fit_factors(table: Table, options: FitOptions) -> Ensemble:
    """Fit the stacked processes to a table of many factors.

    Raises
    ------
    FitError
        Where there are fewer than two configurations, or no factor varies.
    """
    table = in_order(levels_by_content(table), names=False)
    medians = table.medians()
    if len(medians) < STACK.fewest or not any(f.distinct > 1 for f in medians.factors):
        raise FitError(
            f"{len(medians)} configurations cannot determine how several factors matter",
            where=table.source,
            hint="measure at least two configurations that differ in a factor",
        )
    # A level for each configuration: nothing of it is known at the next one.
    labels = [f.name for f in medians.factors if not f.numeric and f.distinct == len(medians)]
    if 0 < len(labels) < sum(f.distinct > 1 for f in medians.factors):
        medians = replace(medians, factors=tuple(f for f in medians.factors if f.name not in labels))
    else:
        labels = []
    whole = len(medians)
    if whole > SIZES.most_anchors:
        rows = np.random.default_rng([CONTENT_SEED, 1]).permutation(whole)[: SIZES.most_anchors]
        medians = medians.take(np.sort(rows))
    doing("fitting the process")
    noise = table.noise()
    noise = float(noise) if np.isfinite(noise) else 0.0
    members = _members(medians, options.mapping, noise)
    doing("weighing its means")
    weighed = _weighed(members, medians)
    error = 100.0 * float(np.mean(np.abs(np.expm1(weighed.folds.errors(weighed.inside)[0]))))
    notes = list(design_notes(table))
    if labels:
        notes.append(Note(f"left out {', '.join(labels)}: each configuration has a level of its own", "fewer_terms"))
    if whole > len(medians):
        notes.append(Note(f"of {whole} configurations {len(medians)} are kept, chosen at random", "anchors"))
    return Ensemble(
        _ensemble(members, weighed, medians, noise),
        Spread(noise=noise, misfit=members.candidates[0].fit.noise),
        tuple(weighed.evidence),
        {"approach": "process", "held_out_error": error},
        (*notes, _choice(members, weighed, error)),
    )


@dataclass(frozen=True, eq=False)
class _Members:
    """The means with their processes, and ln T of the rows."""

    candidates: list[Candidate]
    y: Array
    mapping: Mapping[str, str]
    #: The series of the table and what the bank forecasts of them, for the candidate of that kind.
    growth: Growth | None
    anchors: Anchors | None


@dataclass(frozen=True, eq=False)
class _Weighed:
    """Weights and widths of the members, inside the range and beyond it."""

    inside: Array
    width: float
    beyond: tuple[Beyond, ...]
    folds: HeldOut
    evidence: list[Evidence]


def _members(table: Table, mapping: Mapping[str, str], noise: float) -> _Members:
    """Fit every mean with its process to all rows; the first's sizes are where the others' begin."""
    y = np.log(table.measured)
    axes = axes_of(table, mapping)
    x = [axis.coordinates(table.columns) for axis in axes]
    prior = Product(axes, SIZES.level_size, SIZES.local)
    searched = np.random.default_rng([CONTENT_SEED, 2]).permutation(len(y))[: SIZES.most_searched]
    searched.sort()
    candidates: list[Candidate] = []
    first: Fit | None = None
    for mean in means_of(table, mapping):
        basis = mean.basis(table.columns)
        constants = without_traces(basis, fit_sum(basis, y), y)
        residual = y - log_sum(basis, constants)
        fit = fit_sizes([a[searched] for a in x], (residual - residual.mean())[searched], prior, first)
        first = first or fit
        factors = np.ones(len(y))
        factors[searched] = fit.factors
        covariance = fit.kernel.between([(a, a) for a in x])
        candidates.append(Candidate(mean.kind, mean, basis, constants, replace(fit, factors=factors), x, covariance))
    growth = growth_of(table, mapping, noise)
    anchors = None if growth is None else growth.anchors(np.arange(len(y)))
    if anchors is not None:
        candidates.append(replace(candidates[0], kind="growth"))
    return _Members(candidates, y, mapping, growth, anchors)


def _weighed(members: _Members, table: Table) -> _Weighed:
    """Weigh the members by held-out rows: folds inside the range, look-backs beyond it along each factor."""
    y, candidates = members.y, members.candidates
    prior = np.array([dict(STACK.prior)[c.kind] for c in candidates])
    number = fold_numbers(len(y), np.random.default_rng([CONTENT_SEED, 3]))
    parts = [(np.flatnonzero(number != k), np.flatnonzero(number == k)) for k in range(int(number.max()) + 1)]
    folds = predict_held_out(candidates, y, parts)
    density = folds.log_density()
    inside = weights_of(density, np.ones(len(density)), prior)
    width = _width(folds, inside, STACK.inside)
    beyond, evidence = [], []
    nodes = Panel(table.factors, members.mapping).nodes
    several = np.zeros(len(y), bool) if nodes is None else several_nodes(table.columns[nodes.name])
    for factor, values in _looked_along(table, members.mapping).items():
        cuts = list(cuts_of(values))
        if not cuts:
            continue
        growth = members.growth
        grows = growth is not None and members.anchors is not None and growth.along(parse(factor).names)
        back = predict_held_out(candidates, y, cuts, growth if grows else None)
        alike = within_measured_nodes(back, cuts, several)
        omega = row_weights(alike, len(density))
        weights = weights_of(np.vstack([alike.log_density(), density]), omega, prior)
        shrunk = STACK.pseudo * max(width, STACK.least_beyond)
        z = (len(cuts) * _width(alike, weights, STACK.beyond) + shrunk) / (len(cuts) + STACK.pseudo)
        common = common_error(back, weights, table)
        beyond.append(Beyond(factor, float(values.max()), tuple(map(float, weights)), float(z), common))
        column = next((f for f in table.numeric if quote_name(f.name) == factor), None)
        if column is not None and column.role == "extrinsic":
            evidence.append(_evidence(back, weights, table, column.name))
    return _Weighed(inside, width, tuple(beyond), folds, evidence)


def _looked_along(table: Table, mapping: Mapping[str, str]) -> dict[str, Array]:
    """Return what members look back along, by its formula: a transformer's devices, then counts, then sizes."""
    numeric = [f for f in table.numeric if f.distinct > 2]
    numeric.sort(key=lambda f: f.role != "extrinsic")
    along = {quote_name(f.name): np.asarray(table.columns[f.name], float) for f in numeric[: STACK.most_factors]}
    devices = derived(table, mapping).get("workers")
    if devices is None or render(devices) in along:
        return along
    return {render(devices): np.asarray(evaluate(devices, table.columns), float), **along}


def _width(held: HeldOut, weights: Array, quantile: float) -> float:
    """Return a quantile of |z| of held-out rows."""
    error, sd = held.errors(weights)
    return max(float(np.quantile(np.abs(error) / sd, quantile)), STACK.least_width)


def _evidence(back: HeldOut, weights: Array, table: Table, factor: str) -> Evidence:
    """Say how the pool predicted the largest value of a factor from those before it."""
    values = np.asarray(table.columns[factor], float)
    before, largest = np.unique(values)[-2:]
    last = back.kept(back.part == 0)
    there = values[last.rows] == largest
    error = np.abs(last.errors(weights)[0])[there if there.any() else slice(None)]
    reference = float(last_point_error(table, factor, values == largest))
    return Evidence(factor, float(largest), float(np.log2(largest / before)), float(np.mean(error)), reference)


def _ensemble(members: _Members, weighed: _Weighed, table: Table, noise: float) -> tuple[Member, ...]:
    """Return the members of the result: an expression and its place in the stack, the heaviest first."""
    columns, anchors = {f.name for f in table.factors}, members.anchors
    order = np.argsort(-weighed.inside, kind="stable")
    parts, out = [], []
    generator = np.random.default_rng([CONTENT_SEED, 4])
    for k in order:
        c, weight = members.candidates[k], float(weighed.inside[k])
        residual = members.y - log_sum(c.basis, c.constants)
        level, factors = float(residual.mean()), c.fit.factors
        status = Status("process", float(np.var(residual)), True, 0, 1, 1)
        expression, used, constants = c.mean.expression(c.constants, columns)
        draws = _draws(c.constants, [each[k] for each in weighed.folds.constants], used, generator)
        scale = np.where(np.arange(len(constants)) < len(used), np.exp(level), 1.0)
        if c.kind == "growth" and anchors is not None:
            residual = np.append(residual, c.residual(anchors, c.constants))
            factors = np.append(factors, anchors.variance / c.fit.noise**2)
        unseen = {
            name: _of_unseen(c.constants.levels[[n == name for n, _ in c.mean.levels]]) for name in dict(c.mean.levels)
        }
        parts.append(Part(c.fit.kernel, residual - level, c.fit.noise, factors, weight, unseen))
        out.append(Member(expression, constants * scale, draws * scale, weight, status, label=c.label))
    names = [*parts[0].kernel.factors, *(n for b in weighed.beyond for n in parse(b.factor).names)]
    rows = {f.name: table.columns[f.name] for f in table.factors if f.name in names}
    if anchors is not None:
        rows = {name: np.concatenate([values, anchors.columns[name]]) for name, values in rows.items()}
    beyond = tuple(structs.replace(b, weights=tuple(b.weights[k] for k in order)) for b in weighed.beyond)
    stack = Stack(rows, tuple(parts), weighed.width, beyond, noise)
    return tuple(replace(member, process=Process(stack, place)) for place, member in enumerate(out))


def _of_unseen(effects: Array) -> float:
    """Return the variance of ln T that one more level may add, that of Student's prediction from the measured ones."""
    count = len(effects)
    variance = float(np.sum((effects - effects.mean()) ** 2)) / (count - 1) * (1.0 + 1.0 / count)
    return variance * float(stdtrit(count - 1, 0.95) / NORMAL) ** 2


def _draws(
    best: Coefficients, folds: Sequence[Coefficients], used: Sequence[int], generator: np.random.Generator
) -> Array:
    """Return draws of the constants with the covariance of the delete-a-fold jackknife, (K − 1)/K·Σ (c_k − c)²."""
    centre = np.concatenate([best.columns[used], best.levels])
    each = np.array([np.concatenate([c.columns[used], c.levels]) for c in folds]) - centre
    normal = generator.standard_normal((STACK.draws, len(each)))
    draws = centre + np.sqrt((len(each) - 1.0) / len(each)) * normal @ each
    draws[:, : len(used)] = np.maximum(draws[:, : len(used)], 0.0)
    return np.asarray(draws)


def _choice(members: _Members, weighed: _Weighed, error: float) -> Note:
    """Say which means are stacked, and how their pool erred on held-out configurations."""
    order = np.argsort(-weighed.inside, kind="stable")
    shares = [
        f"{members.candidates[k].label} {100.0 * weighed.inside[k]:.0f} %" for k in order if weighed.inside[k] > 0.01
    ]
    return Note(f"one process about {', '.join(shares)}; held-out configurations erred by {error:.1f} %", "chosen")
