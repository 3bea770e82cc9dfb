"""How much a hint of the network narrows `auto` beyond the first node, and whether it is still right.

Series of the corpus whose network trained and whose machines are known are fitted from one node, without a hint and
with the nominal bandwidth of their machines (and a tenth and ten times of it); the first count beyond the node is
asked, and the largest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from msgspec import structs

import genperf as gp
from experiments.accuracy.corpus import FACTORS, Case, auto, sources
from experiments.accuracy.scores import cells_of
from experiments.shared import beside, markdown, page
from genperf.growth import hints as hinting
from genperf.growth.hints import HINT, HintSettings
from genperf.growth.measured import series_of
from genperf.growth.sharing import TableShares

_FILE = beside(__file__)
#: Nominal bandwidths of a node's link by source, bytes per second, and parameters by the text that names a network.
BANDWIDTHS, PARAMETERS = _FILE["bandwidths"], _FILE["parameters"]
#: Texts of series whose gradients have two bytes.
HALF = ("fp16", "amp")


def exchange(source: str, series: str) -> float | None:
    """Return the seconds in which two nodes exchange the gradients, nominally; None where the network is not known."""
    text = series.lower()
    parameters = next((count for name, count in PARAMETERS.items() if name in text), None)
    if parameters is None or source not in BANDWIDTHS:
        return None
    return float(parameters) * (2.0 if any(half in text for half in HALF) else 4.0) / BANDWIDTHS[source]


def cases(frames: dict[str, pd.DataFrame]) -> Iterator[tuple[Case, float]]:
    """Yield the questions from inside one node, with the nominal exchange of each."""
    for source, frame in frames.items():
        for name, rows in frame.groupby("series"):
            seconds = exchange(source, str(name))
            one, more = rows[rows.nodes == 1], rows[rows.nodes > 1]
            if seconds is None or more.empty or one.devices.nunique() < 3:
                continue
            table = gp.read_table(one[[*FACTORS, "t"]], time="t", extrinsic="devices,nodes", intrinsic="batch")
            series = series_of(table, {})
            assert series is not None
            for protocol, count in (("node", more.devices.min()), ("largest", more.devices.max())):
                asked = more[more.devices == count].iloc[[0]].reset_index(drop=True)
                yield Case(source, protocol, one, asked, table, series), seconds


def ratios(listed: list[tuple[Case, float]]) -> dict[str, np.ndarray]:
    """Return the measured step to the second node over the nominal exchange, by source; 0.1 at least."""
    found: dict[str, list[float]] = {}
    for case, seconds in listed:
        if case.protocol == "node":
            last = float(case.train.sort_values("devices").t.iloc[-1])
            found.setdefault(case.source, []).append(max((case.truth - last) / seconds, 0.1))
    return {source: np.log(values) for source, values in found.items()}


def learned_without(found: dict[str, np.ndarray], source: str) -> HintSettings:
    """Return the median and the spread that the other sources' ratios have; those of `auto` where they are too few."""
    others = [values for name, values in found.items() if name != source]
    if len(others) < 2:
        return HINT  # One source shows no spread between sources.
    means = [float(values.mean()) for values in others]
    within = float(np.mean([values.var() for values in others]))
    between = float(np.var(means, ddof=1)) * (1.0 + 1.0 / len(means))
    return HintSettings(float(np.exp(np.mean(means))), float(np.sqrt(within + between)))


def answers(listed: list[tuple[Case, float]], times: float | None, learned: bool = False) -> pd.DataFrame:
    found, rows = ratios(listed), []
    for case, seconds in listed:
        hinting.HINT = learned_without(found, case.source) if learned else HINT
        hinted = case if times is None else replace(case, series=structs.replace(case.series, exchange=seconds / times))
        answer = auto(hinted, (), TableShares())
        rows.append({"source": case.source, "protocol": case.protocol, "measured": case.truth, **answer})
    hinting.HINT = HINT
    return pd.DataFrame(rows)


def table(results: dict[str, pd.DataFrame], protocol: str) -> str:
    """Return a line per source and kind of hint."""
    lines = []
    for source in [*dict.fromkeys(results["none"].source), "all"]:
        for kind, every in results.items():
            rows = every[(every.protocol == protocol) & ((every.source == source) | (source == "all"))]
            count, *figures = cells_of(rows, "error covers width score")
            lines.append([source, count, kind, *figures])
    return markdown(["source", "series", "hint", "error, %", "covers, %", "width, %", "score"], lines)


def run(outside: Path | None = None) -> str:
    """Fit with and without a hint."""
    listed = list(cases(sources(outside)))
    results = {
        "none": answers(listed, None),
        "nominal": answers(listed, 1.0),
        "nominal, learned without": answers(listed, 1.0, learned=True),
        "a tenth of it": answers(listed, 0.1),
        "ten times it": answers(listed, 10.0),
    }
    steps = [
        [name, str(len(v)), f"{np.exp(np.median(v)):.1f}", f"{v.mean():.2f}", f"{v.std():.2f}"]
        for name, v in ratios(listed).items()
    ]
    return page(
        "hints",
        globals(),
        steps=markdown(["source", "series", "median of the ratio", "mean of its ln", "standard deviation"], steps),
        node=table(results, "node"),
        largest=table(results, "largest"),
    )
