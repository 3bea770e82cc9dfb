"""Whether the measured efficiency of a series is normal, and what the exchange between its nodes should cost."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.errors import GenperfError
from genperf.formula import parse, render
from genperf.models.network import network_of
from genperf.normal import NORMAL, Normal, Step, compared, least_exchange, published, step_to
from genperf.normal.sentences import exchange_text, normal_text
from genperf.panel import Panel
from genperf.panel.configurations import medians_along
from genperf.panel.nodes import devices_and_nodes
from genperf.result import FitResult
from genperf.scaling import KINDS, is_whole
from genperf.table import Factor
from genperf.table.axis import several_nodes
from genperf.vocabulary.names import counts_devices

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ContextSettings:
    """How words of a table are understood."""

    #: Words of a network by its kind.
    networks: Mapping[str, str] = field(
        default_factory=lambda: {
            "slingshot": "slingshot",
            "rdma": r"infiniband|\bib\b|rdma|roce|\b[efhn]dr\b|100gbib|omni",
            "ethernet": r"ethernet|tcp|\d+ ?gbe\b",
        }
    )


CONTEXT = ContextSettings()


@dataclass(frozen=True, eq=False)
class Series:
    """The measured counts of one series, in order, with the work of all devices in a second."""

    count: Factor
    devices: Array
    nodes: Array
    rates: Array
    #: Devices that are taken for a node, where nothing counts the nodes.
    assumed: float | None
    #: What is known of the work of a step: "assumed" where nothing is and each device has the same, "total" where all
    #: devices share one amount, else empty.
    work: str

    def steps(self, target: float) -> list[Step]:
        """Return the longest step of each kind up to a count, the last one first."""
        if not len(self.devices):
            return []
        axis = self.nodes if np.all(self.devices == self.devices[0]) else self.devices
        below = np.flatnonzero(axis <= target)[::-1]
        ends = [step_to(self.devices, self.nodes, self.rates, int(at)) for at in below]
        return list({step.kind: step for step in ends[::-1] if step is not None}.values())[::-1]

    def kept(self, nodes: float) -> float | None:
        """Return what a device does on so many nodes as a part of what it did on one; None where not measured."""
        single, there = np.flatnonzero(~several_nodes(self.nodes)), np.flatnonzero(self.nodes == nodes)
        each = self.rates / np.maximum(self.devices, self.nodes)
        return (
            float(each[there[-1]] / each[single[-1]]) if single.size and there.size and several_nodes(nodes) else None
        )


def series_measured(
    result: FitResult, rows: pd.DataFrame, work_of: Callable[[Mapping[str, Array]], Array | None]
) -> Series | None:
    """Return the measured configurations along the count as a series; None where these are no times of devices.

    Parameters
    ----------
    rows : DataFrame
        Configurations along the count: what is constant in them stays.
    work_of : callable
        The samples of a step at configurations by factor; None where they are not known.
    """
    panel, scaling = result.panel, result.schema.scaling
    count, workers = panel.along(), panel.workers
    if not result.schema.target.is_time or not counts_devices(count.name):
        return None
    place = panel.factors.index(count)
    everything = medians_along(panel, count.name, pd.DataFrame(index=[0]))
    # One configuration a count: the rows are one series, whatever else grows along it.
    alone = len({m.values[place] for m in everything}) == len(everything)
    medians = everything if alone else medians_along(panel, count.name, rows)
    if not medians:
        return None
    columns = {f.name: np.array([m.values[j] for m in medians]) for j, f in enumerate(panel.factors)}
    work = work_of(columns)
    if work is None and scaling is not None and KINDS[scaling].shared:
        work = np.ones(len(medians))
    counted = np.asarray(columns[(workers or count).name], float)
    rates = (counted if work is None else work) / np.array([m.value for m in medians])
    total = work is not None and len(work) > 1 and np.ptp(work) <= 0.01 * work[0] and not is_whole(scaling)
    kind = "assumed" if work is None else "total" if total else ""
    devices, nodes, assumed = devices_and_nodes(panel, columns)
    return Series(count, devices, nodes, rates, assumed, kind)


def known_of(series: Series, words: Iterable[str]) -> dict[str, Any]:
    """Return what narrows the comparison: the devices of a node, and the framework and the network that words name."""
    text = " ".join(words).lower()
    each = float(np.max(series.devices / series.nodes))
    known: dict[str, Any] = {}
    if series.assumed is None and (each > 1.0 or not several_nodes(series.nodes[-1])):
        known["devices_per_node"] = each
    known["framework"] = next((name for name in np.unique(published()["framework"]) if name and name in text), "")
    known["between"] = next((kind for kind, names in CONTEXT.networks.items() if re.search(names, text)), "")
    return known


def normal_of(series: Series, target: float, words: Iterable[str]) -> tuple[str, dict[str, Any]]:
    """Return where the steps to a count stand among published series, as a sentence and as numbers; empty for none."""
    placed = [compared(step, known_of(series, words)) for step in series.steps(target)]
    if not placed:
        return "", {}
    # The last step is what the question is about, unless an earlier one is where the efficiency was lost.
    slow = [one for one in placed if isinstance(one, Normal) and one.percentile < 100.0 * NORMAL.quarter]
    chosen = min(slow, key=lambda one: one.percentile, default=placed[0])
    text = normal_text(chosen, series.count.name, series.assumed, series.work)
    return text, {"normal": chosen.to_dict()} if isinstance(chosen, Normal) else {}


def exchange_of(
    panel: Panel, hints: Mapping[str, str], columns: Mapping[str, Any], seconds: float | None, series: Series | None
) -> tuple[str, dict[str, Any]]:
    """Return the least time of the exchange at a configuration, beside its cost; empty where hints do not tell it.

    Parameters
    ----------
    columns : mapping of str to ndarray of shape (1,)
        The configuration.
    seconds : float, optional
        Of one step there.
    """
    network, node, workers = network_of(hints), panel.node("nodes"), panel.workers
    message = None if network is None else network.message_at(panel, columns)
    if network is None or node is None or message is None:
        return "", {}
    nodes = float(np.ceil(np.ravel(np.asarray(parse(render(node)).evaluate(columns)))[0]))
    if not several_nodes(nodes):
        return "", {}
    devices = nodes if workers is None else float(columns[workers.name][0])
    least = least_exchange(message, network.bandwidth, nodes, max(devices / nodes, 1.0), network.latency)
    kept = None if series is None else series.kept(nodes)
    cost = None if kept is None or seconds is None else seconds * (1.0 - kept)
    numbers = {**vars(least), "least": least.seconds, "cost": cost}
    return exchange_text(least, nodes, message, seconds, cost), {"exchange": numbers}


def causes_of(
    result: FitResult, rows: Mapping[str, Any], compared: Mapping[str, Any], work: str | None, hints: Mapping[str, str]
) -> tuple[str, dict[str, Any]]:
    """Return why a series is slow, as a sentence and as numbers; empty where its efficiency is usual.

    Parameters
    ----------
    rows : mapping of str to ndarray of shape (rows,)
        Configurations along the count, by factor.
    compared : mapping
        As `normal_of` returns it.
    """
    if compared.get("normal", {}).get("percentile", 0.0) > 100.0 * NORMAL.quarter:
        return "", {"causes": []}
    # A usual efficiency has no cause to look for.
    from genperf.causes import why

    levels = {name: cells[-1] for name, cells in rows.items() if cells.dtype.kind in "OU"}
    try:
        diagnosis = why(result, levels, work=work, hints=hints)
    except GenperfError:
        # One configuration, or levels of a run that is still to be made.
        return "", {"causes": []}
    return (diagnosis.sentence, {"causes": diagnosis.to_dict()["causes"]}) if diagnosis.needed else ("", {"causes": []})
