"""A measured series of training runs, and where its efficiency lies among published series of the same kind of step."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from msgspec import Struct

from genperf.arrays import AnyArray, Array, Columns
from genperf.facts import AmongPublished, Normal, Step, growth_between
from genperf.panel import Panel
from genperf.panel.configurations import devices_and_nodes, medians_along
from genperf.panel.panel import several_nodes
from genperf.prediction.bands import quantiles
from genperf.scaling import KINDS
from genperf.vocabulary import any_of, section, words_of
from genperf.vocabulary.headers import header_of
from genperf.vocabulary.names import canonical_of, counts_devices

FILE = Path(__file__).parent / "steps.json"

#: Counts that make a series.
LEAST_COUNTS = 2

#: Series and sources that must be left where a comparison is narrowed. Clusters differ more than series of one do:
#: nine in ten of thirty series of three clusters hold four in five of another source (`experiments/advice/normal.py`).
NARROWED_SERIES = 100
NARROWED_SOURCES = 5
#: The shares of published series below the two ends.
LOW_END = 0.05
HIGH_END = 0.95
#: A share below it, or above the rest of it, is in the lower or the upper quarter.
QUARTER = 0.25
#: What narrows the comparison, in this order, while enough is left: the number of doublings first, since the first
#: costs more than the next.
NARROWING: tuple[str, ...] = ("doublings", "between", "devices_per_node", "framework")


def step_to(devices: Array, nodes: Array, rates: Array, at: int) -> Step | None:
    """Return the step of a series that ends at a row; None at its first count, and where no rate is known.

    >>> devices, nodes = np.array([1.0, 8.0, 16.0, 32.0]), np.array([1.0, 1.0, 2.0, 4.0])
    >>> step_to(devices, nodes, np.array([100.0, 720.0, 1152.0, 2188.8]), 2)
    Step(kind='second', before=(8.0, 1.0), after=(16.0, 2.0), efficiency=0.8)
    """
    earlier = np.flatnonzero((devices * nodes < devices[at] * nodes[at]) & (nodes <= nodes[at]))
    single = earlier[~several_nodes(nodes[earlier])]
    several = earlier[several_nodes(nodes[earlier])]
    kind: Literal["inside", "second", "beyond"]
    if not several_nodes(nodes[at]):
        kind, base = "inside", single[np.argsort(devices[single])][:1]
    elif several.size:
        kind, base = "beyond", several[np.argsort(nodes[several])][:1]
    else:
        kind, base = "second", single[np.argsort(devices[single])][-1:]
    if not base.size:
        return None
    base_place = int(base[0])
    before, after = ((float(devices[j]), float(nodes[j])) for j in (base_place, at))
    return Step(kind, before, after, float(rates[at] / rates[base_place] / growth_between(before, after)))


def placed(step: Step, known: Mapping[str, Any], steps: Mapping[str, AnyArray] | None = None) -> Normal:
    """Return where the efficiency of a doubling of a step lies among the published ones, narrowed by `known` facts.

    >>> found = placed(Step("second", (8.0, 1.0), (16.0, 2.0), 0.3), {})
    >>> found.percentile < 10.0 and found.low < found.median < found.high
    True
    """
    steps, known = published() if steps is None else steps, {**known, "doublings": step.doublings}
    rows, narrowed = np.flatnonzero(steps["kind"] == step.kind), []
    for name in NARROWING:
        alike = rows[steps[name][rows] == known.get(name)]
        series, sources = (len(np.unique(steps[of][alike])) for of in ("series", "source"))
        if series >= NARROWED_SERIES and sources >= NARROWED_SOURCES:
            rows = alike
            narrowed.append(name)
    per_doubling, doublings = steps["efficiency"][rows] ** (1.0 / steps["doublings"][rows]), step.doublings
    _, series_of_row, steps_of_series = np.unique(steps["series"][rows], return_inverse=True, return_counts=True)
    weights = 1.0 / steps_of_series[series_of_row] / len(steps_of_series)
    of_step = step.efficiency ** (1.0 / doublings)
    below = 100.0 * float(weights @ (per_doubling < of_step) + 0.5 * (weights @ (per_doubling == of_step)))
    ends = quantiles(per_doubling, weights, np.array([LOW_END, 0.5, HIGH_END]))
    # Beyond the second node a doubling is what people compare; a step elsewhere is compared as a whole.
    scale = 1.0 if step.kind == "beyond" else doublings
    low, median, high = (float(end**scale) for end in ends)
    clusters = len(np.unique(steps["cluster"][rows]))
    value, series = float(of_step**scale), len(steps_of_series)
    return Normal(step, value, below, median, low, high, series, clusters, judged(below), tuple(narrowed))


@cache
def published() -> dict[str, AnyArray]:
    """Return the steps of the published series as arrays by name, what is known of a series beside each."""
    content = json.loads(FILE.read_text(encoding="utf-8"))
    steps = {name: np.asarray(values) for name, values in content["steps"].items()}
    steps["kind"] = np.asarray(content["kinds"])[steps["kind"]]
    of_series = {name: np.asarray(values)[steps["series"]] for name, values in content["series"].items()}
    return {**steps, **of_series}


_TRAINING = re.compile(rf"(?<![^\W\d_]){any_of('cells.networks', 'cells.frameworks', 'cells.training')}(?![^\W\d_])")
_FACTORS_OF_TRAINING = frozenset(words_of("columns.training"))
#: What a rate of training counts, which a server's does not.
_COUNTED = frozenset(section("counted")) - {*words_of("headers.served")}
#: A throughput that no word says more of, as that of two counts on the command line.
_PLAIN_RATES = frozenset(words_of("headers.rate")) - {*words_of("headers.rate_of_requests")}


class MeasuredRates(Struct, frozen=True, eq=False):
    """The measured counts of one series, in order, with the work of all devices in a second."""

    #: The column of the count.
    count: str
    devices: Array
    nodes: Array
    rates: Array
    assumed: float | None  #: Devices that are taken for a node, where nothing counts the nodes.
    #: What is known of the work of a step: "assumed" where nothing is and each device has the same, "total" where all
    #: devices share one amount, else empty.
    work: str

    def steps(self, target: float) -> list[Step]:
        """Return the longest step of each kind up to a count, the last one first."""
        axis = self.nodes if np.all(self.devices == self.devices[0]) else self.devices
        below = np.flatnonzero(axis <= target)[::-1]
        steps = [step_to(self.devices, self.nodes, self.rates, int(at)) for at in below]
        # From the shortest on, the last of each kind stays.
        longest = {step.kind: step for step in reversed(steps) if step is not None}
        return [*reversed(longest.values())]

    @property
    def kept(self) -> dict[float, float]:
        """Each count of several nodes → the rate of a device there over that on one node; none without such a run."""
        # Where nothing counts the devices they are ones, and what a node does is compared.
        several, rate_of_device = several_nodes(self.nodes), self.rates / np.maximum(self.devices, self.nodes)
        if several.all():
            return {}
        # Of the most devices of one node, as the counts are in order.
        on_one_node = rate_of_device[~several][-1]
        return dict(zip(self.nodes[several].tolist(), (rate_of_device[several] / on_one_node).tolist(), strict=True))


def trains_networks(panel: Panel, words: Iterable[str]) -> bool:
    """Return whether a table's columns, its measure or words show that its runs train networks.

    >>> runs = [pd.DataFrame({"Machine": [1, 2], name: [9.0, 5.0]}) for name in ("Time per Tree", "step_s")]
    >>> tables = [gp.read_table(frame, time=frame.columns[1], extrinsic="Machine") for frame in runs]
    >>> [trains_networks(table.panel, []) for table in tables]
    [False, True]
    """
    names = [*(f.name for f in panel.factors), *panel.mapping, *panel.group]
    if panel.phases or _FACTORS_OF_TRAINING & {canonical_of(name) for name in names}:
        return True
    measured = () if panel.target is None else (panel.target.column, panel.target.throughput)
    headers = [header_of(name) for name in measured if name]
    if any(header.of == "step" or header.counted in _COUNTED for header in headers) or {*measured} & _PLAIN_RATES:
        return True
    return _TRAINING.search(" ".join([*names, *measured, *words]).lower()) is not None


def series_of(panel: Panel, along: Columns, work_at: Callable[[Columns], Array | None]) -> MeasuredRates | None:
    """Return the work per second of the configurations `along` the count; None unless devices take a time."""
    count = panel.along()
    if panel.target is None or not panel.target.is_time or not counts_devices(count.name):
        return None
    medians = medians_along(panel, count.name, along)
    if len(medians) < LEAST_COUNTS:
        all_medians, position = medians_along(panel, count.name, {}), panel.factors.index(count)
        # One configuration a count: the rows are one series, whatever else grows along it.
        one_per_count = len({m.values[position] for m in all_medians}) == len(all_medians)
        medians = all_medians if one_per_count else medians
    if not medians:
        return None
    columns = {f.name: np.array([m.values[j] for m in medians]) for j, f in enumerate(panel.factors)}
    work, values = work_at(columns), np.array([m.value for m in medians])
    if work is None and panel.scaling is not None and KINDS[panel.scaling].shared:
        work = np.ones(len(values))
    workers = np.asarray(columns[(panel.workers or count).name], float)
    # Of unknown work, a unit for each worker is assumed.
    rates = (workers if work is None else work) / values
    is_shared = work is not None and len(work) > 1 and np.ptp(work) <= 0.01 * work[0] and not panel.of_jobs
    devices, nodes, assumed = devices_and_nodes(panel, columns)
    of_work = "assumed" if work is None else "total" if is_shared else ""
    return MeasuredRates(count.name, devices, nodes, rates, assumed, of_work)


def among_published(series: MeasuredRates, target: float, words: Iterable[str]) -> AmongPublished | None:
    """Return where the steps to a count lie among published series; None where no step ends there."""
    text = " ".join(words).lower()
    per_node = float(np.max(series.devices / series.nodes))
    facts: dict[str, Any] = {}
    if series.assumed is None and (per_node > 1.0 or not several_nodes(series.nodes[-1])):
        facts["devices_per_node"] = per_node
    facts["framework"] = next((name for name in np.unique(published()["framework"]) if name and name in text), "")
    facts["between"] = next((kind for kind in section("fabrics") if re.search(any_of(f"fabrics.{kind}"), text)), "")
    steps = [placed(step, facts) for step in series.steps(target)]
    if not steps:
        return None
    # The last step is what the question is about, unless an earlier one is where the efficiency was lost.
    slow = [step for step in steps if step.percentile < 100.0 * QUARTER]
    chosen = min(slow, key=lambda step: step.percentile, default=steps[0])
    return AmongPublished(chosen, series.count, series.assumed, series.work, chosen.percentile <= 100.0 * QUARTER)


def judged(percentile: float) -> str:
    """Return what a percentile means: `low`, `in the lowest quarter`, `usual`, …."""
    if not 100.0 * LOW_END <= percentile <= 100.0 * HIGH_END:
        return "low" if percentile < 50.0 else "high"
    if not 100.0 * QUARTER <= percentile <= 100.0 * (1.0 - QUARTER):
        return f"in the {'lowest' if percentile < 50.0 else 'highest'} quarter"
    return "usual"
