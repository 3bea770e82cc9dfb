"""A test of collectives (nccl-tests, rccl-tests): its bus bandwidth at the plateau, beside the link and published ones.

The bandwidth of the bus is that of the algorithm by the factor of nccl-tests: over n devices 2(n − 1)/n of an
all-reduce, (n − 1)/n of an all-gather, a reduce-scatter and an all-to-all, else 1.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from genperf import datasets
from genperf.errors import GenperfError, counted
from genperf.formula.amounts import amount, bandwidth
from genperf.importers.nccl_tests import SIGNATURE
from genperf.one_run.answer import wrapped
from genperf.one_run.published import Place
from genperf.one_run.run import machine_of
from genperf.panel.axis import several_nodes
from genperf.peaks import Device, device_in, link_rate
from genperf.table.opened import read_text
from genperf.words.numbers import three_digits

#: Collectives by a pattern of their names.
COLLECTIVES = {
    "all_reduce": r"all[_ -]?reduce",
    "all_gather": r"all[_ -]?gather",
    "reduce_scatter": r"reduce[_ -]?scatter",
    "alltoall": r"all[_ -]?to[_ -]?all",
    "broadcast": r"broadcast",
    "sendrecv": r"send[_ -]?recv",
}
#: The link inside a node by the family of the device.
INSIDE = {
    "v100": "nvlink-2", "a100": "nvlink-3", "h100": "nvlink-4", "b200": "nvlink-5", "mi300x": "infinity-fabric",
}  # fmt: skip
#: Sizes down to this share of the largest one are on the plateau.
PLATEAU = 0.25
#: A share of the link below which what usually explains less is named: rings reach 80 to 95 %.
LOW = 0.6
_RANK = re.compile(r"#\s+Rank\s+\d+.*?\bon\s+(\S+)\s+device\s+\d+\s+\[[^\]]*\]\s*(.*)")
_ROW = re.compile(r"\s*(\d+)\s+\d+\s+[a-z]\w*\s+\S+\s+-?\d+\s+[\d.]+\s+([\d.]+)\s+([\d.]+)\b.*", re.MULTILINE)
_SPEED = re.compile(r"\d[\d.]*[kKMGT]?(bit|b|B)(/s|ps)")


@dataclass(frozen=True)
class Bus:
    """The plateau of a test of collectives."""

    collective: str
    devices: float
    nodes: float
    device: Device | None
    #: Bytes of the largest message, and bytes per second of the bus.
    size: float | None
    speed: float
    #: The link that it is compared with, and its bytes per second each way; None where it is not known.
    link: str
    rate: float | None

    @property
    def place(self) -> Place | None:
        """Where the bandwidth lies among published tests of the same device on as many or several nodes."""
        table = datasets.collectives()
        families = [None if (one := device_in(str(name))) is None else one.family for name in table["device"]]
        family = "" if self.device is None else self.device.family
        several = several_nodes(table["nodes"].to_numpy())
        rows = table[
            (np.array(families) == family)
            & (several == bool(several_nodes(self.nodes)))
            & (table["collective"] == self.collective)
        ]
        if rows.empty:
            return None
        values, here = rows["busbw_GBps"].to_numpy() * 1e9, self.speed
        low, median, high = (float(end) for end in np.quantile(values, [0.05, 0.5, 0.95]))
        kind = f"{'over several nodes' if several_nodes(self.nodes) else 'in one node'} of {family.upper()}"
        below = 100.0 * float(np.mean(values < here) + 0.5 * np.mean(values == here))
        return Place("busbw", here, below, median, low, high, len(rows), rows["repository"].nunique(), kind)

    @property
    def lines(self) -> list[str]:
        """The answer in lines of 80 columns."""
        size = "" if self.size is None else f" at {three_digits(self.size / 1e9)} GB"
        device = "" if self.device is None else f" {self.device.label}"
        head = f"{self.collective}{size} · {self.devices:g}{device} · {counted(int(self.nodes), 'node')}"
        share = "the link is not known: --hint bandwidth=400Gbit/s of a node"
        if self.rate is not None:
            share = (
                f"{100 * self.speed / self.rate:.0f} % of {self.link} ({three_digits(self.rate / 1e9)} GB/s each way)"
            )
        rows = [("", head), ("bus", f"{three_digits(self.speed / 1e9)} GB/s: {share}")]
        place = self.place
        if place is not None:
            ends = " – ".join(three_digits(end / 1e9) for end in (place.low, place.high))
            tests, sources = counted(place.runs, "published test"), counted(place.sources, "source")
            text = f"{tests} {place.among} from {sources}: {ends} GB/s"
            rows.append(("among", f"{text}, median {three_digits(place.median / 1e9)} GB/s"))
        if self.low(place):
            inside = "no peer access (ACS, IOMMU), PCIe in the place of NVLink, a link that is down"
            between = "sockets in the place of RDMA (NCCL_DEBUG=INFO prints NET/Socket), one of several adapters"
            rows.append(("less by", inside if not several_nodes(self.nodes) else f"{between}, no GPUDirect"))
        return [line for label, text in rows for line in wrapped(label, text)]

    def low(self, place: Place | None) -> bool:
        """Return whether the bandwidth is lower than that of the link, or of published tests."""
        below = self.rate is not None and self.speed < LOW * self.rate
        return below or (place is not None and self.speed < LOW * place.median)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        place = self.place
        return {
            "collective": self.collective,
            "devices": self.devices,
            "nodes": self.nodes,
            "busbw": self.speed,
            "link": self.link,
            "link_rate": self.rate,
            "share": None if self.rate is None else self.speed / self.rate,
            "normal": None if place is None else place.to_dict(),
            "sentences": {"card": "\n".join(self.lines)},
        }

    def __str__(self) -> str:
        return "\n".join(self.lines)


def bus_of_words(words: tuple[str, ...], hints: Mapping[str, str]) -> Bus | None:
    """Return the test that words describe; None where they describe none.

    Examples
    --------
    >>> bus_of_words(("2x8xh100", "all_reduce", "3.8GB/s"), {"bandwidth between nodes": "25Gbit/s"}).lines[1]
    'bus       3.8 GB/s: 122 % of 25Gbit/s (3.12 GB/s each way)'
    """
    machine = machine_of(words[0])
    name = next((name for word in words for name, of in COLLECTIVES.items() if re.match(of, word.lower())), None)
    if machine is None or name is None:
        return None
    speed = next((bandwidth(word) for word in words if _SPEED.fullmatch(word)), None)
    if speed is None:
        raise GenperfError("a test of collectives needs its bus bandwidth", hint="8xh100 all_reduce 470GB/s")
    settings = dict(word.split("=", 1) for word in words if "=" in word)
    devices, nodes, device = machine
    nodes = amount(settings.get("nodes", "")) or nodes or 1.0
    return _bus(name, (devices, nodes, device), amount(settings.get("size", "")), speed, hints)


def bus_in(path: str, hints: Mapping[str, str]) -> Bus | None:
    """Return the test that a file holds, as nccl-tests and rccl-tests print it; None of another file."""
    if not Path(path).is_file():
        return None
    try:
        name, text = read_text(path)
    except GenperfError:
        return None
    rows = np.array([match.groups() for match in _ROW.finditer(text)], dtype=float)
    if not len(rows) or not re.search(SIGNATURE, text):
        return None
    ranks = _RANK.findall(text)
    hosts, device = {host for host, _ in ranks}, device_in(ranks[0][1]) if ranks else None
    size, algorithm, bus = rows[rows[:, 0] >= PLATEAU * rows[:, 0].max()].T
    ratio = float(np.median(bus / np.maximum(algorithm, 1e-9)))
    devices = float(len(ranks)) or 1.0
    named = (of for of, words in COLLECTIVES.items() if re.search(words, f"{name} {text[:2000]}".lower()))
    by_factor = "all_reduce" if ratio > 1.0 else "all_gather" if ratio < 1.0 else "broadcast"
    machine = (devices, float(len(hosts)) or 1.0, device)
    return _bus(next(named, by_factor), machine, float(size.max()), 1e9 * float(np.median(bus)), hints)


def _bus(
    collective: str,
    machine: tuple[float, float, Device | None],
    size: float | None,
    speed: float,
    hints: Mapping[str, str],
) -> Bus:
    """Return a test with the link that it is compared with: the hinted one, or that inside the node."""
    devices, nodes, device = machine
    link = hints.get("bandwidth between nodes", "")
    if not link and not several_nodes(nodes) and device is not None:
        link = INSIDE.get(device.family, "pcie-4")
    return Bus(collective, devices, nodes, device, size, speed, link, link_rate(link) if link else None)
