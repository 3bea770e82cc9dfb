"""The cases of `sweep.py`: odd names, options and places on every command, and models of every kind far away.

What is odd inside a table, a model file or genperf.toml is changed at random instead: `targets.py`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from odd import NAMES, NUMBERS, PLACES

COUNTS = (1, 2, 4, 8, 16)
ROLES = ("--time", "seconds", "--extrinsic", "workers")
BATCH = (*ROLES, "--intrinsic", "batch")
NET = (*BATCH, "--categorical", "net")
REPORT = ("-q", "-o", "page.html")
#: Commands by name, with the inputs of `prepare`.
WRITES = (
    "fit IN/s.csv --time seconds --extrinsic workers --model amdahl -q",
    "predict IN/s.json --at workers=64",
    "report IN/s.json -q",
    "report IN/mem.json -q",
    "validate IN/s.csv --time seconds --extrinsic workers --models amdahl",
    "suggest IN/s.json --target workers=64",
    "optimize IN/s.json --over workers=1:8",
    "compare IN/g.json --at workers=64",
    "import hyperfine IN/h.json",
)
OPTIONS = {
    "import": ("hyperfine IN/h.json",),
    "ask": ("IN/r.csv --at workers=64",),
    "check": ("IN/r.csv --time seconds --extrinsic workers",),
    "fit": ("IN/s.csv --time seconds --extrinsic workers --model amdahl",),
    "predict": ("IN/t.json --at workers=64 --at batch=32 --at net=vgg", "IN/g.json --at workers=64"),
    "compare": ("IN/t.json --over net --at workers=64 --at batch=32", "IN/g.json --at workers=64"),
    "validate": ("IN/s.csv --time seconds --extrinsic workers --models amdahl",),
    "explain": ("IN/t.json", "IN/s.json", "IN/mem.json"),
    "suggest": ("IN/t.json --target workers=64", "IN/s.json --target workers=64"),
    "optimize": ("IN/t.json --over workers=1:8", "IN/mem.json --over workers=1:8"),
    "report": tuple(f"IN/{kind}.json -q -o page.html" for kind in ("t", "g", "mem")),
    "verify": ("IN/s.csv IN/s.csv", "IN/s.json IN/s.csv"),
    "list": ("models",),
}
#: What a factor is asked at, by the model's name; `fits` makes the models.
KINDS = {
    "t": ("batch=32", "net=vgg"),
    "s": (),
    "g": ("net=vgg",),
    "f": ("batch=32",),
    "mem": ("batch=32",),
    "many": tuple(f"f{k}=1" for k in range(12)),
}


@dataclass
class Case:
    """Commands in an empty folder."""

    name: str
    #: Arguments; `IN` stands for the folder of the inputs.
    runs: list[list[str]]
    #: What stands in the folder.
    files: dict[str, str | bytes] = field(default_factory=dict)
    #: Files that may be there at the end, and the pages among these.
    made: set[str] = field(default_factory=set)
    pages: list[str] = field(default_factory=list)
    #: A standard stream that is closed.
    close: int | None = None
    #: Whether files of any name may be left: places that are odd are written to.
    anything: bool = False


def quoted(cell: object) -> str:
    """Return a cell as CSV has it."""
    return '"' + str(cell).replace('"', '""') + '"'


def table(head: list[str], rows: list[tuple[object, ...]]) -> str:
    """Return a table as CSV."""
    return "".join(",".join(map(quoted, row)) + "\n" for row in [tuple(head), *rows])


def measured(level: str = "vgg") -> list[tuple[object, ...]]:
    """Return runs of two levels and two batches."""
    return [
        (n, b, f, s * (8 / n + 1) * b / 32) for f, s in ((level, 1), ("other", 2)) for n in COUNTS for b in (32, 64)
    ]


def runs_of(
    workers: str = "workers", batch: str = "batch", level: str = "net", one: str = "vgg", time: str = "seconds"
) -> str:
    """Return runs of two levels and two batches with names of its columns."""
    return table([workers, batch, level, time], measured(one))


def each(option: str, pairs: list[str] | tuple[str, ...]) -> list[str]:
    """Return an option with each value."""
    return [word for pair in pairs for word in (option, pair)]


# --- the cases -------------------------------------------------------------------------------------------------------
def everything(model: str, fixed: list[str], level: str | None = None) -> list[list[str]]:
    """Return a run of every command that reads a model; `fixed` are the values of its factors by name."""
    at = each("--at", fixed)
    return [
        ["predict", model, *at],
        ["predict", model, *at, "--json", "-o", "p.csv"],
        ["explain", model],
        ["suggest", model, *each("--target", fixed)],
        ["optimize", model, *each("--over", fixed)],
        ["compare", model, *(["--over", level, *at[:-2]] if level else at)],
        ["report", model, *REPORT, "--title", "t"],
    ]


def names() -> Iterator[Case]:
    """Names of columns, levels, groups, quantities and headings."""
    made, page = {"m.json", "p.csv", "page.html", "v.csv"}, ["page.html"]
    report = ["report", "m.json", *REPORT]
    for number, name in enumerate(NAMES):
        short = f"{name!r:.40}"
        workers, batch = (name, "batch") if number % 2 else ("workers", name)
        content, at = runs_of(workers, batch), [f"{workers}=64", f"{batch}=32", "net=vgg"]
        roles = ["--time", "seconds", "--extrinsic", workers, "--intrinsic", batch, "--categorical", "net"]
        checked = [["check", "r.csv", *roles], ["ask", "r.csv", "--at", at[0]]]
        yield Case(f"factor {short} check", checked, {"r.csv": content})
        grouped = [*BATCH, "--group"]
        usual = ["workers=64", "batch=32"]
        for label, model, text, options, fixed, level in (
            (f"factor {short} generic", "generic", content, roles, at, "net"),
            (f"factor {short} auto", "auto", content, roles, at, "net"),
            (f"level {short}", "auto", runs_of(one=name), NET, [*usual, f"net={name}"], "net"),
            (f"group {short}", "amdahl", runs_of(level=name), [*grouped, name], usual, None),
        ):
            fit = ["fit", "r.csv", *options, "--model", model, "-q", "-o", "m.json"]
            for run in everything("m.json", fixed, level):
                yield Case(f"{label} {run[0]}", [fit, run], {"r.csv": text}, made, page)
        fit = ["fit", "r.csv", *grouped, "net", "--model", "amdahl", "-q", "-o", "m.json"]
        for run in ([*report, "--only", name], ["compare", "m.json", *each("--at", usual)]):
            yield Case(f"key {short} {run[0]}", [fit, run], {"r.csv": runs_of(one=name)}, made, page)
        fit = ["fit", "r.csv", "--time", name, *NET[2:], "--model", "generic", "-q", "-o", "m.json"]
        answers = everything("m.json", [*usual, "net=vgg"], "net")
        yield Case(f"target {short}", [fit, *answers], {"r.csv": runs_of(time=name)}, made, page)
        plain = {"r.csv": runs_of()}
        fit = ["fit", "r.csv", "--quantity", f"{name}=seconds", *NET[2:], "-q", "-o", "m.json"]
        yield Case(f"quantity {short}", [fit, report], plain, made, page)
        titled = ["report", "r.csv", *NET, "--model", "generic", *REPORT, "--title", name]
        yield Case(f"title {short}", [titled], plain, made, page)
        validate = ["validate", "r.csv", *roles, "--models", "amdahl,last-point", "-o", "v.csv"]
        yield Case(f"validate {short}", [validate], {"r.csv": content}, made)
        fit = ["fit", "r.csv", *ROLES, "--let", f"{name}=workers*batch", "-o", "m.json", "--model", "amdahl"]
        yield Case(f"let {short}", [fit, report], plain, made, page)
        fit = ["fit", "r.csv", *ROLES, "--model", f"k + `{name}`*workers", "-o", "m.json"]
        yield Case(f"formula {short}", [fit], plain, made)
        yield Case(f"file {short}", [["check", name, *ROLES]], {}, made)
        for kind, text in imports(name).items():
            imported = [["import", kind, "f", "-o", "r.csv"], ["check", "r.csv", "--time", "seconds"]]
            yield Case(f"import {kind} {short}", imported, {"f": text}, {"r.csv"})


def imports(name: str) -> dict[str, str]:
    """Return files of other tools that hold a name."""
    event = {"name": name, "ph": "X", "ts": 1, "dur": 5, "cat": name, "pid": 1, "tid": 1, "args": {name: name}}
    steps = [{**event, "name": f"ProfilerStep#{k}", "ts": 10 * k, "cat": "user_annotation"} for k in range(4)]
    logged = (("global_batch_size", 32), (name, 1), ("tracked_stats", {"throughput": 5.0, name: 1}))
    lines = [
        {"namespace": "", "time_ms": k, "event_type": "INTERVAL", "key": key, "value": value}
        | {"metadata": {"file": name}}
        for k, (key, value) in enumerate(logged)
    ]
    results = [{"command": name, "times": [1.0, 2.0], "parameters": {name: "4", "n": name}}]
    return {
        "extra-p": f"PARAMETER {name}\nPOINTS (1) (2) (4)\nREGION {name}\nMETRIC {name}\nDATA 1\nDATA 2\nDATA 3\n",
        "hyperfine": json.dumps({"results": results}),
        "mlperf": "".join(f":::MLLOG {json.dumps(line)}\n" for line in lines),
        "pytorch-profiler": json.dumps({"traceEvents": [event, *steps], "distributedInfo": {"world_size": name}}),
    }


def options() -> Iterator[Case]:
    """Every option of every command with odd values, on models of every kind."""
    import click

    from genperf.cli.commands import COMMANDS, command_named

    for name in COMMANDS:
        for parameter in command_named(name).params:
            if not isinstance(parameter, click.Option) or parameter.is_flag:
                continue
            option = max(parameter.opts, key=len)
            for begin in map(str.split, OPTIONS.get(name, ())):
                for value in NUMBERS:
                    label = f"option {name} {begin[:1]} {option} {value!r:.30}"
                    yield Case(label, [[name, *begin, option, value]], anything=True)
    for name in COMMANDS:
        for value in (*NUMBERS, *NAMES[:20]):
            words = [name, *(["--seed"] if name == "demo" else []), value]
            yield Case(f"argument {name} {value!r:.30}", [words], anything=True)


def places() -> Iterator[Case]:
    """Odd places to write to, and to read from."""
    writes = list(map(str.split, WRITES))
    for place in PLACES:
        for run in writes:
            yield Case(f"write {run[0]} {place!r:.30}", [[*run, "-o", place]], anything=True)
        for run in (
            ["predict", place, "--at", "workers=4"],
            ["check", place, *ROLES],
            ["report", place],
            ["import", "mlperf", place],
            ["demo", place, "--seed", "x"],
            ["--config", place, "models"],
            ["predict", "IN/s.json", "--data", place],
            ["predict", "IN/s.json", "--at", "workers=4", "--plot", place],
        ):
            if place not in ("/dev/stdout", "/dev/fd/9"):
                yield Case(f"read {run[0]} {place!r:.30}", [run], anything=True)
    others = ("models", f"check - {' '.join(ROLES)}", "explain IN/mem.json", "--help", "report IN/t.json -o -")
    for stream in (0, 1, 2):
        for run in (*writes, *map(str.split, others)):
            yield Case(f"closed {stream} {run[:2]}", [run], close=stream, anything=True)


def kinds() -> Iterator[Case]:
    """Models of every kind asked for the far, the small and the odd."""
    options = {"optimize": "--over", "suggest": "--target", "report": "--target"}
    for kind, rest in KINDS.items():
        for scale in ("1", "3", "1e6", "1e15", "1e30", "0.5", "1e-9", "17", "1:64:*2"):
            for command in ("predict", "optimize", "suggest", "explain", "report", "compare"):
                words = each(options.get(command, "--at"), (f"workers={scale}", *rest))
                run = [command, f"IN/{kind}.json", *words, *(REPORT if command == "report" else ())]
                yield Case(f"kind {kind} {command} {scale}", [run], {}, {"page.html"}, ["page.html"])


def prepare(folder: Path, run: Callable[[list[str]], int]) -> None:
    """Write the inputs that cases share."""
    failed = [
        (n, b, b * 2.0, "" if b * 2.0 > 200 else 8 / n + b / 64, "OOM" if b * 2.0 > 200 else "")
        for n in COUNTS
        for b in (16, 32, 64, 128)
    ]
    columns = [f"f{k}" for k in range(12)]
    many = [(n, *[(n * (k + 3)) % 7 + 1 for k in range(12)], 8 / n + 1 + 0.01 * n) for n in range(1, 60)]
    inputs = {
        "r.csv": runs_of(),
        "s.csv": "workers,seconds\n" + "".join(f"{n},{8 / n + 1}\n" for n in COUNTS),
        "f.csv": table(["workers", "batch", "memory", "seconds", "status"], failed),
        "many.csv": table(["workers", *columns, "seconds"], many),
        "h.json": imports("p")["hyperfine"],
    }
    for name, text in inputs.items():
        (folder / name).write_text(text)
    fits = {
        "t": ["r.csv", *NET, "--model", "generic"],
        "s": ["s.csv", *ROLES],
        "g": ["r.csv", *ROLES, "--group", "net", "--where", "batch == 32"],
        "f": ["f.csv", *BATCH, "--skip-bad-rows"],
        "mem": ["f.csv", *BATCH, "--also", "memory=memory", "--where", "batch < 100"],
        "many": ["many.csv", *ROLES, "--intrinsic", ",".join(columns)],
    }
    for name, (path, *rest) in fits.items():
        if run(["fit", str(folder / path), *rest, "-q", "-o", str(folder / f"{name}.json")]):
            sys.exit(f"the model {name} of the sweep could not be fitted")


PARTS = (names, options, places, kinds)
