"""The card of one run: its place among published runs, and the days and the cost of a training."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers import Shell, cases_in_text, done, refusal, reply
from msgspec import to_builtins

import genperf as gp
from genperf import datasets
from genperf.asking.ask import Question
from genperf.asking.one_run import run_answer, run_of_row
from genperf.facts import Training
from genperf.normal.runs import place_of_run
from genperf.panel.words import row_of_words
from genperf.words.published import judged_text

TRILLION = Question(training=Training(1e12))


def row_in(text: str) -> dict[str, Any]:
    return row_of_words(text.split())


def test_a_run_lies_among_published_ones_of_its_device_and_size() -> None:
    places = [place_of_run(value, "h100", 7e9) for value in (0.05, 0.3, 0.42, 0.75)]
    assert [judged_text(place) for place in places] == [
        "lower than nine in ten",
        "in the lower third",
        "in the middle third",
        "higher than nine in ten",
    ]
    place = places[0]
    assert (place.among, place.sources) == ("H100 runs of 3 to 15 B", 6)
    table = datasets.runs()
    alike = (table["family"] == "h100") & (table["precision_class"] == "16-bit") & (table["mixture"] == 0)
    assert place.runs == int((alike & table["active"].between(3e9, 15e9, inclusive="left")).sum())
    assert 0.1 < place.low < place.median < place.high < 0.8


def test_a_source_counts_once_whatever_its_number_of_runs() -> None:
    published = datasets.runs()
    source = published[published["repository"] == published["repository"][0]]
    doubled = pd.concat([published, source, source], ignore_index=True)
    before, after = (place_of_run(0.4, "a100", 7e9, published=table) for table in (published, doubled))
    assert after.percentile == pytest.approx(before.percentile, abs=1e-9)


def test_days_and_cost_follow_from_one_run(shell: Shell) -> None:
    words = ("ask", "8xh100", "7B", "76800tok/s", "bf16", "--tokens", "1T", "--price", "16/node/h")
    here, there, said = (reply(shell, *words, *of) for of in ((), ("--at", "64xh100"), ("on", "64", "h100s")))
    # 1e12 / 76800 / 86400 d on the counts of the run.
    assert here["training"]["days"] == pytest.approx(150.7, rel=0.01)
    training = there["training"]
    assert training["days"] == pytest.approx(150.7 / 8.0, rel=0.25)
    # The second node is not known: the upper end is far, the lower one near.
    assert training["days_upper"] > 1.5 * training["days"] > 1.5 * training["days_lower"]
    assert training["cost"] == pytest.approx(training["days"] * 24.0 * 64.0 * 2.0)
    assert (said["training"], training["verdict"], training["nodes"]) == (training, "extrapolating-blind", 8.0)
    assert training["next"] == "measure 16 devices on 2 nodes"
    assert "at 16 per node-hour" in there["sentences"]["card"].replace("\n          ", " ")
    assert set(there["normal"]) >= {"of", "value", "percentile", "median", "low", "high", "runs", "sources"}


def test_a_deadline_asks_for_the_devices() -> None:
    def within(run: str, deadline: str, **at: Any) -> tuple[dict[str, Any], str]:
        answer = gp.ask(run, tokens="1T", deadline=deadline, **at)
        return answer.to_dict()["training"], " ".join(str(answer).split())

    # Before any run: half the devices take twice as long, and the upper end is that of published ones.
    training, card = within("8xh100 7B", "30d")
    assert training["days"] <= 30.0 < 2.0 * training["days"]
    devices = training["devices"] * 2.0 ** np.ceil(np.log2(training["days_upper"] / 30.0))
    assert f"kept as expected; by the upper end from {devices:g} devices on" in card
    # A count that is named stays.
    training, card = within("8xh100 7B 76800tok/s", "30d", at={"devices": 8})
    assert (training["devices"], "deadline not kept" in card) == (8.0, True)
    assert "kept as expected; by the upper end at no count" in within("8xh100 7B 40%", "160d", at={"devices": 8})[1]
    card = within("8xh100 7B 40%", "400d", at={"devices": 8})[1]
    assert "kept as expected; by the upper end from 8 devices on" in card
    assert "deadline not kept" in within("8xh100 7B 76800tok/s", "60")[1]


def test_tokens_and_their_deadline_may_be_words_or_options(shell: Shell) -> None:
    runs = ("7B H100 1T tokens --deadline=30d", "7B H100 deadline 30 days"), ("7B H100 1T tokens",)
    more = ((), ("--tokens", "1T")), (("--deadline", "30d"),)
    answers = [
        reply(shell, "ask", run, *of) for group in zip(runs, more, strict=True) for run, of in zip(*group, strict=True)
    ]
    assert answers[0]["training"]["devices"] == 64.0
    assert answers[0] == answers[1] == answers[2]


def test_active_parameters_are_a_part_of_all(shell: Shell) -> None:
    for active in ("0", "9B"):
        assert "is no part of 7 billion parameters" in refusal(shell, "ask", "8xh100", "7B", f"active={active}", "40%")


def test_tokens_without_a_time_are_asked_about(shell: Shell) -> None:
    by_option = reply(shell, "ask", "8xh100", "7B", "76800tok/s", "--tokens", "1T")
    assert reply(shell, "ask", "8xh100", "7B", "76800tok/s", "1T", "tokens") == by_option
    # Behind `7B` stand no 7 billion tokens where their number follows.
    for words in ("7B tokens 1T", "7B --tokens=1T", "--tokens 1T 7B"):
        assert reply(shell, "ask", f"8xh100 {words} 76800tok/s")["training"] == by_option["training"]
    words = "8 H100 7B 76800tok/s, how long for 1T tokens on "
    assert {reply(shell, "ask", words + count)["training"]["devices"] for count in ("64?", "64 GPUs", "64 H100s")} == {
        64
    }


def test_an_option_among_words_is_one_that_is_known(shell: Shell) -> None:
    assert "did you mean '--price'" in refusal(shell, "ask", "8xh100 7B 40% 1T tokens --prices=2/h")


def test_a_sentence_may_have_a_price_and_a_deadline(shell: Shell) -> None:
    for price in ("$2 per GPU hour", "at 2 $/h", "rented at $16/node/hour", "price of 2 per gpu hour", "--price 2/h"):
        assert reply(shell, "ask", f"7B on 1T tokens, 8xh100 40%, {price}")["training"]["cost"] > 1e4
    assert "deadline  kept" in done(shell, "ask", "7B, 1T tokens, H100, deadline 30 days")


def test_a_share_alone_gives_the_speed(shell: Shell) -> None:
    assert "speed     76,800" in done(shell, "ask", f"8xh100 7B 40.75%, {'of which we have more to say ' * 20}")
    # 0.4075 · 8 · 989.4e12 / (6 · 7e9)
    assert "speed     76,800 tokens/s" in done(shell, "ask", "8xh100 7B 40.75%")


def test_networks_of_images_have_no_published_runs(shell: Shell) -> None:
    assert "no published run of images" in done(shell, "ask", "8xv100", "resnet50", "2900img/s")
    # 0.36 % is no 0.4 %.
    assert "MFU       0.36 %" in done(shell, "ask", "4xa100", "llama-7b", "111tok/s", "seq=200")


def test_a_hinted_link_narrows_the_interval(shell: Shell) -> None:
    words = ("ask", "8xh100", "7B", "76800tok/s", "gbs=1024", "seq=2048", "--tokens", "1T", "--at", "16", "--json")
    open_, hinted = (
        json.loads(done(shell, *words, *more))["training"] for more in ((), ("--hint", "bandwidth=3200Gbit/s"))
    )
    assert hinted["days_upper"] < open_["days_upper"]


def test_before_any_run_the_published_range_answers(shell: Shell) -> None:
    answer = reply(shell, "ask", "64xh100", "7B", "--tokens", "1T")
    place, training = answer["normal"], answer["training"]
    # 6 · 7e9 · 1e12 operations at the published utilisations of 64 · 989.4e12.
    for days, share in (("days", "median"), ("days_lower", "high"), ("days_upper", "low")):
        assert training[days] == pytest.approx(6 * 7e21 / (64 * 989.4e12 * place[share]) / 86400)
    assert answer["mfu"] is None
    assert training["next"] == "measure the tokens a second of 8 devices"


@cases_in_text("words, message")
def test_what_cannot_be_answered_says_what_to_try(shell: Shell, words: str, message: str) -> None:
    assert message in refusal(shell, "ask", *words.split())


def test_a_long_card_has_fourteen_lines_and_does_without_causes() -> None:
    run = "16xh100 mixtral-8x7b 9000tok/s mfu=85% recompute=full nodes=2 seq=4096 gbs=64, 93% scaling of 12 stages"
    lines = str(gp.ask(run, tokens="1T", at={"devices": "640"}, price="2/h")).splitlines()
    assert len(lines) <= 14
    assert max(map(len, lines)) <= 80
    assert not any(line.startswith("less by") for line in lines)
    assert lines[-1].startswith("→ next")


def test_python_and_a_table_of_one_row_answer_alike(tmp_path: Path, shell: Shell) -> None:
    spoken = gp.ask("8xh100", model="7B", tokens_per_s=76800, precision="bf16", tokens="1T", at={"gpus": 64})
    row = {"gpu": "NVIDIA H100 80GB", "gpus": 8, "model": "7B", "dtype": "bf16", "tokens_per_s": 76800}
    pd.DataFrame([row]).to_csv(tmp_path / "one.csv", index=False)
    printed = done(shell, "ask", str(tmp_path / "one.csv"), "--tokens", "1T", "--at", "gpus=64", "--json")
    assert json.loads(printed) == json.loads(json.dumps(spoken.to_dict()))
    assert gp.ask(pd.DataFrame([row])).to_dict()["mfu"] == spoken.to_dict()["mfu"]
    # Several runs are a table, as before.
    pd.DataFrame([{**row, "gpus": n, "tokens_per_s": 9000 * n} for n in (1, 2, 4)]).to_csv(tmp_path / "more.csv")
    assert "answers" in reply(shell, "ask", str(tmp_path / "more.csv"), "--at", "gpus=8")


def test_days_of_a_stated_share_hold_what_is_not_known_of_the_operations() -> None:
    by_share, by_rate = (
        run_answer(row_in(f"64xh100 7B bf16 {speed}"), question=TRILLION).numbers["training"]
        for speed in ("40%", "603063tok/s")
    )
    # 6 · 7e21 operations at 40 % of 64 · 989.4e12; 7B may be 6.5 to 7.6 billion, and attention comes to them.
    assert by_share["days"] == pytest.approx(6 * 7e21 / (64 * 989.4e12 * 0.4) / 86400)
    assert by_share["days"] == pytest.approx(by_rate["days"], rel=1e-5)
    # Repeats of either differ alike.
    assert by_share["days_lower"] == pytest.approx(0.93 * by_rate["days_lower"], rel=1e-5)
    assert by_share["days_upper"] > 1.09 * by_rate["days_upper"]
    # No end is above the peak.
    assert run_answer(row_in("64xa100 13B 200000tok/s")).numbers["mfu_upper"] == 1.0


def test_an_input_embedding_that_only_looks_up_is_in_the_interval() -> None:
    # Of 45.6 million parameters 16.4 are one: the operations that PyTorch counted are in the interval, and below 6·P.
    run = gp.datasets.frame("gpu_transformer").sort_values(["parameters", "seq_length", "batch"]).iloc[0]
    shape = f"layers={run.layers} hidden={run.hidden_size} seq={run.seq_length} gbs={run.batch}"
    used = run_answer(row_in(f"h200 bf16 params={run.parameters} {shape} step_s={run.step_time_s}")).numbers
    assert used["mfu_lower"] < run.flops_per_step / run.step_time_s / used["peak"] < used["mfu"]


def test_a_peak_of_another_precision_is_named() -> None:
    assert "the fp32 peak of TPU v4 is not known: that of 16 bits is taken" in str(
        run_answer(row_in("64xtpu-v4 7B fp32 9e3tok/s"))
    )
    for known in ("8xp100 7B fp32 100tok/s", "8xp100 7B 100tok/s"):
        assert "is not known" not in str(run_answer(row_in(known)))


def test_a_stated_share_does_not_stay_at_other_counts_more_than_a_rate_does() -> None:
    # 40.75 % is 76,800 tokens/s: what the second node costs is not known of either.
    by_rate, by_share = (
        run_answer(row_in(f"8xh100 7B bf16 {speed}"), {"count": "64gpus"}, TRILLION).numbers["training"]
        for speed in ("76800tok/s", "40.75%")
    )
    assert by_share["days"] == pytest.approx(by_rate["days"], rel=1e-3)
    assert by_share["days_lower"] < by_rate["days_lower"]
    assert by_share["days_upper"] > by_rate["days_upper"]
    assert (by_share["reason"], by_share["next"]) == (by_rate["reason"], by_rate["next"])


def test_what_to_run_next_depends_on_the_count_and_a_count_without_tokens_is_not_passed_over() -> None:
    answer = run_answer(row_in("8xh100 7B 76800tok/s"), at={"count": "64"})
    assert ("are of a training: add --tokens" in str(answer), answer.numbers["training"]) == (True, None)
    # No tokens would answer it of images.
    assert "are of a training: a run of another" in str(
        run_answer(row_in("8xv100 resnet50 2900img/s"), at={"count": "64"})
    )
    for count, told in (("8", "it again"), ("4", "4 devices"), ("16", "16 devices on 2 nodes")):
        answer = run_answer(row_in("8xh100 7B 76800tok/s"), {"count": count}, TRILLION)
        assert answer.numbers["training"]["next"] == f"measure {told}"
    # One device is no node: the second one is of eight as well.
    answer = run_answer(row_in("1xh100 7B 9600tok/s"), {"count": "64"}, TRILLION)
    assert answer.numbers["training"]["next"] == "measure 16 devices on 2 nodes"


def test_what_explains_too_little_is_not_named_and_small_products_come_first() -> None:
    # Four thirds of 6.4 % are still below what nine in ten reach.
    far, small = (
        run_answer(row_in(text)).numbers["less_by"] for text in ("8xa100 70B bf16 20TFLOP/s", "1xa100 124M 9%")
    )
    assert not any("computed again" in text for text in far)
    assert small[0] == "products too small for the device"


@cases_in_text("words, less, more")
def test_what_is_high_or_low_among_published_runs_is_explained(words: str, less: list[str], more: list[str]) -> None:
    numbers = run_answer(row_in(words)).numbers
    assert [[*numbers[name][:1]] for name in ("less_by", "more_by")] == [less, more]


def test_an_exchange_between_nodes_is_named_of_several_alone() -> None:
    for nodes, named in ((2, True), (1, False)):
        row = {"gpu": "A100", "gpus": 16, "nodes": nodes, "params": 70e9, "mfu": "20 %"}
        assert ("an exchange between nodes that nothing hides" in run_answer(row).numbers["less_by"]) == named


@pytest.mark.parametrize(
    "cells", [{"params": "-7e9"}, {"gpus": 0}, {"gpus": "eight"}, {"tokens_per_s": -76800}, {"seq": -5}, {"mfu": -3}]
)
def test_a_number_that_cannot_be_is_named(cells: dict[str, object]) -> None:
    row = {"gpu": "h100", "gpus": 8, "params": 7e9, "tokens_per_s": 76800} | cells
    ((column, value),) = cells.items()
    with pytest.raises(gp.GenperfError, match=f"^'{column}' of a run is {value}"):
        run_of_row(row)


def test_an_unknown_device_of_a_row_is_named_beside_the_tables_card(tmp_path: Path, shell: Shell) -> None:
    row = {"gpu": "h10", "gpus": 8, "model": "7B", "dtype": "bf16", "tokens_per_s": 76800}
    pd.DataFrame([row]).to_csv(tmp_path / "one.csv", index=False)
    status, out, err = shell("ask", str(tmp_path / "one.csv"))
    assert (status, "76,800 tokens/s" in out) == (0, True)
    assert "'h10' is no device whose peak is known" in err
    assert "did you mean 'h100'" in err
    # 6 · 7e9 · 76800 / (8 · 800e12)
    assert "MFU       50.4 %" in shell("ask", str(tmp_path / "one.csv"), "--peak", "800T")[1]
    # A row that is no run of a network needs no device.
    pd.DataFrame([{"gpu": "h10", "gpus": 8, "step_s": 2.0}]).to_csv(tmp_path / "one.csv", index=False)
    assert "no device" not in shell("ask", str(tmp_path / "one.csv"))[2]
    # So is a row without its network, which has no utilisation.
    pd.DataFrame([{"gpu": "V100", "gpus": 2, "images_per_s": 900}]).to_csv(tmp_path / "runs.csv", index=False)
    status, out, err = shell("ask", str(tmp_path / "runs.csv"))
    assert (status, "900 images/s" in out, "the network of the run is missing" in err) == (0, True, True)


def test_several_runs_in_words_are_a_table(tmp_path: Path, shell: Shell) -> None:
    runs = [(8, "76800"), (16, "150k"), (32, "290,000")]
    words = [f"{count}xh100 7B {rate} tok/s bf16" for count, rate in runs]
    rows = [{"gpu": "h100", "devices": count, "tok/s": rate} for count, rate in runs]
    pd.DataFrame(rows).to_csv(tmp_path / "runs.csv", index=False)
    tables = words, [str(tmp_path / "runs.csv")]
    spoken, written = (reply(shell, "ask", *table, "--at", "64") for table in tables)
    assert spoken["answers"][0]["quantity"] == "tok/s"
    assert spoken["throughput"] == pytest.approx(written["throughput"])


def test_a_machine_in_words_is_its_counts_and_the_series_of_its_device(tmp_path: Path, shell: Shell) -> None:
    speeds = {"NVIDIA H100": 360.0, "A100": 240.0}
    rows = [(gpu, n, 8 * n, 8 * n * speed * 0.95**n) for gpu, speed in speeds.items() for n in (1, 2, 4)]
    pd.DataFrame(rows, columns=["gpu", "nodes", "gpus", "images_per_s"]).to_csv(tmp_path / "runs.csv", index=False)

    def answered(*at: str) -> tuple[str, str]:
        _, out, err = shell("ask", str(tmp_path / "runs.csv"), "--full", *(f"--at={text}" for text in at))
        return next(line for line in out.splitlines() if line.startswith("Expect")), out + err

    assert answered("8x8xh100")[0] == answered("gpus=8x8xH100")[0] == answered("64", "nodes=8", "gpu=NVIDIA H100")[0]
    # Where no column names devices, one is taken as that of the runs, and said.
    pd.DataFrame(rows[:3], columns=["gpu", "nodes", "gpus", "images_per_s"]).drop(columns="gpu").to_csv(
        tmp_path / "runs.csv", index=False
    )
    sentence, everything = answered("64xv100")
    assert sentence == answered("64")[0]
    assert "asked, and found nowhere in the runs: v100" in everything


def test_the_utilisation_of_a_table_is_placed_as_that_of_one_run(tmp_path: Path, shell: Shell) -> None:
    rows = [(n, 4, 2048, 7e9, 0.9 * 1.05**k) for k, n in enumerate((8, 16, 32))]
    columns = ["gpus", "batch_per_gpu", "seq_length", "params", "step_s"]
    pd.DataFrame(rows, columns=columns).to_csv(tmp_path / "runs.csv", index=False)
    words = ("ask", str(tmp_path / "runs.csv"), "--at", "32")
    answer = reply(shell, *words, "--peak", "h100")
    # 6 · 7e9 · 4 · 2048 / (0.99 · 989.4e12)
    assert answer["mfu"] == pytest.approx(0.3505, rel=0.02)
    assert answer["utilisation"] == json.loads(json.dumps(to_builtins(place_of_run(answer["mfu"], "h100", 7e9))))
    printed = done(shell, *words, "--peak", "h100", "--normal")
    assert "An MFU of 35 % is in the lower third of 29 published H100 runs of 3 to 15 B from 6 sources" in printed
    # Of a device whose peak is no vendor's figure all devices are compared; above the peak nothing is.
    assert "published runs of all devices" in done(shell, *words, "--peak", "600T", "--normal")
    assert "published runs" not in done(shell, *words, "--peak", "300T", "--normal")
