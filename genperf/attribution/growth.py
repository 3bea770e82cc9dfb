"""Counts of workers side by side: what growing to a configuration brings, and what it costs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from genperf.arrays import Array
from genperf.attribution.answers import Scaling
from genperf.attribution.draws import ends_of
from genperf.attribution.scaling import scaling
from genperf.facts import Growth, Interval, Paid, Stage
from genperf.formula import Name, Node, Number, call, values_of
from genperf.normal.record import departs
from genperf.panel.derived import ONE, paid_for, quantities_of
from genperf.result import FitResult


@dataclass(frozen=True)
class GrowthSettings:
    """When growing pays."""

    #: A further sample that costs at most so many times one at the smaller scale pays. A convention, as that of the
    #: knee: half of the efficiency.
    most_marginal_cost: float = 2.0
    #: The best count is looked for up to so many times the largest measured one: two doublings, as far as a verdict
    #: trusts.
    looked_at: float = 4.0


GROWTH = GrowthSettings()


@dataclass(frozen=True)
class Work:
    """The samples of a step, and what they are called."""

    #: Over the factors; None where nothing shows it.
    formula: Node | None
    sample: str = "samples"
    #: Whether all workers share one amount of work whose samples are not known: an epoch, a job, a step.
    whole: bool = False
    #: Whether the time of a step means something: not where a throughput came without the work of a step.
    of_steps: bool = True

    def at(self, columns: Mapping[str, npt.NDArray[Any]]) -> Array | None:
        """Return the samples of a step at some configurations; one where all share one amount of work."""
        return None if self.node is None else values_of(self.node, columns)

    @property
    def node(self) -> Node | None:
        """The samples of a step; one where all share one amount of work."""
        return ONE if self.whole else self.formula


def curve_of(result: FitResult, target: Mapping[str, Any], work: Work, interval: float) -> Scaling:
    """Return the predictions along the count of workers that growth to a configuration is read from."""
    count = result.panel.along()
    upto = max(float(target[count.name]), GROWTH.looked_at * count.upper)
    return scaling(result, target, upto=upto, interval=interval, work=work.formula)


def growth_of(curve: Scaling, count: float, work: Work, price: Paid | None = None, per: str | None = None) -> Growth:
    """Return the smallest count, the largest measured one (the smallest for a target inside) and the target.

    Speed-up and efficiency are those of `scaling`. The cost of a further sample is that of the added machines over the
    added throughput, relative to the cost of a sample at the start, in every draw; `per` names the column that counts
    what is paid for, in the place of the workers.
    """
    counts, panel = curve.steps.counts, curve.steps.panel
    largest = curve.steps.largest
    last = int(np.argmin(np.abs(counts - count)))
    first = int(np.argmin(np.abs(counts - largest))) if count > largest else 0
    paid_name, paid = paid_for(panel, per)
    given = {"machines": paid, "work": work.node, "price": ONE if price is None else Number(price.per_second)}
    # The cost is that of one sample.
    steps = None if work.node is None else call("divide", ONE, work.node)
    known = quantities_of(panel, {**given, "steps": steps, "value": Name(curve.quantity.name)})
    columns = {**curve.steps.columns, curve.quantity.name: curve.curve[curve.quantity.name].to_numpy(float)}
    names = [name for name in ("machines", "work", "throughput", "cost") if known.has(name)]
    follow = {name: values_of(known.node(name), columns) for name in names}
    machines, samples = follow["machines"], follow.get("work")
    if samples is None and curve.steps.work is not None:
        # Of work that is not known by its samples, what counts is how it grows.
        samples = curve.steps.work * counts / counts[0]
    gain, marginal, chance, peak = None, None, 0.0, None
    if samples is not None and last > first:
        gain, marginal, chance = _marginal(curve, (first, last), machines, samples)
        # Where the series departs from what is known of series, it may pay or not.
        departing = departs(np.log2(counts[last] / largest))
        chance = (1.0 - departing) * chance + 0.5 * departing
        places, logarithms = curve.steps.measured
        best = places[int(np.argmax(samples[places] / np.exp(logarithms)))] if len(places) else last
        peak = float(counts[best]) if best < max(places, default=0) and best < first else None
    smallest, start, end = (_stage(curve, place, follow) for place in (0, first, last))
    return Growth(
        name=curve.along,
        paid_name=paid_name,
        smallest=smallest,
        start=start,
        target=end,
        sample=work.sample,
        whole=work.whole,
        of_steps=work.of_steps,
        gain=gain,
        marginal=marginal,
        chance=chance,
        most=GROWTH.most_marginal_cost,
        price=price,
        beside=tuple(_stage(curve, place, follow) for place in _on_the_way(counts, count)),
        peak=peak,
    )


def _on_the_way(counts: Array, count: float) -> list[int]:
    """Return the places of a quarter of a count, of its half and of itself."""
    near = [int(np.argmin(np.abs(np.log(counts * part / count)))) for part in (4.0, 2.0, 1.0)]
    return sorted({*near})


def _stage(curve: Scaling, place: int, follow: Mapping[str, Array]) -> Stage:
    """Return what is predicted at one count of a curve."""
    row = curve.curve.iloc[place]
    efficiency = None
    if "efficiency" in curve.curve:
        efficiency = Interval(*(float(row[f"efficiency{end}"]) for end in ("", "_lower", "_upper")))
    rate, cost = (float(follow[name][place]) if name in follow else None for name in ("throughput", "cost"))
    value, machines = float(row[curve.quantity.name]), float(follow["machines"][place])
    return Stage(float(row[curve.along]), value, rate, efficiency, machines, cost)


def _marginal(
    curve: Scaling, places: Sequence[int], machines: Array, samples: Array
) -> tuple[Interval, Interval, float]:
    """Return the gain in throughput, the cost of a further sample over that at the start, and the chance that it pays.

    cost = (m₂ - m₁)/(r₂ - r₁) · r₁/m₁ = (m₂/m₁ - 1)/(r₂/r₁ - 1),   infinite where r₂ ≤ r₁
    """
    first, last = places
    times = curve.curve[curve.quantity.name].to_numpy(float)
    grown, work = machines[last] / machines[first] - 1.0, float(samples[last] / samples[first])
    pair = curve.curves.ratios(last, first)
    least, most = (float(end[0]) for end in np.exp(pair.quantiles(ends_of(curve.interval))))
    value, lower, upper = (
        grown / (work / ratio - 1.0) if ratio < work else float("inf")
        for ratio in (times[last] / times[first], least, most)
    )
    pays = np.log(work / (1.0 + grown / GROWTH.most_marginal_cost))
    ends = sorted((work / least, work / most, work * times[first] / times[last]))
    gain = Interval(work * times[first] / times[last], ends[0], ends[-1])
    marginal = Interval(value, min(lower, value), max(upper, value))
    return gain, marginal, float(pair.chance_below(np.array([pays]))[0])
