"""How factors move the predicted value: elasticities, what a doubling does at each level, and Sobol indices."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from msgspec import Struct, field

from genperf.arrays import AnyArray, Array, Columns
from genperf.attribution.answers import Sensitivity
from genperf.attribution.draws import Ratios, curves_of, shares, thinned
from genperf.discrepancy.form import LENGTH
from genperf.errors import GenperfError, did_you_mean, suggest
from genperf.facts import Doubling, ends_of
from genperf.formula import calls_in, names_in
from genperf.panel.configurations import each_doubled, moved
from genperf.panel.panel import evaluated
from genperf.prediction import Member, Query, central_times, stack_of
from genperf.prediction.bands import quantiles
from genperf.prediction.schema import model_names
from genperf.result import FitResult
from genperf.table import Factor
from genperf.table.clean import numbers

#: Levels of a categorical factor, in the model's order. With more nobody reads the table; half and
#: double change no answer (experiments/results/settings.md).
MAX_MOVED_LEVELS = 30
#: Points of each of the two base samples, a power of two. Of a product of three factors, whose time varies by a factor
#: of 200, a total index then errs by 0.002 (with 1024 by 0.008, with 256 by 0.04); of a sum by less than 0.001.
SOBOL_SAMPLES = 4096
#: Such points of the prediction itself, at least, and of its draws, at most. Draws at the points of the prediction err
#: with it, and that error cancels.
LEAST_SAMPLES = 256
#: Draws of the ensemble with which the intervals of an index are made. The standard error of an end
#: of a 90 % interval is then 8 % of its width (see `PAIRED_DRAWS`), at a sixteenth of the time of a thousand.
SOBOL_DRAWS = 64

#: Functions that jump: their derivative tells nothing of the next step.
STEPS = frozenset({"ceil", "floor", "remainder"})

EXACT, SLOPE, DOUBLING = "derivative", "slope", "doubling"
_COLUMNS = ("factor", "elasticity", "lower", "upper", "method")


def elasticity_table(
    result: FitResult, query: Query, varying: Sequence[str], levels: tuple[float, float]
) -> pd.DataFrame:
    """Return a row per configuration and numeric factor: elasticity, interval and method."""
    read, frames = factors_read(result), list[pd.DataFrame]()
    calls = [call for m in result.members for call in calls_in(m.expression.node)]
    is_formula = all(m.process is None and m.discrepancy is None for m in result.members)
    for factor in (f for f in result.schema.factors if f.numeric and f.name in read):
        name = factor.name
        # A step function reads it, as `ceil(workers/8)` does.
        jumps = any(call.function in STEPS and name in names_in(call) for call in calls)
        smooth = is_formula and not jumps
        is_count = factor.role == "extrinsic" and factor.integer and factor.lower >= 1.0
        values = np.asarray(query.columns[name], float)
        doubled = (values < 2.0) & is_count | jumps
        # ln of the ratio over a doubling, from x to 2x, or from x/√2 to x·√2.
        lower_values = np.where(doubled, values, values / np.sqrt(2.0))
        # A slope is that of the law: what one value has for itself is none.
        lower_query = {**query.columns, name: lower_values}
        ratios = _log_ratios(result, lower_query, {name: 2.0 * lower_values}, levels, smooth=True)
        ends = np.array(ratios) / np.log(2.0)
        if smooth:
            ends = np.where(doubled, ends, _derivative(result, query.columns, name, levels))
        ends = np.where(smooth | (values > 0.0), ends, np.nan)
        method = np.where(doubled, DOUBLING, EXACT if smooth else SLOPE)
        answer = dict(zip(_COLUMNS, (name, *ends, method), strict=True))
        configuration = {other: query.columns[other] for other in varying if other not in answer}
        frames.append(pd.DataFrame({**configuration, **answer}))
    if not frames:
        return pd.DataFrame(columns=list(dict.fromkeys([*varying, *_COLUMNS])))
    return pd.concat(frames).sort_index(kind="stable").reset_index(drop=True)


def factors_read(result: FitResult) -> set[str]:
    """Return the factors that the prediction depends on."""
    stack = stack_of(result.members)
    read = {name for m in result.members for name in m.expression.factors}
    read |= {name for m in result.members if m.discrepancy is not None for name in m.discrepancy.factors}
    return read if stack is None else read | {*stack.factors}


def _derivative(
    result: FitResult, columns: Columns, name: str, levels: tuple[float, float]
) -> tuple[Array, Array, Array]:
    """Return ∂ln T/∂ln x = (x/T)·∂T/∂x, and the ends of its interval."""
    members, total = result.members, sum(m.weight for m in result.members)

    def of(member: Member, constants: Mapping[str, Any]) -> Array:
        predicted, slopes = member.expression.gradient(columns, constants, [name])
        with np.errstate(all="ignore"):
            return np.asarray(slopes[name] * np.asarray(columns[name], float) / predicted)

    value = np.sum([m.weight / total * of(m, m.values) for m in members], axis=0)
    drawn = np.vstack([of(m, m.draw_values()) for m in members])
    # The slope of the form's error, a process of that length.
    form = np.full_like(drawn, result.spread.form / LENGTH)
    lower, upper = Ratios(shares(members), drawn, form).quantiles(levels)
    return value, lower, upper


def _log_ratios(
    result: FitResult, columns: Columns, moved: Mapping[str, Array], levels: tuple[float, float], smooth: bool = False
) -> list[Array]:
    """Return ln(predicted value with the columns `moved` / without) of each row, and the ends of its interval."""
    before_then_after = {name: np.concatenate([cells, moved.get(name, cells)]) for name, cells in columns.items()}
    with np.errstate(all="ignore"):
        before, after = np.split(np.log(central_times(result.members, before_then_after)), 2)
        rows = np.arange(len(before))
        drawn_ratios = curves_of(result, before_then_after, smooth=smooth).ratios(rows + len(rows), rows)
        return [after - before, *drawn_ratios.quantiles(levels)]


def doublings_at(result: FitResult, columns: Mapping[str, AnyArray]) -> tuple[Doubling, ...]:
    """Return what doubling each factor does to the first value, or its throughput, the largest change first."""
    panel, changes = result.panel, each_doubled(result.panel, columns)
    if all(m.process is None and m.discrepancy is None for m in result.members):
        # Of an expression those that it reads.
        read = {name for member in result.members for name in member.expression.factors}
        changes = {name: change for name, change in changes.items() if not read.isdisjoint(change)}
    rows = {n: np.array([v[0], *(change.get(n, v)[0] for change in changes.values())]) for n, v in columns.items()}
    values = central_times(result.members, rows)
    if panel.measured_work is not None:
        values = evaluated(panel.measured_work, rows, len(values)) / values
    ratios = dict(zip(changes, (values[1:] / values[0]).tolist(), strict=True))
    # What is doubled together with the workers, such as the nodes.
    workers = None if panel.workers is None else panel.workers.name
    followers = tuple(name for name in changes.get(workers or "", ()) if name not in (workers, *panel.derived))
    ordered = sorted(ratios, key=lambda name: -abs(np.log(ratios[name])))
    return tuple(Doubling(name, followers if name == workers else (), ratios[name]) for name in ordered)


def doublings_by_level(
    result: FitResult, at: Mapping[str, Any] | pd.DataFrame | None = None, interval: float = 0.9
) -> pd.DataFrame:
    """Return by what doubling each factor multiplies the value of one run, with a row per level of each category."""
    configuration = {} if at is None else dict(at.iloc[0] if isinstance(at, pd.DataFrame) else at)
    typical = result.query({n: v if np.isscalar(v) else v[0] for n, v in configuration.items()} or None).columns
    rows = []
    for categorical in (f for f in result.schema.factors if len(f.levels) > 1):
        levels = categorical.levels[:MAX_MOVED_LEVELS]
        columns = {name: np.repeat(cells[:1], len(levels)) for name, cells in typical.items()}
        columns[categorical.name] = np.array(levels, dtype=object)
        for name, changes in each_doubled(result.panel, columns).items():
            effects = _log_ratios(result, columns, changes, ends_of(interval))
            if (work := result.panel.measured_work) is not None:
                # Of a measured throughput, work over time.
                before = np.log(evaluated(work, columns, len(levels)))
                after = np.log(evaluated(work, {**columns, **changes}, len(levels)))
                middle, low, high = (after - before - of_time for of_time in effects)
                effects = [middle, high, low]
            times, lower, upper = np.exp(effects)
            for start, level, *ratios in zip(columns[name], levels, times, lower, upper, strict=True):
                rows.append((name, start, categorical.name, level, *ratios))
    return pd.DataFrame(rows, columns=["factor", "from", "categorical", "level", "times", "lower", "upper"])


class Sobol(Struct, frozen=True):
    """What `explain` tells of sensitivity."""

    of: Literal["time", "log"] = "time"  #: Variance of the predicted value T, or of ln T.
    #: Factor → (lowest, highest), one value, or levels, in the place of what was measured.
    within: Mapping[str, Any] = field(default_factory=dict)
    #: Points of each of the two base samples, a power of two; of the prediction itself 256 at least.
    samples: int = SOBOL_SAMPLES
    seed: int = 0  #: Of the samples.


def sensitivity(result: FitResult, about: Sobol | None = None, interval: float = 0.9) -> Sensitivity:
    """Share out the variance of the prediction T over a domain among the factors (Sobol 2001; Saltelli et al. 2010).

    The *first-order* index of a factor is the share of the variance that goes when it is known,
    `Var(E[T|x])/Var(T)`; the *total* index the share that is left when all others are known,
    `E[Var(T|others)]/Var(T)`. Of two samples a and b, and a with the factor of b,

        first = mean(T(b)·(T(a with x of b) − T(a)))/Var(T),   total = ½·mean((T(a) − T(a with x of b))²)/Var(T)

    The factors vary independently: a numeric one evenly over the logarithm of its range
    (evenly over the range where it has values of zero or below; whole numbers where only whole numbers were measured),
    a categorical one evenly over its levels.

    The model is evaluated `samples·(factors + 2)` times, and for each draw at 256 of the samples. The intervals hold
    the uncertainty of the constants and families.
    """
    about = about or Sobol()
    if about.of not in ("time", "log"):
        raise GenperfError(f"unknown quantity '{about.of}'", hint="time or log")
    samples = about.samples
    if samples < 2 or samples & (samples - 1):
        raise GenperfError(f"{samples} samples are not a power of two", hint=str(SOBOL_SAMPLES))
    domain, varying, following = _domain_of(result, about.within)
    members = thinned(result.members, SOBOL_DRAWS)
    # Draws of a discrepancy differ from their expression at each point by themselves.
    walks = any(m.discrepancy is not None for m in result.members)

    def indices_of(samples: int, with_draws: bool = True) -> Array:
        """Return the first-order and the total indices, (2, 1 + draws, factors): the prediction's, then each draw's."""
        # At all points together: a draw is one curve.
        blocks = 2 + len(varying)
        points = dict(zip(varying, _crossed_points(len(varying), samples, about.seed), strict=True))
        columns = _configurations(result, domain, following, points, blocks * samples)
        paths = np.empty((0, blocks * samples))
        if with_draws or walks:
            paths = curves_of(result, columns, members).paths
        # The median of draws that walk costs a sort a row: their mean logarithm stands for it.
        centre = shares(members) @ paths if walks else np.log(central_times(result.members, columns))
        curves = np.vstack([centre, paths])
        curves = curves if about.of == "log" else np.exp(curves)
        # `_crossed_points` gives block after block of samples, and `_indices` takes the blocks as the first axis.
        return _indices(curves.reshape(-1, blocks, samples).swapaxes(0, 1))

    indices = indices_of(samples if walks else min(samples, LEAST_SAMPLES))
    if samples != LEAST_SAMPLES and not walks:
        # Draws err together where points are few: they move by the error of the prediction, of which many cost little.
        indices += indices_of(max(samples, LEAST_SAMPLES), False) - indices[:, :1]
    columns: dict[str, Array] = {}
    for name, values in zip(("first", "total"), indices, strict=True):
        lower, upper = quantiles(values[1:], shares(members), ends_of(interval))
        # Draws wander about the centre, which raises the small indices of all of them: an interval reaches as far below
        # the value as above.
        upper = np.maximum(upper, values[0])
        lower = np.maximum(np.minimum(lower, 2.0 * values[0] - upper), 0.0)
        columns |= {name: values[0], f"{name}_lower": lower, f"{name}_upper": upper}
    numeric, read = {f.name for f in result.schema.factors if f.numeric}, factors_read(result)
    # The domain of each factor, as `1 to 64` or `3 levels`.
    ends = {name: " to ".join(f"{v:g}" for v in domain[name]) for name in varying if name in numeric}
    over = [ends.get(name) or f"{len(domain[name])} levels" for name in varying]
    table = pd.DataFrame({"factor": varying, **columns, "over": over})
    table = table.sort_values("total", ascending=False, kind="stable", ignore_index=True)
    # Why the other factors have no index.
    without_index = {
        "follows from the count of workers": sorted(following),
        "held at one value": [name for name in domain if name in read - {*varying} - following],
        "without effect in this model": [name for name in domain if name not in read],
    }
    notes = tuple(f"{text}: {', '.join(names)}" for text, names in without_index.items() if names)
    return Sensitivity(about.of, table, samples, result.schema.target, notes)


def _crossed_points(count: int, samples: int, seed: int) -> Array:
    """Return points of the unit cube, (factors, (2 + factors)·samples): two samples a and b, and a with each x of b."""
    from scipy.stats import qmc

    points = qmc.Sobol(2 * count, rng=np.random.default_rng(seed), bits=64).random(samples)
    a, b = points.T.reshape(2, count, samples)
    # Sample j is a, with factor j as in b: on the diagonal of (samples, factors).
    crossed = np.where(np.eye(count, dtype=bool)[:, :, None], b, a)
    return np.concatenate([[a, b], crossed]).swapaxes(0, 1).reshape(count, -1)


def _indices(values: Array) -> Array:
    """Return the first-order and the total indices, (2, curves, factors), of T at `_crossed_points`."""
    # Each of shape (curves, samples), and that of the crossed points (factors, curves, samples).
    at_a, at_b, at_crossed = values[0], values[1], values[2:]
    middle = values[:2].mean(axis=(0, 2))[:, None]
    first_order = (at_b - middle) * (at_crossed - at_a)
    total = 0.5 * (at_a - at_crossed) ** 2
    shared = np.mean([first_order, total], axis=3)
    # Without variance no factor has a share.
    variance = values[:2].var(axis=(0, 2))
    return np.swapaxes(np.divide(shared, variance, out=np.zeros_like(shared), where=variance > 0.0), 1, 2)


#: Factor → its lowest and its highest value, or its levels.
_Domain: TypeAlias = dict[str, tuple[Any, ...]]


def _configurations(
    result: FitResult, domain: _Domain, following: set[str], points: Mapping[str, Array], count: int
) -> dict[str, AnyArray]:
    """Return configurations at so many points of the unit cube, by factor; those that follow are as the workers."""
    factors = {f.name: f for f in result.schema.factors}
    # What does not vary is at its lowest value or first level.
    lowest = np.zeros(count)
    columns = {n: _spread_over_range(factors[n], values, points.get(n, lowest)) for n, values in domain.items()}
    if following:
        completed = moved(result.panel, columns, {n: cells for n, cells in columns.items() if n not in following})
        columns |= {name: completed[name] for name in following}
    return columns


def _domain_of(result: FitResult, within: Mapping[str, Any]) -> tuple[_Domain, list[str], set[str]]:
    """Return the domain, measured or given `within`, the factors that vary over it, and those that follow from them."""
    names, factors = model_names(within, result.schema), {f.name: f for f in result.schema.factors}
    # A single value of a factor is a list of it.
    spans = {names[name]: np.atleast_1d(values).tolist() for name, values in within.items()}
    if unknown := [name for name in spans if name not in factors]:
        raise GenperfError(f"the model has no factor '{unknown[0]}'", hint=suggest(unknown[0], factors))
    measured: dict[str, Any] = {n: [f.lower, f.upper] if f.numeric else f.levels for n, f in factors.items()}
    domain = {name: _domain(factors[name], values) for name, values in {**measured, **spans}.items()}
    read = factors_read(result)
    several = [name for name, values in domain.items() if name in read and len({*values}) > 1]
    panel, count, following = result.panel, result.panel.counted, set[str]()
    if count is not None and count.name in several:
        # What follows from the count of workers, such as the nodes, cannot vary beside it.
        part_of = panel.machine.part_of
        settled = panel.machine.settled({part_of.get(count.name, "workers")})
        following = {name for name, part in part_of.items() if part in settled} & {*several} - {*spans, count.name}
    varying = [name for name in several if name not in following]
    if not varying:
        raise GenperfError("no factor varies over the domain", hint="a wider domain")
    return domain, varying, following


def _domain(factor: Factor, values: Sequence[Any]) -> tuple[Any, ...]:
    """Return the lowest and the highest value of a factor, or its levels, of some values."""
    if factor.numeric:
        ends, unread = numbers(values)
        for place in unread:
            text = f"'{values[place]}' is not a value of '{factor.name}'"
            raise GenperfError(text, hint=f"{factor.name}=LOWEST,HIGHEST")
        if factor.positive and min(ends) <= 0:
            raise GenperfError(f"'{factor.name}' is above zero, and the domain begins at {min(ends):g}")
        return float(min(ends)), float(max(ends))
    levels = tuple(map(str, values))
    if unknown := [level for level in levels if level not in factor.levels]:
        hint = did_you_mean(unknown[0], factor.levels) or f"one of {', '.join(factor.levels[:8])}"
        raise GenperfError(f"'{unknown[0]}' is not a measured level of '{factor.name}'", hint=hint)
    return levels


def _spread_over_range(factor: Factor, values: tuple[Any, ...], u: Array) -> AnyArray:
    """Return a factor's values at points u in [0, 1]: low·(high/low)^u, or low + (high − low)·u, or levels."""
    if not factor.numeric:
        return np.asarray(np.array(values, dtype=object)[np.minimum((u * len(values)).astype(int), len(values) - 1)])
    low, high = values
    spread = low * (high / low) ** u if factor.positive else low + (high - low) * u
    is_integer = factor.integer and low == round(low) and high == round(high)
    return np.asarray(np.clip(np.round(spread), low, high) if is_integer else spread)
