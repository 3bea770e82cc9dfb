"""Seconds that are seconds: a throughput of tokens beside a batch of samples; what the held-out error is of."""

import json
from pathlib import Path

import pytest
from helpers import Shell


def table(sequence: bool) -> str:
    """8 samples of 1024 tokens a gpu; a step takes 2 s and 0.05 s more for each doubling."""
    rows = [(n, 8 * n * 1024 / (2 + 0.05 * k)) for k, n in enumerate((1, 2, 4, 8))]
    head = "gpus,batch_per_gpu,tokens_per_s" + (",seq_len" if sequence else "")
    return "\n".join([head, *(f"{n},8,{rate}" + (",1024" if sequence else "") for n, rate in rows), ""])


ROLES = ("--throughput", "tokens_per_s", "--extrinsic", "gpus", "--scaling", "weak", "-o", "m.json")


def test_tokens_are_samples_times_the_sequence(shell: Shell) -> None:
    Path("runs.csv").write_text(table(sequence=True))
    assert shell("fit", "runs.csv", *ROLES, "--intrinsic", "batch_per_gpu,seq_len")[0] == 0
    out = shell("predict", "m.json", "--at", "gpus=8", "--json")[1]

    assert json.loads(out)["predictions"][0]["time"] == pytest.approx(2.15, rel=0.05)


def test_where_units_do_not_meet_seconds_are_refused(shell: Shell) -> None:
    Path("runs.csv").write_text(table(sequence=False))
    assert shell("fit", "runs.csv", *ROLES, "--intrinsic", "batch_per_gpu")[0] == 0
    out = shell("explain", "m.json", "--at", "gpus=8")[1]
    assert "no seconds: tokens_per_s counts tokens" in out
    assert "seconds and share" not in out


def test_a_held_out_error_says_what_was_predicted_from_what(shell: Shell) -> None:
    Path("runs.csv").write_text(table(sequence=True))
    status, out, err = shell("fit", "runs.csv", *ROLES, "--intrinsic", "batch_per_gpu,seq_len")
    assert status == 0
    assert "(gpus=8 predicted from the smaller ones; the final fit includes it)" in out + err
