"""Yan et al. 2015: the partitions and replicas of measured and of published transformers."""

from __future__ import annotations

import genperf as gp
from experiments.accuracy.partitioned_layouts import BEST_KNOWN, FITTED, LEARNERS, PAGE, RANDOM
from experiments.papers.claim import MEASURED, PUBLISHED, Claim, untested, verdict
from experiments.results_page import Table, tables

DATA = "data/partitioned.csv"
#: Most error of the family in the median draw, and most loss of time in the median and in nine of ten draws, %.
ERROR, LOSS, LOSS_OF_TEN = 12.0, 3.0, 10.0
SAMPLE = (
    f"two small transformers in every layout on 1, 2 and 4 emulated hosts, 45 each, and in 11 on 8 (`{DATA}`, "
    "[protocol](protocols/partitioned.md), written before the measurements; figures of "
    f"[results](results/{PAGE.name}))"
)


def claims() -> list[Claim]:
    return [_predicted(), _chosen(), _published(), _elsewhere()]


def _table(heading: str) -> Table:
    return next(t for t in tables(PAGE.read_text(encoding="utf-8")) if t.heading.startswith(heading))


def _pair(cell: str) -> tuple[float, float]:
    middle, nine_tenths = cell.split(", ")
    return float(middle), float(nine_tenths)


def _predicted() -> Claim:
    """Judge predictions of four fifths of the layouts from the other fifth."""
    table, shown = _table("Prediction"), (*FITTED, *LEARNERS)
    rows = [[row[0], *(f"{_pair(row[table.head.index(m)])[0]:.1f} %" for m in shown)] for row in table.rows]
    errors = [_pair(row[table.head.index("transformer")])[0] for row in table.rows]
    return Claim(
        "The performance models estimate training time with high accuracy, on measured layouts of transformers",
        f"{SAMPLE}: the family `transformer` is fitted to a fifth of the layouts, drawn at random, and predicts the "
        f"others. Refuted if its mean error exceeds {ERROR:g} % in the median draw, for either transformer or both in "
        "one table.",
        verdict(max(errors) <= ERROR),
        f"mean errors in the median draw: {', '.join(f'{error:.1f} %' for error in errors)}.",
        MEASURED,
        DATA,
        ["mean error", *shown],
        rows,
    )


def _chosen() -> Claim:
    """Judge the layouts that are chosen from a fifth of them."""
    table, shown = _table("Choice"), (*FITTED, RANDOM, BEST_KNOWN)
    rows = [[f"{row[1]}, fitted to {row[0]}", *(row[table.head.index(m)] for m in shown)] for row in table.rows]
    losses = [_pair(row[table.head.index("auto")]) for row in table.rows]
    near = [middle <= LOSS and nine_tenths <= LOSS_OF_TEN for middle, nine_tenths in losses]
    return Claim(
        "The scalability optimizer chooses the best configurations, on measured layouts of transformers",
        f"{SAMPLE}: `auto` is fitted to a fifth of the layouts, and the least predicted time of all is chosen. Refuted "
        f"where the chosen layout is more than {LOSS:g} % slower than the best in the median of the draws, or more "
        f"than {LOSS_OF_TEN:g} % in nine of ten.",
        verdict(all(near)),
        f"within these limits in {sum(near)} of {len(near)} cases. Cells: by how many % it is slower, median and nine "
        "tenths of the draws.",
        MEASURED,
        DATA,
        ["slower than the best", *shown],
        rows,
    )


def _published() -> Claim:
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
    scores = gp.validate(table, ["adam", "random-forest"], "kfold:5", seed=0).models
    error = {score.model: float(score.mape) for score in scores}
    return Claim(
        "The performance models estimate training time with high accuracy, on published steps of GPT",
        f"{len(table.medians())} configurations of data, tensor and pipeline parallelism on 1 to 32 GPUs "
        "(`dlperf_gpt.csv`), 5-fold. A partition is one of the devices that hold a replica, a step an epoch of its "
        "global batch. Refuted if the mean error exceeds 15 %, or half of a random forest's.",
        verdict(error["adam"] <= 15.0 and error["adam"] <= error["random-forest"] / 2),
        f"mean error {error['adam']:.1f} %; random forest {error['random-forest']:.1f} %.",
        PUBLISHED,
        "data/dlperf_gpt.csv",
    )


def _elsewhere() -> Claim:
    return untested(
        "This holds on two benchmark applications of the authors' framework",
        "no measurements of it are at hand.",
        "measured layouts of transformers and published steps of GPT stand in their place.",
    )


QUICK = (_predicted, _chosen)
