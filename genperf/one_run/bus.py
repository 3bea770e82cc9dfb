"""A test of collectives (nccl-tests, rccl-tests): its bus bandwidth at the plateau, beside the link and published ones.

The bandwidth of the bus is that of the algorithm by the factor of nccl-tests: over n devices 2(n − 1)/n of an
all-reduce, (n − 1)/n of an all-gather, a reduce-scatter and an all-to-all, else 1.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

import numpy as np

from genperf import datasets
from genperf.errors import GenperfError, counted
from genperf.formula.amounts import amount, bandwidth
from genperf.importers.nccl_tests import RANK, ROW, SIGNATURE
from genperf.models.network import BANDWIDTH
from genperf.one_run.answer import LESS, OneRun
from genperf.one_run.published import PublishedPlace
from genperf.one_run.run import machine_in
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
#: Sizes down to this share of the largest one are on the plateau.
PLATEAU = 0.25
#: A share of the link below which what usually explains less is named: rings reach 80 to 95 %.
LOW = 0.6
_INSIDE = "no peer access (ACS, IOMMU), PCIe in the place of NVLink, a link that is down"
_BETWEEN = "sockets in the place of RDMA (NCCL_DEBUG=INFO prints NET/Socket), one of several adapters, no GPUDirect"
_SPEED = re.compile(r"\d[\d.]*[kKMGT]?(bit|b|B)(/s|ps)")


def bus_named(words: tuple[str, ...], hints: Mapping[str, str]) -> OneRun | None:
    """Return the answer about the test that words describe or whose file they name; None where they do neither."""
    return (bus_in(words[0], hints) if len(words) == 1 else None) or bus_of_words(words, hints)


def bus_of_words(words: tuple[str, ...], hints: Mapping[str, str]) -> OneRun | None:
    """Return the answer about the test that words describe; None where they describe none.

    Examples
    --------
    >>> bus_of_words(("2x8xh100", "all_reduce", "3.8GB/s"), {"bandwidth between nodes": "25Gbit/s"}).lines[1]
    'bus       3.8 GB/s: 122 % of 25Gbit/s (3.12 GB/s each way)'
    """
    machine = machine_in(words[0])
    device = device_in(machine.get("device", ""))
    name = next((name for word in words for name, of in COLLECTIVES.items() if re.match(of, word.lower())), None)
    if device is None or name is None:
        return None
    speed = next((bandwidth(word) for word in words if _SPEED.fullmatch(word)), None)
    if speed is None:
        raise GenperfError("a test of collectives needs its bus bandwidth", hint="8xh100 all_reduce 470GB/s")
    settings = dict(word.split("=", 1) for word in words if "=" in word)
    nodes = amount(settings.get("nodes", "")) or machine.get("nodes", 1.0)
    return _about(name, (machine["devices"], nodes, device), amount(settings.get("size", "")), speed, hints)


def bus_in(path: str, hints: Mapping[str, str]) -> OneRun | None:
    """Return the answer about the test in a file, as nccl-tests and rccl-tests print it; None of another file."""
    if not Path(path).is_file():
        return None
    try:
        name, text = read_text(path)
    except GenperfError:
        return None
    cells = [(row[1], *row[5].split()[1:3]) for row in map(ROW.fullmatch, text.splitlines()) if row is not None]
    if not cells or not re.search(SIGNATURE, text):
        return None
    sizes, algorithm, bus = np.array([row for row in cells if len(row) == 3], dtype=float).T
    plateau = sizes >= PLATEAU * sizes.max()
    ratio, speed = float(np.median((bus / np.maximum(algorithm, 1e-9))[plateau])), 1e9 * float(np.median(bus[plateau]))
    ranks = RANK.findall(text)
    device, hosts = device_in(ranks[0][1]) if ranks else None, {host for host, _ in ranks}
    named = (of for of, words in COLLECTIVES.items() if re.search(words, f"{name} {text[:2000]}".lower()))
    by_factor = "all_reduce" if ratio > 1.0 else "all_gather" if ratio < 1.0 else "broadcast"
    machine = (float(len(ranks)) or 1.0, float(len(hosts)) or 1.0, device)
    return _about(next(named, by_factor), machine, float(sizes.max()), speed, hints)


def measured_links(hints: Mapping[str, str]) -> dict[str, str]:
    """Return hints, where a file of nccl-tests stands for the bandwidth that it measured."""
    measured = {name: bus_in(text, {}) for name, text in hints.items()}
    return {
        n: text if (of := measured[n]) is None else f"{of.numbers['busbw'] / 1e9:.6g}GB/s" for n, text in hints.items()
    }


def _about(
    collective: str,
    machine: tuple[float, float, Device | None],
    size: float | None,
    speed: float,
    hints: Mapping[str, str],
) -> OneRun:
    """Return the answer about a test, beside the hinted link or that inside the node."""
    devices, nodes, device = machine
    link = hints.get(BANDWIDTH, "")
    if not link and not several_nodes(nodes) and device is not None:
        link = device.link
    rate = link_rate(link) if link else None
    place = _place(collective, nodes, device, speed)

    def rows() -> Iterator[tuple[str, str]]:
        at = "" if size is None else f" at {three_digits(size / 1e9)} GB"
        label = "" if device is None else f" {device.label}"
        yield "", f"{collective}{at} · {devices:g}{label} · {counted(int(nodes), 'node')}"
        share = "the link is not known: --hint bandwidth=400Gbit/s of a node"
        if rate is not None:
            share = f"{100 * speed / rate:.0f} % of {link} ({three_digits(rate / 1e9)} GB/s each way)"
        yield "bus", f"{three_digits(speed / 1e9)} GB/s: {share}"
        if place is not None:
            low, high, median = (three_digits(end / 1e9) for end in (place.low, place.high, place.median))
            tests, sources = counted(place.runs, "published test"), counted(place.sources, "source")
            yield "among", f"{tests} {place.among} from {sources}: {low} – {high} GB/s, median {median} GB/s"
        if speed < LOW * max(rate or 0.0, 0.0 if place is None else place.median):
            yield LESS, _BETWEEN if several_nodes(nodes) else _INSIDE

    numbers = {"collective": collective, "devices": devices, "nodes": nodes, "busbw": speed, "link": link}
    numbers |= {"link_rate": rate, "share": None if rate is None else speed / rate}
    return OneRun(tuple(rows()), {**numbers, "normal": None if place is None else asdict(place)})


def _place(collective: str, nodes: float, device: Device | None, speed: float) -> PublishedPlace | None:
    """Return where a bandwidth lies among published tests of the same device, in one node or over several as well."""
    if device is None:
        return None
    table, several = datasets.collectives(), bool(several_nodes(nodes))
    alike = [(one := device_in(str(name))) is not None and one.family == device.family for name in table["device"]]
    rows = table[alike & (several_nodes(table["nodes"].to_numpy()) == several) & (table["collective"] == collective)]
    if rows.empty:
        return None
    values = rows["busbw_GBps"].to_numpy() * 1e9
    low, median, high = np.quantile(values, [0.05, 0.5, 0.95]).tolist()
    kind = f"{'over several nodes' if several else 'in one node'} of {device.family.upper()}"
    below = 100.0 * float(np.mean(values < speed) + 0.5 * np.mean(values == speed))
    return PublishedPlace("busbw", speed, below, median, low, high, len(rows), rows["repository"].nunique(), kind)
