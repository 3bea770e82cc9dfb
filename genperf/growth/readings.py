"""How the counts of a series may be meant, each way with its posterior."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from genperf.growth.cluster import Cluster
from genperf.growth.hints import hint_tilt
from genperf.growth.measured import MeasuredSeries
from genperf.growth.posterior import POSTERIOR_DRAWS, Counts, Draws, Posterior, forecast, posterior_of
from genperf.panel.machine import USUAL_DEVICES
from genperf.panel.panel import LIMIT_POWERS, several_nodes
from genperf.prediction.bands import MixtureForecast
from genperf.vocabulary.names import counts_devices

#: Draws of a reading that counts at all.
LEAST_POSTERIOR_DRAWS = 24
#: Prior share of work that the workers share, where the table does not show how one worker's work changes.
SHARED_WORK = 0.5
#: Numbers of nodes over the workers, and their prior shares, where no column counts the nodes: a worker each, eight or
#: four workers, all on one. With four, and less for a worker each, the score of 25 sources without their nodes is
#: 74.4 and not 77.3 (`python -m experiments corpus --hidden`).
NODE_SIZES = (("workers", 0.3), ("max(workers/8, 1)", 0.3), ("max(workers/4, 1)", 0.2), ("1", 0.2))
#: The share of the interval, not of the central value, that one node then has: hardly wider were it known. With 0.995
#: the central value of one in 36 questions to more nodes lay at an end of its interval; the coverage is the same.
UNKNOWN_NODE = 0.9
#: Readings of less weight are left out. Four times as much gives the corpus the same figures, and covers series that
#: turn in 72 % of cases for 80: what turns has little weight before it does (`experiments turning`).
LEAST_READING_WEIGHT = 5e-3


class CountReading(Struct, frozen=True):
    """How the counts of a series may be meant."""

    #: `workers`, `nodes`, `work`: over canonical names: the workers, their nodes, the work of one worker.
    workers: str
    nodes: str
    work: str
    share: float  #: Prior probability.
    #: Whether a constant stands beside work that did not vary: the two are told apart by the prior alone.
    free_constant: bool
    #: Whether all runs lie on one node by it, and nobody knows better: the interval is at least as wide.
    one_node: bool = False
    divides: str = "1"  #: What divides the steps of a job, over canonical names.
    #: What ln of the values is multiplied by to be that of what overheads add to: −1 of a utilization's reciprocal.
    sign: float = 1.0

    def is_apart(self, series: MeasuredSeries) -> bool:
        """Return whether each device of timed runs is known to have a node of its own, by a column of nodes."""
        if series.either_way or self.nodes != "nodes" or self.workers == self.nodes:
            return False
        nodes = series.values(self.nodes)
        return bool(np.all(nodes >= series.values(self.workers)) and np.any(several_nodes(nodes)))

    def counts(self, series: MeasuredSeries) -> tuple[Counts, float]:
        """Return the counts of a series, work relative to that at the last, and the work of one worker there."""
        work = series.values(self.work)
        return Counts(series.values(self.workers), series.values(self.nodes), work / work[-1]), float(work[-1])


def readings_of(series: MeasuredSeries) -> list[CountReading]:
    """Return the ways in which the counts of a series may be meant, each with its prior probability.

    One for each way in which a worker's work may change and each number of nodes, and for each count beyond which more
    workers may only wait: of a work of two (constant or shared) each has its share, of the waits each its chance. Of
    values that overheads may lower, their reciprocals are read so too, and the runs tell.
    """
    workers, sizes, is_unknown = _nodes_of(series)
    count = series.factors.counted_as or "nodes"
    # Where growth may end, how fast the time rises beyond, and the probability of both.
    waits = [(limit, power, chance * likely) for limit, chance in series.limits for power, likely in LIMIT_POWERS]
    out = []
    for work, from_table, divides in series.works:
        varies = bool(np.ptp(np.log(series.values(work))) > 1e-9)
        share_of_two = SHARED_WORK if varies else 1.0 - SHARED_WORK
        share = share_of_two if len(series.works) == 2 else 1.0 / len(series.works)
        unlimited = share * (1.0 - sum(chance for *_, chance in waits))
        # Work of the table that did not vary leaves a constant free; supposed work has none.
        free_constant = from_table and not varies
        for nodes, likely in sizes:
            one_node = is_unknown and nodes.startswith("max(") and not np.any(several_nodes(series.values(nodes)))
            out.append(CountReading(workers, nodes, work, unlimited * likely, free_constant, one_node, divides))
        # What ends is that of one machine, as the last number of nodes is.
        of_one_machine = out[-1]
        for limit, power, chance in waits:
            wait = f"max(1, {count}/{limit:.4g})**{power:g}"
            text = wait if work == "1" else f"{work}*{wait}"
            out.append(replace(of_one_machine, work=text, share=share * chance))
    if not series.either_way:
        return out
    # What all have together, or divide, stays so: overheads lower what each has.
    of_each = series.works[0].formula
    turned = [replace(r, share=0.5 * r.share, sign=-1.0) for r in out if r.work == of_each]
    return [replace(r, share=0.5 * r.share) if r.work == of_each else r for r in out] + turned


def _nodes_of(series: MeasuredSeries) -> tuple[str, tuple[tuple[str, float], ...], bool]:
    """Return the workers, the numbers of nodes that they may lie on, and whether nobody knows if these are several."""
    workers = series.factors.counted_as or "nodes"
    if series.learned:
        # No network joins what was learned: the second node is a count like any other.
        return workers, (("1", 1.0),), False
    if series.factors.has("nodes"):
        return workers, (("nodes", 1.0),), False
    counts = series.values(workers)
    if (fewest := float(counts.min())) > USUAL_DEVICES:
        # Of a scale whose nodes are not counted the fewest are the unit: 256 environments and twice as many grow as
        # one worker and two do, and less than one has no exchange.
        workers = f"max(workers/{fewest:.15g}, 1)"
        return workers, tuple((nodes.replace("workers", workers), likely) for nodes, likely in NODE_SIZES), False
    # Up to `USUAL_DEVICES` of them may share a node: nobody knows whether several nodes were measured. Workers may have
    # one each; `gpus`, `ranks` and `world_size` count devices.
    are_devices = counts_devices(series.column) and "worker" not in series.column.lower()
    return workers, NODE_SIZES, are_devices and float(counts.max()) <= USUAL_DEVICES


class Weighed(Struct, frozen=True, eq=False, dict=True):
    """A reading of a series with its posterior."""

    reading: CountReading
    posterior: Posterior
    share: float  #: Posterior probability of the reading.
    unit: float  #: Work of one worker at the largest count.

    @cached_property
    def draws(self) -> Draws:
        """Draws of the posterior, the more the likelier the reading."""
        return self.posterior.draws(max(LEAST_POSTERIOR_DRAWS, round(POSTERIOR_DRAWS * self.share)))


def weighed(series: MeasuredSeries, cluster: Cluster | None = None) -> list[Weighed]:
    """Return the readings of a series with their posteriors beside its cluster, without those of hardly any weight."""
    hinted, listed = None if series.exchange is None else hint_tilt(series, series.exchange), []
    # Readings that differ beyond the measured counts alone have one posterior.
    posteriors: dict[tuple[float, str, tuple[tuple[float, ...], ...]], Posterior] = {}
    for reading in readings_of(series):
        counts, unit = reading.counts(series)
        key = reading.sign, reading.divides, counts.key
        if key not in posteriors:
            # Of a job the times of its steps, up to a constant.
            of_steps = reading.sign * (series.logarithms + np.log(series.values(reading.divides)))
            posteriors[key] = posterior_of(counts, of_steps, series.variances, hinted, reading.is_apart(series))
        listed.append(Weighed(reading, posteriors[key], reading.share, unit))
    evidence = np.array([candidate.posterior.log_evidence for candidate in listed])
    weights = np.exp(evidence - evidence.max()) * [candidate.share for candidate in listed]
    # One node that nobody knows better stays however little it weighs: the interval is as wide as by it.
    least = LEAST_READING_WEIGHT * weights.sum()
    weights = np.where(weights >= least, weights, [least * candidate.reading.one_node for candidate in listed])
    shares = (weights / weights.sum()).tolist()
    out = [replace(candidate, share=share) for candidate, share in zip(listed, shares, strict=True) if share > 0.0]
    return out if cluster is None else [replace(r, posterior=replace(r.posterior, tilt=cluster.tilt)) for r in out]


def as_wide_as_one_node(readings: Sequence[Weighed]) -> Sequence[Weighed]:
    """Return the readings by their shares of the interval: of unknown nodes, nearly all is for runs on one."""
    alone = sum(candidate.share for candidate in readings if candidate.reading.one_node)
    if not 0.0 < alone < UNKNOWN_NODE:
        return readings
    factors = {True: UNKNOWN_NODE / alone, False: (1.0 - UNKNOWN_NODE) / (1.0 - alone)}
    return [replace(r, share=r.share * factors[r.reading.one_node]) for r in readings]


def forecast_of(readings: Sequence[Weighed], there: MeasuredSeries) -> MixtureForecast:
    """Return what the readings of a series forecast at the counts of another, whose times are not looked at."""
    counts = []
    for candidate in readings:
        # The work there is relative to that at the last measured count.
        at, unit = candidate.reading.counts(there)
        counts.append(replace(at, work=at.work * unit / candidate.unit))
    draws = [candidate.draws for candidate in readings]
    of_steps = forecast(draws, [candidate.share for candidate in readings], counts)
    # ln of a job from ln of its steps, shape (draws, counts).
    divisors, lengths = [np.log(there.values(r.reading.divides)) for r in readings], [len(d.curve) for d in draws]
    signs = np.repeat([r.reading.sign for r in readings], lengths)[:, None]
    return replace(of_steps, mean=signs * of_steps.mean - np.repeat(divisors, lengths, axis=0))
