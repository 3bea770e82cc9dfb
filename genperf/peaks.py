"""The nominal rates of devices and links, from `peaks.csv`: the vendors' figures, with their source and year."""

import csv
import re
from collections.abc import Collection
from functools import cache
from pathlib import Path

from msgspec import Struct

from genperf.errors import GenperfError, did_you_mean
from genperf.formula.amounts import amount, bandwidth
from genperf.vocabulary import any_of, section

FILE = Path(__file__).parent / "peaks.csv"
#: What may follow a device's name without a space, beside an s for several.
_VARIANT = r"(?=sxm\d?|nvl|pcie|\d+gb|[^a-z0-9]|$)"


class Device(Struct, frozen=True):
    """A device and its nominal rates: operations per second of dense products, by precision."""

    name: str
    rates: dict[str, float]
    sparse: float  #: What its rate with sparse weights is over the dense one; 1 where it has none.
    family: str  #: The device by which published runs of such devices are compared.
    link: str = ""  #: Its link inside a node, by name; empty where that is not known.

    @property
    def label(self) -> str:
        """The name as it is written: `H100`, `TPU v5p`; of a device that is not known, as it was given."""
        is_tpu = self.name.startswith("tpu")
        name = re.sub("[A-Z]{4,}", lambda word: word[0].title(), self.name.upper())
        return re.sub("^tpu-?", "TPU ", self.name if is_tpu or not self.family else name)

    def rate(self, precision: str) -> float:
        """Return the rate of a precision, that of 16 bits where the table has none of the precision itself."""
        return self.rates.get(precision, self.rates["16-bit"])


@cache
def devices() -> dict[str, Device]:
    """Return the devices by name."""
    with FILE.open(encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines) if row["kind"] == "device"]
    columns = {"16-bit": "rate", "fp8": "fp8", "fp4": "fp4", "fp32": "fp32"}

    def device(row: dict[str, str]) -> Device:
        rates = {precision: amount(row[column]) or 0.0 for precision, column in columns.items() if row[column]}
        return Device(row["name"], rates, float(row["sparse"] or 1.0), row["family"], row["link"])

    return {row["name"]: device(row) for row in rows}


def device_in(text: str) -> Device | None:
    """Return the device that a text names, with its vendor and memory or without them; None where it names none.

    >>> names = ("NVIDIA H100 80GB HBM3", "A100-SXM4-40GB", "TPU v5p", "H100 PCIe", "GB200", "toaster")
    >>> [None if (one := device_in(name)) is None else one.name for name in names]
    ['h100', 'a100', 'tpu-v5p', 'h100-pcie', 'gb200', None]
    """
    plain = re.sub(r"[\s_/]+", "-", text.lower())
    named = [name for name, spelled in _spellings().items() if spelled.search(plain)]
    if not named:
        return None
    longest = max(named, key=len)
    variants = [f"{longest}-{kind}" for kind in ("pcie", "nvl") if kind in plain]
    return devices()[next((name for name in variants if name in devices()), longest)]


def device_of(text: str) -> Device:
    """Return the device that a text names; one without a family, whose peak is not known, where it names none."""
    return device_in(text) or Device(text.strip(), rates={"16-bit": 0.0}, sparse=1.0, family="")


@cache
def _spellings() -> dict[str, re.Pattern[str]]:
    """Return patterns of the devices' names, whose number may follow a hyphen or be all, and of their other names."""
    apart = {n: re.sub(r"(?<=[a-z])(?=\d{3})", "-?", n.replace("-", "-?")) for n in devices()}
    names = {n: [p.replace("rtx-?", "(rtx-?)?"), *section("devices").get(n, ())] for n, p in apart.items()}
    return {n: re.compile(rf"(?<![a-z0-9])({'|'.join(called)})s?{_VARIANT}") for n, called in names.items()}


def precision_in(text: str) -> str | None:
    """Return the precision of products that a text names, one of the section `precisions`; None where it names none.

    >>> precision_in("bfloat16"), precision_in("fp8 (linear layers)"), precision_in("nvfp4"), precision_in("adam")
    ('16-bit', 'fp8', 'fp4', None)
    """
    word = text.strip().lower()
    patterns = {name: rf"{any_of(f'precisions.{name}')}(?![a-z0-9])" for name in section("precisions")}
    return next((name for name, pattern in patterns.items() if re.match(pattern, word)), None)


@cache
def links() -> dict[str, float]:
    """Return the bytes per second of links each way, by name."""
    with FILE.open(encoding="utf-8") as lines:
        rates = {row["name"]: bandwidth(row["rate"]) for row in csv.DictReader(lines) if row["kind"] == "link"}
    return {name: rate for name, rate in rates.items() if rate is not None}


def peak_of(text: str) -> float:
    """Return the peak of a device by its name, or as it is given: `a100`, `312T`, `312e12`.

    >>> peak_of("A100"), peak_of("250T")
    (312000000000000.0, 250000000000000.0)
    """
    examples = "a device such as v100, a100, h100, mi300x, tpu-v5p, or its operations per second: --peak 312T"
    device = device_in(text)
    if device is not None:
        return device.rates["16-bit"]
    return _stated(text, amount(text), "device whose peak is known", devices(), examples)


def link_rate(text: str) -> float:
    """Return the bytes per second of a link by its name, or as they are given: `100GbE`, `HDR`, `25Gbit/s`, `3GB/s`.

    >>> link_rate("EDR"), link_rate("InfiniBand HDR"), link_rate("25Gbit/s")
    (12500000000.0, 25000000000.0, 3125000000.0)
    """
    name = "-".join(text.lower().replace("_", " ").replace("-", " ").split())
    for full in (name, f"infiniband-{name}", "-".join(reversed(name.split("-", 1)))):
        if full in links():
            return links()[full]
    examples = "bits or bytes per second as 25Gbit/s, 3GB/s, or a link such as 100GbE, HDR"
    names = [*links(), *(full.removeprefix("infiniband-") for full in links())]
    return _stated(text, bandwidth(text), "bandwidth", names, examples)


def _stated(text: str, rate: float | None, what: str, names: Collection[str], examples: str) -> float:
    """Return a rate as it is stated; an error names one that may be meant."""
    if rate is not None and 0.0 < rate < float("inf"):
        return rate
    raise GenperfError(f"'{text}' is no {what}", hint=did_you_mean(text.lower(), names, otherwise=examples))
