"""The answer at a glance: what a card says, what it leaves out, and that no sentence speaks against itself."""

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from helpers import Shell, assert_says, cases_in_text, done, reply
from msgspec.structs import replace

import genperf as gp
from genperf.asking.answer import MOST_LINES, card
from genperf.facts import Interval, Turn
from genperf.words.growth import turn_sentence

RUNS = pd.DataFrame(
    {"gpus": [1, 2, 4, 8, 16], "nodes": [1, 1, 1, 1, 2], "batch_per_gpu": 32, "step_s": [0.2, 0.21, 0.22, 0.24, 0.29]}
)


#: What each device does grows with the count: the batch of all and the nodes are in proportion to the devices.
WEAK = pd.DataFrame({"gpus": [8, 16, 32, 64, 128], "global_batch": [512, 1024, 2048, 4096, 8192]}).assign(
    nodes=[1, 2, 4, 8, 16], step_s=[0.412, 0.431, 0.446, 0.459, 0.481]
)


@pytest.fixture(scope="module")
def answer() -> Any:
    return gp.ask(RUNS, gpus=64, price="2/h")


def test_a_card_has_value_interval_verdict_and_next_step_in_fourteen_lines_of_eighty_columns(answer) -> None:
    lines = [line.plain for line in card(answer, 80, footer=True)]
    assert len(lines) <= MOST_LINES
    assert lines[0].startswith("DataFrame · 5 runs, 1 to 16 gpus")
    assert lines[0].endswith("64 gpus")
    text = "\n".join(lines)
    assert re.search(r"throughput +[\d,]+ samples/s +[\d,]+ – [\d,]+ +1,7\d0\n", text)
    assert re.search(r"efficiency +\d+ % +\d+ – \d+ +69 %\n", text)
    assert re.search(r"cost +[\d.]+ per M samples", text)
    assert re.search(r"^(✓ ok|⚠ caution|✗ extrapolating-blind) ", text, re.MULTILINE)
    assert re.search(r"^→ next  measure ", text, re.MULTILINE)


@pytest.mark.parametrize("width", [40, 80, 120])
def test_every_line_has_the_width_of_its_card(answer, width: int) -> None:
    assert max(len(line.plain) for line in card(answer, width, footer=True)) <= max(60, min(width, 96))


def test_the_picture_shows_each_measured_run(answer) -> None:
    pytest.importorskip("uniplot")
    lines = [line.plain for line in card(answer, 80)]
    drawn = [line for line in lines if "┤" in line]
    assert sum(line.count("●") for line in drawn) == 5
    assert not any("┤" in line.plain for line in card(answer, 80, picture=False))


def test_the_measured_parts_of_a_step_are_told_and_have_no_throughput_of_their_own(shell: Shell) -> None:
    rows = [
        (n, 8 * n, 1.2 + 0.1 * (n > 1) + 0.02 * n, 0.8, 0.25 + 0.1 * (n > 1) + 0.02 * n, 0.15) for n in (1, 2, 4, 8)
    ]
    names = ["nodes", "gpus", "step_time_s", "compute_s", "allreduce_s", "data_loading_s"]
    pd.DataFrame(rows, columns=names).assign(global_batch=lambda runs: 64 * runs.gpus).to_csv("parts.csv", index=False)
    said = (
        "Of a step measured at gpus=64, 55 % compute_s (66 % at 8), 35 % allreduce_s (22 % at 8), 10 % data_loading_s."
    )
    for question in ("how much of the time is communication at 16 nodes", "is data loading a bottleneck at 16 nodes"):
        assert said in done(shell, "ask", "parts.csv", question)
    done(shell, "fit", "parts.csv", "-o", "parts.json", "-q")
    assert said in done(shell, "ask", "parts.json", "--at", "nodes=16", "--why")
    done(shell, "report", "parts.csv", "--target", "nodes=16", "-o", "parts.html", "-q")
    assert said in Path("parts.html").read_text()
    # What was measured of the whole step stands in the place of a cause that is inferred.
    assert said in done(shell, "explain", "parts.csv", "--why")
    assert reply(shell, "ask", "parts.csv", "--at", "nodes=16")["causes"] == []
    card_of_part = done(shell, "ask", "parts.csv", "--want", "allreduce_s", "--at", "nodes=16")
    assert_says(card_of_part, ["^allreduce_s +0.6", "!throughput", "!efficiency"])


@pytest.mark.parametrize(
    ("option", "words"),
    [("--why", "% of the time"), ("--normal", "published series"), ("--cost", "rowing from 16 to 64 gpus")],
)
def test_one_question_is_answered_alone(shell: Shell, option: str, words: str) -> None:
    RUNS.to_csv("runs.csv", index=False)
    out = shell("ask", "runs.csv", "--at", "gpus=64", option)[1]
    assert words in out
    assert "Expect" not in out
    assert words in shell("ask", "runs.csv", "--at", "gpus=64", "--full")[1]


def test_an_answer_of_python_has_its_numbers_by_name(answer) -> None:
    assert answer.interval[0] < answer.value < answer.interval[1]
    assert answer.throughput == pytest.approx(64 * 32 / answer.value)
    assert answer.verdict in ("ok", "caution", "extrapolating-blind")
    assert repr(answer) == answer.card()
    assert "<pre" in answer._repr_html_()
    assert [one.to_dict()["at"]["gpus"] for one in gp.ask(RUNS, gpus=[32, 64])] == [32.0, 64.0]


def test_a_name_that_is_markup_stays_text() -> None:
    answered = gp.ask(RUNS.assign(gpu="<b>x</b>"), gpus=32, at={"gpu": "<b>x</b>"})
    assert "<b>x" not in answered._repr_html_()


def test_a_table_of_polars_without_pyarrow_gets_a_message() -> None:
    class Frame:
        def to_pandas(self) -> None:
            raise ModuleNotFoundError("pyarrow is required")

    with pytest.raises(gp.GenperfError, match="pyarrow") as error:
        gp.ask(Frame(), gpus=64)
    assert "genperf[parquet]" in str(error.value)


@cases_in_text("count, reached, words")
def test_nothing_is_said_beside_its_own_probability_of_being_false(count: float, reached: float, words: str) -> None:
    turn = Turn("throughput", Interval(count, 4.0, 32.0), reached, "gpus", 64.0, 0.9, "step")
    assert words in turn_sentence(turn)


#: Columns of runs and a question → patterns of the card; those behind a `!` are not there.
@cases_in_text("case, columns, at, patterns")
def test_what_a_card_says(case: str, columns: Any, at: Any, patterns: Any) -> None:
    assert_says(gp.ask(pd.DataFrame(columns), at=at).card(), patterns)


@pytest.mark.parametrize(
    ("header", "cells"),
    [("Acceleration Rate", "{} X"), ("Speedup", "{}x"), ("Speed-up", "{}")],
    ids=["acceleration", "speedup", "speed-up"],
)
def test_a_speed_up_is_a_multiple_on_every_line(header: str, cells: str) -> None:
    runs = pd.DataFrame({"GPUs": [1, 2, 4, 8], header: [cells.format(v) for v in ("1.00", "1.98", "3.80", "7.1")]})
    answer = gp.ask(runs, GPUs=32)
    assert answer.answers[0].unit == "x"
    assert not re.search(r"(units|samples)/s", "\n".join(line.plain for line in card(answer, 80, footer=True)))


def test_no_line_about_the_record_is_cut_off() -> None:
    for gpus in (2048, 8192):
        lines = [line.plain for line in card(gp.ask(WEAK, gpus=gpus), 80)]
        assert sum(line.endswith(("% of intervals held", "% of intervals held the truth")) for line in lines) == 1


def test_what_is_asked_and_found_nowhere_stands_on_the_card() -> None:
    lines = [line.plain for line in card(gp.ask(WEAK, gpus=64, colour="red"), 80)]
    assert "✗ extrapolating-blind  asked, and found nowhere in the runs: colour" in lines
    assert len(lines) <= MOST_LINES
    assert not any("found nowhere" in line.plain for line in card(gp.ask(WEAK, gpus=64), 80))
    with pytest.raises(gp.GenperfError, match="did you mean 'gpus'"):
        gp.ask(WEAK, gpsu=64, batch_per_gpu=32)


def test_a_long_reason_of_a_verdict_stands_whole_on_the_card() -> None:
    reason = "predicting gpus=64 from smaller scales, the model erred by 14 %, and a forecast of no change by 6 %"
    answer = gp.ask(WEAK, gpus=256)
    answer = replace(answer, answers=(replace(answer.answers[0], verdict="caution", reason=f"{reason}; more"),))
    lines = [line.plain for line in card(answer, 80)]
    assert f"⚠ caution  {reason}" in " ".join(map(str.strip, lines))
    assert len(lines) <= MOST_LINES


@pytest.mark.parametrize("wrong", [{"want": {"gpus": 64}}, {"want": 5}, {"at": "gpus=64"}])
def test_a_configuration_that_is_no_mapping_is_refused_in_words(wrong: dict[str, Any]) -> None:
    with pytest.raises(gp.GenperfError, match=r"ask: (want is a text|at is a mapping)"):
        gp.ask(WEAK, **wrong)


def test_a_value_without_a_scale_says_of_what_its_interval_holds() -> None:
    runs = pd.DataFrame({"GPU": ["V100", "A100", "H100", "L40S"], "gpus": 8, "step_ms": [412, 187, 96, 240]})
    assert "90 % interval" in gp.ask(runs, at={"GPU": "H100"}).card()


def test_rates_of_what_is_rare_are_told_by_the_hour() -> None:
    for counted, unit in (("trials", "trials/h"), ("img", "images/s")):
        runs = pd.DataFrame({"workers": [2, 4, 8, 16], f"{counted}/h": [855.1, 1606.2, 3005.8, 5567.3]})
        assert f" {unit} " in gp.ask(runs, workers=8).card()
