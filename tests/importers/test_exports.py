"""Tables that MLflow, Weights & Biases, Lightning and Slurm export are answered as they are."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers import shell_of

DATA = Path(__file__).parent / "data"


def seconds(workers: int) -> float:
    return 0.2 + 0.02 * workers**0.5


#: As the page of runs exports them: settings are columns of the run, in quotes.
WANDB = '"Name","State","Runtime","world_size","train/step_time_s"\n' + "".join(
    f'"dandelion-{n}","finished","{1000 + n}","{n}","{seconds(n):.4f}"\n' for n in (1, 2, 4, 8)
)
#: `sacct -P --format=JobID,JobName,NNodes,NTasks,Elapsed,State`: jobs and their steps.
SACCT = "JobID|JobName|NNodes|NTasks|Elapsed|State\n" + "".join(
    f"{1000 + n}|train|{n}|{8 * n}|{f'00:{40 // n:02d}:00'}|COMPLETED\n" for n in (1, 2, 4, 8)
)


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    shell = shell_of(capsys)

    def of(text: str, at: str) -> dict[str, Any]:
        Path("export.csv").write_text(text)
        status, out, errors = shell("ask", "export.csv", "--at", at, "--json")
        assert status == 0, errors
        return dict(json.loads(out))

    return of


def test_runs_of_mlflow(ask: Any) -> None:
    # The last number of a name counts the runs of a configuration: it is no kind of them.
    answer = ask((DATA / "mlflow.csv").read_text(), "world_size=16")
    assert not any("kind" in column for column in answer["read_as"])
    assert {a["quantity"] for a in answer["answers"]} == {"metrics.step_time_s", "metrics.samples_per_second"}
    time = next(a for a in answer["answers"] if a["quantity"] == "metrics.step_time_s")
    assert time["lower"] < 0.21 + 0.012 * 4 < time["upper"]


def test_runs_of_weights_and_biases(ask: Any) -> None:
    answer = ask(WANDB, "world_size=16")["answers"][0]
    assert answer["quantity"] == "train/step_time_s"
    assert answer["lower"] < seconds(16) < answer["upper"]


def test_jobs_of_slurm_share_their_work(ask: Any) -> None:
    (answer,) = ask(SACCT, "NNodes=16")["answers"]
    assert answer["quantity"] == "Elapsed"
    assert answer["lower"] < 150.0 < answer["upper"]


def test_metrics_of_lightning_become_a_table(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for n in (1, 2, 4, 8):
        Path(f"gpus{n}").mkdir()
        steps = "".join(f"0,{50 * k + 49},,{100 * n / seconds(n):.3f}\n0,{50 * k + 49},2.5,\n" for k in range(3))
        header = "epoch,step,train_loss,train|global/samples_per_sec\n"
        Path(f"gpus{n}/metrics.csv").write_text(header + steps)
    shell = shell_of(capsys)
    assert shell("import", "gpus*/metrics.csv", "-o", "runs.csv")[0] == 0
    assert Path("runs.csv").read_text().splitlines()[0].split(",")[-1] == "gpus"
    assert "Expect" in shell("ask", "--full", "runs.csv", "--at", "gpus=16")[1]
