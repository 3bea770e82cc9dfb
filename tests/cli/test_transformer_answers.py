"""Tokens per second, MFU, days and cost of a transformer's training, through the command line."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers import Shell, csv_of, done, refusal, run

FIT = ["--time", "step_s", "--intrinsic", "params,seq_len,mbs,gbs", "--extrinsic", "dp,tp,pp", "--model", "transformer"]
AT = ["--at", "params=1e9,seq_len=1024,mbs=2,gbs=64,dp=4,tp=2,pp=2"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("layouts")
    runs = pd.DataFrame(rng.choice([1, 2, 4], (40, 3)), columns=["dp", "tp", "pp"])
    runs["params"], runs["seq_len"] = rng.choice([1e9, 2e9], 40), rng.choice([1024, 2048], 40)
    runs["mbs"], runs["gbs"] = rng.choice([1, 2], 40), 64
    slots = runs.gbs / (runs.dp * runs.mbs) + runs.pp - 1
    runs["step_s"] = 1e-14 * 6 * runs.params * runs.mbs * runs.seq_len / (runs.tp * runs.pp) * slots + 0.01
    runs.assign(gbs=np.where(np.arange(40) == 7, 128, 64)).to_csv(folder / "runs.csv", index=False)
    path = str(folder / "model.json")
    assert run(["fit", str(folder / "runs.csv"), *FIT, "-o", path, "--quiet"]) == 0
    return path


def test_what_a_training_of_tokens_takes(model: str, shell: Shell) -> None:
    options = ["--tokens", "300B", "--price", "2/h", "--peak", "a100", "--json"]
    told = json.loads(done(shell, "predict", model, *AT, *options))["predictions"][0]
    tokens = 64 * 1024 / told["time"]
    assert told["tokens_per_s"] == pytest.approx(tokens)
    assert told["days"] == pytest.approx(300e9 / tokens / 86400)
    assert told["days_lower"] < told["days"] < told["days_upper"]
    assert told["training_cost"] == pytest.approx(told["days"] * 24 * 2 * 16)
    # 6·P operations a token, 16 devices of 312 TFLOP/s.
    assert told["mfu"] == pytest.approx(6 * 1e9 * tokens / 16 / 312e12)
    assert told["cost"] == pytest.approx(told["time"] * 16 * 2 / 3600)


def test_what_a_table_lacks_is_named(shell: Shell) -> None:
    runs = {"dp": [1, 2, 4, 8], "tp": [1, 1, 1, 2], "gbs": [8, 16, 32, 64], "s": [1.0, 1.1, 1.2, 0.7]}
    pd.DataFrame(runs).to_csv("runs.csv", index=False)
    done(shell, "fit", "runs.csv", "--time", "s", "--extrinsic", "dp,tp,gbs", "-o", "m.json", "--quiet")
    errors = refusal(shell, "predict", "m.json", "--at", "dp=4,tp=1,gbs=32", "--tokens", "1B")
    assert "needs the tokens of a sample, and nothing of the model shows it" in errors


@pytest.mark.parametrize("likelier", ["batch,step_ms", "global_batch,images_per_s"])
def test_a_question_of_tokens_is_one_of_their_rate_at_every_door(likelier: str, shell: Shell) -> None:
    rows = ((1, 4, 512, 8000), (2, 8, 530, 15450), (4, 16, 560, 29260), (8, 32, 600, 54600))
    Path("runs.csv").write_text(csv_of(f"gpus,{likelier},tokens_per_s", rows), encoding="utf-8")
    question = ["--at", "gpus=16", "--tokens", "1T", "--price", "2/h"]
    answer = json.loads(done(shell, "ask", "runs.csv", *question, "--json"))
    (row,) = json.loads(done(shell, "predict", "runs.csv", *question, "--json"))["predictions"]
    assert answer["answers"][0]["quantity"] == "tokens_per_s"
    named = ("days", "days_lower", "days_upper", "training_cost")
    assert [row[name] for name in named] == pytest.approx([answer[name] for name in named])
    done(shell, "report", "runs.csv", *question, "-o", "page.html")
    assert f"expect a training time of {answer['days']:.0f} d" in Path("page.html").read_text(encoding="utf-8")
    ranked = json.loads(done(shell, "compare", "runs.csv", *question, "--or", "gpus=8", "--json"))["ranking"][0]
    assert [ranked[name] for name in named] == pytest.approx([answer[name] for name in named])
    over = ["--over" if word == "--at" else word for word in question]
    best = json.loads(done(shell, "optimize", "runs.csv", *over, "--json"))["best"][0]
    assert [best["total"] / 86400, best["cost"]] == pytest.approx([answer["days"], answer["training_cost"]])
