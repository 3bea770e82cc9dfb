"""Predictions from few networks on one GPU, and its utilisation beside the operations that PyTorch counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

import genperf as gp
from experiments.accuracy.scores import error, held_out_errors, inside
from experiments.shared import beside, page

DESIGNS = beside(__file__)
SCHEMES: dict[str, list[str]] = DESIGNS.pop("schemes")
MODELS = ("auto", "generic")
BESIDE = ("auto", "generic", "linear", "random-forest", "gradient-boosting", "svr", "gaussian-process")
#: The seed with which configurations are drawn.
SEED = 0


def fitted_rows(frame: pd.DataFrame, design: dict[str, Any]) -> pd.Series:
    """Return which configurations a design fits."""
    if "where" in design:
        return frame.eval(design["where"])
    if "some" in design:
        return pd.Series(frame.index.isin(frame.sample(design["some"], random_state=SEED).index), frame.index)
    return (frame[[*design["base"]]] != pd.Series(design["base"])).sum(axis=1) <= 1


def asked() -> Iterator[dict[str, Any]]:
    """Yield how each design predicts the configurations that it does not fit."""
    for name, designs in DESIGNS.items():
        table = gp.datasets.load(name)
        medians = table.medians()
        for title, design in designs.items():
            kept = fitted_rows(medians.frame, design).to_numpy()
            train = table.take(np.flatnonzero(kept[table.configuration]))
            for model in MODELS:
                rows = gp.fit(train, model, seed=0).predict(medians.take(np.flatnonzero(~kept)).frame)
                rows["measured"] = medians.measured[~kept]
                is_ok = rows.verdict == "ok"
                yield {
                    "table": name,
                    "fitted": f"{title}: {kept.sum()}",
                    "model": model,
                    "error %": error(rows).mean(),
                    "bias %": 100.0 * float(np.median(np.log(rows["time"] / rows.measured))),
                    "covers %": 100.0 * inside(rows).mean(),
                    "half width %": 50.0 * float(np.median(np.log(rows.upper / rows.lower))),
                    "ok %": 100.0 * is_ok.mean(),
                    "ok covers %": 100.0 * inside(rows[is_ok]).mean() if is_ok.any() else float("nan"),
                }


def utilisations() -> pd.DataFrame:
    """Return the counted utilisation of each transformer, and the one that is answered from its size and speed."""
    names = {"layers": "layers", "hidden_size": "hidden", "seq_length": "seq", "batch": "gbs", "step_time_s": "step_s"}
    rows = []
    for _, run in gp.datasets.frame("gpu_transformer").query("repeat == 0").iterrows():
        words = [f"{word}={run[column]}" for column, word in names.items()]
        answer: Any = gp.ask(" ".join(["h200", "bf16", f"params={run['parameters']}", *words]))
        used = answer.numbers
        counted = run["flops_per_step"] / run["step_time_s"] / used["peak"]
        rows.append({"counted": counted, **{end: used[end] / counted for end in ("mfu", "mfu_lower", "mfu_upper")}})
    return pd.DataFrame(rows)


def run() -> dict[str, str]:
    """Return the page."""
    schemes = [(name, scheme) for name, schemes in SCHEMES.items() for scheme in schemes]
    errors = [
        {"table": name, "predicted": scheme, **held_out_errors(gp.datasets.load(name), BESIDE, scheme)}
        for name, scheme in schemes
    ]
    used = utilisations()
    holds = (used.mfu_lower <= 1.0) & (used.mfu_upper >= 1.0)
    return {
        "one-gpu": page("one-gpu", asked=pd.DataFrame(asked()), errors=pd.DataFrame(errors), used=used, holds=holds)
    }
