"""`auto` on a series: values along a scale, extrapolated by families weighted by their evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from genperf.discrepancy import Discrepancy, Extrapolation
from genperf.discrepancy.kernels.random_walk import walk_from
from genperf.formula import names_in, parse
from genperf.models import Overhead
from genperf.pooling import Borrowed
from genperf.prediction import Ensemble, Evidence, Member, Spread, Status, mixture_quantiles
from genperf.series.borrowing import borrowing_note, borrowing_options, led, with_loans
from genperf.series.families import Family, Layout, Work, families
from genperf.series.hints import hint_notes, with_hint
from genperf.series.measured import Series, mixture_notes, outliers, repeat_noise, scale_note
from genperf.series.prior import PRIOR, Prior
from genperf.series.quadrature import QUADRATURE, Targets, WeightedPoints, log_sum, weighted_points
from genperf.series.tempering import tempered_points
from genperf.table import Table

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class DrawSettings:
    """What a fit keeps of its points.

    Attributes
    ----------
    draws : int
        Draws of the whole ensemble, shared by weight: the bands' quantiles move by about 1 % with half as many.
    least_draws : int
        Draws of a family that counts at all.
    least_weight : float
        Families of less weight are left out: they would move a 90 % band by less than its digits.
    """

    draws: int = 1000
    least_draws: int = 24
    least_weight: float = 2e-3


DRAWS = DrawSettings()
#: To predict the largest scale from the smaller ones, where only the median is used.
LOOKING_BACK = DrawSettings(draws=200, least_draws=10, least_weight=0.02)
#: Overheads that may be too small to matter, together: where a proposal of the quadrature looks.
VARIANTS: tuple[tuple[str, ...], ...] = ((), ("contention",))


def fit_series(
    table: Table, series: Series, seed: int = 0, borrowed: Borrowed | None = None, prior: Prior = PRIOR
) -> Ensemble:
    """Fit the families to a series and weigh them.

    Parameters
    ----------
    series : Series
        Of the table, see `series_of`.
    seed : int
        Changes nothing: the points of the quadrature are always the same.
    borrowed : Borrowed, optional
        What the series borrows from other groups: with at least one loan. It is fitted beside the measured values.
    prior : Prior
        No option of the user's: others than the shipped one are there to be measured.

    Returns
    -------
    Ensemble
        A member's weight is its prior probability times its evidence, which is the product of its predictive
        densities from each scale to the next along the series.
    """
    noise = float(np.sqrt(repeat_noise(table)[0]))
    options: dict[str, str | float | None] = {"approach": "series", "scale": series.column}
    notes = [*scale_note(series), *outliers(table), *mixture_notes(table, series), *hint_notes(series)]
    whole = series if borrowed is None else with_loans(series, borrowed.loans)
    smaller = _without_largest(series)
    parts = [whole] if smaller is None else [whole, smaller[0]]
    posteriors = _posteriors(parts, prior)
    members = _members(whole, posteriors[0])
    if borrowed is not None:
        members = tuple(led(member, borrowed.loans, noise) for member in members)
        options |= borrowing_options(borrowed)
        notes.append(borrowing_note(borrowed))
    evidence = () if smaller is None else _look_back(series, smaller[0], smaller[1], posteriors[1])
    return Ensemble(members, Spread(noise=noise), evidence, options, tuple(notes))


def weigh(series: Series, prior: Prior = PRIOR) -> tuple[Member, ...]:
    """Sample every family of a series and return those that count, heaviest first."""
    return _members(series, posteriors_of(series, prior))


def posteriors_of(series: Series, prior: Prior) -> list[Posterior]:
    """Sample every family of a series with every walk."""
    return _posteriors([series], prior)[0]


@dataclass(frozen=True, eq=False)
class Posterior:
    """A family with one walk: its weighted points.

    Attributes
    ----------
    work, shapes : ndarray of shape (anchors,) and (overheads, anchors)
        Relative to the computation at the largest scale.
    units : ndarray of shape (overheads,)
        What a size is divided by to get the constant of its term.
    computation : float
        The computation's term at the largest scale, for a constant of one.
    u, loudness : ndarray of shape (points, overheads) and (points,)
    log_weights : ndarray of shape (points,)
        Their exponentials add up to the evidence times the prior probability.
    constant : tuple of float
        Median and spread of a constant that the prior alone tells.
    """

    family: Family
    walk: Discrepancy
    work: Array
    shapes: Array
    units: Array
    computation: float
    u: Array
    loudness: Array
    log_weights: Array
    constant: tuple[float, float]

    def curves(self, points: npt.NDArray[np.intp]) -> Array:
        """Return ln(work + overheads) at the anchors, shape (points, anchors)."""
        return np.asarray(np.log(self.work + np.exp(self.u[points]) @ self.shapes))


@dataclass(frozen=True, eq=False)
class _Problem:
    """A family of a series with its walks, ready to be sampled."""

    part: int
    family: Family
    walks: tuple[Discrepancy, ...]
    log_walks: Array
    work: Array
    shapes: Array
    units: Array
    computation: float
    medians: Array
    roots: Array


def _posteriors(parts: Sequence[Series], prior: Prior) -> list[list[Posterior]]:
    """Sample the families of some series, all in one batch for each number of overheads."""
    problems = [p for k, series in enumerate(parts) for p in _problems(k, series, prior)]
    by_size: dict[tuple[int, int], list[_Problem]] = {}
    for problem in problems:
        # Single overheads and none are small; the others are padded to the largest.
        count = len(problem.units)
        by_size.setdefault((min(count, 2), len(problem.walks)), []).append(problem)
    posteriors: list[list[Posterior]] = [[] for _ in parts]
    for batch in by_size.values():
        for problem, points in zip(batch, _sampled(batch, prior), strict=True):
            p = len(problem.units)
            for r, walk in enumerate(problem.walks):
                setting = prior.settings[0]
                posteriors[problem.part].append(
                    Posterior(
                        problem.family,
                        walk,
                        problem.work,
                        problem.shapes,
                        problem.units,
                        problem.computation,
                        points.u[:, :p],
                        points.loudness,
                        points.log_weights[r] + np.log(problem.family.share),
                        (setting.medians[0], setting.root[0][0]),
                    )
                )
    return posteriors


def _sampled(batch: Sequence[_Problem], prior: Prior) -> list[WeightedPoints]:
    """Sample problems together; by tempering where importance sampling reaches too few effective points."""
    targets = _targets(batch, prior)
    return [
        points
        if points.effective >= QUADRATURE.least_effective
        else tempered_points(targets.take(np.array([j])), QUADRATURE.points)
        for j, points in enumerate(weighted_points(targets))
    ]


def _targets(batch: Sequence[_Problem], prior: Prior) -> Targets:
    """Return problems as one batch, those of fewer anchors or overheads padded with ones that change nothing."""
    k, p = max(len(x.work) for x in batch), max(len(x.units) for x in batch)
    b, r, s = len(batch), len(batch[0].walks), len(prior.settings)
    logarithms, anchored, work = np.zeros((b, k)), np.zeros((b, k)), np.ones((b, k))
    whiten, variances, one = np.zeros((b, r, k, k)), np.zeros((b, r, k)), np.zeros((b, r, k))
    constants, shapes = np.zeros((b, r)), np.zeros((b, p, k))
    effective = np.ones((b, len(VARIANTS) if p > 1 else 1, p))
    largest, medians = np.zeros(b, np.intp), np.zeros((b, s, p))
    roots = np.broadcast_to(np.eye(p), (b, s, p, p)).copy()
    for j, problem in enumerate(batch):
        n, m = len(problem.work), len(problem.units)
        logarithms[j, :n], anchored[j, :n], work[j, :n] = problem.walks[0].logarithms, 1.0, problem.work
        shapes[j, :m, :n] = problem.shapes
        for i, small in enumerate(VARIANTS if p > 1 else ()):
            effective[j, i, :m] = [overhead.name not in small for overhead in problem.family.overheads]
        largest[j] = problem.walks[0].largest
        medians[j, :, :m], roots[j, :, :m, :m] = problem.medians, problem.roots
        for i, walk in enumerate(problem.walks):
            g = walk.geometry
            whiten[j, i, :n, :n], variances[j, i, :n], one[j, i, :n] = g.whiten, g.variances, g.ones
            constants[j, i] = g.constant
    return Targets(
        logarithms, whiten, variances, one, anchored, constants, work, shapes, effective, largest, medians, roots,
        np.log([setting.share for setting in prior.settings]), batch[0].log_walks, prior.louder, prior.quieter,
    )  # fmt: skip


def _problems(part: int, series: Series, prior: Prior) -> list[_Problem]:
    """Write down the families of a series with their walks."""
    layout, works = _layout(series), _works(series, prior)
    walks: dict[tuple[str, bool], tuple[Discrepancy, ...]] = {}
    problems = []
    noises = [noise for noise, _ in prior.noises]
    most = max(float(series.values("nodes" if layout.nodes_known else "workers").max()), 2.0)
    terms: dict[tuple[str, frozenset[Overhead]], dict[str, Array]] = {}
    listed = families(series.factors, works, layout, prior)
    # The family with the most overheads has the terms of the others of its work.
    for family in sorted(listed, key=lambda f: -len(f.overheads)):
        each = family.work.each
        overheads = frozenset(family.overheads)
        same = next((t for (e, others), t in terms.items() if e == each and overheads <= others), None)
        if same is None:
            ones = dict.fromkeys(family.expression.constant_names, 1.0)
            same = terms[each, overheads] = family.expression.term_values(series.columns, ones)
        if (each, family.last) not in walks:
            step = prior.step_of_last if family.last else prior.step
            walks[each, family.last] = _walks(series, family.work, (step, noises), layout.nodes_known, prior)
        of_family = walks[each, family.last]
        last = of_family[0].largest
        computation = float(same["computation"][last])
        units = np.array([overhead.divisor or most for overhead in family.overheads])
        shapes = np.array([same[overhead.name] for overhead in family.overheads])
        shapes = shapes.reshape(len(units), len(series.logarithms))
        longer = longer_than_usual(series, last, prior)
        medians, roots = with_hint(series, family, *moments_of(family, prior, longer))
        problems.append(
            _Problem(
                part, family, of_family, np.log([share for _, share in prior.noises]),
                same["computation"] / computation, shapes / units[:, None], units,
                computation, medians, roots,
            )
        )  # fmt: skip
    return problems


def _layout(series: Series) -> Layout:
    """Say what a series tells of the machines: nodes are known where no worker lies on several."""
    nodes, workers = series.factors.node("nodes"), series.factors.node("workers")
    known = nodes is not None and (workers is None or bool(np.all(series.values("nodes") <= series.values("workers"))))
    inside = known and workers is not None and bool(np.any(series.values("nodes") < series.values("workers")))
    return Layout(known, inside, len(np.unique(series.values("nodes" if known else "workers"))))


def _works(series: Series, prior: Prior) -> list[Work]:
    works = []
    for each, from_table in series.works:
        varies = bool(np.ptp(np.log(series.values(each))) > 1e-9)
        share = 1.0 if len(series.works) == 1 else prior.shared_work if varies else 1.0 - prior.shared_work
        works.append(Work(each, share, varies, from_table))
    return works


def longer_than_usual(series: Series, last: int, prior: Prior) -> float:
    """Return ln of the time at the largest scale over the usual time; 0 where the values are not seconds.

    Parameters
    ----------
    last : int
        Place of the largest scale.
    """
    return float(series.logarithms[last]) - float(np.log(prior.usual_time)) if series.in_seconds else 0.0


def moments_of(family: Family, prior: Prior, longer: float) -> tuple[Array, Array]:
    """Return the means of the overheads' logarithms, and Cholesky factors of their covariances, in each setting.

    Parameters
    ----------
    longer : float
        See `longer_than_usual`.
    """
    between = np.array(family.beyond, bool)
    medians, roots = prior.moments(family.sizes, family.beyond if family.vague else (False,) * len(between))
    medians = medians - prior.seconds * between * longer * np.exp(-0.5 * (longer / prior.usual_range) ** 2)
    return medians, roots


def _walks(
    series: Series, work: Work, sds: tuple[float, Sequence[float]], nodes_known: bool, prior: Prior
) -> tuple[Discrepancy, ...]:
    """Return the walks of a family before they have draws, one a noise."""
    step, noises = sds
    axes = _axes(series, work)
    nodes = series.over_columns("nodes") if nodes_known else "1"
    kernel = walk_from(axes, step, series.columns)
    extrapolation = Extrapolation(axes, series.over_columns(work.each), prior.trend, nodes)
    first = Discrepancy(
        kernel,
        series.columns,
        series.logarithms,
        series.variances,
        noises[0],
        np.ones(1),
        per_draw=True,
        extrapolation=extrapolation,
    )
    return (first, *(first.with_noise(noise) for noise in noises[1:]))


def _axes(series: Series, work: Work) -> tuple[str, ...]:
    """Name the scale, and what varies beside it at one and the same scale."""
    scale = series.values(series.scale)
    if len(np.unique(scale)) == len(scale):
        return (series.over_columns(series.scale),)
    beside = [
        series.over_columns(text)
        for text in ("nodes", work.each)
        if text != series.scale
        and all(series.factors.has(n) for n in names_in(parse(text).node))
        and any(np.ptp(np.log(series.values(text)[scale == n])) > 1e-9 for n in np.unique(scale))
    ]
    return (series.over_columns(series.scale), *beside)


def _members(series: Series, posteriors: Sequence[Posterior], kept: DrawSettings = DRAWS) -> tuple[Member, ...]:
    """Weigh the families by their evidence and keep draws of those that count, heaviest first."""
    logarithms = np.array([log_sum(p.log_weights, 0) for p in posteriors])
    weights = np.exp(logarithms - logarithms.max())
    weights /= weights.sum()
    weights = np.where(weights < kept.least_weight, 0.0, weights)
    weights /= weights.sum()
    order = [k for k in np.argsort(-weights, kind="stable") if weights[k] > 0.0]
    beyond = {}
    largest = posteriors[0].walk.largest
    for name, values in series.columns.items():
        first, last = float(values[0]), float(values[largest])
        beyond[name] = np.array([last * max(last / first, 1e-300) ** 0.5 if first > 0 else last])
    orders: dict[str, npt.NDArray[np.intp]] = {}
    members = []
    for k in order:
        posterior, draws = posteriors[k], max(kept.least_draws, round(kept.draws * weights[k]))
        # The walks of a family share its points.
        if posterior.family.label not in orders:
            orders[posterior.family.label] = np.argsort(_growth(posterior, beyond), kind="stable")
        chosen = _evenly(posterior.log_weights, orders[posterior.family.label], draws)
        members.append(_member(posterior, chosen, float(weights[k]), float(logarithms[k])))
    return tuple(members)


def _growth(posterior: Posterior, beyond: dict[str, Array]) -> Array:
    """Return how much each point's curve grows beyond the largest scale, shape (points,)."""
    family, expression = posterior.family, posterior.family.expression
    terms = expression.term_values(beyond, dict.fromkeys(expression.constant_names, 1.0))
    shapes = np.array([terms[overhead.name][0] for overhead in family.overheads]).reshape(-1) / posterior.units
    last, sizes = posterior.walk.largest, np.exp(posterior.u)
    growth = terms["computation"][0] / posterior.computation + sizes @ shapes
    return np.asarray(growth / (posterior.work[last] + sizes @ posterior.shapes[:, last]))


def _evenly(log_weights: Array, order: npt.NDArray[np.intp], draws: int) -> npt.NDArray[np.intp]:
    """Choose points in proportion to their weights, evenly along an order."""
    reached = np.cumsum(np.exp(log_weights[order] - log_weights.max()))
    places = (np.arange(draws) + 0.5) / draws * reached[-1]
    return np.asarray(order[np.minimum(np.searchsorted(reached, places), len(order) - 1)])


def _member(posterior: Posterior, chosen: npt.NDArray[np.intp], weight: float, evidence: float) -> Member:
    """Return a family with its draws, from the flattest curve to the steepest."""
    family, walk = posterior.family, posterior.walk
    names, draws = family.expression.constant_names, len(chosen)
    sizes, loudness = np.exp(posterior.u[chosen]), posterior.loudness[chosen]
    curves = posterior.curves(chosen)
    theta, variance = walk.level(curves, loudness)
    level = np.exp(theta + np.sqrt(variance) * _normal(draws, 0))
    computation, others = level, [level[:, None] * sizes / posterior.units]
    if family.free_constant:
        median, spread = posterior.constant
        relative = median * np.exp(spread * _normal(draws, 1))
        computation = level / (1.0 + relative)
        others.insert(0, (level * relative / (1.0 + relative))[:, None])
    constants = np.hstack([(computation / posterior.computation)[:, None], *others])
    middle = np.exp(np.median(np.log(constants), axis=0))
    shift = _middle_level(posterior, middle)
    return Member(
        family.expression,
        middle * np.exp(shift),
        constants,
        weight,
        Status("quadrature", -evidence, True, len(posterior.u), 1, 1),
        unidentified=tuple(names[:2]) if family.free_constant else (),
        label=family.label,
        discrepancy=walk.with_scales(loudness),
    )


def _middle_level(posterior: Posterior, middle: Array) -> float:
    """Return the level that leads the curve of the median constants through the series."""
    first = 2 if posterior.family.free_constant else 1
    curve = middle[0] * posterior.computation * posterior.work + (middle[first:] * posterior.units) @ posterior.shapes
    if posterior.family.free_constant:
        curve = curve + middle[1]
    loudness = np.median(posterior.loudness, keepdims=True)
    return float(posterior.walk.level(np.log(curve)[None, :], loudness)[0][0])


def _normal(count: int, which: int) -> Array:
    """Return evenly spread normal numbers in an order that goes with nothing else (a Kronecker sequence)."""
    step = (0.7548776662466927, 0.5698402909980532)[which]
    return np.asarray(ndtri((0.5 + step * np.arange(1, count + 1)) % 1.0))


def _without_largest(series: Series) -> tuple[Series, Series] | None:
    """Part a series into its smaller scales and the largest one; None where fewer than two would be left."""
    scale = series.values(series.scale)
    scales = np.unique(scale)
    if len(scales) < 3:
        return None
    train = scale < scales[-1]
    return series.take(train), series.take(~train)


def _look_back(
    series: Series, smaller: Series, held_out: Series, posteriors: Sequence[Posterior]
) -> tuple[Evidence, ...]:
    """Predict the largest scale from the smaller ones."""
    members = _members(smaller, posteriors, LOOKING_BACK)
    forecasts = [member.forecast(held_out.columns) for member in members]
    shares = [np.full(len(member.draws), member.weight / len(member.draws)) for member in members]
    means, sds = np.vstack([f[0] for f in forecasts]), np.sqrt(np.vstack([f[1] for f in forecasts]))
    central = mixture_quantiles(means, np.concatenate(shares), sds, np.array([0.5]))[0]
    each = series.works[0][0] if len(series.works) == 1 else "1"
    last = smaller.logarithms[-1] + np.log(held_out.values(each) / smaller.values(each)[-1])
    scales = np.unique(series.values(series.scale))
    return (
        Evidence(
            series.column,
            float(scales[-1]),
            float(np.log2(scales[-1] / scales[-2])),
            float(np.mean(np.abs(np.log(central) - held_out.logarithms))),
            float(np.mean(np.abs(last - held_out.logarithms))),
        ),
    )


__all__ = ["fit_series", "weigh"]
