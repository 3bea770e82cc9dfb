"""`auto` on a series: the bank of curves, reweighted by its runs, as members that predict."""

from collections.abc import Sequence
from functools import cache

import numpy as np
from msgspec.structs import replace

from genperf.arrays import Array
from genperf.discrepancy import Discrepancy, Extrapolation
from genperf.discrepancy.series import walk_from
from genperf.expression import Constant, Expression, Term, coefficient, exponent
from genperf.formula import Name, Number, call, chain, parse, render, substitute
from genperf.gaussian import normal_quantiles
from genperf.growth.bank import CONSTANT, DOUBLING, LATENCY, SLOPE_BEYOND, SLOPE_SD, bank, prior
from genperf.growth.cluster import Cluster
from genperf.growth.hints import hint_notes
from genperf.growth.measured import Anchors, MeasuredSeries, notes_of
from genperf.growth.posterior import POSTERIOR_DRAWS, SHOWN_SHARE
from genperf.growth.readings import CountReading, Weighed, as_wide_as_one_node, forecast_of, weighed
from genperf.growth.sharing import ALONE, Shared
from genperf.models import Overhead
from genperf.models.compose import unused_name
from genperf.panel import Table
from genperf.prediction import Ensemble, Evidence, Member, Spread, Status


def fit_series(table: Table, series: MeasuredSeries, shared: Shared = ALONE) -> Ensemble:
    """Reweight the bank by the runs of a series, of a table whose other series share what they show."""
    noise = series.noise
    joint = shared.beside(series)
    readings = weighed(joint, shared.cluster)
    weighted = as_wide_as_one_node(readings)
    pairs = zip(readings, weighted, strict=True)
    members = tuple(_member(joint, wide, r.share, len(weighted) > 1, noise) for r, wide in pairs)
    options: dict[str, str | float | None] = {"approach": "series", "scale": series.column}
    notes = [*notes_of(table, series), *(hint_notes(series) if series.hinted else ())]
    more, notes_of_shared = shared.notes(", ".join(table.key), series)
    evidence = _look_back(series, shared.cluster)
    # Draws that pass through what was borrowed are another forecast.
    fitted = None if joint.anchors is not None else (forecast_of(readings, series).central(), np.exp(series.logarithms))
    return Ensemble(members, Spread(noise=noise), evidence, options | more, (*notes, *notes_of_shared), fitted)


def _look_back(series: MeasuredSeries, cluster: Cluster | None) -> tuple[Evidence, ...]:
    """Predict the largest scale from the smaller ones; nothing where fewer than two would be left."""
    scale = series.values(series.scale)
    scales = np.unique(scale)
    if len(scales) < 3:
        return ()
    smaller, largest = series.take(scale < scales[-1]), series.take(scale == scales[-1])
    forecast = forecast_of(weighed(smaller, cluster), largest)
    # The median of a run, not of the mean of runs.
    central = replace(forecast, variance=forecast.total).central()
    # Without overheads the time is in proportion to the work, if that is one and the same by all readings.
    works = [series.values(work.formula) / series.values(work.divides) for work in series.works]
    work = works[0] if all(np.allclose(works[0], other) for other in works) else np.ones(len(scale))
    last = smaller.logarithms[-1] + np.log(work[scale == scales[-1]] / work[scale < scales[-1]][-1])
    error, naive_error = (float(np.mean(np.abs(log - largest.logarithms))) for log in (np.log(central), last))
    doublings = float(np.log2(scales[-1] / scales[-2]))
    return (Evidence(series.column, float(scales[-1]), doublings, error, naive_error),)


def _drawn_constants(weighed_reading: Weighed, places: Sequence[int], level: Array) -> Array:
    """Return the constants of every draw of a reading, shape (draws, constants): coefficients, exponents and limits."""
    reading, curve, shaped = weighed_reading.reading, weighed_reading.draws.curve, prior().shaped
    sizes = bank().sizes[curve]
    if reading.nodes == reading.workers:
        # A doubling of the workers is one of the nodes.
        sizes[:, LATENCY] += sizes[:, DOUBLING]
    constants = np.column_stack([level / weighed_reading.unit, level[:, None] * sizes[:, places]])
    if reading.free_constant:
        # Work that did not vary: how much of its time is a constant, the prior alone says.
        constants[:, [0, 1 + places.index(CONSTANT)]] /= 1.0 + sizes[:, [CONSTANT]]
    shapes = [shaped.index(place) for place in places if place in shaped]
    return np.column_stack([constants, bank().shapes[curve][:, shapes]])


def _member(series: MeasuredSeries, chosen: Weighed, central_share: float, several: bool, noise: float) -> Member:
    """Return the draws of a reading, each a curve with its walk, as a member."""
    drawn, prior_constants = chosen.draws, prior()
    reading, layout = chosen.reading, chosen.posterior.layout
    # The kernel has the smallest step of the prior's walks, and each draw its own over that as its scale.
    step, steps = float(prior_constants.walk_step.min()), prior_constants.walk_step[drawn.walk]
    places, expression, beyond = _form(series, reading, layout.beside, step)
    mean, sd = drawn.level
    level = np.exp(mean + sd * _spread_normal_numbers()[: len(mean)])
    constants = _drawn_constants(chosen, places, level)
    # What is shown is the mean of the middle draws, which are ordered from the flattest curve to the steepest.
    tail = round(0.5 * (1.0 - SHOWN_SHARE) * len(level))
    inner = slice(tail, len(level) - tail)
    central = drawn.central
    variances, offsets = layout.variances, None
    if series.anchors is not None:
        # Each draw passes through one quantile of what similar series show, flat curves through the low ones.
        run_variance = float(np.mean((prior_constants.noise * steps) ** 2)) + noise**2
        offsets = _anchor_offsets(series.anchors, len(level), run_variance)
        if reading.sign < 0.0:
            # A flat reciprocal is a value that hardly falls.
            offsets = offsets[::-1]
        variances = np.r_[variances[: -offsets.shape[1]], np.zeros(offsets.shape[1])]
    discrepancy = Discrepancy(
        kernel=walk_from(beyond.axes, step, series.columns),
        anchors=series.columns,
        logarithms=series.logarithms,
        variances=variances,
        noise=float(prior_constants.noise) * step,
        scales=steps / step,
        extrapolation=beyond,
        offsets=offsets,
    )
    cost, curves = -chosen.posterior.log_evidence, len(layout.order)
    status = Status("reweighted", cost, settled=True, evaluations=curves, restarts=1, agreed=1)
    return Member(
        expression=expression,
        constants=np.average(constants[inner], axis=0, weights=central[inner]),
        draws=constants,
        weight=chosen.share,
        status=status,
        unidentified=expression.constant_names[:2] if reading.free_constant else (),
        label=_label(series, reading) if several else "overheads",
        discrepancy=discrepancy,
        central=None if offsets is not None else central * (central_share / chosen.share),
    )


def _anchor_offsets(anchors: Anchors, draws: int, run: float) -> Array:
    """Return what is added to ln T of anchors in each draw, (draws, anchors): quantiles of it, the lowest first."""
    assert anchors.points is not None
    count = anchors.points.shape[1]
    # A draw adds the variance of a run later, so that deviations are less by √(1 − run/variance).
    share = np.sqrt(np.maximum(1.0 - run / np.maximum(anchors.variance, 1e-300), 0.0))
    away = share[:, None] * (anchors.points - anchors.centre[:, None])
    ranks, levels = (np.arange(draws) + 0.5) / draws, (np.arange(count) + 0.5) / count
    return np.stack([np.interp(ranks, levels, deviations) for deviations in away], axis=1)


def _label(series: MeasuredSeries, reading: CountReading) -> str:
    """Name one of several readings by what differs between them: `overheads, shared work, eight a node`."""
    words = ["overheads"]
    if len(series.works) > 1:
        of_all = f"*{reading.work}".endswith(f"*{reading.workers}")
        words.append("work of all" if of_all else "constant work" if reading.work == "1" else "shared work")
    # The nodes are those of `readings.NODE_SIZES`: `max(workers/8, 1)`.
    if reading.nodes.startswith("max("):
        words.append("four a node" if "/4," in reading.nodes else "eight a node")
    if reading.sign < 0.0:
        words.append("of the reciprocal")
    return ", ".join([*words, "one node"] if reading.nodes == "1" else words)


@cache
def _spread_normal_numbers() -> Array:
    """Return evenly spread normal numbers in an order that goes with nothing else (a Kronecker sequence)."""
    # 1/ρ of the plastic number ρ³ = ρ + 1, whose multiples spread most evenly beside another sequence.
    return normal_quantiles((0.5 + 0.7548776662466927 * np.arange(1, POSTERIOR_DRAWS + 1)) % 1.0)


def _form(
    series: MeasuredSeries, reading: CountReading, beside: Sequence[str], step: float
) -> tuple[list[int], Expression, Extrapolation]:
    """Write T = (a·work + Σ overheads)/divides over the columns of a series, and its limits and doubts beyond them.

    Of the reciprocal it is T = 1/(a·work + Σ overheads)/divides, one term. The places are those of the overheads among
    the prior's; `step` is that of the walk per doubling.

    Fields of the reading named `beside` are axes of the walk with the scale. Only overheads that the reading can have
    are written: without nodes none between them, and with a worker each none inside.
    """
    axes = tuple(dict.fromkeys((series.scale, *(getattr(reading, name) for name in beside))))
    work = reading.work if reading.divides == "1" else f"({reading.work})/({reading.divides})"
    texts = (*axes, reading.workers, reading.nodes, reading.divides, work)
    # The formula of each canonical name over the columns.
    canonical_names = sorted({name for text in texts for name in parse(text).names})
    meant = {name: node for name in canonical_names if (node := series.factors.node(name)) is not None}
    over_columns = {text: substitute(parse(text).node, meant) for text in texts}
    # Beside work that never varies only the prior tells a constant from it.
    has_constant = bool(np.ptp(np.log(series.values(reading.work))) > 1e-9) or reading.free_constant
    several_a_node, several_nodes = reading.nodes != reading.workers, reading.nodes != "1"
    possible = {"constant": has_constant, "inside": several_a_node, "doubling": several_a_node}
    chosen = [overhead for overhead in prior().overheads if possible.get(overhead.place, several_nodes)]
    # The constant beside the computation, as the two are told apart.
    chosen.sort(key=lambda overhead: overhead.place != "constant")
    # `a/workers`, and not `a*1/workers`.
    formula = "a" if reading.work == "1" else f"a*{reading.work}".replace("a*1/", "a/")
    computation = Overhead("computation", "a", formula, "constant")
    # The counts of an exchange may be in units of the smallest one; the work is always that of one worker.
    counts = {"workers": over_columns[reading.workers], "nodes": over_columns[reading.nodes]}
    terms, coefficients, shapes = list[Term](), list[Constant](), list[Constant]()
    used = {f.name for f in series.factors.factors}
    for overhead in (computation, *chosen):
        # Each constant in the formula → a name that no column and no other constant has.
        names: dict[str, str] = {}
        for constant in filter(None, (overhead.constant, overhead.shape)):
            names[constant] = unused_name(constant, used)
            used.add(names[constant])
        coefficients.append(coefficient(names[overhead.constant]))
        if overhead.shape:
            low, high = prior().shape[prior().overheads.index(overhead)].tolist()
            shapes.append(exponent(names[overhead.shape], low, high, low))
        meaning = meant if overhead is computation else counts
        constants = {constant: Name(name) for constant, name in names.items()}
        terms.append(Term(overhead.name, substitute(parse(overhead.formula).node, {**meaning, **constants})))
    if reading.sign < 0.0:
        terms = [Term("reciprocal of a sum", call("divide", Number(1.0), chain("add", [term.node for term in terms])))]
    if reading.divides != "1":
        terms = [Term(term.name, call("divide", term.node, over_columns[reading.divides])) for term in terms]
    places, slope = [prior().overheads.index(overhead) for overhead in chosen], SLOPE_SD * step
    least_slope, mean_slope = SLOPE_BEYOND[reading.is_apart(series)]
    beyond = Extrapolation(
        axes=tuple(render(over_columns[text]) for text in axes),
        # A reciprocal that falls with the work grows itself, in proportion to the scale at most.
        work="1" if reading.sign < 0.0 else render(over_columns[work]),
        slope=slope,
        nodes=render(over_columns[reading.nodes]),
        quietest=least_slope / slope,
        mean=reading.sign * mean_slope,
    )
    return places, Expression("series", tuple(terms), (*coefficients, *shapes)), beyond
