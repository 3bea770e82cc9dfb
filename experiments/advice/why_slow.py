"""Whether `genperf.why` names the planted cause of slow steps, from their times alone.

Each case is a part of `data/causes.csv`: one framework and one planted cause, at two or three counts, with one batch or
two. `why` reads it beside the sound runs of the same framework, and by itself with hints of the network and with
phases. The settings were chosen on PyTorch; the other two frameworks confirm them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pandas as pd

import genperf as gp
from experiments.shared import beside, markdown_of, page

#: The name that `why` has for each planted cause.
PLANTED: dict[str, str] = beside(__file__)["planted"]
FRAMEWORKS = ("pytorch", "tensorflow", "mxnet")
BATCHES = ((2, 4), (2,), (4,))
COUNTS = ((2, 4, 8), (2, 4), (2, 8), (4, 8))
ROLES = {"time": "step_time_s", "extrinsic": "workers", "intrinsic": "batch_per_worker", "repeat": "repeat"}
PHASES = ["io_s", "h2d_s", "forward_s", "backward_s", "exchange_s"]
#: How a case is shown to `why`.
WAYS = ("beside sound runs", "alone, with hints", "alone, with phases")


def cases() -> Iterator[tuple[str, str, pd.DataFrame, pd.DataFrame]]:
    """Yield framework, planted cause, the runs and the sound runs beside them."""
    runs = gp.datasets.frame("causes")
    for framework, planted, batches, counts in product(FRAMEWORKS, PLANTED, BATCHES, COUNTS):
        some = runs[(runs.framework == framework) & runs.batch_per_worker.isin(batches) & runs.workers.isin(counts)]
        slow, sound = some[some.planted == planted], some[some.planted == "none"]
        if planted == "none":
            slow, sound = (sound[sound.repeat == repeat] for repeat in (1, 0))
        yield framework, planted, slow, sound


def named(way: str, slow: pd.DataFrame, sound: pd.DataFrame) -> list[str]:
    """Return the causes in order of probability, "none" among them."""
    columns = ["workers", "batch_per_worker", "repeat", "step_time_s", *(PHASES if way.endswith("phases") else [])]
    table = gp.read_table(slow[columns], **ROLES)
    known: dict[str, Any] = {"sound": gp.read_table(sound[columns], **ROLES)}
    if way != WAYS[0]:
        known = {"hints": {"bandwidth": "200Mbit/s", "message": float(slow.bytes.iloc[0])}}
    found = gp.why(table, **known)
    chances = {"none": found.none, **{cause.cause: cause.probability for cause in found.causes}}
    return sorted(chances, key=lambda cause: -chances[cause])


def judged(way: str) -> pd.DataFrame:
    """Return of each case whether the planted cause is first, and whether it is among the first two."""
    rows = []
    for framework, planted, slow, sound in cases():
        whole = planted == "none" and way != WAYS[0]
        order = named(way, pd.concat([slow, sound]) if whole else slow, sound)
        right = PLANTED[planted]
        both = len(slow.batch_per_worker.unique()) > 1
        rows.append((framework, planted, both, right == order[0], right in order[:2]))
    return pd.DataFrame(rows, columns=["framework", "planted", "both", "first", "two"])


def shares(cases_of: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Return the number of cases and the shares of those named right, in %, by some columns."""
    table = cases_of.groupby(by, sort=False).agg(cases=("first", "size"), first=("first", "mean"), two=("two", "mean"))
    return table.assign(first=100.0 * table["first"], two=100.0 * table["two"]).reset_index()


def split(found: pd.DataFrame) -> pd.DataFrame:
    """Return the shares on the framework of choice and on the others, of causes and of runs without one."""
    of = found.framework.map(lambda name: "chosen on PyTorch" if name == FRAMEWORKS[0] else "confirmed on the others")
    what = found.planted.map(lambda name: "without a cause" if name == "none" else "a planted cause")
    return shares(found.assign(split=of, runs=what), ["split", "runs"])


def _table(rows: pd.DataFrame, *names: str) -> str:
    """Return shares of cases as a table in Markdown, below the names of what they are shares of."""
    return markdown_of(rows.set_axis([*names, "cases", "named first, %", "among the first two, %"], axis=1), ".0f")


def run() -> str:
    beside = judged(WAYS[0])
    # Alone, a slow kernel is a larger network.
    alone = pd.concat([shares(judged(way), ["planted"]).assign(way=way) for way in WAYS[1:]])
    batches = beside.assign(batches=beside.both.map({True: "both", False: "one"}))
    return page(
        "why-slow",
        beside=_table(split(beside), "settings", "runs"),
        classes=_table(
            shares(batches.sort_values(["planted", "batches"]), ["planted", "batches"]), "planted", "batches"
        ),
        alone=_table(alone[["way", "planted", "cases", "first", "two"]], "way", "planted"),
    )
