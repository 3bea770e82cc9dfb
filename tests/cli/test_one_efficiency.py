"""`explain --knee`, `predict --show efficiency`, `ask` and the page report one efficiency, with one interval."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers import Shell, reply

SIZES = ["hidden", "layers", "seq_len", "micro_batch"]


def seconds(hidden: int, micro: int, n: int) -> float:
    """Return a step: 6 operations a parameter and token at 120 Tflop/s, and a ring of 2 bytes a parameter each way."""
    size, link = 12 * 24 * hidden**2, 1.2e11 if n <= 8 else 2e10
    return 6 * size * micro * 1024 / 1.2e14 + 0.02 + 4 * (n - 1) / n * size / link


def transformer_runs(counts: tuple[int, ...]) -> pd.DataFrame:
    """Return steps of a data-parallel transformer on nodes of eight, with a noise of 1 %."""
    rng = np.random.default_rng(1)
    sizes = ((1024, 4), (1024, 8), (2048, 4))
    rows = [
        (-(-n // 8), n, n, hidden, 24, 1024, micro, seconds(hidden, micro, n) * np.exp(0.01 * rng.standard_normal()))
        for hidden, micro in sizes
        for n in counts
    ]
    return pd.DataFrame(rows, columns=["nodes", "gpus", "dp", *SIZES, "step_s"])


@pytest.mark.parametrize(
    ("columns", "along", "counts"), [("gpus,dp", "gpus", (1, 2, 4, 8, 16)), ("nodes,dp", "dp", (8, 16, 24, 32, 48))]
)
def test_one_efficiency(columns: str, along: str, counts: tuple[int, ...], shell: Shell) -> None:
    runs = transformer_runs(counts)
    runs[[*columns.split(","), *SIZES, "step_s"]].to_csv("runs.csv", index=False)
    roles = ["--time", "step_s", "--extrinsic", columns, "--intrinsic", ",".join(SIZES)]
    at = ["--at", f"{along}=32", "--at", "hidden=1024", "--at", "micro_batch=4"]
    assert shell("fit", "runs.csv", *roles, "-o", "runs.model")[0] == 0
    commands = (
        ("predict", "runs.model", *at, "--show", "efficiency"),
        ("explain", "runs.model", *at, "--knee"),
        ("ask", "--full", "runs.csv", *roles, *at),
    )
    shown, explained, answer = (reply(shell, *command) for command in commands)
    curve = {row[along]: row for row in explained["scaling"]["curve"]}
    names = ("efficiency", "efficiency_lower", "efficiency_upper")
    expected = pytest.approx([curve[32.0][name] for name in names], rel=1e-5)
    assert [shown["predictions"][0][name] for name in names] == expected
    assert [answer[name] for name in names] == expected
    target = [text.replace("--at", "--target") for text in at]
    assert shell("report", "runs.csv", *roles, *target, "-o", "page.html", "--quiet")[0] == 0
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', Path("page.html").read_text(), re.S)
    sheet = json.loads(data[1])["groups"][0]["sheet"]
    assert sheet["summary"]["efficiency"] == pytest.approx(100.0 * answer["efficiency"], rel=1e-2)
    ends = "{:.0f} % (90 %: {:.0f} to {:.0f} %)".format(*(100.0 * answer[name] for name in names))
    assert ends in " ".join(sentence for card in sheet["answers"] for sentence in card["sentences"])
    # More devices are more data-parallel ways on more nodes: the law's own efficiency lies inside.
    if along == "dp":
        assert answer["efficiency_lower"] < seconds(1024, 4, counts[0]) / seconds(1024, 4, 32)
        assert answer["efficiency_upper"] > seconds(1024, 4, counts[0]) / seconds(1024, 4, 32)


def test_one_efficiency_without_the_work_of_a_step(shell: Shell) -> None:
    """Under weak scaling an efficiency needs no samples, and neither does whether growing pays."""
    rows = "".join(f"{n},{-(-n // 4)},{0.3 + 0.05 * (n - 1) / n}\n" for n in (1, 2, 4, 8, 16))
    Path("runs.csv").write_text(f"gpus,nodes,s\n{rows}")
    roles = ["--time", "s", "--extrinsic", "gpus,nodes", "--scaling", "weak"]
    assert shell("fit", "runs.csv", *roles, "-o", "runs.model")[0] == 0
    one, shown = reply(shell, "predict", "runs.model", "--at", "gpus=1,64", "--show", "efficiency")["predictions"]
    assert one["efficiency"] == one["efficiency_lower"] == one["efficiency_upper"] == 1.0
    told, known = (
        reply(shell, "ask", "runs.csv", *roles, *work, "--at", "gpus=64", words=True)
        for work in ((), ("--work", "32*gpus"))
    )
    for name in ("efficiency", "efficiency_lower", "efficiency_upper"):
        assert told[name] == known[name] == pytest.approx(shown[name], rel=1e-9)
    assert told["pays"] == pytest.approx(known["pays"], rel=1e-9)
    assert told["sentences"]["pays"] == known["sentences"]["pays"]
    assert "throughput" not in told
