"""Training of transformers: the errors of genperf's models and of the learners, in one run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pandas as pd

import genperf as gp
from experiments.accuracy.bundled_cases import rows_of_list
from experiments.shared import markdown_of, page

MODELS = "auto,family,generic,gaussian-process,gradient-boosting,linear"


@dataclass(frozen=True)
class Case:
    """A bundled table, how it is read, and how it is split beside 5-fold cross-validation."""

    table: str
    splits: tuple[str, ...]
    options: dict[str, Any] = field(default_factory=dict)


CASES = {row.pop("name"): Case(**row) for row in rows_of_list("transformers")}


def table_of(case: Case) -> gp.Table:
    """Return the rows of a case; those without the measured quantity are left out."""
    options = dict(case.options)
    if "quantity" not in options:
        return gp.datasets.load(case.table, **options)
    column = options["quantity"].partition(":")[0]
    roles = {k: v for k, v in gp.datasets.roles(case.table).items() if k not in options}
    frame = gp.datasets.frame(case.table)
    return gp.read_table(frame[frame[column].notna()].reset_index(drop=True), **{**roles, **options, "time": None})


def rows_of(name: str, case: Case) -> list[dict[str, str]]:
    """Return a row for each split of a case: the error of each model, and how `auto` covers."""
    table, rows = table_of(case), []
    family = "transformer-memory" if "quantity" in case.options else "transformer"
    for scheme in ("kfold:5", *case.splits):
        scores = gp.validate(table, MODELS.replace("family", family), scheme, seed=0).frame(timing=False)
        scores = scores.replace({"model": {family: "family"}}).set_index("model")
        row = {"table": name, "configurations": str(len(table.medians())), "predicted": scheme}
        row |= {m: f"{s['mape']:.1f} ({s['median_ape']:.1f})" for m, s in scores.iterrows()}
        rows.append(row | {"covers %": f"{scores.loc['auto', 'coverage']:.0f}"})
    return rows


def run() -> str:
    """Judge the tables."""
    rows: list[dict[str, str]] = []
    for name, case in CASES.items():
        rows += rows_of(name, case)
        print(markdown_of(pd.DataFrame(rows[-1 - len(case.splits) :])), flush=True)
    return page("transformers", table=pd.DataFrame(rows))
