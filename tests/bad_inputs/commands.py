"""What users type, right and wrong: tables of every kind, and the commands of `commands.txt` that read them."""

from __future__ import annotations

import json
import shlex
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
    "hidden.csv": runs(
        "workers,seconds,forward_s,backward_s,comm_s",
        *(f"{n},0.7,0.4,0.3,{0.2 * (1 - 1 / n):.6g}" for n in COUNTS),
    ),
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
    "onerun.csv": "device,gpus,tokens_per_s\nh100,8,76800\n",
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
#: Files of tests/importers/data, by the name that they have here.
IMPORTED = {
    "failures.json": "hyperfine_failures.json",
    "single.json": "single_workers1.pt.trace.json",
    "ddp.json": "ddp_workers2_rank0.pt.trace.json",
    "state.json": "trainer_state.json",
    "losses.events": "events.out.tfevents.losses",
    "report.sqlite": "nsight.sqlite",
}


def typed(name: str) -> list[str]:
    """Return the commands of a file beside this one, as they are typed; `\\x1b` stands for an escape."""
    text = Path(__file__).with_name(name).read_text(encoding="utf-8").replace(r"\x1b", "\x1b")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def commands() -> list[tuple[str, ...]]:
    """Return the commands in their order: a model that one reads was made by an earlier one."""
    return [tuple(shlex.split(line)) for line in typed("commands.txt")]


def prepare(folder: Path) -> None:
    """Write the files that the commands read."""
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "latin.csv").write_bytes(b"workers,seconds\n1,\xe9\n")
    for name, original in IMPORTED.items():
        (folder / name).write_bytes((DATA / original).read_bytes())
