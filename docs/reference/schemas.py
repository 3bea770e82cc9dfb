"""JSON Schemas of what each command prints with `--json`, made from what it prints.

    python docs/reference/schemas.py

writes `docs/reference/schemas/COMMAND.json`. Keys are properties of the schema, required where all answers have them;
keys that are names of columns, which each table has its own, are `additionalProperties`.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from genperf.cli.main import run

FOLDER = Path(__file__).with_name("schemas")
TABLES = {
    "gpus.csv": "gpus,images_per_s\n1,410\n2,792\n4,1530\n8,2905\n",
    "steps.csv": "framework,workers,batch,step_s\n"
    + "".join(
        f"{name},{n},{b},{0.01 * k * b + 0.02 * n**0.5}\n"
        for k, name in enumerate("ab", 1)
        for n in (1, 2, 4, 8)
        for b in (8, 16)
    ),
    "alike.csv": "workers,batch,step_s\n1,32,0.21\n2,32,0.23\n4,32,0.24\n8,32,0.25\n16,32,0.29\n",
    "cloud.csv": "instance,vms,price_per_vm_hour,img_s\n"
    + "".join(f"{kind},{n},{price},{350 * n**0.9}\n" for kind, price in (("a", 3), ("b", 4)) for n in (1, 2, 4)),
    "alone.csv": "nodes,step_s\n1,0.2\n2,0.22\n4,0.25\n8,0.28\n",
    "cores.csv": "cores,elapsed_s\n1,100\n2,52\n4,29\n8,20\n16,19.5\n32,23\n",
}
#: The names of columns.
COLUMNS = {name for text in TABLES.values() for name in text.split("\n", 1)[0].split(",")}
GPUS = "--throughput images_per_s --work gpus --extrinsic gpus"
STEPS = "--time step_s --extrinsic workers --intrinsic batch"
CORES = "--time elapsed_s --extrinsic cores --map workers=cores"
#: What makes the models: of a series by `auto` and by a family, of groups, of a categorical factor by both.
MODELS = (
    f"gpus.csv {GPUS} -o gpus.json",
    f"steps.csv {STEPS} --group framework -o groups.json",
    f"steps.csv {STEPS} --categorical framework --model generic -o kinds.json",
    f"steps.csv {STEPS} --categorical framework -o many.json",
    f"alike.csv {STEPS} -o alike.json",
    f"cores.csv {CORES} --scaling strong --model usl -o cores.json",
    f"cores.csv {CORES} --scaling strong -o auto.json",
    "cloud.csv --throughput img_s --extrinsic vms --work vms --group instance -o cloud.json",
)
#: The runs that a schema is made from.
COMMANDS: dict[str, tuple[str, ...]] = {
    "ask": (
        "gpus.csv --at gpus=64 --price 2/h",
        "gpus.csv --samples 1B --deadline 30d",
        "steps.csv --at workers=16",
        "cores.csv",
        "gpus.json --at gpus=64",
        "alone.csv --at nodes=32",
        "gpus.csv --samples 1M --budget 0.1 --price 1/h",
        "many.json --at workers=16 --at framework=a",
        "steps.csv --at workers=16 --at framework=a",
    ),
    "check": (
        "gpus.csv",
        "steps.csv",
        "cores.csv",
        f"steps.csv {STEPS} --categorical framework",
    ),
    "compare": (
        "groups.json --at workers=8",
        "kinds.json --at workers=8 --at batch=8",
        "gpus.json --at gpus=8 --or gpus=16",
        "groups.json --at framework=a --at workers=4 --or workers=8",
    ),
    "explain": (
        "gpus.json --knee",
        "auto.json --knee",
        "kinds.json",
        "many.json",
        "alike.json",
        "cores.json --knee",
        "gpus.json --at gpus=16 --versus gpus=4",
        "kinds.json --versus framework=b",
        "cores.json --sobol",
    ),
    "import": ("log.txt -o log.csv",),
    "list": ("models", "world", "runs", "datasets"),
    "optimize": (
        "gpus.json --over gpus=1:16 --price 2/h",
        "groups.json --over workers=1:8 --over batch=8,16",
        "cores.json --over cores=1:64",
        "cores.json --over cores=1:64 --minimize cost --price 2/h",
    ),
    "predict": ("gpus.json --at gpus=16,32", "groups.json --at workers=16 --at batch=8", "cores.json --at cores=64"),
    "report": ("gpus.json -o page.html", "cores.json --proposal -o page.csv"),
    "suggest": (
        "gpus.json --target gpus=64",
        "kinds.json --target workers=64 --target batch=8",
        "cores.json --target cores=128",
    ),
    "verify": ("gpus.csv gpus.csv", "cores.json cores.csv", "groups.json steps.csv"),
    "validate": (
        f"gpus.csv {GPUS} --models generic,ernest,amdahl --scheme leave-one-out",
        f"cores.csv {CORES} --models usl",
        f"steps.csv {STEPS} --group framework --models linear",
    ),
}
#: Answers of `ask` about one run, and about one test of collectives.
OF_ONE_RUN = {
    "one-run": (
        "8xh100 7B 76800tok/s --tokens 1T --at 64 --price 2/h",
        "8xa100 llama3-8b 24000tok/s seq=8192 recompute 45%",
        "64xh100 7B --tokens 1T",
        "8xh100 7B 20%",
        "8xh100 7B 80%",
    ),
    "collective": ("8xh100 all_reduce 470GB/s", "4xv100 all_reduce 12GB/s"),
}
LOG = "".join(
    f" iteration {k:8d}/ 100 | consumed samples: {k * 64:12d} | elapsed time per iteration (ms): {500 + k}.0 | "
    f"learning rate: 1e-4 | global batch size: {64:5d} |\n"
    for k in range(10, 60, 10)
)
TYPES = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    type(None): "null",
    list: "array",
    dict: "object",
}


def schema_of(values: Sequence[Any]) -> dict[str, Any]:
    """Return the schema that some values share."""
    types = sorted({TYPES[type(value)] for value in values} or {"null"})
    if {"integer", "number"} <= {*types}:
        types.remove("integer")
    schema: dict[str, Any] = {"type": types[0] if len(types) == 1 else types}
    items = [item for value in values if isinstance(value, list) for item in value]
    if items:
        schema["items"] = schema_of(items)
    objects = [value for value in values if isinstance(value, dict)]
    if objects:
        keys = dict.fromkeys(key for one in objects for key in one)
        named = [key for key in keys if key.removesuffix("_lower").removesuffix("_upper") not in COLUMNS]
        of_key = {key: [one[key] for one in objects if key in one] for key in keys}
        schema["properties"] = {key: schema_of(of_key[key]) for key in named}
        # The keys of a single object may not be those of all.
        several = len(objects) > 1 or len(values) == 1
        schema["required"] = [key for key in named if several and len(of_key[key]) == len(objects)]
        others = [value for key in keys if key not in named for value in of_key[key]]
        schema["additionalProperties"] = schema_of(others) if others else True
    return schema


def printed(command: str, arguments: str) -> Any:
    """Return what a command prints with `--json`."""
    out, errors = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        status = run([command, *arguments.split(), "--json"])
    for text in (out, errors):
        text.seek(0)
    if status != 0:
        raise RuntimeError(f"genperf {command} {arguments}: {errors.read()}")
    return json.loads(out.read())


def schemas() -> dict[str, str]:
    """Return the schema of each command as text."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for name, text in {**TABLES, "log.txt": LOG}.items():
                Path(name).write_text(text)
            # What fits makes the models that the other commands read.
            fits = {"fit": [printed("fit", arguments) for arguments in MODELS]}
            answers = fits | {name: [printed(name, one) for one in runs] for name, runs in COMMANDS.items()}
            answers |= {name: [printed("ask", one) for one in runs] for name, runs in OF_ONE_RUN.items()}
        finally:
            os.chdir(before)
    return {name: json.dumps(_titled(name, schema_of(values)), indent=1) + "\n" for name, values in answers.items()}


def _titled(command: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"genperf {command} --json"}
    return {**head, **schema}


def main() -> None:
    """Write the files."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in schemas().items():
        (FOLDER / f"{name}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
