"""A test of collectives (nccl-tests, rccl-tests): its bus bandwidth at the plateau, beside the link and published ones.

The bandwidth of the bus is that of the algorithm by the factor of nccl-tests: over n devices 2(n − 1)/n of an
all-reduce, (n − 1)/n of an all-gather, a reduce-scatter and an all-to-all, else 1.
"""

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict

from genperf import datasets
from genperf.errors import GenperfError, attempted, counted
from genperf.formula.amounts import amount, bandwidth
from genperf.models.network import BANDWIDTH
from genperf.one_run.answer import LESS, OneRun
from genperf.one_run.run import spoken
from genperf.one_run.utilisation import PublishedPlace
from genperf.panel.axis import several_nodes
from genperf.peaks import UNKNOWN, Device, device_in, devices, link_rate
from genperf.table.opened import read_text
from genperf.vocabulary import section
from genperf.words.numbers import three_digits

#: Sizes down to this share of the largest one are on the plateau.
PLATEAU = 0.25
#: A share of the link, or of published tests where it is not known, below which what usually explains less is named:
#: rings reach 80 to 95 % of a link.
LOW = 0.6
_INSIDE = "no peer access (ACS, IOMMU), PCIe in the place of NVLink, a link that is down"
_BETWEEN = "sockets in the place of RDMA (NCCL_DEBUG=INFO prints NET/Socket), one of several adapters, no GPUDirect"
_ABOVE = "more than the link carries: another link than the hinted one, several of them, or a sum in the switch (SHARP)"


class Collective(Struct, frozen=True):
    """A test of a collective: where it ran, the bytes a second of its bus, and the bytes of its largest message."""

    collective: str
    devices: float
    nodes: float
    busbw: float
    device: Device = UNKNOWN
    size: float | None = None


def bus_named(words: tuple[str, ...], hints: Mapping[str, str]) -> OneRun | None:
    """Return the answer about the test that words describe or whose file they name; None where they do neither.

    Examples
    --------
    >>> bus_named(("2x8xh100", "all_reduce", "3.8GB/s"), {"bandwidth between nodes": "25Gbit/s"}).lines[1]
    'bus       3.8 GB/s: 122 % of 25Gbit/s (3.12 GB/s each way)'
    """
    test = (_test_in(words[0]) if len(words) == 1 else None) or _test_of(words)
    if test is None:
        return None
    several, hinted, place = bool(several_nodes(test.nodes)), hints.get(BANDWIDTH, ""), _place(test)
    link = hinted or ("" if several else test.device.link)
    rate = link_rate(link) if link else None
    share = None if rate is None else test.busbw / rate
    size = "" if test.size is None else f" at {three_digits(test.size / 1e9)} GB"
    machine = f"{test.devices:g} {test.device.label}".strip()
    compared = "the link is not known: --hint bandwidth=400Gbit/s of a node"
    if rate and share:
        compared = f"{100 * share:.0f} % of {link} ({three_digits(rate / 1e9)} GB/s each way)"
    rows = [("", f"{test.collective}{size} · {machine} · {counted(int(test.nodes), 'node')}")]
    rows.append(("bus", f"{three_digits(test.busbw / 1e9)} GB/s: {compared}"))
    if hinted and (share or 0.0) > 1.0:
        rows.append(("⚠", _ABOVE))
    if place is not None:
        low, high, median = (three_digits(end / 1e9) for end in (place.low, place.high, place.median))
        tests, sources = counted(place.runs, "published test"), counted(place.sources, "source")
        ends = f"{low} – {high} GB/s, median " if place.runs > 1 else ""
        rows.append(("among", f"{tests} {place.among} from {sources}: {ends}{median} GB/s"))
    if test.busbw < LOW * (rate or (0.0 if place is None else place.median)):
        rows.append((LESS, _BETWEEN if several else _INSIDE))
    numbers = {name: value for name, value in asdict(test).items() if name not in ("device", "size")}
    numbers |= {"link": link, "link_rate": rate, "share": share, "normal": place and asdict(place)}
    return OneRun(tuple(rows), numbers)


def measured_links(hints: Mapping[str, str]) -> dict[str, str]:
    """Return hints, where a file of nccl-tests stands for the bandwidth that it measured."""
    tests = {name: _test_in(text) for name, text in hints.items()}
    return {name: hints[name] if test is None else f"{test.busbw / 1e9:.6g}GB/s" for name, test in tests.items()}


def _collective_in(text: str) -> str | None:
    """Return the collective that a text names."""
    return next((name for name, (words,) in section("collectives").items() if re.search(words, text.lower())), None)


def _test_of(words: tuple[str, ...]) -> Collective | None:
    """Return the test that words describe."""
    name = _collective_in(" ".join(words[1:]))
    machine, items = spoken(words) if name else ({}, [])
    device = device_in(machine.get("device", ""))
    if device is None or name is None:
        return None
    if machine["devices"] < 2.0:
        raise GenperfError(f"a collective of one {device.label} uses no link", hint="8xh100 all_reduce 470GB/s")
    speed = next(filter(None, map(bandwidth, items)), None)
    if speed is None:
        raise GenperfError("a test of collectives needs its bus bandwidth", hint="8xh100 all_reduce 470GB/s")
    settings = dict(word.split("=", 1) for word in items if "=" in word)
    nodes = amount(settings.get("nodes", "")) or machine.get("nodes", 1.0)
    return Collective(name, machine["devices"], nodes, speed, device, amount(settings.get("size", "")))


def _test_in(path: str) -> Collective | None:
    """Return the test in a file, as nccl-tests and rccl-tests print it; None of another file."""
    opened = attempted(read_text, path) if Path(path).is_file() else ("", "")
    name, text = ("", "") if isinstance(opened, GenperfError) else opened
    if re.search(r"\bbusbw\b|\bnThread\b", text) is None:
        return None  # without an import of the formats of other tools
    from genperf.importers.nccl_tests import RANK, ROW, SIGNATURE

    cells = [(row[1], *row[5].split()[1:3]) for row in map(ROW.fullmatch, text.splitlines()) if row is not None]
    if not cells or not re.search(SIGNATURE, text):
        return None
    sizes, algorithm, bus = np.array([row for row in cells if len(row) == 3], dtype=float).T
    plateau, ranks = sizes >= PLATEAU * sizes.max(), RANK.findall(text)
    ratio, speed = float(np.median((bus / np.maximum(algorithm, 1e-9))[plateau])), 1e9 * float(np.median(bus[plateau]))
    by_factor = "all_reduce" if ratio > 1.0 else "all_gather" if ratio < 1.0 else "broadcast"
    called = _collective_in(f"{name} {text[:2000]}") or by_factor
    count, nodes = max(len(ranks), 1.0), max(len({host for host, _ in ranks}), 1.0)
    device = (device_in(ranks[0][1]) if ranks else None) or UNKNOWN
    return Collective(called, count, nodes, speed, device, float(sizes.max()))


def _place(test: Collective) -> PublishedPlace | None:
    """Return where a test lies among published ones of the same device, in one node or over several as well."""
    table, several, family = datasets.collectives(), bool(several_nodes(test.nodes)), test.device.family
    families = [device and device.family for device in map(device_in, table["device"].astype(str))]
    alike = (table["collective"] == test.collective) & (several_nodes(table["nodes"].to_numpy()) == several)
    rows = table[alike & (np.array(families, dtype=object) == family)]
    if rows.empty:
        return None
    values, speed = rows["busbw_GBps"].to_numpy() * 1e9, test.busbw
    low, median, high = np.quantile(values, [0.05, 0.5, 0.95]).tolist()
    among = f"{'over several nodes' if several else 'in one node'} of {devices()[family].label}"
    below = 100.0 * float(np.mean(values < speed) + 0.5 * np.mean(values == speed))
    return PublishedPlace("busbw", speed, below, median, low, high, len(rows), rows["repository"].nunique(), among)
