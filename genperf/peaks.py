"""The nominal rates of devices and links, from `peaks.csv`: the vendors' figures, with their source and year."""

import csv
from functools import cache
from pathlib import Path
from typing import Literal

from genperf.errors import GenperfError, did_you_mean
from genperf.formula.amounts import amount, bandwidth

FILE = Path(__file__).parent / "peaks.csv"


@cache
def peaks(kind: Literal["device", "link"]) -> dict[str, float]:
    """Return rates by name: operations per second of dense 16-bit products, or a link's bytes per second each way."""
    read = amount if kind == "device" else bandwidth
    with FILE.open(encoding="utf-8") as lines:
        rates = {row["name"]: read(row["rate"]) for row in csv.DictReader(lines) if row["kind"] == kind}
    return {name: rate for name, rate in rates.items() if rate is not None}


def peak_of(text: str) -> float:
    """Return the peak of a device by its name, or as it is given: `a100`, `312T`, `312e12`.

    Raises
    ------
    GenperfError
        For a device that is not known, or a number that is not above zero.

    Examples
    --------
    >>> peak_of("A100"), peak_of("250T")
    (312000000000000.0, 250000000000000.0)
    """
    known = "operations per second as 312T, or a device such as v100, a100, h100, mi300x, tpu-v5p"
    return _rate(text, "device", amount(text), known)


def link_rate(text: str) -> float:
    """Return the bytes per second of a link by its name, or as they are given: `100GbE`, `HDR`, `25Gbit/s`, `3GB/s`.

    Raises
    ------
    GenperfError
        For a link that is not known, or a rate that is not above zero.

    Examples
    --------
    >>> link_rate("EDR"), link_rate("InfiniBand HDR"), link_rate("25Gbit/s")
    (12500000000.0, 25000000000.0, 3125000000.0)
    """
    return _rate(
        text, "link", bandwidth(text), "bits or bytes per second as 25Gbit/s, 3GB/s, or a link such as 100GbE, HDR"
    )


def _rate(text: str, kind: Literal["device", "link"], stated: float | None, known: str) -> float:
    """Return a rate by a name, which may lack the family's word before it, or as it is stated."""
    name = "-".join(text.lower().replace("_", " ").replace("-", " ").split())
    rates = peaks(kind)
    for full in (name, f"infiniband-{name}", "-".join(reversed(name.split("-", 1)))):
        if full in rates:
            return rates[full]
    if stated is not None and 0.0 < stated < float("inf"):
        return stated
    what = "device whose peak is known" if kind == "device" else "bandwidth"
    near = did_you_mean(name, [*rates, *(full.removeprefix("infiniband-") for full in rates)])
    raise GenperfError(f"'{text}' is no {what}", hint=f"{near} Or {known}" if near else known)
