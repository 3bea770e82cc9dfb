"""What users type, right and wrong: tables of every kind, and commands that read them, one after the other."""

from __future__ import annotations

import json
from pathlib import Path

DATA = Path(__file__).parents[1] / "importers" / "data"


def runs(head: str, *rows: str) -> str:
    """Return the text of a table."""
    return "\n".join([head, *rows]) + "\n"


def scaled(counts: tuple[int, ...], work: float = 8.0) -> list[str]:
    """Return rows of counts and their seconds."""
    return [f"{n},{work / n + 1 + 0.02 * n:.6g}" for n in counts]


def traced(*events: tuple[str, str, int, int]) -> str:
    """Return a trace of events: category, name, start and length."""
    keys = ("ph", "cat", "name", "ts", "dur")
    return json.dumps({"traceEvents": [dict(zip(keys, ("X", *event), strict=True)) for event in events]})


STEP = ("user_annotation", "ProfilerStep#1", 0, 90)
REDUCED = ("cpu_op", "c10d::allreduce_", 1, 9)
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
    "forecasts.csv": runs("workers,seconds,predicted", *(f"{n},{8 / n + 1:.6g},{8 / n + 1.1:.6g}" for n in COUNTS)),
    "few.csv": runs("workers,seconds", "1,9", "2,5"),
    "grown.csv": runs("gpus,global_batch,seconds", "8,64,0.83", "16,130,0.85", "32,250,0.86"),
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
    "stopped.csv": runs("workers,seconds", *scaled(COUNTS), "32,TIMEOUT"),
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
    "new.csv": runs("workers", "0", "many"),
    "log1.csv": runs("workers,io_s,seconds", *(f"{n},0.1,{s}" for n, s in ((1, 9), (1, 8), (2, 5)))),
    "log2.csv": runs("workers,io_s,seconds", *(f"{n},0.1,{s}" for n, s in ((4, 3), (4, 2.9), (2, "oom")))),
    "wrong.json": "{}",
    "stopped.json": '{"log_history": [{"loss": 2.5, "step": 10}]}',
    "train.log": " iteration 1/ 9 | elapsed time per iteration (ms): nan |\n"
    " iteration 2/ 9 | elapsed time per iteration (ms): 900.0 |\n"
    " iteration 3/ 9 | elapsed time per iteration (ms): 12.5 |\n",
    "cut.json": '{"results": [',
    "several.json": json.dumps(
        {"results": [{"command": c, "times": [1.0], "parameters": {"workers": "2"}} for c in ("train", "test")]}
    ),
    "device.json": traced(STEP, ("cpu_op", "aten::mm", 1, 9), ("cuda_runtime", "cudaLaunchKernel", 2, 3)),
    "collectives.json": traced(STEP, REDUCED, (*REDUCED[:2], 20, 9), ("user_annotation", "gloo:all_reduce", 3, 9)),
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
#: What users type, by the heading of their page. Models that later commands read are made by earlier ones.
COMMANDS: dict[str, list[list[str]]] = {
    "Reading a table": [
        ["check", "none.csv", *TIME], ["check", "run.csv", *TIME],
        ["check", "zeronodes.csv", "--time", "seconds", "--extrinsic", "workers,nodes"],
        ["check", "design.csv", *TIME, "--intrinsic", "layers", "--categorical", "net"], ["check", ".", *TIME],
        ["check", "latin.csv", *TIME], ["check", "bad.csv", *TIME], ["check", "worse.csv", *TIME],
        ["check", "bad.csv", *TIME, "--skip-bad-rows"], ["check", "mixed.csv", *TIME],
        ["check", "fixed.csv", *TIME, "--intrinsic", "batch"], ["check", "phases.csv", *TIME],
    ],
    "Runs that failed": [
        ["check", "allfailed.csv", *TIME], ["check", "failed.csv", *TIME, "--intrinsic", "batch"],
        ["check", "stopped.csv"],
        ["check", "failed.csv", *TIME, "--intrinsic", "batch", "--status", "state", "--group", "net"],
        ["check", "failed.csv", *TIME, "--intrinsic", "batch", "--status", "stat"],
        ["check", "failed.csv", *TIME, "--intrinsic", "batch", "--failed", "state=OMM"],
        ["check", "failed.csv", *TIME, "--intrinsic", "batch", "--failed", "OOM"],
        ["fit", "failed.csv", *FAILED, "--model", "batch*(a + p/workers)", "-o", "failed.json"],
        ["optimize", "failed.json", "--over", "workers=1,2,4", "--over", "batch=1:16"],
        ["optimize", "failed.json", "--over", "workers=1,2,4", "--over", "batch=1:16", "--price", "2/h"],
        ["optimize", "failed.json", "--over", "workers=1", "--over", "batch=8"],
        ["optimize", "failed.json", "--over", "workers=4096", "--over", "batch=4", "--trusted"],
        ["optimize", "failed.json", "--over", "workers=4", "--over", "batch=4", "--capacity", "time=80GB"],
        ["optimize", "failed.json", "--over", "workers=2,4", "--over", "batch=4", "--capacity", "time=0.1"],
    ],
    "Further quantities, and groups": [
        ["check", "memory.csv", *TIME, "--group", "net", "--also", "memory=gb:GB"],
        ["fit", "memory.csv", *TIME, *ALSO, "--group", "net", *FAMILY, "-o", "nets.json"],
        ["fit", "memory.csv", *TIME, "--also", "time=gb"], ["fit", "memory.csv", *TIME, "--also-model", "memory=auto"],
        ["fit", "memory.csv", *TIME, "--also", "m=peak"], ["fit", "memory.csv", *TIME, "--also", "workers=gb"],
        ["fit", "memory.csv", *TIME, "--also", "m=workers"],
        ["fit", "memory.csv", *TIME, "--also", "a=gb", "--also", "a=gb"],
        ["fit", "memory.csv", *TIME, "--also", "memory=gb", "--also-model", "memory=ring-allreduse"],
        ["fit", "runs.csv", "--quantity", "seconds:GB", "--extrinsic", "workers", *FAMILY, "-o", "gb.json"],
        ["optimize", "gb.json", "--over", "workers=1:8", "--minimize", "cost"],
        ["optimize", "gb.json", "--over", "workers=1:8", "--minimize", "time"],
        ["optimize", "gb.json", "--over", "workers=1:8", "--where", "total < 3"],
        ["optimize", "gb.json", "--over", "workers=1:8", "--deadline", "3"],
        ["optimize", "gb.json", "--over", "workers=1:8", "--steps", "1000"],
        ["optimize", "gb.json", "--over", "workers=1:8", "--price", "2/h"],
        ["optimize", "nets.json", "--over", "workers=1:8", "--where", "time < 4"],
        ["optimize", "nets.json", "--over", "workers=1:8", "--over", "net=d"],
        ["optimize", "nets.json", "--over", "workers=1:8", "--samples", "9M"],
        ["optimize", "nets.json", "--over", "workers=1:8", "--samples", "many"],
    ],
    "Which column is what": [
        ["check", "runs.csv", "--extrinsic", "workers"],
        ["check", "runs.csv", "--time", "secnds", "--extrinsic", "workers"], ["check", "runs.csv", "--time", "seconds"],
        ["check", "runs.csv", "--time", "seconds", "--extrinsic", "seconds"],
        ["check", "levels.csv", *TIME, "--intrinsic", "framework"],
        ["check", "runs.csv", *TIME, "--throughput", "workers"],
        ["check", "epochs.csv", "--time", "epoch_s", "--extrinsic", "workers"],
        ["check", "milliseconds.csv", "--time", "step_ms", "--extrinsic", "workers"],
        ["check", "runs.csv", "--throughput", "seconds", "--extrinsic", "workers"],
        ["check", "runs.csv", "--throughput", "seconds", "--extrinsic", "workers", "--work", "64"],
        ["check", "levels.csv", "--throughput", "seconds", "--categorical", "framework"],
        ["check", "runs.csv", "--throughput", "seconds", "--extrinsic", "workers", "--scaling", "strong"],
        ["check", "runs.csv", *TIME, "--work", "workers"], ["check", "runs.csv", *TIME, "--unit", "ms"],
        ["check", "runs.csv", "--quantity", "memory:GB", "--extrinsic", "workers"],
        ["check", "runs.csv", "--quantity", "seconds:GB", "--unit", "MB", "--extrinsic", "workers"],
        ["check", "runs.csv", "--quantity", "time", "--extrinsic", "workers"],
        ["check", "worse.csv", "--quantity", "seconds:GB", "--extrinsic", "workers"],
    ],
    "Filters and formulas": [
        ["check", "runs.csv", *TIME, "--where", "workers + 1"], ["check", "runs.csv", *TIME, "--where", "wrkers > 1"],
        ["check", "runs.csv", *TIME, "--let", "double"], ["check", "runs.csv", *TIME, "--let", "x=workers.y"],
        ["check", "runs.csv", *TIME, "--let", "x=log(workers-1)"],
    ],
    "Many files": [
        ["check", "log*.csv", *TIME, "--aggregate"], ["check", "log3.*", *TIME, "--aggregate"],
        ["check", "log3.*", *TIME, "--aggregate", "--skip-bad-rows"],
        ["check", "log*.csv", *TIME, "--where", "seconds < 9", "--aggregate"],
    ],
    "Settings": [
        ["--config", "bad.toml", "models"], ["--config", "broken.toml", "models"], ["fitt"],
    ],
    "Fitting": [
        ["fit", "runs.csv", *TIME, "-o", "auto.json"], ["fit", "runs.csv", *TIME, *FAMILY, "-o", "m.json"],
        ["fit", "runs.csv", *TIME, "--model", "a/workers + c", "-o", "formula.json"],
        ["fit", "two.csv", *TIME, "--intrinsic", "batch", "-o", "two.json"], ["fit", "sites.csv", *TIME],
        ["fit", "nodes.csv", "--time", "seconds", "--extrinsic", "workers,nodes", "--group", "net"],
        ["fit", "splits.csv", *SPLITS, "-o", "splits.json"], ["optimize", "splits.json", "--devices", "6"],
        ["fit", "two.csv", *TIME, "--intrinsic", "batch", "--model", "generic"],
        ["fit", "fixed.csv", *TIME, "--intrinsic", "batch", "-o", "fixed.json"],
        ["fit", "outlier.csv", "--time", "seconds", "--extrinsic", "ranks", "--repeat", "run"],
        ["fit", "bad.csv", *TIME, *FAMILY, "--skip-bad-rows"],
        ["fit", "boxes.csv", "--time", "seconds", "--extrinsic", "boxes"], ["fit", "few.csv", *TIME],
        ["fit", "few.csv", *TIME, "--model", "ernest"], ["fit", "few.csv", *TIME, "--model", "generic"],
        ["fit", "onescale.csv", *TIME, "--intrinsic", "batch"],
        ["fit", "onenode.csv", "--time", "seconds", "--extrinsic", "gpus", *LINK, "--hint", "devices per node=4"],
        ["fit", "twonodes.csv", "--time", "seconds", "--extrinsic", "gpus,nodes", *LINK],
        ["fit", "runs.csv", *TIME, "--where", "workers == 1"], ["fit", *LEVELS, "-o", "levels.json"],
        ["fit", "runs.csv", *TIME, "--model", "amdal"], ["fit", "runs.csv", *TIME, "--model", "a*wrkers + c"],
        ["fit", "runs.csv", *TIME, "--loss", "huberr"], ["fit", "runs.csv", *TIME, "--fix", "a=1"],
        ["fit", "runs.csv", *TIME, "--pool"], ["fit", "runs.csv", *TIME, "--resume"],
    ],
    "Phases": [
        ["fit", "phases.csv", *TIME, "--model", "s-sgd-none"],
        ["fit", "phases.csv", *TIME, "--model", "s-sgd-none", "--lambda", "cv"],
        ["fit", "badphases.csv", *TIME, "--model", "s-sgd-none"],
        ["fit", "fewphases.csv", *TIME, "--model", "s-sgd-none"],
    ],
    "Groups": [
        ["fit", "groups.csv", *TIME, "--group", "net,host", *FAMILY, "-o", "groups.json"],
        ["fit", "groups.csv", *TIME, "--group", "net,host", "--pool", "-o", "pooled.json"],
        ["fit", "cards.csv", *TIME, "--group", "net", "--pool"],
        ["fit", "lonely.csv", *TIME, "--intrinsic", "layers", "--group", "net", "--pool"],
        ["explain", "groups.json", "--group", "net9,x"],
        ["compare", "groups.json", "--at", "workers=8", "--at", "net=net1", "--at", "host=x"],
        ["compare", "groups.json", "--at", "workers=8", "--at", "net=net9"],
        ["report", "groups.json", "--only", "c", "-o", "page.html"],
        ["report", "groups.json", "--proposal", "-o", "page.html"],
        ["predict", "groups.json", "--at", "workers=8", "--at", "net=net9"],
    ],
    "Predicting": [
        ["predict", "auto.json", "--at", "workers=8,32,64,4096", "--json"],
        ["predict", "m.json", "--at", "workers=8,32,64,4096", "--json"],
        ["predict", "fixed.json", "--at", "workers=8", "--at", "batch=64", "--json"],
        ["predict", "fixed.json", "--at", "workers=8", "--json"],
        ["predict", "two.json", "--at", "workers=64", "--at", "batch=128", "--json"],
        ["predict", "pooled.json", "--at", "workers=8,64", "--json"], ["predict", "m.json"],
        ["predict", "m.json", "--at", "workers=1", "--at", "workers=2"], ["predict", "m.json", "--data", "new.csv"],
        ["predict", "levels.json", "--at", "workers=2", "--at", "framework=jax"],
        ["predict", "two.json", "--at", "workers=2"], ["predict", "runs.csv", "--at", "workers=2"],
        ["predict", "wrong.json", "--at", "workers=2"], ["predict", "m.json", "--at", "workers=2", "--plot", "x.bmp"],
    ],
    "Explaining": [
        ["explain", "auto.json", "--at", "workers=8", "--knee", "--scaling", "weak"],
        ["explain", "auto.json", "--at", "workers=8", "--versus", "workers=16", "--sobol"],
        ["explain", "two.json", "--at", "workers=8"],
        ["explain", "m.json", "--at", "workers=4", "--versus", "workers=4"], ["explain", "m.json", "--knee", "2"],
        ["fit", "onescale.csv", *TIME, "--intrinsic", "batch", "--model", "a*batch", "-o", "onescale.json"],
        ["explain", "onescale.json", "--knee"],
    ],
    "Validating": [
        ["validate", "runs.csv", *TIME, "--models", "amdahl,last-point", "--scheme", "extrapolate:workers"],
        ["validate", *LEVELS, "--models", "auto,generic,linear,svr,last-point", "--scheme", "extrapolate:workers"],
        ["validate", *LEVELS, "--models", "amdahl", "--scheme", "leave-group-out:framework"],
        ["validate", "onelevel.csv", *LEVELS[1:], "--models", "amdahl", "--scheme", "leave-group-out:framework"],
        ["validate", "onelevel.csv", *LEVELS[1:], "--models", "linear", "--scheme", "leave-one-out"],
        ["validate", "outlier.csv", "--time", "seconds", "--extrinsic", "ranks", "--repeat", "run",
         "--scheme", "extrapolate:run"], ["validate", "runs.csv", *TIME, "--models", "amdal"],
    ],
    "Transformers": [
        ["fit", "layouts.csv", *LAYOUT, "--model", "transformer", "-o", "layouts.json"],
        ["optimize", "layouts.json", "--devices", "8", "--over", "gbs=32"],
        ["optimize", "layouts.json", "--devices", "8"], ["optimize", "two.json", "--devices", "8"],
        ["optimize", "layouts.json", "--devices", "0", "--over", "gbs=32"],
        ["predict", "layouts.json", "--at", "dp=2", "--at", "tp=2", "--at", "gbs=32", "--tokens", "1B"],
        ["predict", "layouts.json", "--at", "dp=2", "--at", "tp=2", "--at", "gbs=32", "--peak", "h101"],
        ["fit", "contradicting.csv", *LAYOUT, "--model", "transformer"],
        ["fit", "zeros.csv", *LAYOUT, "--categorical", "zero", "--model", "transformer"],
        ["fit", "runs.csv", *TIME, "--model", "transformer"],
    ],
    "Advice": [
        ["suggest", "auto.json", "--target", "workers=64"],
        ["suggest", "auto.json", "--target", "workers=64", "--within", "some"],
        ["optimize", "two.json", "--over", "workers=1:64", "--over", "batch=8,16"],
        ["optimize", "two.json", "--over", "workers=1:9999", "--over", "batch=8:40", "--deadline", "0.9"],
        ["optimize", "formula.json", "--over", "workers=1:100"],
        ["optimize", "formula.json", "--over", "workers=1:8", "--minimize", "time/(workers-1)"],
        ["optimize", "two.json", "--over", "workers=1:8", "--over", "batch=8", "--deadline", "0.001"],
        ["optimize", "two.json", "--over", "workers=1:64", "--over", "batch=8,16", "--minimize", "time"],
        ["optimize", "two.json", "--over", "workers=1:8", "--over", "batch=8", "--price", "2.5/h"],
    ],
    "Importing": [
        ["import", "hyprfine", "x"], ["import", "hyperfine", "cut.json"], ["import", "hyperfine", "wrong.json"],
        ["import", "hyperfine", "several.json", "-o", "i.csv"],
        ["import", "hyperfine", "failures.json", "--set", "workers=8", "-o", "i.csv"],
        ["import", "hyperfine", "failures.json", "--from-name", "run_{n}.json", "-o", "i.csv"],
        ["import", "pytorch-profiler", "single.json", "ddp.json", "--set", "workers=8", "-o", "i.csv"],
        ["import", "pytorch-profiler", "single.json", "ddp.json", "-o", "i.csv"],
        ["import", "pytorch-profiler", "collectives.json", "device.json", "-o", "i.csv"],
        ["import", "extra-p", "runs.csv", "-o", "i.csv"],
        ["import", "training-log", "runs.csv", "-o", "i.csv"], ["import", "training-log", "train.log", "-o", "i.csv"],
        ["import", "trainer-state", "state.json", "--set", "gpus=8", "-o", "i.csv"],
        ["import", "trainer-state", "stopped.json", "-o", "i.csv"],
        ["import", "nccl-tests", "train.log", "-o", "i.csv"],
        ["import", "losses.events", "--set", "gpus=4", "-o", "i.csv"], ["import", "nsight", "runs.csv", "-o", "i.csv"],
        ["import", "nsight", "report.sqlite", "--set", "gpus=2", "-o", "i.csv"],
        ["ask", "--full", "losses.events", "--at", "gpus=16"], ["ask", "--full", "report.sqlite", "--at", "gpus=16"],
        ["ask", "--full", "train.log", "--at", "gpus=16"], ["ask", "--full", "grown.csv", "--at", "gpus=64"],
        ["check", "forecasts.csv", "--time", "seconds", "--extrinsic", "workers"],
    ],
}  # fmt: skip
#: Files of tests/importers/data, by the name that they have here.
IMPORTED = {
    "failures.json": "hyperfine_failures.json",
    "single.json": "single_workers1.pt.trace.json",
    "ddp.json": "ddp_workers2_rank0.pt.trace.json",
    "state.json": "trainer_state.json",
    "losses.events": "events.out.tfevents.losses",
    "report.sqlite": "nsight.sqlite",
}


def commands() -> list[tuple[str, ...]]:
    """Return the commands in their order."""
    return [tuple(command) for listed in COMMANDS.values() for command in listed]


def prepare(folder: Path) -> None:
    """Write the files that the commands read."""
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "latin.csv").write_bytes(b"workers,seconds\n1,\xe9\n")
    for name, original in IMPORTED.items():
        (folder / name).write_bytes((DATA / original).read_bytes())
