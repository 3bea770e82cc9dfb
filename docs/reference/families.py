"""Write a page for each family of the registry: equation, source, limits, needs, and a fit of measurements."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path

import pandas as pd

import genperf as gp
from genperf.attribution import scaling
from genperf.models.family import Family
from genperf.plots import predicted_against_measured, save
from genperf.plots import scaling as along_scale

EXAMPLES = Path(__file__).parents[1] / "examples"
#: Measured tables of the gallery with their roles, the first that a family can be fitted to is its example.
TABLES = {
    "server.csv": {"time": "step_time_s", "extrinsic": "workers", "intrinsic": "batch_per_worker"},
    "resnet.csv": {"throughput": "images_per_s", "extrinsic": ["nodes", "gpus"], "work": "gpus"},
    "splits.csv": {
        "throughput": "samples_per_s",
        "extrinsic": ["data_parallel", "tensor_parallel", "pipeline_parallel", "devices", "nodes"],
        "intrinsic": ["micro_batch", "global_batch", "num_layers", "hidden_size", "num_heads", "seq_length"],
    },
    "split_memory.csv": {
        "quantity": "memory_gib:GiB", "extrinsic": ["dp", "tp", "pp", "nodes"],
        "intrinsic": ["mbs", "gbs", "layers", "hidden", "seq_len"],
    },
}  # fmt: skip


def write(folder: Path) -> None:
    """Write the index and the pages of all families below a folder; a file that would not change is not touched."""
    folder.mkdir(exist_ok=True)
    names = list(gp.MODELS)
    rows = [f"| [{f.name}]({f.name}.md) | {f.purpose} | {f.source} |" for f in gp.MODELS.values()]
    tree = ["```{toctree}", ":hidden:", "", *names, "```"]
    head = ["# Families of expressions", "", "Generated from the registry that `genperf list models` lists.", ""]
    lines = [*head, "| family | for | source |", "|---|---|---|", *rows, "", *tree]
    write_page(folder / "index.md", "\n".join(lines) + "\n")
    for family in gp.MODELS.values():
        write_page(folder / f"{family.name}.md", "\n".join(page(family, folder)) + "\n")


def page(family: Family, folder: Path) -> list[str]:
    """Return the lines of a family's page, and draw its figure beside it."""
    needs = [f"| {name} | yes |" for name in family.requires] + [f"| {name} | no |" for name in family.uses]
    text = inspect.getdoc(family.build) or inspect.getdoc(inspect.getmodule(family.build)) or ""
    explained = text.split("\nParameters\n")[0].split("\nExamples\n")[0].strip()
    lines = [f"# {family.name}", "", f"For {family.purpose}.", "", "```text", family.equation, "```", ""]
    lines += [
        "## Where it is from, and its limits",
        "",
        f"Source: {family.source}.",
        "",
        "```text",
        explained,
        "```",
        "",
    ]
    lines += ["## What it needs", "", "| factor | required |", "|---|---|", *needs, ""]
    for name, roles in TABLES.items():
        if ("quantity" in roles) != (family.quantity == "memory"):
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = gp.fit(gp.read_table(pd.read_csv(EXAMPLES / name), **roles), model=family.name)
        except gp.GenperfError:
            continue
        figure = (
            predicted_against_measured(result) if name.startswith("split") else along_scale(result, scaling(result, {}))
        )
        save(figure, folder / f"{family.name}.svg")
        command = f"genperf fit {name} --model {family.name}"
        fitted = ["```text", str(result), "```"]
        picture = f"![The fit and the measurements]({family.name}.svg)"
        return [*lines, "## Fitted to measurements", "", f"`{command}`:", "", *fitted, "", picture]
    return lines


def write_page(path: Path, text: str) -> None:
    """Write a page where it differs from what is there, so that a build reads only what changed."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
