"""Bundled tables, or rows of them, each with a model and the configurations that it predicts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

import genperf as gp

#: Measured configurations of a table that are predicted, evenly spread over its rows.
CONFIGURATIONS = 24


@dataclass(frozen=True)
class Case:
    """A bundled table, or rows of it, and a model."""

    table: str
    model: str
    #: In the place of the table's own.
    roles: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        roles = " ".join(f"{key}={value}" for key, value in self.roles.items())
        return " ".join(filter(None, [self.table, self.model, roles, *(f"{k}={v}" for k, v in self.options.items())]))


_DLPERF = {"categorical": "", "group": "config,batch_per_device"}
_ONE = "framework == 'mxnet' and model == 'resnet50_v1.5' and precision == 'fp32'"
CASES = (
    Case("dlperf", "auto", {**_DLPERF, "where": "framework == 'mxnet' and nodes > 0"}),
    Case("dlperf", "auto", {**_DLPERF, "where": "framework == 'paddlepaddle'"}, {"pool": True}),
    Case("dlperf", "ring-allreduce", {**_DLPERF, "where": "framework == 'mxnet'"}),
    Case("dlperf", "auto", {"categorical": "", "where": _ONE}),
    Case("dlperf", "generic", {"where": "framework == 'mxnet'"}),
    Case("dlperf", "auto", {"where": "framework == 'mxnet' and model == 'bert_base'"}),
    Case(
        "dlperf",
        "auto",
        {"time": None, "throughput": "samples_per_s", "work": "global_batch", "categorical": "", "where": _ONE},
    ),
    Case("dlperf", "auto", {"time": None, "throughput": "samples_per_s", "categorical": "", "where": _ONE}),
    Case("dlperf", "topology", {"categorical": "", "where": _ONE}),
    Case("dlperf", "a*batch_per_device + b*log2(devices) + c*nodes", {"categorical": "", "where": _ONE}),
    Case("dlperf_gpt", "transformer"),
    Case("dlperf_gpt", "auto", {"categorical": "", "where": "implementation == 'megatron-lm'"}),
    Case("dlperf_insightface", "generic"),
    Case("dlperf_insightface", "auto", {"categorical": "", "group": "config,batch_per_device"}),
    Case("dlperf_widedeep", "generic"),
    Case(
        "dlperf_widedeep", "auto", {"categorical": "", "where": "test == 'batch_x2'", "intrinsic": "batch_per_device"}
    ),
    Case("libai", "transformer", {"categorical": ""}),
    Case("libai", "auto", {"categorical": "", "intrinsic": "micro_batch,global_batch"}),
    Case("bigscience", "transformer", {"categorical": ""}),
    Case("rubick", "generic", {"categorical": "", "where": "model == 'bert'", "intrinsic": "global_batch"}),
    Case("partitioned", "generic"),
    Case("partitioned", "transformer"),
    Case("pytorch_cpu", "generic"),
    Case("pytorch_cpu", "amdahl", {"intrinsic": "batch_per_worker", "where": "layers == 4"}),
    Case("pytorch_cpu", "auto", {"intrinsic": "batch_per_worker", "where": "layers == 4 and filters == 32"}),
    Case("allreduce_vs_server", "generic", {"where": "framework == 'mxnet'", "categorical": "architecture"}),
    Case("server_knee", "parameter-server"),
    Case("server_knee", "auto", {"where": "compute_s == 0.3", "intrinsic": ""}),
    Case("causes", "s-sgd", {"where": "framework == 'pytorch' and planted == 'none'", "categorical": ""}),
    Case("causes", "auto", {"where": "framework == 'mxnet'", "categorical": "", "group": "planted"}),
    Case("core_experiment", "generic", {"where": "framework == 'pytorch'", "categorical": ""}),
    Case("initialisation", "auto", {"where": "reading == 'whole'", "categorical": "", "intrinsic": ""}),
    Case("links", "generic"),
    Case("bigscience", "auto"),
    Case("dlperf_gpt", "auto"),
    Case("dlperf_widedeep", "auto"),
    Case("libai", "auto"),
    Case("partitioned", "auto"),
    Case("rubick", "auto", {"where": "model == 'bert'"}),
    Case("server_knee", "auto"),
    Case("whole_jobs", "auto"),
    Case("initialisation", "auto"),
    Case("overlap", "auto"),
    Case("causes", "auto"),
    Case("pytorch_cpu", "auto"),
    Case("overlap", "generic"),
    Case("single_worker", "generic", {"where": "framework == 'pytorch'", "categorical": ""}),
    Case("whole_jobs", "auto", {"where": "server == 'synchronous'", "categorical": "", "intrinsic": ""}),
    Case("whole_jobs", "usl", {"where": "server == 'synchronous'", "categorical": ""}),
)


def queries(table: gp.Table) -> Iterator[pd.DataFrame]:
    """Yield the configurations to predict: measured ones, scaled ones, and scaled ones that lack what follows."""
    names = [*table.group, *(f.name for f in table.factors)]
    rows = table.frame[names].drop_duplicates().reset_index(drop=True)
    rows = rows.iloc[np.unique(np.linspace(0, len(rows) - 1, CONFIGURATIONS).astype(int))].reset_index(drop=True)
    yield rows
    scales = [f for f in table.factors if f.role == "extrinsic" and f.distinct > 1]
    for factor in scales:
        scaled = rows.assign(**{factor.name: 4.0 * rows[factor.name].astype(float)})
        yield scaled
        yield scaled.drop(columns=[f.name for f in scales if f != factor])
