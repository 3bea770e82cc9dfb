"""`auto` on tables of many factors: the process against the averaged expressions before it, on the same folds.

A row is a table, a scheme of `gp.validate` and what `auto` erred by before
(`process_before.csv`, of commit 8dbf9a2). Prints the rows and the
geometric means of the error ratios.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import geometric_mean

import numpy as np
import pandas as pd
from msgspec.structs import replace

import genperf as gp
from experiments.accuracy import three_frameworks, transformers
from experiments.accuracy.generic_model import LARGEST, OTHERS, TABLES, load
from experiments.accuracy.scores import error, inside, width
from experiments.shared import ROOT, markdown, page
from genperf.validation.splits import split

BEFORE = Path(__file__).with_name("process_before.csv")
#: Tables of series, read as one table whose series are levels of a factor, and the count beyond which it is predicted.
SERIES = {"azure_batchai": 8, "tf_benchmarks": 8, "sia_aws": 8}
WITHIN, BEYOND = "inside the range", "beyond the counts"


@dataclass(frozen=True)
class Row:
    """A table and how it is split."""

    name: str
    scheme: str
    table: Callable[[], gp.Table]

    @property
    def kind(self) -> str:
        """Whether the scheme goes beyond the counts."""
        return BEYOND if self.scheme.startswith("extrapolate") else WITHIN


def rows() -> Iterator[Row]:
    """Yield the rows of the page, small tables first."""
    for name, splits, table in tables():
        for scheme in ("kfold:5", *splits):
            if (name, scheme) != ("GPT", "kfold:5"):
                yield Row(name, scheme, table)


def tables() -> Iterator[tuple[str, Sequence[str], Callable[[], gp.Table]]]:
    """Yield each table by its name, with its schemes beside cross-validation."""
    for name, largest in OTHERS.items():
        yield name, [largest] if largest else [], partial(gp.datasets.load, name)
    for name, (table, where) in TABLES.items():
        yield name, [LARGEST[table]], partial(load, table, where)
    for framework in three_frameworks.FRAMEWORKS:
        splits = ["extrapolate:workers:4", "leave-group-out:network_fold"]
        yield f"core, {framework}", splits, partial(three_frameworks.table_of, framework)
    for name, case in transformers.CASES.items():
        yield name, case.splits, partial(transformers.table_of, case)
    for name, limit in SERIES.items():
        yield name, [f"extrapolate:devices:{limit}"], partial(of_series, name)


def of_series(name: str) -> gp.Table:
    """Return series as one table: the series is a level, and counts and batch are factors."""
    frame = pd.read_csv(ROOT / "data" / "corpus" / "series" / f"{name}.csv")
    roles = {"intrinsic": "batch", "extrinsic": "devices,nodes", "categorical": "series"}
    return gp.read_table(frame, time="t", **roles)


def with_folds(table: gp.Table, scheme: str) -> gp.Table:
    """Return a table with a column `fold`: the folds of before, for which rows stood in the order of their file."""
    of_file = replace(table, frame=table.frame.sort_index())
    fold = np.argmax([fold.test for fold in split(of_file, scheme)], axis=0)
    return replace(table, frame=table.frame.assign(fold=pd.Series(fold, of_file.frame.index)))


def measured(row: Row, workers: int) -> dict[str, str | float]:
    """Return how `auto` errs on a row."""
    table, scheme = row.table(), row.scheme
    if scheme.startswith("kfold"):
        table, scheme = with_folds(table, scheme), "leave-group-out:fold"
    start = time.perf_counter()
    score = gp.validate(table, "auto", scheme, seed=0, workers=workers).models[0]
    used = time.perf_counter() - start
    points = score.predictions.dropna(subset=["predicted"])
    if points.empty:
        return {"table": row.name, "predicted": row.scheme, "error": math.nan, "covers": math.nan}
    return {
        "table": row.name,
        "predicted": row.scheme,
        "configurations": len(table.medians()),
        "error": float(error(points, "predicted").mean()),
        "covers": 100.0 * float(inside(points).mean()),
        "width": float(width(points, "predicted").quantile(0.5, "higher")),
        "seconds": used,
    }


def table_of(frame: pd.DataFrame) -> str:
    """Return the rows of the page."""
    head = ["table", "configurations", "predicted", "before", "process", "ratio", "covers %", "width %"]
    digits = {"before": ".2f", "error": ".2f", "ratio": ".2f", "covers": ".0f", "width": ".0f"}
    texts = frame.assign(**{name: frame[name].map(f"{{:{digit}}}".format) for name, digit in digits.items()})
    texts = texts.replace({"before": {"nan": "crash"}, "ratio": {"nan": ""}})
    return markdown(head, texts[[*head[:3], *("before", "error", "ratio", "covers", "width")]].values)


def summary(frame: pd.DataFrame) -> str:
    """Return the geometric means of the error ratios, and how the intervals cover."""
    lines = []
    for kind in (WITHIN, BEYOND):
        part = frame[[("extrapolate" in p) is (kind == BEYOND) for p in frame["predicted"]]]
        ratios = part["ratio"].dropna()
        if len(ratios):
            worst = part.loc[ratios.idxmax()]
            lines.append(
                f"- *{kind}*: geometric mean of the error ratios {geometric_mean(ratios):.3f} over {len(ratios)} rows, "
                f"the largest {worst['ratio']:.2f} ({worst['table']}); mean coverage {part['covers'].mean():.1f} %."
            )
    return "\n".join(lines)


def run(workers: int = 1) -> str:
    """Judge the rows."""
    before = pd.read_csv(BEFORE).set_index(["table", "predicted"])["error"]
    found = []
    for row in rows():
        one, old = measured(row, workers), float(before.get((row.name, row.scheme), math.nan))
        found.append({**one, "before": old, "ratio": float(one["error"]) / old})
        print(" ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{v}," for k, v in found[-1].items()), flush=True)
    frame = pd.DataFrame(found)
    return page("process", summary=summary(frame), table=table_of(frame))
