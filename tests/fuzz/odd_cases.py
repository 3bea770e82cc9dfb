"""The cases of `sweep.py`: odd names, cells, files, options, settings and places on every command."""

from __future__ import annotations

import gzip
import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from odd import CELLS, NAMES, NUMBERS, PLACES, TOML

COUNTS = (1, 2, 4, 8, 16)
ROLES = ("--time", "seconds", "--extrinsic", "workers")


@dataclass
class Case:
    """Commands in an empty folder.

    Attributes
    ----------
    name : str
    runs : list of list of str
        Arguments; `IN` stands for the folder of the inputs.
    files : dict of str to str or bytes
        What stands in the folder.
    made : set of str
        Files that may be there at the end.
    pages : list of str
        Pages among these.
    close : int or None
        A standard stream that is closed.
    anything : bool
        Whether files of any name may be left: places that are odd are written to.
    """

    name: str
    runs: list[list[str]]
    files: dict[str, str | bytes] = field(default_factory=dict)
    made: set[str] = field(default_factory=set)
    pages: list[str] = field(default_factory=list)
    close: int | None = None
    anything: bool = False


def quoted(cell: object) -> str:
    """Return a cell as CSV has it."""
    return '"' + str(cell).replace('"', '""') + '"'


def table(head: list[str], rows: list[tuple[object, ...]]) -> str:
    """Return a table as CSV."""
    return "".join(",".join(map(quoted, row)) + "\n" for row in [tuple(head), *rows])


def runs_of(
    workers: str = "workers", batch: str = "batch", level: str = "net", one: str = "vgg", time: str = "seconds"
) -> str:
    """Return runs of two levels and two batches with names of its columns."""
    rows = [(n, b, f, s * (8 / n + 1) * b / 32) for f, s in ((one, 1), ("other", 2)) for n in COUNTS for b in (32, 64)]
    return table([workers, batch, level, time], rows)


# --- the cases -------------------------------------------------------------------------------------------------------
def everything(model: str, fixed: list[str], level: str | None = None) -> list[list[str]]:
    """Return a run of every command that reads a model; `fixed` are the values of its factors by name."""
    at = [word for pair in fixed for word in ("--at", pair)]
    target = [word for pair in fixed for word in ("--target", pair)]
    return [
        ["predict", model, *at],
        ["predict", model, *at, "--json", "-o", "p.csv"],
        ["explain", model],
        ["suggest", model, *target],
        ["optimize", model, *[word for pair in fixed for word in ("--over", pair)]],
        ["compare", model, *(["--over", level, *at[:-2]] if level else at)],
        ["report", model, "-q", "-o", "page.html", "--title", "t"],
    ]


def names() -> Iterator[Case]:
    """Names of columns, levels, groups, quantities and headings."""
    made = {"m.json", "p.csv", "page.html", "v.csv"}
    for number, name in enumerate(NAMES):
        role = {"workers": name} if number % 2 else {"batch": name}
        held = {"workers": "workers", "batch": "batch", "level": "net", **role}
        content = runs_of(held["workers"], held["batch"])
        fit = [
            "--time",
            "seconds",
            "--extrinsic",
            held["workers"],
            "--intrinsic",
            held["batch"],
            "--categorical",
            "net",
        ]
        at = [f"{held['workers']}=64", f"{held['batch']}=32", "net=vgg"]
        yield Case(
            f"factor {name!r:.40} check",
            [["check", "r.csv", *fit], ["ask", "r.csv", "--at", at[0]]],
            {"r.csv": content},
        )
        for model in ("generic", "auto"):
            first = ["fit", "r.csv", *fit, "--model", model, "-q", "-o", "m.json"]
            for run in everything("m.json", at, "net"):
                yield Case(
                    f"factor {name!r:.40} {model} {run[0]}", [first, run], {"r.csv": content}, made, ["page.html"]
                )
        content = runs_of(one=name)
        fit = [*ROLES, "--intrinsic", "batch", "--categorical", "net"]
        first = ["fit", "r.csv", *fit, "--model", "auto", "-q", "-o", "m.json"]
        for run in everything("m.json", ["workers=64", "batch=32", f"net={name}"], "net"):
            yield Case(f"level {name!r:.40} {run[0]}", [first, run], {"r.csv": content}, made, ["page.html"])
        content = runs_of(level=name)
        fit = [*ROLES, "--intrinsic", "batch", "--group", name]
        first = ["fit", "r.csv", *fit, "--model", "amdahl", "-q", "-o", "m.json"]
        for run in everything("m.json", ["workers=64", "batch=32"]):
            yield Case(f"group {name!r:.40} {run[0]}", [first, run], {"r.csv": content}, made, ["page.html"])
        content = runs_of(one=name)
        fit = [*ROLES, "--intrinsic", "batch", "--group", "net"]
        first = ["fit", "r.csv", *fit, "--model", "amdahl", "-q", "-o", "m.json"]
        for run in (
            ["report", "m.json", "-q", "-o", "page.html", "--only", name],
            ["compare", "m.json", "--at", "workers=64", "--at", "batch=32"],
        ):
            yield Case(f"key {name!r:.40} {run[0]}", [first, run], {"r.csv": content}, made, ["page.html"])
        content = runs_of(time=name)
        fit = ["--time", name, "--extrinsic", "workers", "--intrinsic", "batch", "--categorical", "net"]
        first = ["fit", "r.csv", *fit, "--model", "generic", "-q", "-o", "m.json"]
        yield Case(
            f"target {name!r:.40}",
            [first, *everything("m.json", ["workers=64", "batch=32", "net=vgg"], "net")],
            {"r.csv": content},
            made,
            ["page.html"],
        )
        fit = ["--quantity", f"{name}=seconds", *ROLES[2:], "--intrinsic", "batch", "--categorical", "net"]
        yield Case(
            f"quantity {name!r:.40}",
            [["fit", "r.csv", *fit, "-q", "-o", "m.json"], ["report", "m.json", "-q", "-o", "page.html"]],
            {"r.csv": runs_of()},
            made,
            ["page.html"],
        )
        report = [
            "report",
            "r.csv",
            *ROLES,
            "--intrinsic",
            "batch",
            "--categorical",
            "net",
            "--model",
            "generic",
            "-q",
            "-o",
            "page.html",
        ]
        yield Case(f"title {name!r:.40}", [[*report, "--title", name]], {"r.csv": runs_of()}, made, ["page.html"])
        yield Case(
            f"validate {name!r:.40}",
            [
                [
                    "validate",
                    "r.csv",
                    "--time",
                    "seconds",
                    "--extrinsic",
                    held["workers"],
                    "--intrinsic",
                    held["batch"],
                    "--categorical",
                    "net",
                    "--models",
                    "amdahl,last-point",
                    "-o",
                    "v.csv",
                ]
            ],
            {"r.csv": runs_of(held["workers"], held["batch"])},
            made,
        )
        yield Case(
            f"let {name!r:.40}",
            [
                ["fit", "r.csv", *ROLES, "--let", f"{name}=workers*batch", "-o", "m.json", "--model", "amdahl"],
                ["report", "m.json", "-q", "-o", "page.html"],
            ],
            {"r.csv": runs_of()},
            made,
            ["page.html"],
        )
        yield Case(
            f"formula {name!r:.40}",
            [["fit", "r.csv", *ROLES, "--model", f"k + `{name}`*workers", "-o", "m.json"]],
            {"r.csv": runs_of()},
            made,
        )
        yield Case(f"file {name!r:.40}", [["check", name, *ROLES]], {}, made)
        for kind, text in imports(name).items():
            yield Case(
                f"import {kind} {name!r:.40}",
                [["import", kind, "f", "-o", "r.csv"], ["check", "r.csv", "--time", "seconds"]],
                {"f": text},
                {"r.csv"},
            )


def imports(name: str) -> dict[str, str]:
    """Return files of other tools that hold a name."""
    event = {"name": name, "ph": "X", "ts": 1, "dur": 5, "cat": name, "pid": 1, "tid": 1, "args": {name: name}}
    steps = [{**event, "name": f"ProfilerStep#{k}", "ts": 10 * k, "cat": "user_annotation"} for k in range(4)]
    lines = [
        {
            "namespace": "",
            "time_ms": k,
            "event_type": "INTERVAL",
            "key": key,
            "value": value,
            "metadata": {"file": name},
        }
        for k, (key, value) in enumerate(
            [("global_batch_size", 32), (name, 1), ("tracked_stats", {"throughput": 5.0, name: 1})]
        )
    ]
    return {
        "extra-p": f"PARAMETER {name}\nPOINTS (1) (2) (4)\nREGION {name}\nMETRIC {name}\nDATA 1\nDATA 2\nDATA 3\n",
        "hyperfine": json.dumps(
            {"results": [{"command": name, "times": [1.0, 2.0], "parameters": {name: "4", "n": name}}]}
        ),
        "mlperf": "".join(f":::MLLOG {json.dumps(line)}\n" for line in lines),
        "pytorch-profiler": json.dumps({"traceEvents": [event, *steps], "distributedInfo": {"world_size": name}}),
    }


def cells() -> Iterator[Case]:
    """Odd cells in each column, for every command that reads a table."""
    for cell in CELLS:
        for place in range(4):
            rows = [
                [n, b, f, s * (8 / n + 1) * b / 32]
                for f, s in (("vgg", 1), ("other", 2))
                for n in COUNTS
                for b in (32, 64)
            ]
            rows[7][place] = cell
            content = table(["workers", "batch", "net", "seconds"], [tuple(row) for row in rows])
            roles = [*ROLES, "--intrinsic", "batch", "--categorical", "net"]
            for run in (
                ["check", "r.csv", *roles],
                ["ask", "r.csv", "--at", "workers=64"],
                ["fit", "r.csv", *roles, "--model", "generic", "-q", "-o", "m.json"],
                ["report", "r.csv", *roles, "--model", "amdahl", "--skip-bad-rows", "-q", "-o", "page.html"],
            ):
                yield Case(
                    f"cell {cell!r:.40} in {place} {run[0]}",
                    [run],
                    {"r.csv": content},
                    {"m.json", "page.html"},
                    ["page.html"],
                )
        content = "workers,batch,net\n" + f"{quoted(cell)},32,vgg\n" * 2
        yield Case(
            f"cell {cell!r:.40} asked",
            [["predict", "IN/t.json", "--data", "r.csv", "-o", "p.csv"]],
            {"r.csv": content},
            {"p.csv"},
        )
        yield Case(
            f"cell {cell!r:.40} all",
            [["fit", "r.csv", *ROLES, "-q", "-o", "m.json"]],
            {"r.csv": "workers,seconds\n" + "".join(f"{n},{quoted(cell)}\n" for n in COUNTS)},
            {"m.json"},
        )
        yield Case(
            f"cell {cell!r:.40} workers",
            [["ask", "r.csv", "--at", "workers=64"]],
            {"r.csv": "workers,seconds\n" + "".join(f"{quoted(cell)},{n}\n" for n in COUNTS)},
        )


def files() -> Iterator[Case]:
    """Encodings, delimiters, ends of lines, marks and compressions of one table."""
    plain = runs_of().replace('"', "")
    for encoding in (
        "utf-8",
        "utf-8-sig",
        "utf-16",
        "utf-16-be",
        "utf-32",
        "utf-7",
        "cp1252",
        "shift-jis",
        "cp500",
        "hz",
    ):
        for delimiter in (",", ";", "\t", "|", ":", " ", "\x1f", "::", "،"):
            for end in ("\n", "\r\n", "\r", "\n\n", "\x85"):
                text = plain.replace(",", delimiter).replace("\n", end)
                yield Case(
                    f"file {encoding} {delimiter!r} {end!r}",
                    [["check", "r.csv", *ROLES, "--intrinsic", "batch"]],
                    {"r.csv": text.encode(encoding, "replace")},
                )
    heads = (
        "",
        "\n\n",
        "# x\n",
        "sep=;\n",
        "\x00",
        "\ufeff\ufeff",
        "workers\n",
        '"',
        "'",
        "<?xml version='1.0'?>\n",
        "%PDF",
        "{",
        "---\n",
        "#!/bin/sh\n",
        "\x1f\x8b",
        "PAR1",
        "GIF89a",
    )
    for head in heads:
        for tail in (
            "",
            "\x1a",
            "\n\n\n",
            '"',
            ",,,",
            "workers,batch,net,seconds\n",
            "\0" * 100,
            "# end",
            "total,,,5\n",
            "\ufeff",
        ):
            for command in (
                ["check", "r.csv", *ROLES],
                ["ask", "r.csv", "--at", "workers=64"],
                ["predict", "IN/t.json", "--data", "r.csv"],
            ):
                yield Case(f"head {head!r} tail {tail!r} {command[0]}", [command], {"r.csv": head + plain + tail})
    for kind in ("extra-p", "hyperfine", "mlperf", "pytorch-profiler"):
        for head in heads:
            for name, content in imports("p").items():
                yield Case(f"import {kind} {head!r} of {name}", [["import", kind, "f"]], {"f": head + content})
            yield Case(
                f"import {kind} {head!r} packed",
                [["import", kind, "f", "-o", "r.csv"]],
                {"f": gzip.compress((head + imports("p")[kind]).encode())},
                {"r.csv"},
            )
    for kind in ("t", "s", "g", "f", "mem"):
        whole = Path(os.environ["SWEEP_IN"], f"{kind}.json").read_bytes()
        for cut in range(1, 20):
            yield Case(
                f"model {kind} cut {cut}",
                [["report", "m.json", "-q", "-o", "page.html"]],
                {"m.json": whole[: len(whole) * cut // 20]},
                {"page.html"},
            )


def options() -> Iterator[Case]:
    """Every option of every command with odd values, on models of every kind."""
    import click

    from genperf.cli.commands import COMMANDS, command_named

    first = {
        "import": [["hyperfine", "IN/h.json"]],
        "ask": [["IN/r.csv", "--at", "workers=64"]],
        "check": [["IN/r.csv", *ROLES]],
        "fit": [["IN/s.csv", *ROLES, "--model", "amdahl"]],
        "predict": [
            ["IN/t.json", "--at", "workers=64", "--at", "batch=32", "--at", "net=vgg"],
            ["IN/g.json", "--at", "workers=64"],
        ],
        "compare": [
            ["IN/t.json", "--over", "net", "--at", "workers=64", "--at", "batch=32"],
            ["IN/g.json", "--at", "workers=64"],
        ],
        "validate": [["IN/s.csv", *ROLES, "--models", "amdahl"]],
        "explain": [["IN/t.json"], ["IN/s.json"], ["IN/mem.json"]],
        "suggest": [["IN/t.json", "--target", "workers=64"], ["IN/s.json", "--target", "workers=64"]],
        "optimize": [["IN/t.json", "--over", "workers=1:8"], ["IN/mem.json", "--over", "workers=1:8"]],
        "report": [
            ["IN/t.json", "-q", "-o", "page.html"],
            ["IN/g.json", "-q", "-o", "page.html"],
            ["IN/mem.json", "-q", "-o", "page.html"],
        ],
        "models": [[]],
        "demo": [],
    }
    for name in COMMANDS:
        for parameter in command_named(name).params:
            if not isinstance(parameter, click.Option) or parameter.is_flag:
                continue
            option = max(parameter.opts, key=len)
            for begin in first[name]:
                for value in NUMBERS:
                    yield Case(
                        f"option {name} {begin[:1]} {option} {value!r:.30}",
                        [[name, *begin, option, value]],
                        anything=True,
                    )
    for name in COMMANDS:
        for value in (*NUMBERS, *NAMES[:20]):
            yield Case(
                f"argument {name} {value!r:.30}",
                [[name, value]] if name != "demo" else [[name, "--seed", value]],
                anything=True,
            )


def settings() -> Iterator[Case]:
    """Every key of genperf.toml with values of odd types."""
    import click

    from genperf.cli.commands import command_named

    runs = {
        "fit": ["fit", "IN/s.csv"],
        "predict": ["predict", "IN/s.json"],
        "report": ["report", "IN/s.json"],
        "optimize": ["optimize", "IN/s.json"],
        "suggest": ["suggest", "IN/s.json"],
        "validate": ["validate", "IN/s.csv"],
        "explain": ["explain", "IN/s.json"],
        "ask": ["ask", "IN/s.csv"],
    }
    for name, run in runs.items():
        for parameter in command_named(name).params:
            if isinstance(parameter, click.Option) and parameter.name:
                key = max(parameter.opts, key=len).lstrip("-")
                for value in TOML[:: 1 if name == "fit" else 3]:
                    yield Case(
                        f"setting {name} {key} {value!r}",
                        [run],
                        {"genperf.toml": f"[{name}]\n{key} = {value}\n"},
                        anything=True,
                    )


def places() -> Iterator[Case]:
    """Odd places to write to, and to read from."""
    writes = (
        ["fit", "IN/s.csv", *ROLES, "--model", "amdahl", "-q"],
        ["predict", "IN/s.json", "--at", "workers=64"],
        ["report", "IN/s.json", "-q"],
        ["report", "IN/mem.json", "-q"],
        ["validate", "IN/s.csv", *ROLES, "--models", "amdahl"],
        ["suggest", "IN/s.json", "--target", "workers=64"],
        ["optimize", "IN/s.json", "--over", "workers=1:8"],
        ["compare", "IN/g.json", "--at", "workers=64"],
        ["import", "hyperfine", "IN/h.json"],
    )
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
    for stream in (0, 1, 2):
        for run in (
            *writes,
            ["models"],
            ["check", "-", *ROLES],
            ["explain", "IN/mem.json"],
            ["--help"],
            ["report", "IN/t.json", "-o", "-"],
        ):
            yield Case(f"closed {stream} {run[:2]}", [run], close=stream, anything=True)


def kinds() -> Iterator[Case]:
    """Models of every kind asked for the far, the small and the odd."""
    scales = ("1", "3", "1e6", "1e15", "1e30", "0.5", "1e-9", "17", "1:64:*2")
    for kind, rest in (
        ("t", ["batch=32", "net=vgg"]),
        ("s", []),
        ("g", ["net=vgg"]),
        ("f", ["batch=32"]),
        ("mem", ["batch=32"]),
        ("many", [f"f{k}=1" for k in range(12)]),
    ):
        for scale in scales:
            for command in ("predict", "optimize", "suggest", "explain", "report", "compare"):
                option = {"optimize": "--over", "suggest": "--target", "report": "--target"}.get(command, "--at")
                words = [w for pair in (f"workers={scale}", *rest) for w in (option, pair)]
                run = [command, f"IN/{kind}.json", *words]
                if command == "report":
                    run += ["-q", "-o", "page.html"]
                yield Case(f"kind {kind} {command} {scale}", [run], {}, {"page.html"}, ["page.html"])


def prepare(folder: Path, run: Callable[[list[str]], int]) -> None:
    """Write the inputs that cases share."""
    (folder / "r.csv").write_text(runs_of())
    (folder / "s.csv").write_text("workers,seconds\n" + "".join(f"{n},{8 / n + 1}\n" for n in COUNTS))
    failed = [
        (n, b, b * 2.0, "" if b * 2.0 > 200 else 8 / n + b / 64, "OOM" if b * 2.0 > 200 else "")
        for n in COUNTS
        for b in (16, 32, 64, 128)
    ]
    (folder / "f.csv").write_text(table(["workers", "batch", "memory", "seconds", "status"], failed))
    many = [(n, *[(n * (k + 3)) % 7 + 1 for k in range(12)], 8 / n + 1 + 0.01 * n) for n in range(1, 60)]
    (folder / "many.csv").write_text(table(["workers", *[f"f{k}" for k in range(12)], "seconds"], many))
    (folder / "h.json").write_text(imports("p")["hyperfine"])
    fits = {
        "t": ["r.csv", *ROLES, "--intrinsic", "batch", "--categorical", "net", "--model", "generic"],
        "s": ["s.csv", *ROLES],
        "g": ["r.csv", *ROLES, "--group", "net", "--where", "batch == 32"],
        "f": ["f.csv", *ROLES, "--intrinsic", "batch", "--skip-bad-rows"],
        "mem": ["f.csv", *ROLES, "--intrinsic", "batch", "--also", "memory=memory", "--where", "batch < 100"],
        "many": ["many.csv", *ROLES, "--intrinsic", ",".join(f"f{k}" for k in range(12))],
    }
    for name, (path, *rest) in fits.items():
        status = run(["fit", str(folder / path), *rest, "-q", "-o", str(folder / f"{name}.json")])
        if status:
            sys.exit(f"the model {name} of the sweep could not be fitted")


PARTS = (names, cells, files, options, settings, places, kinds)
