"""What the runs of a table cost: the column of money per hour, by group."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import numpy as np
from msgspec.structs import replace

from genperf.arrays import Array, Mask
from genperf.facts import CURRENCY_SIGN
from genperf.panel.evidence import MONEY, TableColumn
from genperf.panel.legend import Legend, RunPrice
from genperf.panel.reading import Reading
from genperf.vocabulary import any_of, late, section
from genperf.vocabulary.headers import DEVICE_WORDS, TIME_UNITS, Header
from genperf.vocabulary.names import LEVELS, WAYS, meant_by, words_in

#: Relative difference up to which the prices of runs are the same.
SAME_PRICE = 0.01
#: The sign of money, or its letters, perhaps of a thousand: `k$`, `CHF`.
_CURRENCY = re.compile(rf"(\bk)?({CURRENCY_SIGN}|(?<![^\W_])(?i:{any_of('columns.currency')})(?![^\W_]))")
_PERIODS = {hours: late(rf"(?<![^\W_]){any_of(f'periods.{hours}')}(?![^\W_])") for hours in section("periods")}
#: What tells how many devices there are, beside nodes.
_COUNTS_DEVICES = frozenset(("workers", "devices_per_node", *WAYS))


def with_prices(legend: Legend, reading: Reading, units: Mapping[str, str], named: str = "") -> Legend:
    """Return a legend with the column of prices, the `named` of several, and the price of each group's runs.

    A price that is the same at every count is that of one node, or of one device where its header says so or no nodes
    are counted; one in proportion to the count is that of all. Where the runs of a group do not agree, each level of
    a factor has its own price. What the runs cost in money is a price as well, over their time. `units` are those in
    the cells.
    """
    hourly, is_total = _hourly(reading, named)
    is_counted = meant_by(reading.scale or "") in LEVELS or reading.scale == reading.mapping.get("workers")
    if not hourly or reading.scale is None or not is_counted:
        return legend
    column, counts = hourly[0], reading.columns[reading.scale].values
    of_a_device = not DEVICE_WORDS.isdisjoint(words_in(column.name))
    if of_a_device and _COUNTS_DEVICES.isdisjoint(c.canonical for c in reading.columns.values()):
        return legend
    nodes = next((c.name for c in reading.with_role("setting") if c.canonical == "nodes"), None)
    # Of a price that is equal in all runs, and of one of all.
    per = (None if of_a_device else nodes), (reading.scale if nodes == reading.scale else None)
    sign = _CURRENCY.search(f"{column.name} {units.get(column.name, '')}")
    # A table that is read as a model's may lack columns.
    group, levels = (
        tuple(n for n in of if n in reading.columns) for of in (reading.roles.group, reading.roles.categorical)
    )
    by_names = [group, *((*group, name) for name in levels)]
    tried = [_prices(reading, column, counts, names, per, sign, is_total) for column in hourly for names in by_names]
    prices, whole = next((of_names for of_names in tried if of_names[1]), tried[0])
    if whole and len({(price.text, price.per) for price in prices}) == 1:
        prices = [replace(prices[0], levels={})]
    return replace(legend, price_column=column.name if prices else "", prices=tuple(prices))


def _hourly(reading: Reading, named: str) -> tuple[list[TableColumn], bool]:
    """Return the columns that may be the price of an hour, and whether they are totals over the hours of the runs.

    Of several prices it is the `named` one, or the first. Without any it is each total over each time of the runs.
    """
    money = [c for c in (*reading.with_role("ratio"), *reading.with_role("consequence")) if MONEY in c.reasons]
    periods = [(c, float(hours)) for c in money for hours, name in _PERIODS.items() if name.search(c.name.lower())]
    of_periods = [replace(c, values=c.values / hours, header=Header("rate", "h")) for c, hours in periods]
    priced = [*(c for c in money if c.kind == "rate"), *of_periods]
    if priced:
        return [next((c for c in priced if c.name == named), priced[0])], False
    timed = [c for c in reading.with_role("measured") if c.kind == "time" and not c.header.shared]
    hours_of_runs = [c.values * np.divide(*TIME_UNITS[c.header.unit]) / TIME_UNITS["h"][0] for c in timed]
    hourly = [replace(c, values=c.values / hours, header=Header("rate", "h")) for c in money for hours in hours_of_runs]
    return hourly, True


def _prices(
    reading: Reading,
    column: TableColumn,
    counts: Array,
    names: tuple[str, ...],
    per: tuple[str | None, str | None],
    sign: re.Match[str] | None,
    only_of_all: bool,
) -> tuple[list[RunPrice], bool]:
    """Return the prices of the runs of each combination of levels, and whether all have one.

    What is paid is `per` the first of two columns where the price is equal in all runs, else the second; with
    `only_of_all` there is no price where it is equal.
    """
    prices, groups = list[RunPrice](), [*groups_of(reading, len(counts), names)]
    # What costs nothing shows neither.
    telling = [rows for _, rows in groups if len(np.unique(counts[rows])) > 1 and np.any(column.values[rows] > 0.0)]
    of_all = all(_price_of_one(column.values[rows]) is None for rows in telling)
    of_a_device = not DEVICE_WORDS.isdisjoint(words_in(column.name))
    if not telling and (of_a_device or len({float(counts[rows][0]) for _, rows in groups}) > 1):
        # Machines of one size each: that of a larger one is of all its devices where it differs less of each.
        spreads = [np.ptp(np.log(np.maximum(values, 1e-12))) for values in (column.values / counts, column.values)]
        telling, of_all = [rows for _, rows in groups], bool(spreads[0] < spreads[1] and not of_a_device)
    for levels, rows in groups if telling and (of_all or not only_of_all) else ():
        of_one = _price_of_one(column.values[rows] / (counts[rows] if of_all else 1.0))
        if of_one:
            size, currency = (1e3 if sign[1] else 1.0, currency_in(sign[2])) if sign else (1.0, "")
            text = f"{of_one * size:.6g}{currency}/{column.header.unit}"
            prices.append(RunPrice(text, per[of_all], levels))
    return prices, len(prices) == len(groups)


def currency_in(text: str) -> str:
    """Return the sign of money, or its letters, in a header, perhaps of a thousand: `$`, `USD`, `k€`."""
    sign = _CURRENCY.search(text)
    return "" if sign is None else (sign[1] or "") + (sign[2].upper() if len(sign[2]) > 2 else sign[2])


def groups_of(reading: Reading, rows: int, names: tuple[str, ...]) -> Iterator[tuple[dict[str, str], Mask]]:
    """Yield the levels of some columns in each combination with the mask of its rows; all rows without columns."""
    texts = [reading.columns[name].texts.astype(str).tolist() for name in names]
    keys = list(zip(*texts, strict=True)) if names else [()] * rows
    for key in dict.fromkeys(keys):
        yield dict(zip(names, key, strict=True)), np.array([of_run == key for of_run in keys], dtype=bool)


def _price_of_one(paid: Array) -> float | None:
    """Return the median of prices that are the same, to the digits that they agree in; None where they differ."""
    if np.ptp(paid) > SAME_PRICE * np.max(paid):
        return None
    return float(f"{np.median(paid):.{6 if np.ptp(paid) == 0.0 else 4}g}")
