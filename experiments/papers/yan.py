"""Yan et al. 2015: the partitions and replicas of measured and of published transformers."""

from __future__ import annotations

import genperf as gp
from experiments.accuracy.partitioned_layouts import BEST_KNOWN, FITTED, LEARNERS, PAGE, RANDOM
from experiments.accuracy.scores import held_out_errors
from experiments.papers.claim import Outcome, of_cases, outcome
from experiments.shared import Table, tables

DATA = "data/partitioned.csv"
#: Most error of the family in the median draw, and most loss of time in the median and in nine of ten draws, %.
ERROR, LOSS, LOSS_OF_TEN = 12.0, 3.0, 10.0
SAMPLE = (
    f"two small transformers in every layout on 1, 2 and 4 emulated hosts, 45 each, and in 11 on 8 (`{DATA}`, "
    "[protocol](protocols/partitioned.md), written before the measurements; figures of "
    f"[results](results/{PAGE.name}))"
)


def _table(heading: str) -> Table:
    return next(t for t in tables(PAGE.read_text(encoding="utf-8")) if t.heading.startswith(heading))


def _pair(cell: str) -> tuple[float, float]:
    middle, nine_tenths = cell.split(", ")
    return float(middle), float(nine_tenths)


def predicted() -> Outcome:
    """Judge predictions of four fifths of the layouts from the other fifth."""
    table, shown = _table("Prediction"), [*FITTED, *LEARNERS]
    rows = [[row[0], *(f"{_pair(row[table.head.index(m)])[0]:.1f} %" for m in shown)] for row in table.rows]
    errors = [_pair(row[table.head.index("transformer")])[0] for row in table.rows]
    shown_errors = ", ".join(f"{error:.1f} %" for error in errors)
    return outcome(max(errors) <= ERROR, rows, ["mean error", *shown], errors=shown_errors)


def chosen() -> Outcome:
    """Judge the layouts that are chosen from a fifth of them."""
    table, shown = _table("Choice"), (*FITTED, RANDOM, BEST_KNOWN)
    rows = [[f"{row[1]}, fitted to {row[0]}", *(row[table.head.index(m)] for m in shown)] for row in table.rows]
    losses = [_pair(row[table.head.index("auto")]) for row in table.rows]
    near = [middle <= LOSS and nine_tenths <= LOSS_OF_TEN for middle, nine_tenths in losses]
    return of_cases(near, rows, ["slower than the best", *shown])


def published() -> Outcome:
    """Fit `adam` to published steps of GPT: an epoch of a global batch, on replicas of several devices."""
    frame = gp.datasets.frame("dlperf_gpt")
    parameters = 12 * frame["num_layers"] * frame["hidden_size"] ** 2
    frame = frame.assign(
        replicas=frame["data_parallel"],
        partitions=frame["tensor_parallel"] * frame["pipeline_parallel"],
        samples=frame["global_batch"],
        batch=frame["global_batch"] / frame["data_parallel"],
        parameters=parameters,
        work=6.0 * parameters * frame["seq_length"] * frame["global_batch"] / frame["data_parallel"],
        activations=2.0 * frame["seq_length"] * frame["hidden_size"],
    )
    intrinsic = "samples,batch,parameters,work,activations"
    table = gp.read_table(frame, time="step_time_s", extrinsic="replicas,partitions", intrinsic=intrinsic)
    # Of a step the samples of a data set are no work, unless they are mapped.
    error = held_out_errors(table.mapped({"samples": "samples"}), ["adam", "random-forest"], "kfold:5")
    holds = error["adam"] <= 15.0 and error["adam"] <= error["random-forest"] / 2
    return outcome(holds, configurations=len(table.medians()), error=error["adam"], forest=error["random-forest"])
