"""The steps of the published series, and whether an efficiency that one source published is normal among the others.

writes `genperf/normal/steps.json` from `genperf.datasets.world()` and the page of results. Each source is left out in
turn: of each of its steps the share of nine in ten is taken from the other sources, narrowed by what the source tells,
and the page has how many of its series lie inside. A series counts once, however many steps it has.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

import genperf as gp
from experiments.shared import markdown_of, page
from genperf.normal.series import FILE, NARROWED_SERIES, NARROWED_SOURCES, Step, placed, step_to

KINDS = ("inside", "second", "beyond")
#: What is known of a series, in `steps.json`.
KNOWN = ("cluster", "source", "devices_per_node", "between", "framework")
#: A step above it is left out of the reference: caches and batches give a tenth more than in proportion, not more, so
#: the two counts did not run the same work in the same way. Also `ask` doubts such an efficiency.
MOST = 1.15
#: Frameworks that run on another one.
BASES = {"horovod": "pytorch", "megatron-deepspeed": "pytorch", "nemo": "pytorch"}


def steps_of(series: pd.DataFrame) -> Iterator[Step]:
    """Yield the steps that end at each count of a series."""
    devices, nodes, rates = (series[c].to_numpy(float) for c in ("devices", "nodes", "rate"))
    for at in range(len(series)):
        step = step_to(devices, nodes, rates, at)
        if step:
            yield step


def collected(world: pd.DataFrame) -> dict[str, Any]:
    """Return the content of `steps.json`."""
    of_series: dict[str, list[Any]] = {name: [] for name in KNOWN}
    steps: dict[str, list[Any]] = {name: [] for name in ("series", "kind", "doublings", "efficiency")}
    # A total batch that stays is divided further with each device: its efficiency is that of another question.
    kept = world[world.batch == "device"]
    for _, rows in kept.groupby(["source", "cluster", "framework", "series"], sort=True):
        found = [step for step in steps_of(rows) if step.efficiency <= MOST]
        if not found:
            continue
        first = rows.iloc[0]
        framework = re.sub(r"\d", "", first.framework.lower())
        # One device a node is another kind of machine than the full nodes of the same cluster.
        each = int((rows.devices / rows.nodes).max())
        known = {**first, "devices_per_node": each, "framework": BASES.get(framework, framework)}
        for step in found:
            steps["series"].append(len(of_series["cluster"]))
            steps["kind"].append(KINDS.index(step.kind))
            steps["doublings"].append(step.doublings)
            steps["efficiency"].append(float(f"{step.efficiency:.4g}"))
        for name in KNOWN:
            of_series[name].append(known[name] if isinstance(known[name], str) else int(known[name]))
    return {"made_by": "python -m experiments normal", "kinds": KINDS, "steps": steps, "series": of_series}


def arrays(content: dict[str, Any]) -> dict[str, Any]:
    """Return the steps as `genperf.normal` reads them."""
    steps = {name: np.asarray(values) for name, values in content["steps"].items()}
    steps["kind"] = np.asarray(KINDS)[steps["kind"]]
    return steps | {name: np.asarray(values)[steps["series"]] for name, values in content["series"].items()}


def left_out(steps: dict[str, Any], by: str) -> pd.DataFrame:
    """Return for each step whether it lies inside what the others keep, and how many series it was compared with."""
    rows = []
    for name in np.unique(steps[by]):
        others = {key: values[steps[by] != name] for key, values in steps.items()}
        for at in np.flatnonzero(steps[by] == name):
            counts = float(2.0 ** steps["doublings"][at])
            kind = str(steps["kind"][at])
            step = Step(kind, (1.0, 1.0), (counts, 1.0), float(steps["efficiency"][at]))  # type: ignore[arg-type]
            found = placed(step, {key: values[at] for key, values in steps.items()}, others)
            inside = found.low <= found.value <= found.high
            slower, width = found.value < found.low, found.high - found.low
            compared = (found.percentile, width, found.series, found.clusters)
            rows.append((name, steps["series"][at], kind, inside, slower, *compared))
    columns = [by, "series_id", "kind", "inside", "slower", "percentile", "width", "series", "clusters"]
    return pd.DataFrame(rows, columns=columns)


def coverage(found: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Return the shares of series inside and slower, in %, a series once, and what they were compared with."""
    once = found.groupby([*by, "series_id"])[["inside", "slower", "width", "series"]].mean()
    return once.groupby(by).agg(
        steps=("inside", "size"),
        inside=("inside", lambda share: 100.0 * share.mean()),
        slower=("slower", lambda share: 100.0 * share.mean()),
        width=("width", lambda width: 100.0 * width.median()),
        series=("series", "median"),
    )


def page_of(steps: dict[str, Any]) -> str:
    found = left_out(steps, "source")
    of_source = coverage(found, ["source", "kind"])
    by_source = of_source.groupby("source").inside.mean()
    each = 100.0 * steps["efficiency"] ** (1.0 / steps["doublings"])
    kinds = []
    for kind in KINDS:
        mine = steps["kind"] == kind
        series, clusters = (len(np.unique(steps[name][mine])) for name in ("series", "cluster"))
        low, middle, high = np.quantile(each[mine], (0.05, 0.5, 0.95))
        kinds.append((kind, series, clusters, int(mine.sum()), low, middle, high))
    total = 100.0 * float(found.groupby(["source", "kind", "series_id"]).inside.mean().mean())
    heads = (
        ["step", "series", "clusters", "steps", "5 % of the steps", "median", "95 % of the steps"],
        ["source", "step", "series", "inside, %", "slower, %", "width", "compared with, series (median)"],
    )
    return page(
        "normal",
        kinds=markdown_of(pd.DataFrame(kinds, columns=heads[0]), ".0f"),
        sources=markdown_of(of_source.reset_index().set_axis(heads[1], axis=1), ".0f"),
        series=NARROWED_SERIES,
        narrowed=NARROWED_SOURCES,
        total=total,
        mean=by_source.mean(),
    )


def run() -> str:
    """Write `steps.json` and return the page."""
    content = collected(gp.datasets.world())
    FILE.write_text(json.dumps(content, separators=(",", ":")) + "\n", encoding="utf-8")
    return page_of(arrays(content))
