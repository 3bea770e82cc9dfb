"""`auto` on a series: times along a scale, extrapolated by families weighted by their evidence."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import msgspec
import numpy as np
import numpy.typing as npt

from genperf.discrepancy import Discrepancy, Extrapolation
from genperf.discrepancy.kernels.random_walk import walk_from
from genperf.formula import names_in, parse
from genperf.pooling import Borrowed
from genperf.prediction import Ensemble, Evidence, Member, Spread, Status, mixture_quantiles
from genperf.series.borrowing import borrowing_note, borrowing_options, led, with_loans
from genperf.series.families import BETWEEN, OVERHEADS, SERIAL, Scaling, Work, families
from genperf.series.measured import Series, outliers, repeat_noise, scale_note
from genperf.series.prior import EXPECTATIONS, Expectations
from genperf.series.sampler import sample
from genperf.table import Table
from genperf.table.clean import label

Array = npt.NDArray[np.float64]

#: Particles of each family.
PARTICLES = 1000
#: Draws that the ensemble keeps, shared by weight, and how many a family keeps at least.
KEPT, FEWEST_KEPT = 1000, 40
#: Families of less weight are left out of the result.
LEAST_WEIGHT = 2e-3


def fit_series(
    table: Table, series: Series, seed: int, borrowed: Borrowed | None = None, given: Expectations = EXPECTATIONS
) -> Ensemble:
    """Fit the families to a series and weigh them.

    Parameters
    ----------
    table : Table
    series : Series
        Of the table, see `series_of`.
    seed : int
    borrowed : Borrowed, optional
        What the series borrows from other groups: with at least one loan. It is fitted beside the measured values.
    given : Expectations
        No option of the user's: others than the shipped ones are there to be measured.

    Returns
    -------
    Ensemble
        A member's weight is its prior probability times its evidence, which is the product of its predictive
        densities from each scale to the next along the series.
    """
    key = [label(table.frame[name].iloc[0]) for name in table.group]
    stream = [seed, zlib.crc32("\n".join(key).encode())]
    noise = float(np.sqrt(repeat_noise(table)[0]))
    options: dict[str, str | float | None] = {"approach": "series", "scale": series.column}
    notes = [*scale_note(series), *outliers(table)]
    if borrowed is None:
        members = weigh(series, np.random.default_rng([*stream, 0]), given)
    else:
        both = with_loans(series, borrowed.loans)
        members = weigh(both, np.random.default_rng([*stream, 2]), given)
        members = tuple(led(member, borrowed.loans, noise) for member in members)
        options |= borrowing_options(borrowed)
        notes.append(borrowing_note(borrowed))
    evidence = _look_back(series, np.random.default_rng([*stream, 1]), given)
    return Ensemble(members, Spread(noise=noise), evidence, options, tuple(notes))


def weigh(series: Series, rng: np.random.Generator, given: Expectations = EXPECTATIONS) -> tuple[Member, ...]:
    """Sample every family of a series and return those that count, heaviest first."""
    scalings = _families(series, given)
    fitted = [_fit(series, scaling, given, rng) for scaling in scalings]
    logarithms = np.array([f.evidence for f in fitted]) + np.log([s.share for s in scalings])
    weights = np.exp(logarithms - logarithms.max())
    weights /= weights.sum()
    weights = np.where(weights < LEAST_WEIGHT, 0.0, weights)
    weights /= weights.sum()
    order = [k for k in np.argsort(-weights, kind="stable") if weights[k] > 0.0]
    return tuple(_member(series, fitted[k], float(weights[k]), rng) for k in order)


@dataclass(frozen=True, eq=False)
class _Fitted:
    """A family with its particles: constants (particles, n), and the walk with a size for each."""

    scaling: Scaling
    constants: Array
    walk: Discrepancy
    evidence: float
    evaluations: int


def _families(series: Series, given: Expectations) -> list[Scaling]:
    nodes = series.found.node("nodes")
    workers = series.found.node("workers")
    known = nodes is not None and (workers is None or bool(np.all(series.values("nodes") <= series.values("workers"))))
    inside = known and workers is not None and bool(np.any(series.values("nodes") < series.values("workers")))
    scales = len(np.unique(series.values("nodes" if known else "workers")))
    works = []
    for each, from_table in series.works:
        varies = bool(np.ptp(np.log(series.values(each))) > 1e-9)
        share = 1.0 if len(series.works) == 1 else given.shared_work if varies else 1.0 - given.shared_work
        works.append(Work(each, share, varies, from_table))
    return families(series.found, works, known, inside, scales, given)


def _fit(series: Series, scaling: Scaling, given: Expectations, rng: np.random.Generator) -> _Fitted:
    """Sample one family: the overheads' sizes, relative to the computation at the largest scale, and the walk's."""
    expression = scaling.expression
    ones = dict.fromkeys(expression.constant_names, 1.0)
    walk = _walk(series, scaling, given)
    last = walk.largest
    terms = expression.term_values(series.columns, ones)
    work = terms["computation"] / terms["computation"][last]
    most = max(float(series.values(scaling.nodes).max()), 2.0)
    units = np.array([OVERHEADS[name][2] or most for name in scaling.overheads])
    shapes = np.array([terms[name] for name in scaling.overheads]).reshape(len(units), len(work)) / units[:, None]
    median, spread, load = _prior(series, scaling, given, float(series.logarithms[last]))
    p = len(units)

    def sizes(z: Array) -> Array:
        return np.asarray(np.exp(median + spread * z[:, :p] + given.strength * load * z[:, p : p + 1]))

    def loudness(z: Array) -> Array:
        return np.asarray(np.exp(np.where(z[:, p + 1] > 0.0, given.louder, given.quieter) * z[:, p + 1]))

    def curve(z: Array) -> Array:
        return np.asarray(np.log(work + sizes(z) @ shapes))

    posterior = sample(lambda z: walk.log_density(curve(z), loudness(z)), p + 2, PARTICLES, rng)
    z = posterior.particles
    theta, variance = walk.level(curve(z), loudness(z))
    level = np.exp(theta + np.sqrt(variance) * rng.standard_normal(len(z)))
    computation, rest = level, [level[:, None] * sizes(z) / units]
    if scaling.free_constant:
        constant = scaling.sizes["constant"]
        relative = constant.median * np.exp(constant.spread * rng.standard_normal(len(z)))
        computation = level / (1.0 + relative)
        rest.insert(0, (level * relative / (1.0 + relative))[:, None])
    constants = np.hstack([(computation / terms["computation"][last])[:, None], *rest])
    return _Fitted(
        scaling, constants, msgspec.structs.replace(walk, scales=loudness(z)), posterior.evidence, posterior.evaluations
    )


def _prior(series: Series, scaling: Scaling, given: Expectations, last: float) -> tuple[Array, Array, Array]:
    """Return the overheads' medians (in ln), spreads and loads."""
    between = np.array([name in (*BETWEEN, SERIAL) for name in scaling.overheads], bool)
    sizes = [scaling.sizes[name] for name in scaling.overheads]
    median = np.log([s.median for s in sizes]) if sizes else np.zeros(0)
    spread = np.array([s.spread for s in sizes])
    longer = last - np.log(given.usual_time)
    median = median - between * longer * np.exp(-0.5 * (longer / given.usual_range) ** 2)
    if scaling.vague:
        median = median + between * np.log(given.vague)
        spread = spread * np.where(between, given.vaguer, 1.0)
    return median, spread, np.array([s.load for s in sizes])


def _walk(series: Series, scaling: Scaling, given: Expectations) -> Discrepancy:
    axes = _axes(series, scaling)
    step = given.step_of_last if scaling.last else given.step
    return Discrepancy(
        walk_from(axes, step, series.columns),
        series.columns,
        series.logarithms,
        series.variances,
        given.noise,
        np.ones(1),
        per_draw=True,
        extrapolation=Extrapolation(axes, series.over_columns(scaling.work.each), given.trend),
    )


def _axes(series: Series, scaling: Scaling) -> tuple[str, ...]:
    """Name the scale, and what varies beside it at one and the same scale."""
    scale = series.values(series.scale)
    beside = [
        series.over_columns(text)
        for text in ("nodes", scaling.work.each)
        if text != series.scale
        and all(series.found.has(n) for n in names_in(parse(text).node))
        and any(np.ptp(np.log(series.values(text)[scale == n])) > 1e-9 for n in np.unique(scale))
    ]
    return (series.over_columns(series.scale), *beside)


def _member(series: Series, fitted: _Fitted, weight: float, rng: np.random.Generator) -> Member:
    """Keep draws in proportion to the weight, evenly from the flattest curve to the steepest."""
    expression, walk = fitted.scaling.expression, fitted.walk
    kept = min(max(FEWEST_KEPT, round(KEPT * weight)), PARTICLES)
    beyond = {}
    for name, values in series.columns.items():
        first, last = float(values[0]), float(values[walk.largest])
        beyond[name] = np.array([last * max(last / first, 1e-300) ** 0.5 if first > 0 else last])
    names = expression.constant_names
    drawn = {name: fitted.constants[:, j : j + 1] for j, name in enumerate(names)}
    at = {name: values[[walk.largest]] for name, values in series.columns.items()}
    growth = (expression.evaluate(beyond, drawn) / expression.evaluate(at, drawn))[:, 0]
    order = np.argsort(growth, kind="stable")
    chosen = order[((np.arange(kept) + 0.5) * len(order) / kept).astype(int)]
    draws = shortened(fitted.constants[chosen])
    middle = np.exp(np.median(np.log(fitted.constants), axis=0))
    best = dict(zip(names, middle, strict=True))
    curve = np.log(expression.evaluate(series.columns, best))[None, :]
    theta, _ = walk.level(curve, np.array([np.median(walk.scales)]))
    return Member(
        expression,
        shortened(middle * np.exp(theta[0])),
        draws,
        weight,
        Status("smc", -fitted.evidence, True, fitted.evaluations, 1, 1),
        unidentified=tuple(names[:2]) if fitted.scaling.free_constant else (),
        label=fitted.scaling.label,
        discrepancy=msgspec.structs.replace(walk, scales=shortened(walk.scales[chosen])),
    )


def shortened(values: Array) -> Array:
    """Round to single precision: a model file then holds half as many bytes, and reads back the same.

    Examples
    --------
    >>> shortened(np.array([0.1, 0.5]))
    array([0.1, 0.5])
    """
    return np.asarray(values.astype(np.float32).astype(float))


def _look_back(series: Series, rng: np.random.Generator, given: Expectations) -> tuple[Evidence, ...]:
    """Predict the largest scale from the smaller ones."""
    scale = series.values(series.scale)
    scales = np.unique(scale)
    if len(scales) < 3:
        return ()
    train = scale < scales[-1]
    small, held = series.take(train), series.take(~train)
    members = weigh(small, rng, given)
    means, sds, shares = [], [], []
    for member in members:
        mean, variance = member.forecast(held.columns)
        means.append(mean)
        sds.append(np.sqrt(variance))
        shares.append(np.full(len(mean), member.weight / len(mean)))
    found = mixture_quantiles(np.vstack(means), np.concatenate(shares), np.vstack(sds), np.array([0.5]))[0]
    each = series.works[0][0] if len(series.works) == 1 else "1"
    last = small.logarithms[-1] + np.log(held.values(each) / small.values(each)[-1])
    return (
        Evidence(
            series.column,
            float(scales[-1]),
            float(np.log2(scales[-1] / scales[-2])),
            float(np.mean(np.abs(np.log(found) - held.logarithms))),
            float(np.mean(np.abs(last - held.logarithms))),
        ),
    )


__all__ = ["fit_series", "shortened", "weigh"]
