"""Efficiency and its band, the knee, the count beyond which more workers make it slower, and the crossovers."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from msgspec import Struct
from msgspec.structs import replace

from genperf.arrays import Array, Index
from genperf.attribution.answers import Scaling
from genperf.attribution.draws import DEEPEST, Curves, curves_of, shares
from genperf.attribution.ladder import Ladder, steps_along_workers
from genperf.attribution.terms import LEAST_WEIGHT
from genperf.errors import GenperfError
from genperf.facts import ends_of
from genperf.formula import Name, Node, calls_in, names_in, values_of
from genperf.panel.panel import StepWork
from genperf.prediction import Member, central_times, distance_beyond
from genperf.prediction.member import by_label, forecast_of
from genperf.prediction.predict import THROUGHPUT
from genperf.prediction.schema import checked_values
from genperf.result import FitResult, answering
from genperf.scaling import Scaling as Kind
from genperf.table.cells import source_of_columns
from genperf.words.numbers import scaling_question

#: The efficiency below which a curve is past its knee. A convention: one half.
KNEE_LEVEL = 0.5


class Knee(Struct, frozen=True):
    """What `explain` tells of scaling."""

    level: float = KNEE_LEVEL  #: The efficiency below which a curve is past its knee.
    along: str | None = None  #: The factor that counts the workers; chosen by the field's names where omitted.
    upto: float | None = None  #: The largest count that is evaluated; 16 times the largest measured where omitted.
    #: Whether the work of one worker, or that of all together, stays; the columns decide where omitted.
    kind: Kind | None = None


#: Relative difference of times that count as the same, and distance of a logarithm of an efficiency from a level at
#: which it is not below it: rounding errors of sums of logarithms.
SAME_TIME, AT_LEVEL = 1e-12, 1e-9
_CHANGES = ("member", "weight", "what", "before", "after", "count", "lower", "upper", "reached")
_NO_CHANGES = pd.DataFrame(columns=list(_CHANGES))
_POINTS = ("what", "level", "count", "lower", "upper", "reached", "of")


def scaling(
    result: FitResult,
    at: Mapping[str, Any],
    *,
    along: str | None = None,
    level: float = KNEE_LEVEL,
    upto: float | None = None,
    kind: Kind | None = None,
    interval: float = 0.9,
    work: StepWork | None = None,
) -> Scaling:
    """Return the predicted value along the count of workers; of a time also how well more workers are used.

    With W(n) one worker's work and n₀ the smallest measured count, the efficiency is the work done per second and
    worker, relative to that at n₀: `W(n)/W(n₀) · T(n₀)/T(n)`. With a batch per worker that stays as it is (weak
    scaling) this is T(n₀)/T(n), with work that is shared (strong scaling) n₀·T(n₀)/(n·T(n)).
    """
    if not 0.0 < level < 1.0:
        raise GenperfError(f"an efficiency level lies between 0 and 1, not {level:g}", hint="0.5")
    result = answering(result, at)
    steps = steps_along_workers(result, checked_values(at, result.schema), along, upto, kind, work)
    crossovers = pd.DataFrame([*changes(result, steps, interval)], columns=list(_CHANGES))
    return replace(scaling_along(result, steps, level, interval), crossovers=crossovers)


def scaling_along(
    result: FitResult, steps: Ladder, level: float = KNEE_LEVEL, interval: float = 0.9, places: Index | None = None
) -> Scaling:
    """Return the predictions at the steps of a ladder; with `places`, intervals there alone and no verdicts."""
    target, counts, name = result.schema.target, steps.counts, steps.along.name
    far = distance_beyond(result.schema, steps.columns)
    forecast = forecast_of(result.members, result.spread, steps.columns, far)
    forecast = replace(forecast, ceiling=result.schema.ceiling)
    curves = curves_of(result, steps.columns, predictions=forecast.parts)
    values: dict[str, Any] = {name: counts}
    usable = False
    if places is not None:
        # The central value of each step, which the forecast keeps: a median of all draws takes time.
        values[target.name] = central = forecast.central()
        with np.errstate(all="ignore"):
            forecast = replace(forecast, centre=np.log(central))
        usable = bool(np.all((central > 0.0) & np.isfinite(central)))
    if not usable:
        # All that `predict` says; it refuses values that are none.
        predicted = result.predict_columns(source_of_columns(steps.columns, "steps", "step"), interval, "confidence")
        reported = [n for n in (*THROUGHPUT, target.name, "lower", "upper") if n in predicted]
        values |= {**{n: np.asarray(predicted[n], float) for n in reported}, "verdict": predicted["verdict"]}
    best, find_points = None, partial(pd.DataFrame, [], columns=list(_POINTS))
    if target.is_time:
        times, levels = values[target.name], ends_of(interval)
        find_points = partial(_points, result, steps, curves, times, level, levels)
        if steps.work is not None:
            # The verdict stands last.
            verdicts = {"verdict": values.pop("verdict")} if "verdict" in values else {}
            values |= {**_efficiencies(steps, times, curves.to_first(levels, places)), **verdicts}
            best = float(counts[int(np.argmax(values["efficiency"]))])
    return Scaling(
        along=name,
        kind=steps.kind,
        at=steps.at,
        reference=float(counts[0]),
        best=best,
        upto=float(counts[-1]),
        interval=interval,
        curve=pd.DataFrame(values),
        find_points=find_points,
        crossovers=_NO_CHANGES,
        quantity=target,
        steps=steps,
        curves=curves,
        forecast=forecast,
        timed=result.schema.panel.timed,
    )


def _points(
    result: FitResult, steps: Ladder, curves: Curves, times: Array, level: float, ends: tuple[float, float]
) -> pd.DataFrame:
    """Return the rows of `Scaling.points` of a time: where it rises and, of known work, where the efficiency falls."""
    counts, (runs, measured), weights = steps.counts, steps.measured, curves.weights
    # First the predicted value. All curves pass through what was measured, but the draws of a process, which know how
    # noisy the runs are; those of a bare expression may miss them all.
    central = np.log(np.maximum(times, times.max() * np.exp(-DEEPEST)))
    logarithms = np.vstack([central, curves.paths])
    bare_expressions = all(m.process is None and m.discrepancy is None for m in result.members)
    logarithms[: len(logarithms) if bare_expressions else 1, runs] = measured
    slower = {"what": "slower", "level": np.nan, **_count_interval(_turns(steps, np.exp(logarithms)), weights, ends)}
    if steps.work is None:
        return pd.DataFrame([slower], columns=list(_POINTS))
    rates = np.log(steps.work) - logarithms
    efficiency = rates - rates[:, :1]
    of_best = efficiency - efficiency.max(axis=1, keepdims=True)
    best, integer = counts[int(np.argmax(efficiency[0]))], steps.along.integer
    falls = [
        ("efficiency", first_below(counts, efficiency, np.log(level), integer), counts[0]),
        ("efficiency of the best", first_below(counts, of_best, np.log(level), integer, from_largest=True), best),
    ]
    rows = [
        {"what": what, "level": level, **_count_interval(below, weights, ends), "of": of} for what, below, of in falls
    ]
    turns = _count_interval(_turns(steps, np.exp(-efficiency) / counts), weights, ends)
    rows += [slower, {"what": "throughput", "level": np.nan, **turns}]
    return pd.DataFrame(rows, columns=list(_POINTS))


def _turns(steps: Ladder, curves: Array) -> Array:
    """Return the count beyond which each curve, which should fall, rises; the first curve is the central one."""
    counts, (runs, _) = last_smallest(steps.counts, curves), steps.measured
    if len(runs):
        # No count between the runs is said to be better than the best run: of equal ones the last.
        best = runs[len(runs) - 1 - int(np.argmin(curves[0, runs][::-1]))]
        counts[0] = last_smallest(steps.counts[best:], curves[:1, best:])[0]
    return counts


def _count_interval(counts: Array, weights: Array, levels: tuple[float, float]) -> dict[str, float]:
    """Return a central count with its interval: the first is central, the others are of draws by their weights."""
    count, drawn = float(counts[0]), counts[1:]
    # Some may be infinite: nothing is interpolated. Levels just below take no step more by the rounding of weights.
    lower, upper = np.quantile(drawn, np.array(levels) - 1e-12, weights=weights, method="inverted_cdf").tolist()
    return {
        "count": count if np.isfinite(count) else np.nan,
        "lower": min(lower, count),
        "upper": max(upper, count),
        "reached": float(weights[np.isfinite(drawn)].sum() / weights.sum()),
    }


def _efficiencies(steps: Ladder, values: Array, ratios: Array) -> dict[str, Array]:
    """Return the speed-up and the efficiency W·T₀/T of values T, with its interval by the ends of the ratios T/T₀."""
    places, logarithms = steps.measured
    T0 = float(np.exp(logarithms[0])) if len(places) and places[0] == 0 else values[0]
    assert steps.work is not None
    efficiency = np.append(1.0, (steps.work * T0 / values)[1:])
    upper, lower = (np.append(1.0, end[1:]) for end in steps.work / ratios * (T0 / values[0]))
    return {
        "speedup": efficiency * steps.counts / steps.counts[0],
        "efficiency": efficiency,
        "efficiency_lower": np.minimum(lower, efficiency),
        "efficiency_upper": np.maximum(upper, efficiency),
    }


def efficiency_at(result: FitResult, at: Mapping[str, Any], interval: float) -> tuple[float, float, float]:
    """Return the efficiency of one configuration with its bounds: that of `scaling` at its count."""
    count = float(at[result.panel.along().name])
    if count <= result.panel.along().lower:
        return 1.0, 1.0, 1.0
    steps = steps_along_workers(result, at, upto=count)
    steps = steps.taken([0, steps.nearest(count)])
    if steps.work is None:
        raise GenperfError(scaling_question(steps.along.name))
    values = central_times(result.members, steps.columns)
    columns = _efficiencies(steps, values, curves_of(result, steps.columns).to_first(ends_of(interval)))
    middle, lower, upper = (float(columns[f"efficiency{end}"][1]) for end in ("", "_lower", "_upper"))
    return middle, lower, upper


def first_below(counts: Array, curves: Array, level: float, integer: bool, from_largest: bool = False) -> Array:
    """Return the count from which each curve, or its part beyond its peak, is below a level; or infinity."""
    under = curves < level - AT_LEVEL
    if from_largest:
        under = under & (np.arange(len(counts)) > curves.argmax(axis=1)[:, None])
    place = _crossing(counts, curves - level, under.argmax(axis=1), integer)
    return np.where(under.any(axis=1), place, np.inf)


def _crossing(counts: Array, curves: Array, at: Index, integer: bool) -> Array:
    """Return where each curve y, straight over ln n, crosses zero before a step: n = n₀·(n₁/n₀)^(y₀/(y₀ − y₁))."""
    rows, before = np.arange(len(curves)), np.maximum(at - 1, 0)
    y0, y1 = curves[rows, before], curves[rows, at]
    with np.errstate(all="ignore"):
        fraction = np.clip(np.where(y0 != y1, y0 / (y0 - y1), 1.0), 0.0, 1.0)
    place = counts[before] * (counts[at] / counts[before]) ** fraction
    # A curve that touches zero at a whole count is beyond it at the next.
    return np.asarray(np.minimum(np.floor(place + 1e-9) + 1.0, counts[at]) if integer else place)


def last_smallest(counts: Array, curves: Array) -> Array:
    """Return the largest count at which each curve is as small as anywhere; infinite where that is the last count."""
    low = curves <= curves.min(axis=1, keepdims=True) * (1.0 + SAME_TIME)
    last = curves.shape[1] - 1 - low[:, ::-1].argmax(axis=1)
    return np.where(last == curves.shape[1] - 1, np.inf, counts[last])


def changes(result: FitResult, steps: Ladder, interval: float) -> Iterator[dict[str, Any]]:
    """Yield a row per change of the largest term, then of the longest branch of each `max`, of each weighty label."""
    for entry in by_label(result.members):
        members = [result.members[k] for k in entry.places]
        names = [term.name for term in members[0].expression.terms]
        # A single term is always the largest.
        if entry.weight < LEAST_WEIGHT or len(names) < 2:
            continue
        alike = [m for m in members if {t.name for t in m.expression.terms} == set(names)]
        terms: dict[str, Node] = {name: Name(name) for name in names}
        for k, formulas in enumerate((terms, *branches_of(members[0]))):
            label = {"member": entry.label, "weight": entry.weight, "what": "overlap" if k else "term"}
            for change in _changes(alike, formulas, steps, interval):
                yield {**label, **change}


def branches_of(member: Member) -> Iterator[dict[str, Node]]:
    """Yield the branches of each `max` of terms in a total, called by their terms: `compute + overhead`."""
    names, total = [term.name for term in member.expression.terms], member.expression.total
    maxima = [] if total is None else [call for call in calls_in(total) if call.function == "max"]
    for maximum in maxima:
        called = {" + ".join(n for n in names if n in names_in(branch)): branch for branch in maximum.arguments}
        if len(called) > 1 and all(called):
            yield called


def _changes(
    members: Sequence[Member], formulas: Mapping[str, Node], steps: Ladder, interval: float
) -> Iterator[dict[str, Any]]:
    """Yield a row per change of which formula over the terms is the largest, for the central, first member."""

    def seconds(member: Member, constants: Mapping[str, Any], names: Collection[str]) -> dict[str, Array]:
        values = {**steps.columns, **constants, **member.expression.term_values(steps.columns, constants)}
        return {name: values_of(formulas[name], values) for name in names}

    names = list(formulas)
    best = seconds(members[0], members[0].values, formulas)
    largest = np.stack(list(best.values())).argmax(axis=0)
    turns = (np.flatnonzero(np.diff(largest)) + 1).tolist()
    compared = {names[place] for place in largest.tolist()} if turns else names
    drawn = [seconds(member, member.draw_values(), compared) for member in members]
    if not turns:
        name = names[largest[0]]
        others = [other for other in names if other != name]
        # Of each member: in which draws another one is larger at any count.
        overtaken = [np.any([np.any(v[other] > v[name], axis=-1) for other in others], axis=0) for v in drawn]
        reached = float(shares(members) @ np.concatenate(overtaken))
        yield {"before": name, "after": name, "count": np.nan, "lower": np.nan, "upper": np.nan, "reached": reached}
        return
    for j in turns:
        before, after = names[largest[j - 1]], names[largest[j]]
        leads = [(best[after] - best[before])[None], *(values[after] - values[before] for values in drawn)]
        counts = _overtakes(steps.counts, np.vstack(leads), j, steps.along.integer)
        yield {"before": before, "after": after, **_count_interval(counts, shares(members), ends_of(interval))}


def _overtakes(counts: Array, lead: Array, step: int, integer: bool) -> Array:
    """Return the count at which each row's lead turns positive, nearest to a step; infinite where it never does."""
    ahead, rows = lead > 0.0, np.arange(len(lead))
    turns = ahead[:, 1:] & ~ahead[:, :-1]
    # The turn that is nearest to that of the central values, which are the first row.
    at = 1 + np.where(turns, np.abs(np.arange(1, len(counts)) - step), np.inf).argmin(axis=1)
    at[0] = step
    place = _crossing(counts, lead, at, integer)
    # One that never turns is ahead from the first count on, or nowhere.
    without_turn = np.where(ahead[:, 0], counts[0], np.inf)
    return np.where(turns.any(axis=1) | (rows == 0), place, without_turn)
