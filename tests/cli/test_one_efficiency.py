"""One efficiency in `ask`, `explain --knee` and `predict --show`; growth that pays or does not."""

import json
from pathlib import Path

import pytest
from helpers import Shell, shell_of

#: Data-parallel training, 4 samples a device: 1 s of computation, and an exchange of gradients of 0.1 s a doubling.
ROWS = "\n".join(f"{n},{max(1, n // 8)},{n},1,4,{1.0 + 0.1 * k}" for k, n in enumerate((1, 2, 4, 8, 16, 32)))
DP = f"num_gpus,nodes,data_parallel,tensor_parallel,batch_per_gpu,step_time_s\n{ROWS}\n"
ROLES = "--time step_time_s --extrinsic num_gpus,nodes,data_parallel,tensor_parallel --intrinsic batch_per_gpu"


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.chdir(tmp_path)
    return shell_of(capsys)


def test_three_commands_report_one_efficiency(shell: Shell) -> None:
    """4·32/1.5 samples/s on 32 devices against 4/1 on one: an efficiency of 67 %, which no command may miss by much."""
    Path("runs.csv").write_text(DP)
    assert shell("fit", "runs.csv", *ROLES.split(), "-o", "m.json")[0] == 0
    at = ("--at", "num_gpus=32")
    asked = json.loads(shell("ask", "runs.csv", *at, "--json")[1])["efficiency"]
    shown = json.loads(shell("predict", "m.json", *at, "--show", "efficiency", "--json")[1])["predictions"][0]
    knee = json.loads(shell("explain", "m.json", *at, "--knee", "--json")[1])["scaling"]["curve"]
    explained = next(row["efficiency"] for row in knee if row["num_gpus"] == 32)
    assert shown["efficiency"] == pytest.approx(explained)
    assert asked == pytest.approx(explained, rel=0.1)
    assert 0.6 < explained < 0.75


def saturated(shell: Shell, *options: str) -> str:
    """A server that serves no more than 1000 samples a second: throughput stays from 8 gpus on."""
    rates = {1: 200, 2: 390, 4: 740, 8: 985, 16: 1000, 32: 998}
    Path("runs.csv").write_text("gpus,images_per_s\n" + "".join(f"{n},{r}\n" for n, r in rates.items()))
    status, out, _ = shell("ask", "runs.csv", "--at", "gpus=64", *options)
    assert status == 0
    return next(line for line in out.splitlines() if line.startswith("Growing"))


def test_growth_of_a_saturated_server_is_not_said_to_pay(shell: Shell) -> None:
    line = saturated(shell, "--price", "2/h")
    assert "gpus pays" not in line
    assert "at 2 per gpu-hour" in line


def test_growth_that_pays_has_an_interval_and_the_verdict(shell: Shell) -> None:
    Path("runs.csv").write_text(
        "gpus,images_per_s\n" + "".join(f"{n},{100 * n * 0.99**k}\n" for k, n in enumerate((1, 2, 4, 8, 16)))
    )
    line = next(v for v in shell("ask", "runs.csv", "--at", "gpus=32")[1].splitlines() if v.startswith("Growing"))
    assert "Growing from 16 gpus to 32 gpus pays: a further image costs" in line
    assert "(90 %: " in line
