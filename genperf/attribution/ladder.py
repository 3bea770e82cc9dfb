"""One configuration at rising counts of workers, at which efficiency, knee and crossovers are evaluated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from genperf.arrays import AnyArray, Array, Index
from genperf.errors import GenperfError
from genperf.formula import Node, evaluate, names_in
from genperf.panel import Panel
from genperf.panel.configurations import at_scale, divisible, fills_nodes, part_given, relative_work, whole_passes
from genperf.panel.machine import PLACES, product_of
from genperf.panel.panel import StepWork
from genperf.prediction.verdict import RULES
from genperf.result import FitResult
from genperf.scaling import KINDS, LISTED, Scaling
from genperf.table import Factor


class Ladder(Struct, frozen=True, eq=False, dict=True):
    """One configuration at rising counts of workers."""

    #: Counts between n and 2·n. Between them curves are straight over ln n, which errs by h²/8·|y″| at most. At 16 that
    #: is 6·10⁻⁵ of T = a + b/n: h = ln 2/16, and |y″| = p(1 − p) ≤ 1/4 of ln T with the share p = b/(an + b).
    steps_per_doubling: ClassVar[int] = 16
    along: Factor
    counts: Array  #: Shape (steps,). Rising; whole numbers where only whole numbers were measured.
    columns: dict[str, AnyArray]  #: Shape (steps,). Every factor there.
    #: Shape (steps,) or None. One worker's work, relative to that at the first count; None where nothing tells it.
    work: Array | None
    kind: str
    at: dict[str, Any]  #: The other factors, where they stay as they are.
    panel: Panel  #: What the columns mean, with what was measured.
    largest: float  #: The largest count that was measured with these levels.
    assumption: str = ""  #: What is assumed of the work, in words; empty where it is known.

    @cached_property
    def measured(self) -> tuple[Index, Array]:
        """The steps at which every factor was measured together, and ln of the measured values."""
        logarithms = {m.values: float(np.log(m.value)) for m in self.panel.medians}
        rows = zip(*(self.columns[f.name].tolist() for f in self.panel.factors), strict=True)
        measured = {place: logarithms[values] for place, values in enumerate(rows) if values in logarithms}
        return np.array(list(measured), dtype=np.intp), np.array(list(measured.values()))

    def nearest(self, count: float) -> int:
        """Return the step whose count is nearest, over the logarithm."""
        return int(np.argmin(np.abs(np.log(self.counts / count))))

    def of_growth(self, count: float) -> list[int]:
        """Return the steps of growth to a count: the smallest, that before growing, the count, its half and quarter."""
        base = self.nearest(self.largest) if count > self.largest else 0
        return [0, base, *(self.nearest(count / divisor) for divisor in (1.0, 2.0, 4.0))]

    def taken(self, places: list[int] | Index) -> Ladder:
        """Return the ladder with the steps at some places alone."""
        columns = {name: cells[places] for name, cells in self.columns.items()}
        work = None if self.work is None else self.work[places]
        return replace(self, counts=self.counts[places], columns=columns, work=work)


def steps_along_workers(
    result: FitResult,
    at: Mapping[str, Any],
    along: str | None = None,
    upto: float | None = None,
    kind: Scaling | None = None,
    work: StepWork | None = None,
    whole: bool = False,
    further: Sequence[float] = (),
) -> Ladder:
    """Return one configuration at rising counts of workers, from the smallest of its runs up to `upto`.

    With `whole`, only counts that fill their nodes, split the batch into whole passes and are multiples of what all
    runs are; `further` counts are added.
    """
    factor, schema = result.panel.along(along), result.schema
    if kind is not None and kind not in KINDS:
        raise GenperfError(f"unknown kind of scaling '{kind}'", hint=LISTED)
    step = work or result.panel.step
    kind_assumed = kind is None and step.known == "assumed"
    kind = "weak" if kind_assumed else kind
    requested = float(at[factor.name]) if factor.name in at else None
    # The batch of all, or that of all micro-batches of all.
    has_batch = any(result.panel.find(name) is not None for name in ("global_batch", "micro_batches"))
    batch = result.panel.node("global_batch") if has_batch else None
    stated_kind = kind
    if kind is None and requested is not None and batch is not None and names_in(batch) <= at.keys():
        kind = _kind_by_runs(result.panel, factor.name, batch, at)
    measured_counts = np.unique(result.panel.measured[factor.name])
    listed = [*measured_counts, *further, *([] if requested is None else [requested])]
    counts = _counts_between(factor, upto, np.array(listed))
    panel = result.panel.scaled_along(factor)
    # A batch without a machine is that of the smallest one.
    machine_parts = {part_given(panel, name) for name in at}
    names_place = not machine_parts.isdisjoint(PLACES) or {"batch", "global_batch"} <= machine_parts
    smallest = at if requested is not None or names_place else {**at, factor.name: counts[0]}
    start = {name: cells[0] for name, cells in result.query(smallest).columns.items()}
    machine_of_start = panel.machine.parts_of({name: np.array([value]) for name, value in start.items()})
    if factor == result.panel.workers and (ways := float(product_of(machine_of_start)[0])) > 1.0:
        # Of a transformer, counts that its split divides.
        counts = np.unique(np.append(np.maximum(np.round(counts / ways), 1.0) * ways, measured_counts))
    columns = at_scale(panel, factor, counts, start, kind or (None if schema.target.work else schema.scaling))
    # The runs with these levels; of all without such.
    runs = panel.runs_like({name: values[0] for name, values in columns.items()})
    measured = [float(run[factor.name]) for run in runs] or [factor.lower, factor.upper]
    # From the first of these runs on, or a requested count below it; above `upto`, the last count alone.
    possible = counts >= min(min(measured), counts[-1] if requested is None else requested)
    # Of a transformer those that its split divides; a condition that holds of no count is left out.
    conditions = [
        holds(result.panel, columns) for holds in ((divisible, fills_nodes, whole_passes) if whole else (divisible,))
    ]
    if whole and factor.integer:
        # Runs on 8, 16 and 32 are of machines of eight.
        conditions.append(counts % np.gcd.reduce(measured_counts.astype(int)) == 0)
    for condition in conditions:
        possible = satisfying if (satisfying := possible & condition).any() else possible
    columns, counts = {name: cells[possible] for name, cells in columns.items()}, counts[possible]
    total = None if work is None or work.whole else work.total
    # What the runs lead to may end where a device has one micro-batch: the work of a step, if known, shows its kind.
    shows_work = total is not None or panel.measured_work is not None
    per_worker, kind_shown = relative_work(panel, columns, counts, stated_kind if shows_work else kind, total)
    constant = {n: v for n, v in at.items() if n != factor.name and len(set(columns.get(n, [v]))) == 1}
    assumption = step.assumption if kind_assumed else ""
    return Ladder(factor, counts, columns, per_worker, kind_shown, constant, result.panel, max(measured), assumption)


def _kind_by_runs(panel: Panel, counted: str, batch: Node, at: Mapping[str, Any]) -> Scaling | None:
    """Return the scaling by which runs lead to a configuration, where it is another one than that of the runs."""
    sizes, counts = np.asarray(evaluate(batch, panel.measured), float), panel.measured[counted]
    samples, count = float(evaluate(batch, {name: float(at[name]) for name in names_in(batch)})), float(at[counted])
    had_all, had_one = np.isclose(sizes, samples).any(), np.isclose(sizes / counts, samples / count).any()
    kind: Scaling | None = None if had_all == had_one else "strong" if had_all else "weak"
    return None if kind == panel.machine.growth else kind


def _counts_between(factor: Factor, upto: float | None, measured: Array) -> Array:
    """Return counts from the smallest measured one to `upto`: evenly spaced in ln, the measured ones, and doublings."""
    # Up to twice the doublings beyond which every verdict is blind.
    last = factor.upper * 2.0 ** (2.0 * RULES.blind) if upto is None else float(upto)
    smallest = min(factor.lower, float(measured.min(initial=factor.lower)))
    if not np.isfinite(last) or last <= smallest:
        of_one, of_several = f"is {smallest:g} alone", f"goes from {smallest:g} up to {last:g}"
        what = f"there is nothing to look at: {factor.name} {of_one if last == smallest else of_several}"
        raise GenperfError(what, hint="a larger count")
    doublings = np.log2(last / smallest)
    counts = np.geomspace(smallest, last, int(np.ceil(doublings * Ladder.steps_per_doubling)) + 1)
    powers = 2.0 ** np.arange(int(doublings + 1e-9) + 1)
    listed = [*measured, *(smallest * powers), *(factor.upper * powers)]
    counts = np.concatenate([counts, [c for c in listed if smallest <= c <= last]])
    counts = np.round(counts) if factor.integer else np.round(counts, 12)
    return np.unique(np.minimum(counts, np.floor(last) if factor.integer else last))
