"""The generic model on measurements of TensorFlow, MXNet and PyTorch, beside the learners.

Writes four pages: held-out errors (5-fold, and the largest counts from the smaller ones), the fitted constants with
their intervals, the errors of `auto` on the other bundled tables, and the costs that the two solvers reach. The same
command writes the same bytes.
"""

from __future__ import annotations

import pandas as pd

import genperf as gp
from experiments.shared import beside, page

COMMAND = "python -m experiments generic_model"
_FILE = beside(__file__)
#: Title → a bundled table, and rows of it; table → how its largest counts are predicted, of these and of other tables.
TABLES = {title: (table["name"], table.get("where")) for title, table in _FILE["tables"].items()}
LARGEST, OTHERS = _FILE["largest"], _FILE["others"]
MODELS = "generic,auto,last-point,linear,random-forest,gradient-boosting,svr,gaussian-process"
BESIDE = "auto,last-point,random-forest,gradient-boosting,gaussian-process"
#: Seeds of further deals of the folds, of which `auto` alone is asked.
DEALS = (1, 2, 3)
#: Structures without a choice, on which the two solvers are compared.
FIXED: dict[str, list[str]] = _FILE["fixed"]


def load(name: str, where: str | None) -> gp.Table:
    return gp.datasets.load(name) if where is None else gp.datasets.load(name, where=where)


def errors(table: gp.Table, scheme: str) -> pd.DataFrame:
    found = gp.validate(table, MODELS, scheme, seed=0).frame(timing=False)
    kept = found[["model", "mape", "median_ape", "rmse", "coverage", "width", "predicted"]]
    names = {"mape": "mean error %", "median_ape": "median error %", "rmse": "rmse s"}
    return kept.rename(columns={**names, "coverage": "coverage %", "width": "width %"})


def of_deals(table: gp.Table) -> str:
    """Return the mean error of `auto` and its coverage, of each further deal of the folds."""
    frames = [gp.validate(table, "auto", "kfold:5", seed=seed).frame(timing=False).iloc[0] for seed in DEALS]
    return ", ".join(f"{row['mape']:.2f} ({row['coverage']:.1f})" for row in frames)


def others() -> pd.DataFrame:
    """Return how `auto` and the learners predict the other tables: mean error, and coverage and width of `auto`."""
    rows = []
    for name, largest in OTHERS.items():
        for scheme in ("kfold:5", *([largest] if largest else [])):
            found = gp.validate(gp.datasets.load(name), BESIDE, scheme, seed=0).frame(timing=False).set_index("model")
            row = {"table": name, "predicted": scheme, **{f"{m} %": found.loc[m, "mape"] for m in found.index}}
            own = found.loc["auto"]
            rows.append({**row, "auto covers %": own["coverage"], "its width %": own["width"]})
    return pd.DataFrame(rows)


def constants(result: gp.FitResult) -> pd.DataFrame:
    """Return every constant but the levels of categorical factors, of which there are many."""
    found = result.constants().drop(columns="member")
    return found[~found["constant"].str.contains("[", regex=False)]


def solvers() -> pd.DataFrame:
    rows = []
    for name, structures in FIXED.items():
        table = gp.datasets.load(name)
        for structure in structures:
            fits = {s: gp.fit(table, "generic", structure=structure, solver=s, draws=2) for s in ("de", "projected")}
            cost = {s: fitted.best.status for s, fitted in fits.items()}
            rows.append(
                {
                    "table": name,
                    "structure": structure,
                    "constants": len(fits["de"].best.expression.constants),
                    **{f"cost, {s}": f"{status.cost:.6f}" for s, status in cost.items()},
                    "difference %": f"{100 * abs(cost['de'].cost / cost['projected'].cost - 1):.4f}",
                    **{f"agreed, {s}": f"{status.agreed} of {status.restarts}" for s, status in cost.items()},
                    **{f"sets tried, {s}": status.evaluations for s, status in cost.items()},
                }
            )
    return pd.DataFrame(rows)


def run() -> dict[str, str]:
    """Return the text of each page by its name."""
    tables = []
    for title, (name, where) in TABLES.items():
        table = load(name, where)
        fitted = gp.fit(table, "generic", seed=0)
        tables.append(
            {
                "title": title,
                "name": name,
                "where": where,
                "configurations": len(table.medians()),
                "between": errors(table, "kfold:5"),
                "deals": of_deals(table),
                "scheme": LARGEST[name],
                "beyond": errors(table, LARGEST[name]),
                "terms": len(fitted.best.expression.terms) - 1,
                "lam": fitted.options["lambda"],
                "constants": constants(fitted),
            }
        )
    return {
        "generic": page("generic", command=COMMAND, tables=tables),
        "generic-constants": page("generic-constants", command=COMMAND, tables=tables),
        "other-tables": page("other-tables", command=COMMAND, table=others()),
        "solvers": page("solvers", command=COMMAND, table=solvers()),
    }
