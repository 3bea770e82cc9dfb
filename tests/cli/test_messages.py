"""Every message that a user can be given, printed once and held to the rules of plain words.

`GENPERF_MESSAGES=page.md python -m pytest tests/cli/test_messages.py` writes them as a page, to be read.
"""

from __future__ import annotations

import ast
import io
import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import genperf
from genperf.cli.main import run
from genperf.errors import Note

DATA = Path(__file__).parents[1] / "importers" / "data"
PACKAGE = Path(genperf.__file__).parent


def runs(head: str, *rows: str) -> str:
    return "\n".join([head, *rows]) + "\n"


def scaled(counts: tuple[int, ...], work: float = 8.0) -> list[str]:
    return [f"{n},{work / n + 1 + 0.02 * n:.6g}" for n in counts]


LINK = ("--hint", "bandwidth=10Gbit/s", "--hint", "parameters=25M")
COUNTS = (1, 2, 4, 8, 16)
#: Groups, and by how much each is slower.
NETS = (("a", 1), ("b", 9))
#: Phases of a step: input 0.1 s, forward 0.4 s, exchange 0.2·(1 − 1/n) s.
PHASES = [f"{n},{0.5 + 0.2 * (1 - 1 / n):.6g},0.1,0.4,{0.2 * (1 - 1 / n):.6g}" for n in COUNTS]
#: Groups that grow alike, and one that is measured less far.
GROUPS = [
    f"{host},net{i},{n},{(1 + i) * (8 / n + 1 + 0.05 * n):.6g}"
    for host in "xy"
    for i in range(4)
    for n in COUNTS
    if n <= 4 or i
]
#: Splits of a transformer: data-parallel ways, tensor ways, global batch.
SPLITS = [(d, t, b) for d in (1, 2, 4) for t in (1, 2, 4) for b in (16, 32)]
FILES = {
    "layouts.csv": runs("dp,tp,gbs,seconds", *(f"{d},{t},{b},{b / d / t + 0.5 * t + 0.2}" for d, t, b in SPLITS)),
    "contradicting.csv": runs("gpus,dp,tp,pp,gbs,seconds", "2,2,1,1,16,1", "4,2,2,1,16,2", "8,2,2,1,16,3"),
    "zeros.csv": runs("dp,tp,gbs,zero,seconds", *(f"{d},{t},{b},stage{t},{b / d}" for d, t, b in SPLITS)),
    "runs.csv": runs("workers,seconds", *scaled(COUNTS)),
    "two.csv": runs("workers,batch,seconds", *(f"{n},{b},{b * (0.1 + 1 / n)}" for n in COUNTS for b in (8, 16))),
    "few.csv": runs("workers,seconds", "1,9", "2,5"),
    "epochs.csv": runs("workers,epoch_s", *scaled(COUNTS)),
    "milliseconds.csv": runs("workers,step_ms", *scaled(COUNTS)),
    "fixed.csv": runs("workers,batch,seconds", *(f"{n},32,{8 / n + 1}" for n in COUNTS)),
    "onescale.csv": runs("workers,batch,seconds", *(f"4,{b},{b / 10}" for b in (8, 16, 32))),
    "bad.csv": runs("workers,seconds", *scaled(COUNTS), "32,fast", "64,-1", "128", '"0,5",1', "256,"),
    "worse.csv": runs("workers,seconds", "1,soon", "2,soon"),
    "allfailed.csv": runs("workers,seconds", "1,oom", "2,oom"),
    "failed.csv": runs(
        "net,workers,batch,seconds,state",
        *(f"a,{n},{b},{b * (0.1 + 1 / n)},done" for n in (1, 2, 4) for b in (1, 2, 4)),
        *(f"a,{n},8,OOM,out of memory" for n in (1, 2, 4)),
        "b,1,1,,killed",
    ),
    "empty.csv": "",
    "header.csv": "workers,seconds\n",
    "quote.csv": 'workers,seconds\n"1,2\n',
    "twice.csv": "workers,workers\n1,2\n",
    "latin.csv": "",
    "mixed.csv": runs("workers,xla,seconds", "1,0,9", "1,1,7", "2,0,5", "4,0,3"),
    "outlier.csv": runs(
        "ranks,run,seconds", *(f"{n},{r},{(8 / n + 1) * (1 + 0.001 * r)}" for n in COUNTS for r in range(5))
    ).replace("4,4,3.012", "4,4,90"),
    "phases.csv": runs("workers,seconds,io_s,forward_s,comm_s", *PHASES),
    "badphases.csv": runs(
        "workers,seconds,forward_s,comm_s", *(p.replace(",0.1,0.4,", ",0.4,") for p in PHASES)
    ).replace("0.4,0.15", "oom,0.15"),
    "groups.csv": runs("host,net,workers,seconds", *GROUPS),
    "levels.csv": runs(
        "framework,workers,seconds",
        *(f"{f},{n},{(8 / n + 1) * s:.6g}" for f, s in (("tf", 1), ("mx", 2)) for n in COUNTS),
    ),
    "boxes.csv": runs("boxes,seconds", *scaled(COUNTS)),
    "onenode.csv": runs("gpus,seconds", "1,0.30", "2,0.31", "4,0.32"),
    "twonodes.csv": runs("gpus,nodes,seconds", "1,1,0.30", "2,1,0.31", "4,1,0.32", "8,2,1.52"),
    "cards.csv": runs(
        "net,card,workers,seconds",
        *(
            f"net{i},card{i % 2},{n},{(1 + i) * (8 / n + 1 + 0.05 * n)}"
            for i in range(4)
            for n in COUNTS
            if n <= 4 or i
        ),
    ),
    "lonely.csv": runs(
        "net,layers,workers,seconds",
        *(f"{net},{b},{n},{b * (0.1 + 1 / n)}" for net, b in (("a", 8), ("a", 16), ("b", 8)) for n in COUNTS),
    ),
    "fewphases.csv": runs(
        "workers,seconds,forward_s,comm_s", "1,0.5,0.4,0", "2,0.6,0.4,", "4,0.65,0.4,", "8,0.675,0.4,"
    ),
    "onelevel.csv": runs("framework,workers,seconds", *(f"tf,{n},{8 / n + 1}" for n in COUNTS), "mx,1,18"),
    "new.csv": runs("workers", "0", "two"),
    "log1.csv": runs("workers,io_s,seconds", *(f"{n},0.1,{s}" for n, s in ((1, 9), (1, 8), (2, 5)))),
    "log2.csv": runs("workers,io_s,seconds", *(f"{n},0.1,{s}" for n, s in ((4, 3), (4, 2.9), (2, "oom")))),
    "wrong.json": "{}",
    "newer.json": '{"program": "genperf", "schema_version": 99}',
    "cut.json": '{"results": [',
    "several.json": json.dumps(
        {"results": [{"command": c, "times": [1.0], "parameters": {"workers": "2"}} for c in ("train", "test")]}
    ),
    "device.json": json.dumps(
        {
            "traceEvents": [
                {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "ts": 0, "dur": 90},
                {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 1, "dur": 9},
                {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 2, "dur": 3},
            ]
        }
    ),
    "collectives.json": json.dumps(
        {
            "traceEvents": [
                {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "ts": 0, "dur": 90},
                {"ph": "X", "cat": "cpu_op", "name": "c10d::allreduce_", "ts": 1, "dur": 9},
                {"ph": "X", "cat": "cpu_op", "name": "c10d::allreduce_", "ts": 20, "dur": 9},
                {"ph": "X", "cat": "user_annotation", "name": "gloo:all_reduce", "ts": 3, "dur": 9},
            ]
        }
    ),
    "memory.csv": runs(
        "net,workers,seconds,gb",
        *(f"{net},{n},{k * (8 / n + 1)},{20 / n + 4 if net == 'a' else ''}" for net, k in NETS for n in COUNTS),
        "c,1,9,3",
        *(f"c,{n},{8 / n + 2}," for n in COUNTS[1:]),
    ),
    "log3.tsv": runs("workers\tio_s\tseconds", "8\t0.1\tfast", "16\t0.1\t2"),
    "nodes.csv": runs(
        "net,workers,nodes,seconds",
        *(f"{net},{n},{max(1, n // 4)},{1 + 0.1 * n + 0.2 * (n > 4)}" for net in "ab" for n in COUNTS),
        *(f"c,{n},1,{1 + 0.1 * n}" for n in (1, 2, 4)),
    ),
    "zeronodes.csv": runs("workers,nodes,seconds", *(f"{n},{n // 4},{8 / n + 1}" for n in COUNTS)),
    "design.csv": runs(
        "net,layers,workers,seconds",
        *(f"{net},{b},{n},{b * (0.1 + 1 / n)}" for net, b in (("a", 8), ("a", 16), ("b", 8)) for n in COUNTS),
        "c,8,1,9",
    ),
    "sites.csv": runs("site,workers,seconds", "x,1,9", "x,2,5", "x,4,3", "y,8,4", "y,16,2.5"),
    "splits.csv": runs("dp,tp,seconds", "1,1,8", "2,1,4.2", "4,1,2.2", "1,2,4.5", "2,4,1.3"),
    "bad.toml": "[fitt]\n",
    "broken.toml": "time = \n",
}
TIME = ["--time", "seconds", "--extrinsic", "workers"]
LAYOUT = ["--time", "seconds", "--extrinsic", "dp,tp,gbs"]
FAMILY = ["--model", "amdahl"]
ALSO = ["--also", "memory=gb:GB", "--also-model", "memory=a/workers + c"]
FAILED = [*TIME, "--intrinsic", "batch", "--status", "state"]
SPLITS = ["--time", "seconds", "--extrinsic", "dp,tp", "--model", "a/(dp*tp) + c"]
LEVELS = ["levels.csv", *TIME, "--categorical", "framework"]


@dataclass(frozen=True)
class Case:
    """What a user typed, and the status that must follow."""

    arguments: list[str]
    status: int = 0


#: Headings of the page, each with its cases. Models that later cases read are made by earlier ones.
CASES: dict[str, list[Case]] = {
    "Reading a table": [
        Case(["check", "none.csv", *TIME], 1),
        Case(["check", "run.csv", *TIME], 1),
        Case(["check", "zeronodes.csv", "--time", "seconds", "--extrinsic", "workers,nodes"]),
        Case(["check", "design.csv", *TIME, "--intrinsic", "layers", "--categorical", "net"]),
        Case(["check", ".", *TIME], 1),
        Case(["check", "empty.csv", *TIME], 1),
        Case(["check", "header.csv", *TIME], 1),
        Case(["check", "quote.csv", *TIME], 1),
        Case(["check", "twice.csv", *TIME], 1),
        Case(["check", "latin.csv", *TIME], 1),
        Case(["check", "bad.csv", *TIME], 1),
        Case(["check", "worse.csv", *TIME], 1),
        Case(["check", "bad.csv", *TIME, "--skip-bad-rows"]),
        Case(["check", "mixed.csv", *TIME]),
        Case(["check", "fixed.csv", *TIME, "--intrinsic", "batch"]),
        Case(["check", "phases.csv", *TIME]),
        Case(["check", "runs.csv", *TIME, "--delimiter", "::"], 1),
    ],
    "Runs that failed": [
        Case(["check", "allfailed.csv", *TIME], 1),
        Case(["check", "failed.csv", *TIME, "--intrinsic", "batch"], 1),
        Case(["check", "failed.csv", *TIME, "--intrinsic", "batch", "--status", "state", "--group", "net"]),
        Case(["check", "failed.csv", *TIME, "--intrinsic", "batch", "--status", "stat"], 1),
        Case(["check", "failed.csv", *TIME, "--intrinsic", "batch", "--failed", "state=OMM"], 1),
        Case(["check", "failed.csv", *TIME, "--intrinsic", "batch", "--failed", "OOM"], 1),
        Case(["fit", "failed.csv", *FAILED, "--model", "batch*(a + p/workers)", "-o", "failed.json"]),
        Case(["optimize", "failed.json", "--over", "workers=1,2,4", "--over", "batch=1:16"]),
        Case(["optimize", "failed.json", "--over", "workers=1", "--over", "batch=8"], 1),
        Case(["optimize", "failed.json", "--over", "workers=1", "--over", "batch=4", "--fits", "1"], 1),
        Case(["optimize", "failed.json", "--over", "workers=4096", "--over", "batch=4", "--trusted"], 1),
        Case(["optimize", "failed.json", "--over", "workers=4", "--over", "batch=4", "--capacity", "memory=80"], 1),
        Case(["optimize", "failed.json", "--over", "workers=4", "--over", "batch=4", "--capacity", "batch=8"], 1),
    ],
    "Further quantities, and groups": [
        Case(["check", "memory.csv", *TIME, "--group", "net", "--also", "memory=gb:GB"]),
        Case(["fit", "memory.csv", *TIME, *ALSO, "--group", "net", *FAMILY, "-o", "nets.json"]),
        Case(["fit", "memory.csv", *TIME, "--also", "time=gb"], 1),
        Case(["fit", "memory.csv", *TIME, "--also-model", "memory=auto"], 1),
        Case(["optimize", "nets.json", "--over", "workers=1:8", "--where", "time < 4"]),
        Case(["optimize", "nets.json", "--over", "workers=1:8", "--over", "net=d"], 1),
        Case(["optimize", "nets.json", "--over", "workers=1:8", "--capacity", "memory=1GB"], 1),
        Case(["optimize", "nets.json", "--over", "workers=1:8", "--samples", "9M"], 1),
        Case(["optimize", "nets.json", "--over", "workers=1:8", "--samples", "many"], 2),
    ],
    "Which column is what": [
        Case(["check", "runs.csv", "--extrinsic", "workers"], 1),
        Case(["check", "runs.csv", "--time", "secnds", "--extrinsic", "workers"], 1),
        Case(["check", "runs.csv", "--time", "seconds"], 1),
        Case(["check", "runs.csv", "--time", "seconds", "--extrinsic", "seconds"], 1),
        Case(["check", "levels.csv", *TIME, "--intrinsic", "framework"], 1),
        Case(["check", "runs.csv", *TIME, "--weight", "none"], 1),
        Case(["check", "runs.csv", *TIME, "--throughput", "workers"], 1),
        Case(["check", "epochs.csv", "--time", "epoch_s", "--extrinsic", "workers"]),
        Case(["check", "milliseconds.csv", "--time", "step_ms", "--extrinsic", "workers"]),
        Case(["check", "runs.csv", "--throughput", "seconds", "--extrinsic", "workers"]),
        Case(["check", "runs.csv", "--throughput", "seconds", "--extrinsic", "workers", "--work", "64"]),
        Case(["check", "levels.csv", "--throughput", "seconds", "--categorical", "framework"], 1),
        Case(["check", "runs.csv", "--throughput", "seconds", "--extrinsic", "workers", "--scaling", "strong"], 1),
        Case(["check", "runs.csv", *TIME, "--work", "workers"], 1),
        Case(["check", "runs.csv", *TIME, "--unit", "msec"], 1),
        Case(["check", "runs.csv", *TIME, "--unit", "ms"]),
        Case(["check", "runs.csv", "--quantity", "memory:GB", "--extrinsic", "workers"], 1),
        Case(["check", "runs.csv", "--quantity", "seconds:GB", "--unit", "MB", "--extrinsic", "workers"], 1),
        Case(["check", "runs.csv", "--quantity", "time", "--extrinsic", "workers"], 1),
        Case(["check", "worse.csv", "--quantity", "seconds:GB", "--extrinsic", "workers"], 1),
    ],
    "Filters and formulas": [
        Case(["check", "runs.csv", *TIME, "--where", "workers > 99"], 1),
        Case(["check", "runs.csv", *TIME, "--where", "workers + 1"], 1),
        Case(["check", "runs.csv", *TIME, "--where", "wrkers > 1"], 1),
        Case(["check", "runs.csv", *TIME, "--let", "double"], 2),
        Case(["check", "runs.csv", *TIME, "--let", "workers=seconds"], 1),
        Case(["check", "runs.csv", *TIME, "--let", "x=workers.y"], 1),
        Case(["check", "runs.csv", *TIME, "--let", "x=log(workers-1)"], 1),
    ],
    "Many files": [
        Case(["check", "log*.csv", *TIME]),
        Case(["check", "log3.*", *TIME, "--aggregate"], 1),
        Case(["check", "log3.*", *TIME, "--aggregate", "--skip-bad-rows"]),
        Case(["check", "log*.csv", *TIME, "--where", "seconds < 9"], 1),
        Case(["check", "absent*.csv", *TIME], 1),
    ],
    "Settings": [
        Case(["--config", "none.toml", "models"], 1),
        Case(["--config", "bad.toml", "models"], 1),
        Case(["--config", "broken.toml", "models"], 1),
        Case(["fitt"], 2),
    ],
    "Fitting": [
        Case(["fit", "runs.csv", *TIME, "-o", "auto.json"]),
        Case(["fit", "runs.csv", *TIME, *FAMILY, "-o", "m.json"]),
        Case(["fit", "runs.csv", *TIME, "--model", "a/workers + c", "-o", "formula.json"]),
        Case(["fit", "two.csv", *TIME, "--intrinsic", "batch", "-o", "two.json"]),
        Case(["fit", "sites.csv", *TIME]),
        Case(["fit", "nodes.csv", "--time", "seconds", "--extrinsic", "workers,nodes", "--group", "net"]),
        Case(["fit", "splits.csv", *SPLITS, "-o", "splits.json"]),
        Case(["optimize", "splits.json", "--devices", "6"]),
        Case(["fit", "two.csv", *TIME, "--intrinsic", "batch", "--model", "generic"]),
        Case(["fit", "fixed.csv", *TIME, "--intrinsic", "batch", "-o", "fixed.json"]),
        Case(["fit", "outlier.csv", "--time", "seconds", "--extrinsic", "ranks", "--repeat", "run"]),
        Case(["fit", "bad.csv", *TIME, *FAMILY, "--skip-bad-rows"]),
        Case(["fit", "boxes.csv", "--time", "seconds", "--extrinsic", "boxes"]),
        Case(["fit", "few.csv", *TIME]),
        Case(["fit", "few.csv", *TIME, "--model", "ernest"], 1),
        Case(["fit", "few.csv", *TIME, "--model", "generic"], 1),
        Case(["fit", "onescale.csv", *TIME, "--intrinsic", "batch"]),
        Case(["fit", "onenode.csv", "--time", "seconds", "--extrinsic", "gpus", *LINK, "--hint", "devices per node=4"]),
        Case(["fit", "twonodes.csv", "--time", "seconds", "--extrinsic", "gpus,nodes", *LINK]),
        Case(["fit", "runs.csv", *TIME, "--where", "workers == 1"], 1),
        Case(["fit", *LEVELS, "-o", "levels.json"]),
        Case(["fit", "runs.csv", *TIME, "--model", "amdal"], 1),
        Case(["fit", "runs.csv", *TIME, "--model", "a*wrkers + c"], 1),
        Case(["fit", "runs.csv", *TIME, "--loss", "huberr"], 1),
        Case(["fit", "runs.csv", *TIME, "--lambda", "-1"], 1),
        Case(["fit", "runs.csv", *TIME, "--lambda", "much"], 2),
        Case(["fit", "runs.csv", *TIME, "--fix", "a=1"], 1),
        Case(["fit", "runs.csv", *TIME, *FAMILY, "--map", "workers=ranks"], 1),
        Case(["fit", "runs.csv", *TIME, "--pool"], 1),
        Case(["fit", "runs.csv", *TIME, "--resume"], 2),
        Case(["fit", "runs.csv", *TIME, *FAMILY, "-o", "no/folder/m.json"], 1),
    ],
    "Phases": [
        Case(["fit", "phases.csv", *TIME, "--model", "s-sgd-none"]),
        Case(["fit", "badphases.csv", *TIME, "--model", "s-sgd-none"]),
        Case(["fit", "fewphases.csv", *TIME, "--model", "s-sgd-none"]),
    ],
    "Groups": [
        Case(["fit", "groups.csv", *TIME, "--group", "net,host", *FAMILY, "-o", "groups.json"]),
        Case(["fit", "groups.csv", *TIME, "--group", "net,host", "--pool", "-o", "pooled.json"]),
        Case(["fit", "cards.csv", *TIME, "--group", "net", "--pool"]),
        Case(["fit", "lonely.csv", *TIME, "--intrinsic", "layers", "--group", "net", "--pool"]),
        Case(["explain", "groups.json"], 1),
        Case(["explain", "groups.json", "--group", "net9,x"], 1),
        Case(["predict", "groups.json", "--at", "workers=8", "--at", "net=net1"], 1),
    ],
    "Predicting": [
        Case(["predict", "auto.json", "--at", "workers=8,32,64,4096", "--json"]),
        Case(["predict", "m.json", "--at", "workers=8,32,64,4096", "--json"]),
        Case(["predict", "fixed.json", "--at", "workers=8", "--at", "batch=64", "--json"]),
        Case(["predict", "fixed.json", "--at", "workers=8", "--json"]),
        Case(["predict", "two.json", "--at", "workers=64", "--at", "batch=128", "--json"]),
        Case(["predict", "pooled.json", "--at", "workers=8,64", "--json"]),
        Case(["predict", "m.json"], 2),
        Case(["predict", "m.json", "--at", "workers"], 2),
        Case(["predict", "m.json", "--at", "wrkers=2"], 1),
        Case(["predict", "m.json", "--at", "workers=two"], 1),
        Case(["predict", "m.json", "--at", "workers=0"], 1),
        Case(["predict", "m.json", "--at", "workers=1", "--at", "workers=2"], 1),
        Case(["predict", "m.json", "--at", "workers=1", "--interval", "2"], 1),
        Case(["predict", "m.json", "--data", "new.csv"], 1),
        Case(["predict", "levels.json", "--at", "workers=2", "--at", "framework=jax"]),
        Case(["predict", "levels.json", "--at", "workers=2", "--at", "framework=TF"], 1),
        Case(["predict", "two.json", "--at", "workers=2"], 1),
        Case(["predict", "runs.csv", "--at", "workers=2"], 1),
        Case(["predict", "wrong.json", "--at", "workers=2"], 1),
        Case(["predict", "newer.json", "--at", "workers=2"], 1),
        Case(["predict", "none.json", "--at", "workers=2"], 1),
        Case(["predict", "m.json", "--at", "workers=2", "--plot", "x.bmp"], 2),
    ],
    "Explaining": [
        Case(["explain", "auto.json", "--at", "workers=8", "--knee", "--scaling", "weak"]),
        Case(["explain", "auto.json", "--at", "workers=8", "--versus", "workers=16", "--sobol"]),
        Case(["explain", "two.json", "--at", "workers=8"]),
        Case(["explain", "m.json", "--at", "workers=4", "--versus", "workers=4"], 1),
        Case(["explain", "m.json", "--knee", "2"], 1),
        Case(["explain", "m.json", "--at", "nodes=4"], 1),
    ],
    "Validating": [
        Case(["validate", "runs.csv", *TIME, "--models", "amdahl,last-point", "--scheme", "extrapolate:workers"]),
        Case(["validate", *LEVELS, "--models", "all", "--scheme", "kfold:2"]),
        Case(["validate", *LEVELS, "--models", "amdahl", "--scheme", "leave-group-out:framework"], 1),
        Case(
            ["validate", "onelevel.csv", *LEVELS[1:], "--models", "amdahl", "--scheme", "leave-group-out:framework"], 1
        ),
        Case(["validate", "onelevel.csv", *LEVELS[1:], "--models", "linear", "--scheme", "leave-one-out"]),
        Case(["validate", "runs.csv", *TIME, "--scheme", "kfld:5"], 1),
        Case(["validate", "runs.csv", *TIME, "--models", "amdal"], 1),
    ],
    "Transformers": [
        Case(["fit", "layouts.csv", *LAYOUT, "--model", "transformer", "-o", "layouts.json"]),
        Case(["optimize", "layouts.json", "--devices", "8", "--over", "gbs=32"]),
        Case(["optimize", "layouts.json", "--devices", "8"], 1),
        Case(["optimize", "two.json", "--devices", "8"], 1),
        Case(["optimize", "two.json"], 2),
        Case(["predict", "layouts.json", "--at", "dp=2", "--at", "tp=2", "--at", "gbs=32", "--tokens", "1B"], 1),
        Case(["predict", "layouts.json", "--at", "dp=2", "--at", "tp=2", "--at", "gbs=32", "--peak", "h101"], 1),
        Case(["fit", "contradicting.csv", *LAYOUT, "--model", "transformer"], 1),
        Case(["fit", "zeros.csv", *LAYOUT, "--categorical", "zero", "--model", "transformer"], 1),
        Case(["fit", "runs.csv", *TIME, "--model", "transformer"], 1),
    ],
    "Advice": [
        Case(["suggest", "auto.json", "--target", "workers=64"]),
        Case(["suggest", "auto.json", "--target", "workers=64", "--within", "some"], 2),
        Case(["optimize", "two.json", "--over", "workers=1:64", "--over", "batch=8,16"]),
        Case(["optimize", "two.json", "--over", "workers=1:9999", "--over", "batch=8:40", "--deadline", "0.9"], 1),
        Case(["optimize", "formula.json", "--over", "workers=1:100"]),
        Case(["optimize", "formula.json", "--over", "workers=1:8", "--minimize", "time/(workers-1)"]),
        Case(["optimize", "formula.json", "--over", "workers=0:8"], 1),
        Case(["optimize", "two.json", "--over", "workers=1:8", "--over", "batch=8", "--where", "workers > 99"], 1),
        Case(["optimize", "two.json", "--over", "workers=1:8", "--over", "batch=8", "--deadline", "0.001"], 1),
        Case(["optimize", "two.json", "--over", "workers"], 2),
        Case(["optimize", "two.json", "--over", "workers=1:64", "--over", "batch=8,16", "--minimize", "time"]),
    ],
    "Importing": [
        Case(["import", "hyprfine", "x"], 1),
        Case(["import", "hyperfine", "cut.json"], 1),
        Case(["import", "hyperfine", "wrong.json"], 1),
        Case(["import", "hyperfine", "several.json", "-o", "i.csv"]),
        Case(["import", "hyperfine", "failures.json", "--set", "workers=8", "-o", "i.csv"]),
        Case(["import", "hyperfine", "failures.json", "--from-name", "run_{n}.json", "-o", "i.csv"], 1),
        Case(["import", "pytorch-profiler", "single.json", "ddp.json", "--set", "workers=8", "-o", "i.csv"]),
        Case(["import", "pytorch-profiler", "single.json", "ddp.json", "-o", "i.csv"]),
        Case(["import", "pytorch-profiler", "collectives.json", "device.json", "-o", "i.csv"]),
        Case(["import", "mlperf", "blocks.txt", "-o", "i.csv"]),
        Case(["import", "extra-p", "runs.csv", "-o", "i.csv"], 1),
    ],
}
#: Files of tests/importers/data, by the name that they have here.
IMPORTED = {
    "failures.json": "hyperfine_failures.json",
    "single.json": "single_workers1.pt.trace.json",
    "ddp.json": "ddp_workers2_rank0.pt.trace.json",
    "blocks.txt": "mlperf_blocks.txt",
}


@dataclass
class Catalogue:
    """What the cases printed.

    Attributes
    ----------
    pages : list of (heading, command, status, lines)
    kinds : set of str
        Of the notes that were made.
    """

    pages: list[tuple[str, str, int, list[str]]] = field(default_factory=list)
    kinds: set[str] = field(default_factory=set)

    def lines(self) -> Iterator[str]:
        for *_, lines in self.pages:
            yield from lines

    def page(self) -> str:
        parts = ["# The messages of genperf\n"]
        heading = ""
        for title, command, status, lines in self.pages:
            if title != heading:
                parts.append(f"\n## {title}\n")
                heading = title
            parts.append(
                "\n".join([f"\n    $ genperf {command}    (status {status})", *(f"    {line}" for line in lines)])
            )
        return "\n".join(parts) + "\n"


def prose(out: str) -> list[str]:
    """Return the sentences of a result: the texts of a JSON result, or else the lines that are no row of a table."""
    if out.startswith("{"):
        return list(dict.fromkeys(row["reason"] for row in json.loads(out)["predictions"]))
    return [line for line in out.splitlines() if line.strip() and "  " not in line.strip()]


def printed(arguments: list[str]) -> tuple[int, str, str]:
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = out, err
    try:
        status = run(arguments)
        out.flush()
    finally:
        sys.stdout, sys.stderr = before
    return status, out.buffer.getvalue().decode(), err.getvalue()  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Catalogue:
    folder = tmp_path_factory.mktemp("messages")
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "latin.csv").write_bytes(b"workers,seconds\n1,\xe9\n")
    for name, original in IMPORTED.items():
        (folder / name).write_bytes((DATA / original).read_bytes())
    notes: list[Note] = []
    collected = Catalogue()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("COLUMNS", "100")
        original = Note.__init__

        def recorded(self: Note, text: str, kind: str = "note") -> None:
            original(self, text, kind)
            notes.append(self)

        patch.setattr(Note, "__init__", recorded)
        for heading, cases in CASES.items():
            for case in cases:
                notes.clear()
                status, out, err = printed(case.arguments)
                lines = [*prose(out), *err.splitlines()]
                # A report shows these of a fit, and so does the result in Python.
                unprinted = dict.fromkeys(note.text for note in notes if note.text not in err and note.text not in out)
                if case.arguments[0] == "fit":
                    lines += [f"note, not printed: {text}" for text in unprinted]
                collected.kinds |= {note.kind for note in notes}
                command = " ".join(f"'{a}'" if " " in a or "*" in a else a for a in case.arguments)
                collected.pages.append((heading, command, status, lines))
    if path := os.environ.get("GENPERF_MESSAGES"):
        Path(path).write_text(collected.page(), encoding="utf-8")
    return collected


def listed(lines: list[str]) -> str:
    return "\n".join(["", *lines])


def test_every_case_ends_as_expected(catalogue: Catalogue) -> None:
    expected = [case.status for cases in CASES.values() for case in cases]
    ends = [f"{status}: {command}" for _, command, status, _ in catalogue.pages]
    others = [end for end, status in zip(ends, expected, strict=True) if not end.startswith(f"{status}:")]
    assert not others, listed(others)
    # A refusal has a reason.
    assert [command for _, command, status, lines in catalogue.pages if status and not lines] == []


#: What no message may have, and why.
FORBIDDEN = {
    r"Traceback|Error\(": "a fault of the program",
    r"\w \(\d+\)(?=[,;:]| \d|$)": "the number of a prior's setting",
    r"λ|\bln\b|kriging|posterior|\bprior\b": "a word of the method",
    r"(?<![\d.,:=*/^-])\b1 (?:workers|rows|configurations|doublings|groups|nodes|gpus|expressions|files|points|columns"
    r"|values|structures|cells|levels|scales|constants|terms)\b": "one of many",
    r"\s$": "a stray space at the end",
    r"\S  +\S": "two spaces inside a sentence",
    r" [,;.](?: |$)|,,|;;": "stray punctuation",
}


#: Messages that break a rule, and what they wait for.
ACCEPTED = {
    r"doublings? outside the": "verdicts that count the distance once",
    r"the largest term changes from": "names of members without settings",
    r"^error: λ must be": "the name of the option --lambda",
    r"the best erred by": "counts with their nouns",
    r"1 configurations have no finite": "counts with their nouns",
    r"is not in the training part": "levels that are listed once",
    r"did you mean 'amdahl'\?; one of": "models that are listed only where none is near",
}


def broken(lines: list[str]) -> list[str]:
    return [line for line in lines if not any(re.search(pattern, line) for pattern in ACCEPTED)]


@pytest.mark.parametrize("pattern", FORBIDDEN)
def test_no_message_has(catalogue: Catalogue, pattern: str) -> None:
    lines = broken([line for line in catalogue.lines() if re.search(pattern, line)])
    assert not lines, f"{FORBIDDEN[pattern]}{listed(lines)}"


def repeats_itself(line: str) -> bool:
    """Tell whether a clause, or four words in a row, stand twice in a message; items of a list may be alike."""
    if line.startswith(("averaged: ", "time: the average of ")):
        return False
    clauses = [clause.strip().lower() for clause in re.split(r"[;.:] ", line)]
    words = re.findall(r"[\w'-]+", line.lower())
    runs = [tuple(words[i : i + 4]) for i in range(len(words) - 3)]
    texts = [run for run in runs if sum(word.isalpha() for word in run) >= 3]
    return len(set(clauses)) < len(clauses) or len(set(texts)) < len(texts)


def test_a_repeated_clause_is_recognised() -> None:
    assert repeats_itself("workers=64 is 2 doublings outside the measured 1 to 16; 2 doublings outside the data")
    assert repeats_itself("the interval is wide; the interval is wide")
    assert not repeats_itself("workers=64 is 2 doublings outside the measured 1 to 16; the interval is wide")


def test_no_message_says_a_thing_twice(catalogue: Catalogue) -> None:
    lines = broken([line for line in catalogue.lines() if repeats_itself(line)])
    assert not lines, listed(lines)


def test_a_message_fits_on_two_lines_of_a_screen(catalogue: Catalogue) -> None:
    lines = broken([line for line in catalogue.lines() if len(line) > 200])
    assert not lines, listed(lines)


#: Notes that need more configurations than a quick test has: the tests of these rooms make them.
OF_LARGE_TABLES = {"anchors", "not_all_looked_at"}


def test_every_kind_of_note_is_in_the_catalogue(catalogue: Catalogue) -> None:
    kinds = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Note":
                given = [*node.args[1:], *(k.value for k in node.keywords if k.arg == "kind")]
                kinds |= {a.value for a in given if isinstance(a, ast.Constant)} or ({"note"} if not given else set())
    missing = sorted(kinds - catalogue.kinds - OF_LARGE_TABLES)
    assert not missing, listed(missing)
