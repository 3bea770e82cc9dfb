"""How well the bank of curves extrapolates series, in process and from arrays alone: the gates of `genperf.growth`.

The cases of `corpus.py`, and P1, P2 and InsightFace of `extrapolation.py`. The series of a
cell are one table, whose series share what they show of their cluster, or each stands alone. No table is read and no
verdict is given, so that a run takes seconds; `corpus.py` and `extrapolation.py` judge the whole of `auto`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from msgspec.structs import replace

from experiments.accuracy import extrapolation
from experiments.accuracy.corpus import CRITERION, by_hand_of, cell, cells, halves, questions, sources, summary
from experiments.accuracy.scores import cells_of, error, inside, pair
from experiments.shared import markdown, page
from genperf.growth import Counts, Posterior, bank, forecast, posterior_of
from genperf.growth.cluster import combined, shown
from genperf.panel.panel import several_nodes

COMMAND = "python -m experiments growth"
#: What the posteriors of a table's series by themselves are replaced by.
Weigh = Callable[[list[Posterior]], list[Posterior]]


def counts(rows: pd.DataFrame, work: float) -> Counts:
    """Return the counts of rows; `work` is the batch of a device at the largest measured count."""
    devices, nodes, batch = (rows[name].to_numpy(float) for name in ("devices", "nodes", "batch"))
    return Counts(devices, nodes, batch / work)


def are_apart(rows: pd.DataFrame) -> bool:
    """Return whether each device of some rows has a node of its own."""
    return bool(np.all(rows.nodes >= rows.devices) and np.any(several_nodes(rows.nodes.to_numpy(float))))


def alone(each: list[Posterior]) -> list[Posterior]:
    """Return the posterior of each series by itself."""
    return each


def shared(each: list[Posterior]) -> list[Posterior]:
    """Return the posterior of each series of a table beside what the others show of the cluster they share."""
    clusters = [shown(one.weights, bool(several_nodes(one.layout.counts.nodes).any())) for one in each]
    others = [combined(clusters[:i] + clusters[i + 1 :]) for i in range(len(each))]
    return [one if known is None else replace(one, tilt=known.tilt) for one, known in zip(each, others, strict=True)]


def predicted(weigh: Weigh, listed: Sequence[tuple[pd.DataFrame, pd.DataFrame]]) -> list[tuple[np.ndarray, ...]]:
    """Return the central values and the ends of the intervals of the rows asked about, for series of one table."""
    work = [float(train.batch.iloc[-1]) for train, _ in listed]
    by_itself = [
        posterior_of(counts(train, unit), np.log(train.t.to_numpy()), np.zeros(len(train)), apart=are_apart(train))
        for (train, _), unit in zip(listed, work, strict=True)
    ]
    found = weigh(by_itself)
    return [
        forecast([posterior.draws()], [1.0], [counts(asked, unit)]).interval()
        for posterior, (_, asked), unit in zip(found, listed, work, strict=True)
    ]


def corpus_rows(weigh: Weigh, frames: dict[str, pd.DataFrame]) -> tuple[pd.DataFrame, float]:
    """Return a row per case, and the milliseconds of one."""
    listed: dict[tuple[str, str], list[tuple[pd.DataFrame, pd.DataFrame]]] = {}
    for source, frame in frames.items():
        whole = frame.assign(batch=frame.batch.fillna(1.0))
        for protocol, train, asked in questions(whole):
            ordered = train.sort_values(["devices", "nodes"])
            listed.setdefault((source, protocol), []).append((ordered, asked))
    rows, seconds = [], 0.0
    for (source, protocol), some in listed.items():
        start = time.perf_counter()
        answers = predicted(weigh, some)
        seconds += time.perf_counter() - start
        for (value, lower, upper), (train, asked) in zip(answers, some, strict=True):
            row = {"source": source, "protocol": protocol, "measured": float(asked.t.iloc[0]), "verdict": ""}
            row |= {"time": value[0], "lower": lower[0], "upper": upper[0]}
            rows.append(row | by_hand_of(train, asked))
    return pd.DataFrame(rows), 1000.0 * seconds / len(rows)


def protocol_line(name: str, gate: str, weigh: Weigh) -> list[str]:
    """Return the errors and the coverage of a protocol whose series count their nodes."""
    protocol = extrapolation.PROTOCOLS[name]()
    listed = [
        tuple(part.assign(batch=1.0, t=part[extrapolation.TIME]) for part in (train, held))
        for _, train, held in protocol.series()
    ]
    rows = pd.concat(
        pd.DataFrame({"series": at, "measured": held.t.to_numpy(), "time": value, "lower": lower, "upper": upper})
        for at, ((_, held), (value, lower, upper)) in enumerate(zip(listed, predicted(weigh, listed), strict=True))
    )
    errors = error(rows).groupby(rows.series).mean()
    return [protocol.name, pair(errors), gate, f"{100.0 * inside(rows).mean():.0f}"]


def lines_of(rows: pd.DataFrame) -> list[list[str]]:
    lines = []
    for source, protocol, part in cells(rows):
        count, own, *figures = cells_of(part, "error covers width score")
        beside = (pair(error(part, name)) for name in ("last point", "1 + log n"))
        lines.append([f"{source}, {protocol}", count, own, *beside, *figures, f"{cell(part)['bias']:+.1f}"])
    return lines


def run(outside: Path | None = None) -> str:
    """Judge the bank of curves on the cases of the corpus and on P1, P2 and InsightFace."""
    frames = sources(outside)
    start = time.perf_counter()
    bank()
    drawn = 1000.0 * (time.perf_counter() - start)
    rows, each = corpus_rows(shared, frames)
    rows_alone, each_alone = corpus_rows(alone, frames)
    gates = {"P1": "3.0 (4.0)", "P2": "6.0 (11)", "insightface": "2.4 (16)"}
    protocols = [protocol_line(name, gate, shared) for name, gate in gates.items()]
    criterion = [[*summary("series of a table share their cluster", rows), f"{each:.1f}"]]
    criterion += [[*summary(f"half {k} of the sources", half), ""] for k, half in enumerate(halves(rows), 1)]
    criterion.append([*summary("each series alone", rows_alone), f"{each_alone:.1f}"])
    head = ["", "series", "error, %", "last point", "1 + log n", "covers, %", "width, %", "score", "bias, %"]
    return page(
        "growth",
        command=f"{COMMAND}{' --outside FOLDER' if outside else ''}",
        drawn=drawn,
        cases=len(rows),
        sources=rows.source.nunique(),
        criterion=markdown(["", *CRITERION, "ms"], criterion),
        protocols=markdown(["", "error, %", "gate", "covers, %"], protocols),
        cells=markdown(head, lines_of(rows)),
    )
