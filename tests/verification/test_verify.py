"""`verify`: new runs beside predictions, from a table of earlier runs or a model's file, and its reports."""

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from helpers import Shell, cases_in_text, done, refusal
from scipy.stats import cauchy

import genperf as gp
from genperf.verification import MOST_SESSIONS, Alarm, History, alarm_of

#: Benchmarks, and their milliseconds.
NAMED = {"forward": 10.0, "backward": 20.0}


def runs_of(sessions: int, slower: float = 1.0, seed: int = 0) -> pd.DataFrame:
    """Runs at three counts with a noise of 1 %: 1 s, and a tenth a doubling."""
    rng = np.random.default_rng(seed)
    rows = [
        (f"build-{day}", gpus, slower * (1.0 + 0.1 * np.log2(gpus)) * np.exp(0.01 * rng.normal()))
        for day in range(sessions)
        for gpus in (1, 4, 8)
    ]
    return pd.DataFrame(rows, columns=["build", "gpus", "step_s"])


FOLDER = {
    "history.csv": runs_of(8).to_csv(index=False),
    "same.csv": runs_of(1, seed=1).drop(columns="build").to_csv(index=False),
    "slow.csv": runs_of(1, slower=1.06, seed=1).drop(columns="build").to_csv(index=False),
}


@pytest.mark.usefixtures("all_draws")
def test_runs_as_before_pass_and_slower_ones_exit_with_1(shell: Shell) -> None:
    out = done(shell, "verify", "history.csv", "same.csv")
    assert "3 of 3 inside 90 %, which is compatible with 90 %" in out
    status, out, err = shell("verify", "history.csv", "slow.csv", "--json")
    answer = json.loads(out)
    assert (status, answer["alarm"]["raised"]) == (1, True)
    assert set(answer["alarm"]["tests"]) == {"mean", "each"}
    assert "slower than predicted" in err
    # It is said once.
    _, out, err = shell("verify", "history.csv", "slow.csv", "--update")
    assert (out.count("slower than predicted"), err) == (1, "")
    told = "inside, but slower than runs vary", "alarm only how runs vary", "1.0044 becomes 1.005 s (+0.1 %)"
    assert [text for text in told if text not in out] == []


def test_runs_of_each_group_are_compared_by_the_batch_of_their_group(shell: Shell) -> None:
    cells = [("a", 32, n, 800 * n**0.9) for n in (1, 2, 4, 8)] + [("b", 64, n, 900 * n**0.9) for n in (1, 2, 4, 8)]
    runs = pd.DataFrame(cells, columns=["net", "batch_per_gpu", "gpus", "images_per_s"])
    runs.to_csv("runs.csv", index=False)
    runs[runs.gpus == 8].assign(images_per_s=lambda new: 0.8 * new.images_per_s).to_csv("new.csv", index=False)
    done(shell, "fit", "runs.csv", "-q", "-o", "m.json")
    for source in ("runs.csv", "m.json"):
        answer = json.loads(shell("verify", source, "new.csv", "--json")[1])
        assert [run["place"] for run in answer["runs"]] == ["slower", "slower"]


@pytest.mark.parametrize(("header", "by"), [("Build ID", 1), ("commit_sha", -1), ("git revision", 1), ("run_id", -1)])
def test_a_session_has_many_headers_and_the_latest_may_be_first(shell: Shell, header: str, by: int) -> None:
    runs_of(8)[::by].rename(columns={"build": header}).to_csv("renamed.csv", index=False)
    printed = [shell("verify", history, "slow.csv")[:2] for history in ("renamed.csv", "history.csv")]
    assert printed[0] == printed[1]


@pytest.mark.parametrize("header", ["date,pr,gpus,step_ms", "commit,gpus,metric,value,unit", "commit,name,value,unit"])
def test_a_history_has_many_shapes(shell: Shell, header: str) -> None:
    one = {"name": "c{0},train/gpus:{1},2{1}{0},ms", "metric": "c{0},{1},step_time,2{1}{0},ms\nc{0},{1},memory,31,GB"}
    line = one.get(header.split(",")[-3], "d{0},10{0},{1},2{1}{0}")
    history = [line.format(day, gpus) for day in range(1, 6) for gpus in (1, 4, 8)]
    Path("old.csv").write_text("\n".join([header, *history]))
    Path("new.csv").write_text("\n".join([header, *(line.format(9, gpus).replace(",2", ",3") for gpus in (1, 4, 8))]))
    status, out, _ = shell("verify", "old.csv", "new.csv")
    assert (status, out.count(": slower"), "0.389 s, predicted 0.28" in out) == (1, 3, True)


def test_benchmarks_that_have_names_alone_are_compared(shell: Shell) -> None:
    rng = np.random.default_rng(0)
    times = [(f"{day:03x}a", name, t * np.exp(0.01 * rng.normal())) for day in range(8) for name, t in NAMED.items()]
    pd.DataFrame(times, columns=["commit", "benchmark", "ms"]).to_csv("nights.csv", index=False)
    Path("tonight.csv").write_text("benchmark,ms\nforward,10.1\nbackward,23\n")
    status, out, _ = shell("verify", "nights.csv", "tonight.csv", "--update")
    assert status == 1
    assert "2. benchmark=backward: 0.023 s, predicted 0.02" in out
    assert "by itself: run 2" in out
    assert "moved: benchmark=forward: " in out
    Path("failed.csv").write_text("benchmark,ms\nforward,OOM\nbackward,20\n")
    status, out, _ = shell("verify", "nights.csv", "failed.csv")
    assert (status, "not compared: benchmark=forward: the run failed" in out) == (0, True)
    # One benchmark has no name; what cannot be read is refused as before.
    alone = pd.DataFrame([(commit, t) for commit, name, t in times if name == "forward"], columns=["commit", "ms"])
    alone.to_csv("alone.csv", index=False)
    Path("one.csv").write_text("ms\n12\n")
    assert "1. the run: 0.012 s, predicted 0.0099" in shell("verify", "alone.csv", "one.csv")[1]
    Path("words.csv").write_text("commit,benchmark\n1,fast\n2,slow\n")
    assert "no column is known to be a time" in shell("verify", "words.csv", "one.csv")[2]
    Path("counted.csv").write_text("workers,note\n1,fast\n2,slow\n")
    assert "no column is known to be a time" in shell("verify", "counted.csv", "one.csv")[2]


def test_a_new_benchmark_has_nothing_to_be_compared_with(shell: Shell) -> None:
    nights = [(f"{day:03x}a", name, t * (1.0 + 0.001 * (day % 3))) for day in range(8) for name, t in NAMED.items()]
    pd.DataFrame(nights, columns=["commit", "benchmark", "ms"]).to_csv("nights.csv", index=False)
    for backward, status in ((20, 0), (23, 1)):
        Path("tonight.csv").write_text(f"benchmark,ms\nconvolution,5\nforward,10\nbackward,{backward}\n")
        found, out, _ = shell("verify", "nights.csv", "tonight.csv", "--update")
        assert (found, out.count("moved: ")) == (status, 2)
        assert "not compared: benchmark=convolution: new, nothing to compare with" in out
        assert ("by itself: run 2" in out) == bool(status)
    Path("tonight.csv").write_text("benchmark,ms\nconvolution,5\n")
    told = refusal(shell, "verify", "nights.csv", "tonight.csv")
    assert "all runs are new: there is nothing to compare with" in told
    # In the order of the names, whatever the hash of a text is.
    assert f"runs of benchmark as in {', '.join(sorted(NAMED))}" in told


def test_a_configuration_that_was_never_measured_is_held_against_the_model() -> None:
    history = runs_of(8)
    for slower, found in ((1.0, False), (6.0, True)):
        new = pd.DataFrame({"gpus": [2, 2], "step_s": [1.1 * slower, 1.11 * slower]})
        answer = gp.verify(history, new)
        assert ([*answer.alarm.tests], answer.alarm.raised) == (["each"], found)
        assert answer.runs["place"][0] == ("slower" if found else "inside")


def test_update_fits_again_and_writes_the_model(shell: Shell) -> None:
    shell("fit", "history.csv", "--time", "step_s", "--extrinsic", "gpus", "-o", "model.json", "--quiet")
    before = Path("model.json").read_text()
    # A history with sessions needs no session of the new runs.
    for earlier in ("history.csv", "model.json"):
        status, out, _ = shell("verify", earlier, "slow.csv", "--update")
        assert (status, out.count("moved: gpus=")) == (1, 3)
    assert Path("model.json").read_text() != before
    Path("history.csv").unlink()
    assert "is not there as it was fitted" in shell("verify", "model.json", "slow.csv", "--update")[2]


def test_update_of_weighted_runs_takes_new_ones_without_a_weight(shell: Shell) -> None:
    runs_of(8).assign(weight=2.0).to_csv("weighted.csv", index=False)
    fit = "fit weighted.csv --time step_s --extrinsic gpus --weight weight -o model.json --quiet"
    shell(*fit.split())
    status, out, _ = shell("verify", "model.json", "same.csv", "--update")
    assert (status, out.count("moved: gpus=")) == (0, 3)
    # With the new runs in the table it is the one that the model was fitted to, and another update is possible.
    same = pd.read_csv("same.csv").assign(weight=2.0)
    pd.concat([pd.read_csv("weighted.csv"), same]).to_csv("weighted.csv", index=False)
    assert shell("verify", "model.json", "same.csv", "--update")[1].count("moved: gpus=") == 3


def test_update_keeps_the_kind_of_model_and_its_further_quantities(shell: Shell) -> None:
    runs_of(8).assign(peak_gb=12.0).to_csv("memory.csv", index=False)
    fit = "fit memory.csv --time step_s --extrinsic gpus --also memory=peak_gb:GB --model amdahl -o model.json --quiet"
    shell(*fit.split())
    runs_of(1, seed=1).assign(peak_gb=24.0).to_csv("both.csv", index=False)
    for new, most in (("same.csv", 12.0), ("both.csv", 24.0)):
        shell(*fit.split())
        assert shell("verify", "model.json", new, "--update")[0] == 0
        model = gp.load_model("model.json")
        assert (model.model, model.further["memory"].schema.highest) == ("amdahl", most)


def test_rates_in_another_unit_are_read_by_it(shell: Shell) -> None:
    rates = runs_of(8).assign(images_per_s=lambda of: 1.0 / of["step_s"]).drop(columns="step_s")
    rates.to_csv("rates.csv", index=False)
    rates[-3:].drop(columns="build").to_csv("same.csv", index=False)
    minutes = rates[-3:].assign(**{"images/min": lambda of: 60.0 * of["images_per_s"]})
    minutes.drop(columns=["build", "images_per_s"]).to_csv("minutes.csv", index=False)
    # The unit may stand in the cells.
    cells = rates[-3:].assign(images_per_s=lambda of: [f"{rate!r} img/s" for rate in of["images_per_s"].tolist()])
    cells.drop(columns="build").to_csv("cells.csv", index=False)
    printed = [shell("verify", "rates.csv", new)[1] for new in ("same.csv", "minutes.csv", "cells.csv")]
    assert "3 of 3 inside" in printed[0]
    assert printed == [printed[0]] * 3


def test_times_in_another_unit_are_read_by_it(shell: Shell) -> None:
    new = pd.read_csv("slow.csv")
    for header in ("step_ms", "Step time (ms)"):
        new.assign(**{header: 1000.0 * new["step_s"]}).drop(columns="step_s").to_csv("ms.csv", index=False)
        printed = [shell("verify", "history.csv", new, "--json")[1] for new in ("ms.csv", "slow.csv")]
        assert printed[0] == printed[1]
    new.rename(columns={"step_s": "forward_ms"}).to_csv("ms.csv", index=False)
    assert "no column 'step_s'" in shell("verify", "history.csv", "ms.csv")[2]


def test_a_column_may_be_spelt_otherwise(shell: Shell) -> None:
    rates = runs_of(8).assign(**{"tokens/s": lambda of: 2048.0 / of["step_s"]}).drop(columns="step_s")
    rates.to_csv("rates.csv", index=False)
    new = rates[-3:].drop(columns="build")
    for columns in (["gpus", "tokens/s"], ["GPUs", "tok/s"], ["GPUs ", "tokens_per_sec"]):
        new.set_axis(columns, axis=1).to_csv("spelt.csv", index=False)
        assert "3 of 3 inside" in done(shell, "verify", "rates.csv", "spelt.csv")


GROUPS = "gpus,dtype,global_batch,step_ms\n" + "".join(
    f"{n},{dtype},64,{speed * 100 * (1 + 3 / n):.1f}\n"
    for dtype, speed in (("fp32", 2), ("bf16", 1))
    for n in (1, 2, 4, 8)
)


def test_columns_of_groups_and_measured_ones_may_be_named_otherwise_or_lacking(shell: Shell) -> None:
    Path("runs.csv").write_text(GROUPS)
    done(shell, "fit", "runs.csv", "-q", "-o", "m.json")
    model = gp.load_model("m.json")
    assert model.group == ("dtype",)
    new = pd.read_csv("runs.csv").iloc[[2, 7]].drop(columns="global_batch").rename(columns={"dtype": "Precision"})
    printed = [gp.verify(model, new), gp.verify(model, new.rename(columns={"step_ms": "avg iteration [ms]"}))]
    assert [run["place"].tolist() for run in (answer.runs for answer in printed)] == [["inside"] * 2] * 2
    assert "taken as in all runs of the model: global_batch=64" in str(printed[0])
    assert model.predict(new)["dtype"].tolist() == ["fp32", "bf16"]
    # What each group has its own of is said by no other.
    Path("own.csv").write_text(GROUPS.replace(",bf16,64", ",bf16,128"))
    done(shell, "fit", "own.csv", "-q", "-o", "own.json")
    new.to_csv("new.csv", index=False)
    assert "no column 'global_batch'" in refusal(shell, "verify", "own.json", "new.csv")


def test_times_of_a_step_are_none_of_an_epoch(shell: Shell) -> None:
    """They were compared with it: a gate that passes whatever it is given."""
    Path("runs.csv").write_text("gpus,epoch_min,global_batch\n1,100,256\n2,52,256\n4,27,256\n8,15,256\n")
    for header, value in (("step_ms", 170), ("images_per_s", 800)):
        Path("new.csv").write_text(f"gpus,{header},global_batch\n4,{value},256\n")
        assert "no column 'epoch_min'" in refusal(shell, "verify", "runs.csv", "new.csv")


def test_a_model_of_shared_work_is_updated_as_it_was_fitted(shell: Shell) -> None:
    Path("runs.csv").write_text("gpus,step_ms\n1,1000\n2,510\n4,270\n8,150\n")
    Path("new.csv").write_text("gpus,step_ms\n16,90\n")
    done(shell, "fit", "runs.csv", "-q", "-o", "m.json")
    assert "moved: gpus=16" in done(shell, "verify", "m.json", "new.csv", "--update")
    assert gp.load_model("m.json").schema.scaling == "strong"
    # Images a second are no time where the work of a step is not known.
    Path("rates.csv").write_text("gpus,images_per_s\n4,800\n")
    assert "no column 'step_ms'" in refusal(shell, "verify", "m.json", "rates.csv")


def test_a_run_that_failed_is_named(shell: Shell) -> None:
    Path("failed.csv").write_text("gpus,step_s\n8,OOM\n4,1.2\n1,\n")
    out = done(shell, "verify", "history.csv", "failed.csv", "--github")
    assert "not compared: gpus=8: the run failed\n" in out
    assert "not compared: 1 row left out because it cannot be used: line 4" in out
    assert "::warning file=failed.csv,title=not compared::gpus=8: the run failed" in out
    assert "1 of 1 inside 90 %" in out


def test_a_time_of_a_run_that_failed_is_not_compared(shell: Shell) -> None:
    Path("ended.csv").write_text("gpus,step_s,status\n8,2.9,failed\n4,1.2,ok\n")
    status, out, _ = shell("verify", "history.csv", "ended.csv")
    assert (status, "not compared: gpus=8: the run failed" in out, "1 of 1 inside" in out) == (0, True, True)
    # Of the model's own table the rows stay those that were fitted.
    runs_of(8).assign(status=["ok"] * 23 + ["failed"]).to_csv("history.csv", index=False)
    shell("fit", "history.csv", "--time", "step_s", "--extrinsic", "gpus", "-o", "model.json", "--quiet")
    assert shell("verify", "model.json", "ended.csv", "--update")[0] == 0
    Path("ended.csv").write_text("gpus,step_s,status\n8,1.3,failed\n")
    status, _, err = shell("verify", "history.csv", "ended.csv")
    assert (status, "the one run failed: none can be compared with its prediction" in err) == (1, True)
    assert not any(word in err for word in ("to fit", "--failed", "model's table"))


def test_reports_for_machines(shell: Shell) -> None:
    _, out, _ = shell("verify", "history.csv", "slow.csv", "--junit", "report.xml", "--github")
    suite = ElementTree.parse("report.xml").getroot()
    failures = suite.findall(".//failure")
    assert (suite.get("tests"), suite.get("failures")) == ("4", str(len(failures)))
    assert failures
    assert "::error file=slow.csv,title=genperf verify::slower than predicted" in out
    assert "::notice file=same.csv" in shell("verify", "history.csv", "same.csv", "--github")[1]


@cases_in_text("column, values, unit")
def test_runs_are_compared_in_what_was_measured(
    shell: Shell, column: str, values: tuple[float, ...], unit: str
) -> None:
    pd.DataFrame({"gpus": (1, 4, 8), column: values}).to_csv("rates.csv", index=False)
    pd.DataFrame({"gpus": (8,), column: (0.5 * values[-1],)}).to_csv("half.csv", index=False)
    for new, place in (("rates.csv", "inside"), ("half.csv", "slower")):
        answer = json.loads(shell("verify", "rates.csv", new, "--json")[1])
        assert (answer["unit"], answer["runs"][-1]["place"]) == (unit, place)
    run = answer["runs"][0]
    assert (run["measured"] < run["lower"]) == unit.endswith("/s")


def test_ask_says_what_earlier_predictions_were_worth(shell: Shell) -> None:
    Path("kept.csv").write_text(
        "gpus,step_s,predicted,lower,upper\n1,1.0,1.01,0.9,1.1\n2,1.1,1.08,1.0,1.2\n4,1.2,1.21,1.1,1.3\n8,1.5,1.3,1.2,1.4\n"
    )
    _, out, _ = shell("ask", "kept.csv", "--at", "16", "--full")
    assert "earlier predictions: median error 1.4 % in 4 runs; 3 of 4 inside 90 %, which is compatible with 90 %" in out
    assert "Also measured" not in out
    shell("report", "kept.csv", "-o", "page.html")
    assert "Earlier predictions: median error 1.4 % in 4 runs" in Path("page.html").read_text()
    ideal = "gpus,images_per_s,expected\n1,400,400\n2,790,800\n4,1500,1600\n8,2800,3200\n"
    Path("ideal.csv").write_text(ideal)
    _, out, _ = shell("ask", "ideal.csv", "--at", "16", "--full")
    assert "earlier predictions" not in out
    assert "left out: expected" in out
    Path("plain.csv").write_text("gpus,step_s\n1,1.0\n2,1.1\n4,1.2\n8,1.5\n")
    assert "earlier predictions" not in shell("ask", "plain.csv", "--at", "16", "--full")[1]


BATCHED = runs_of(8).assign(batch_per_gpu=16)


@pytest.mark.parametrize(
    ("new", "noted"),
    [
        (lambda of: of[["gpus", "step_s"]], ["batch_per_gpu=16"]),
        (lambda of: of.rename(columns={"batch_per_gpu": "bs per gpu", "gpus": "world_size"}), []),
        (lambda of: of[["gpus"]].assign(**{"img/min": 960 * of.gpus / of.step_s}), ["batch_per_gpu=16", "'img/min'"]),
        (lambda of: of[["gpus", "batch_per_gpu"]].assign(**{"samples/s/gpu": 16 / of.step_s}), ["'samples/s/gpu'"]),
        (lambda of: of[["gpus", "batch_per_gpu"]].assign(**{"it/s": 1 / of.step_s}), ["'it/s'"]),
    ],
)
def test_runs_of_one_measurement_are_compared_however_they_are_written(
    new: Callable[[pd.DataFrame], pd.DataFrame], noted: list[str]
) -> None:
    """A column that never varied is left out; the batch has another name; a rate stands for the time of known work."""
    known = BATCHED[-3:].drop(columns="build")
    expected, answer = gp.verify(BATCHED, known), gp.verify(BATCHED, new(known))
    assert answer.runs["measured"].tolist() == pytest.approx(expected.runs["measured"].tolist())
    assert [text in note for text, note in zip(noted, answer.notes, strict=True)] == [True] * len(noted)
    # And the other way round: earlier runs have the rate.
    rates = BATCHED.assign(**{"samples/s": 16 * BATCHED.gpus / BATCHED.step_s}).drop(columns="step_s")
    measured = gp.verify(rates, new(known)).runs["measured"]
    assert measured.tolist() == pytest.approx((16 * known.gpus / known.step_s).tolist())


def test_a_rate_of_all_devices_is_not_multiplied_again() -> None:
    rates = runs_of(8).assign(**{"tok/s/gpu": lambda of: 2048.0 / of.step_s}).drop(columns="step_s")
    of_all = rates[-3:].assign(**{"tok/s": lambda of: of["tok/s/gpu"] * of.gpus})[["gpus", "tok/s"]]
    assert gp.verify(rates, of_all).runs["measured"].tolist() == pytest.approx(of_all["tok/s"].tolist())
    # A time shows no throughput where the work of a step is not known.
    with pytest.raises(gp.GenperfError, match="not read as the model's table"):
        gp.verify(rates, runs_of(1).drop(columns="build"))


def test_samples_of_known_length_are_compared_with_tokens() -> None:
    tokens = BATCHED.assign(seq_len=512, **{"tokens/s": 8192 * BATCHED.gpus / BATCHED.step_s}).drop(columns="step_s")
    samples = tokens[-3:].assign(**{"samples/s": lambda of: of["tokens/s"] / 512}).drop(columns=["tokens/s", "build"])
    assert gp.verify(tokens, samples).runs["measured"].tolist() == pytest.approx(tokens["tokens/s"][-3:].tolist())


# --- the alarm keeps its rate of false alarms in drawn worlds, and finds slower runs ---------------------------------


def judged(history: History, configuration: np.ndarray, logarithms: np.ndarray) -> Alarm:
    """Return the alarm at 1 %; no model predicted the runs."""
    unknown = np.zeros(len(logarithms)), np.ones(len(logarithms))
    return alarm_of(history, configuration, logarithms, unknown, 0.01)


def raised(
    worlds: int, day: float, shift: float, sessions: bool, shape: tuple[int, int] = (20, 4), stragglers: float = 0.0
) -> float:
    """Return how often the runs of one new session raise the alarm, after some sessions of as many, noise 1."""
    rng, (count, runs) = np.random.default_rng(0), shape
    alarms = 0
    for _ in range(worlds):
        drawn = rng.normal(0.0, 1.0, (count + 1, runs)) + day * rng.normal(0.0, 1.0, (count + 1, 1))
        drawn += 6.0 * (rng.random(drawn.shape) < stragglers)
        earlier, after = drawn[:count], drawn[count] + shift
        residuals = earlier - earlier.mean(axis=0)
        freedom = float((count - 1) * runs)
        rows = (residuals.ravel(), np.repeat(np.arange(count), runs)) if sessions else ()
        sd = float(np.sqrt(np.sum(residuals**2) / freedom))
        history = History(earlier.mean(axis=0), np.full(runs, float(count)), sd, *rows)
        alarms += judged(history, np.arange(runs), after).raised
    return alarms / worlds


@pytest.mark.parametrize(("day", "sessions"), [(0.0, False), (0.0, True), (1.0, True)])
def test_false_alarms_are_as_rare_as_stated(day: float, sessions: bool) -> None:
    # Of 1,000 worlds 1 % are 10 ± 3.
    assert 0.003 <= raised(1000, day, 0.0, sessions) <= 0.017


def test_runs_that_straggle_now_and_then_are_no_slowdown() -> None:
    # Of 24 runs about one is slower by six times the noise, as one in 33 of the history was: normal noise says 27 %.
    assert raised(300, 0.0, 0.0, sessions=True, shape=(40, 24), stragglers=0.03) <= 0.04


def test_days_that_differ_need_sessions() -> None:
    # Runs of a day that are slower together look like a slowdown where nothing says that days differ.
    assert raised(500, 1.0, 0.0, sessions=False) > 0.05


def test_a_slowdown_of_three_times_the_noise_is_found() -> None:
    assert raised(500, 0.0, 3.0, sessions=True) >= 0.98
    # With 8 sessions of 3 runs it is 95 %, of 500 worlds ± 1.
    assert raised(500, 0.0, 3.0, sessions=True, shape=(8, 3)) >= 0.93


def test_one_slow_run_among_many_is_named() -> None:
    history = History(np.zeros(1), np.array([50.0]), 0.01)
    times = np.zeros(8)
    times[5] = 0.05
    alarm = judged(history, np.zeros(8, dtype=int), times)
    assert (alarm.raised, alarm.slower) == (True, (5,))
    # Of eight runs *each* has the weight of the *mean*, whose test finds them faster than 0.99 at most.
    quantiles = [cauchy.isf(min(value, 0.99)) for value in alarm.tests.values()]
    assert alarm.probability == pytest.approx(cauchy.sf(np.mean(quantiles)), rel=1e-12)


def test_a_level_follows_a_drift() -> None:
    rng = np.random.default_rng(1)
    sessions, noise = np.repeat(np.arange(31), 4), 0.1 * rng.normal(size=124)

    def level(residuals: np.ndarray) -> float:
        history = History(np.zeros(1), np.array([124.0]), 1.0, residuals, sessions)
        centre, *_, weight = history.next_level
        return float((weight @ centre).item())

    assert level(0.1 * sessions + noise) > 2.8
    # Without a drift it is the mean of all.
    assert level(noise) == pytest.approx(noise.mean(), abs=0.01)


def test_a_run_of_a_session_whose_kind_was_measured_once_is_no_surprise() -> None:
    rng = np.random.default_rng(2)
    residuals, sessions = 0.01 * rng.normal(size=40), np.repeat(np.arange(10), 4)
    history = History(np.zeros(2), np.array([40.0, 1.0]), 0.01, residuals, sessions)
    often, once = (judged(history, np.array([place]), np.array([0.025])) for place in (0, 1))
    assert often.probability < 0.5 * once.probability


@pytest.mark.parametrize("sessions", [(), (np.zeros(24), np.repeat(np.arange(8), 3))])
def test_times_that_never_differ_are_no_fault(sessions: tuple[np.ndarray, ...]) -> None:
    history = History(np.zeros(3), np.full(3, 8.0), 0.0, *sessions)
    same, slower = (judged(history, np.arange(3), np.full(3, value)) for value in (0.0, 0.01))
    assert (same.raised, slower.raised) == (False, True)


def test_of_a_long_history_the_last_sessions_count() -> None:
    rng = np.random.default_rng(3)
    sessions = np.repeat(np.arange(2 * MOST_SESSIONS), 2)
    residuals = np.where(sessions < MOST_SESSIONS, -1.0, 1.0) + 0.01 * rng.normal(size=4 * MOST_SESSIONS)
    history = History(np.zeros(2), np.full(2, 2.0 * MOST_SESSIONS), 1.0, residuals, sessions)
    for value, slow in ((1.0, False), (1.1, True)):
        assert judged(history, np.arange(2), np.full(2, value)).raised == slow
