"""Columns beside a count and a measurement: each is read for what it says, and the answer is about the count."""

from pathlib import Path

import pytest
from helpers import Shell, assert_says, csv_of, done, questions_in, told

COUNTS = (1, 2, 4, 8)
COLUMNS = questions_in(Path(__file__).with_name("columns.txt"))


@pytest.mark.parametrize("case", COLUMNS)
def test_a_column_says_what_it_is(shell: Shell, case: str) -> None:
    table, question, patterns = COLUMNS[case]
    assert_says(told(shell, table, *question), patterns)


def test_a_wanted_number_is_what_was_measured(shell: Shell) -> None:
    table = csv_of("gpus,floor_tok_s,streams", ((n, 20, 320 * n) for n in COUNTS))
    output = told(shell, table, "--full", "--want", "streams", "--at", "gpus=16")
    assert_says(
        output, ["read as: --quantity streams", "Expect a streams of 4,|Expect a streams of 5,", "!may name the runs"]
    )


#: Runs of 1 to 3 processes of 1 or 2 threads each.
HYBRID = csv_of(
    "procs_of_run,per_proc,workers,wall_s",
    ((p, t, p * t, 20 / (p * t) + 0.4 * p + 0.3 * t) for p in (1, 2, 3) for t in (1, 2)),
)


def test_a_product_of_two_settings_follows_them_in_every_command(shell: Shell) -> None:
    place = ("--at", "procs_of_run=2", "--at", "per_proc=1")
    output = told(shell, HYBRID, "--full", *place)
    assert_says(output, ["--let 'workers=procs_of_run\\*per_proc'", "workers=2", "!not given"])
    assert "workers=2" in done(shell, "explain", "runs.csv", *place)


def test_a_page_of_what_is_no_worker_needs_no_price(shell: Shell) -> None:
    table = csv_of("clients,latency_s,throughput", ((n, 0.02 * n, 1200 - n) for n in COUNTS))
    told(shell, table, "--at", "clients=16")
    done(shell, "report", "runs.csv", "--target", "clients=16", "-o", "page.html")


def test_a_wanted_column_of_words_is_refused_and_no_other_one_is_answered(shell: Shell) -> None:
    Path("runs.csv").write_text("gpus,s/kimg,memory (GB)\n1,fast,8\n2,slow,8.5\n4,slow,8.7\n", encoding="utf-8")
    status, _, errors = shell("ask", "runs.csv", "--want", "s/kimg", "--at", "gpus=8")
    assert status == 1
    assert "'s/kimg' holds no numbers" in errors
    assert "'fast'" in errors


def test_cells_say_what_a_rate_counts_in_every_command(shell: Shell) -> None:
    table = csv_of("GPUs,Throughput", ((n, f"{0.3 * n**0.95:.3g}M tok/s") for n in (8, 16, 32)))
    assert_says(told(shell, table, "--at", "gpus=64", "--tokens", "1T"), ["training time", "M tokens/s"])
    assert "for a million tokens" in done(shell, "compare", "runs.csv", "--at", "gpus=64", "--or", "gpus=128")
    done(shell, "fit", "runs.csv", "-o", "model.json")
    assert "tokens/s" in done(shell, "ask", "model.json", "--at", "gpus=64", "--tokens", "1T")
