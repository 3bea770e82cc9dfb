"""The command line says where values were never measured together."""

from pathlib import Path

import pandas as pd

from genperf.cli.main import run


def test_predict_names_the_nearest_run(tmp_path: Path) -> None:
    rows = [(p, m, n, 0.1 + p * m / n) for p, most in ((1, 64), (4, 16), (30, 3)) for m in (1, 3, 16, 64) if m <= most
            for n in (8, 16, 32)]  # fmt: skip
    pd.DataFrame(rows, columns=["params", "micro_batch", "gpus", "s"]).to_csv(tmp_path / "runs.csv", index=False)
    model = str(tmp_path / "model.json")
    roles = ["--time", "s", "--intrinsic", "params,micro_batch", "--extrinsic", "gpus"]
    formula = "c + a*params*micro_batch/gpus"
    assert run(["fit", str(tmp_path / "runs.csv"), *roles, "--model", formula, "-o", model, "-q"]) == 0
    out = tmp_path / "out.csv"
    at = ["--at", "params=30", "--at", "micro_batch=3,32", "--at", "gpus=8"]
    assert run(["predict", model, *at, "-o", str(out), "-q"]) == 0
    shown = pd.read_csv(out)
    assert shown["verdict"].tolist() == ["ok", "extrapolating-blind"]
    assert shown["reason"][1] == (
        "params=30 and micro_batch=32 were never measured together; nearest run: params=30, micro_batch=3"
    )
