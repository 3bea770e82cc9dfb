"""Training of transformers: the errors of genperf's models and of the learners, in one run.

Without a table: all of them; otherwise the page keeps the other rows. A table alone takes seconds to
minutes: enough to see what a change does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pandas as pd

import genperf as gp
from experiments.shared import markdown_of, page, rows_of_page

MODELS = "auto,family,generic,gaussian-process,gradient-boosting,linear"


@dataclass(frozen=True)
class Case:
    """A bundled table, how it is read, and how it is split beside 5-fold cross-validation."""

    table: str
    splits: tuple[str, ...]
    options: dict[str, Any] = field(default_factory=dict)


CASES = {
    "rubick, even placements": Case(
        "rubick",
        ("extrapolate:devices:32", "leave-group-out:model"),
        {
            "where": "model != 't5_3B' and layout != 'unbalanced'",
            "extrinsic": "data_parallel,tensor_parallel,pipeline_parallel,nodes",
        },
    ),
    "rubick, all placements": Case("rubick", ()),
    "libai": Case("libai", ("extrapolate:devices:16",)),
    "bigscience": Case("bigscience", ()),
    "bigscience, V100": Case(
        "bigscience",
        ("extrapolate:devices:64",),
        {"where": "layout_stated == 'yes' and hardware == 'v100-32gb'", "categorical": ""},
    ),
    "GPT": Case("dlperf_gpt", ("extrapolate:devices:16",)),
    "bigscience, memory": Case(
        "bigscience", (), {"quantity": "memory_gb:GB", "where": "layout_stated == 'yes' and memory_gb > 0"}
    ),
    "GPT, memory": Case("dlperf_gpt", (), {"quantity": "memory_mib:MiB", "where": "memory_mib > 0"}),
}


def table_of(case: Case) -> gp.Table:
    """Return the rows of a case; those without the measured quantity are left out."""
    options = dict(case.options)
    if "quantity" not in options:
        return gp.datasets.load(case.table, **options)
    column = options["quantity"].partition(":")[0]
    roles = {k: v for k, v in gp.datasets.roles(case.table).items() if k not in options}
    frame = gp.datasets.frame(case.table)
    return gp.read_table(frame[frame[column].notna()].reset_index(drop=True), **{**roles, **options, "time": None})


def rows_of(name: str, case: Case, models: str) -> list[dict[str, str]]:
    """Return a row for each split of a case: the error of each model, and how `auto` covers."""
    table, rows = table_of(case), []
    family = "transformer-memory" if "quantity" in case.options else "transformer"
    for scheme in ("kfold:5", *case.splits):
        scores = gp.validate(table, models.replace("family", family), scheme, seed=0).frame(timing=False)
        scores = scores.replace({"model": {family: "family"}}).set_index("model")
        row = {"table": name, "configurations": str(len(table.medians())), "predicted": scheme}
        row |= {m: f"{s['mape']:.1f} ({s['median_ape']:.1f})" for m, s in scores.iterrows()}
        row["covers %"] = f"{scores.loc['auto', 'coverage']:.0f}" if "auto" in scores.index else ""
        rows.append(row)
    return rows


def with_kept(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return rows with what the page has beside them: other tables, and models that were not run now."""
    kept = rows_of_page("transformers")
    known = {(row["table"], row["predicted"]): row for row in kept}
    for row in rows:
        place = row["table"], row["predicted"]
        known[place] = {**known.get(place, {}), **{name: cell for name, cell in row.items() if cell}}
    return [{name: row.get(name, "") for name in (kept or rows)[0]} for row in known.values()]


def run(*tables: str, models: str = MODELS) -> str:
    """Judge the tables whose names begin so, or all; the page keeps the rows and columns that are not made."""
    rows: list[dict[str, str]] = []
    for name, case in CASES.items():
        if not tables or any(name.startswith(t) for t in tables):
            rows += rows_of(name, case, models)
            print(markdown_of(pd.DataFrame(rows[-1 - len(case.splits) :])), flush=True)
    rows = sorted(with_kept(rows), key=lambda row: list(CASES).index(row["table"]))
    return page("transformers", table=pd.DataFrame(rows))
