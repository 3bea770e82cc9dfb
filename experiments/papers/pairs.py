"""Pairs of published runs whose difference is known: compiled kernels compute faster, a better loader reads faster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import genperf as gp
from genperf.panel import Table

#: What a term's seconds are spent on.
CAUSES: dict[str, tuple[str, ...]] = {
    "computation": ("forward", "backward", "update"),
    "input": ("input", "transfer"),
    "exchange": ("inside nodes", "between nodes", "latency", "ring"),
    "no overlap": ("hidden by overlap",),
}


@dataclass(frozen=True)
class Pair:
    """Two configurations of `dlperf.csv` that differ in one thing."""

    #: What the difference changes, by its label: XLA compiles the computation; DALI and more loader workers prepare
    #: the input.
    cause: str
    #: `slower`, `quicker`: The configurations.
    slower: str
    quicker: str
    #: Per device, as the slower one was run.
    batch: int


_TF1, _TF2 = "ngc-tensorflow1-1.15.2-", "official-tensorflow2-2.3.0-bert_base-"
_PADDLE, _TORCH = (
    "official-paddlepaddle-1.8.3.post107-resnet50_v1.5-fp16-",
    "official-pytorch-1.6.0-resnet50_v1.5-fp32-",
)
#: All pairs of that kind with at least four device counts whose times differ by more than 5 %.
PAIRS = (
    Pair("computation", f"{_TF1}bert_base-fp16", f"{_TF1}bert_base-fp16-xla", 64),
    Pair("computation", f"{_TF1}resnet50_v1.5-fp16-dali-staticls", f"{_TF1}resnet50_v1.5-fp16-xla-dali-staticls", 224),
    Pair("computation", f"{_TF2}fp16", f"{_TF2}fp16-xla", 64),
    Pair("computation", f"{_TF2}fp32", f"{_TF2}fp32-xla", 32),
    Pair("input", f"{_PADDLE}dynamicls", f"{_PADDLE}dali-dynamicls", 224),
    Pair("input", f"{_TORCH}workers8", f"{_TORCH}dali-workers8", 128),
    Pair("input", f"{_TORCH}workers8", f"{_TORCH}workers48", 128),
)


def runs() -> Table:
    """Return the published runs of the pairs, a group for each configuration."""
    configs = {name for pair in PAIRS for name in (pair.slower, pair.quicker)}
    table = gp.datasets.load("dlperf", categorical="", group="config", where="data != 'synthetic'")
    return table.take(table.frame["config"].isin(configs).to_numpy())


def cause_of(changes: Mapping[str, float]) -> str:
    """Return the cause whose seconds change most."""
    seconds = {cause: sum(changes.get(term, 0.0) for term in terms) for cause, terms in CAUSES.items()}
    return max(seconds, key=lambda cause: abs(seconds[cause]))
