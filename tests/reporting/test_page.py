"""The page's text: whole in itself, the same bytes, names as text; what is odd still answers, or says why not."""

import dataclasses
import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers import cases_in_text, run
from msgspec.structs import replace

import genperf as gp
from genperf.attribution.equation import equation
from genperf.errors import GenperfError
from genperf.prediction import Spread
from genperf.reporting import View, html, page
from genperf.reporting.place import command_of
from genperf.result import GroupedResult


def runs(counts: tuple[int, ...] = (1, 2, 4, 8, 16)) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"workers": np.repeat(counts, 2), "batch": 32})
    return frame.assign(s=(1 + 8 / frame.workers) * np.exp(0.02 * rng.standard_normal(len(frame))))


def fitted(frame: pd.DataFrame, model: str = "amdahl", **roles: Any) -> Any:
    return gp.fit(
        gp.read_table(frame, time="s", **{"extrinsic": "workers", "scaling": "strong", **roles}), model=model, draws=20
    )


def data_of(text: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    return json.loads(found[1])


def sheet_of(text: str) -> dict[str, Any]:
    return data_of(text)["groups"][0]["sheet"]


def shorts(text: str) -> list[str]:
    return [a["short"] for a in sheet_of(text)["answers"]]


def test_four_answers_in_sentences_with_numbers() -> None:
    """T = 1 + 8.5/n: the efficiency 9.5/(n + 8.5) is 23.5 % at 32, and below one half from n = 11 on."""
    answers = sheet_of(page(fitted(runs().assign(s=lambda f: 1 + 8.5 / f.workers))))["answers"]
    stays = "a part that stays the same at every scale: 79 %"
    assert [a["short"] for a in answers[:3]] == ["23 % at 32 workers", "11 workers", stays]
    assert "2 times the largest measured count" in answers[0]["sentences"][0]
    assert all(sentence.endswith(".") for a in answers for sentence in a["sentences"])


def test_the_first_screen_tells_how_often_auto_was_right_elsewhere() -> None:
    records = [sheet_of(page(fitted(runs(), model)))["glance"]["record"] for model in ("auto", "amdahl")]
    assert re.fullmatch(r"on \d+ published clusters: median error \d+ %, \d+ % of intervals held the truth", records[0])
    assert records[1] == ""


def test_the_answers_are_at_twice_the_largest_count_exactly() -> None:
    frame = pd.DataFrame({"workers": [8, 24, 64, 384], "s": [9.0, 4.0, 2.5, 1.8]})
    card = sheet_of(page(fitted(frame)))["answers"][0]
    assert card["short"].endswith("at 768 workers")


def test_beyond_the_record_the_first_screen_says_so() -> None:
    sheet = sheet_of(page(fitted(runs(), "auto"), View(target={"workers": 512})))
    assert sheet["glance"]["record"].startswith("no record this far; to 16 x: median error ")


def test_whole_in_itself_and_small() -> None:
    text = page(fitted(runs(), "auto"))
    outside = re.findall(r"(?:src|href|url)\s*[=(]\s*[\"']?(?!#|data:)([^\s\"')>]+)", text.split("<script", 1)[0])
    assert outside == []
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    assert len(text) < 300_000


def test_settings_of_the_fit_are_not_written_out() -> None:
    result = fitted(runs())
    assert "request" in result.options
    assert '"request"' not in page(result)


def test_a_measured_throughput_is_answered_with_a_throughput() -> None:
    frame = pd.DataFrame({"gpus": [1, 2, 4, 8], "images_per_s": [410.2, 792.5, 1530.0, 2905.4]})
    result = gp.fit(frame, throughput="images_per_s", extrinsic="gpus")
    row = result.predict(gpus=64).iloc[0]
    text = page(result, View({"gpus": 64}))
    rows = sheet_of(text)["glance"]["rows"]
    assert rows[0][:2] == ["throughput", f"{float(f'{row.throughput:.3g}'):,.0f} images/s"]
    assert "step" not in [name for name, *_ in rows]


def test_same_bytes() -> None:
    result = fitted(runs(), "auto")
    assert page(result) == page(gp.result.parse_model(gp.result.dump_model(result)))  # type: ignore[attr-defined]


def test_table_is_fitted_and_compared(tmp_path: Path) -> None:
    table = gp.read_table(runs(), time="s", extrinsic="workers")
    text = gp.report(table, tmp_path / "page.html", model="amdahl").read_text()
    validation = data_of(text)["validation"]
    assert validation["scheme"] == "extrapolate:workers:8"
    assert [row[0] for row in validation["rows"]] == ["amdahl", "last-point", "linear", "random-forest"]
    assert "Compared with baselines" in text


def test_target_moves_the_answers() -> None:
    assert shorts(page(fitted(runs()), View({"workers": 64})))[0].endswith("at 64 workers")
    with pytest.raises(GenperfError, match="no factor 'wrkers'"):
        page(fitted(runs()), View({"wrkers": 64}))
    with pytest.raises(GenperfError, match="one target"):
        page(fitted(runs()), View({"workers": [32, 64]}))


def advice(text: str) -> str:
    answers = sheet_of(text)["answers"]
    return str(next(a["sentences"][0] for a in answers if a["question"] == "What to measure next?"))


def test_advice_is_about_the_target() -> None:
    assert "workers=64" in advice(page(fitted(runs()), View({"workers": 64})))
    assert "Measure workers=32. " in advice(page(fitted(runs()), View({"workers": 32})))
    assert "Nothing to measure: workers=16 was measured." in advice(page(fitted(runs()), View({"workers": 16})))
    # Nothing asked: twice what was measured, as all other answers.
    assert "Measure workers=32. Its interval " in advice(page(fitted(runs())))


@pytest.mark.parametrize("target", [{"nodes": 16}, {"workers": 64, "nodes": 16}, {"workers": 64}])
def test_nodes_follow_the_workers_where_nodes_are_the_target(target: dict[str, float]) -> None:
    frame = runs().assign(nodes=lambda f: np.ceil(f.workers / 4))
    sheet = sheet_of(page(fitted(frame, "auto", extrinsic="workers,nodes"), View(target)))
    assert sheet["at"] == [64.0, 16.0]
    nodes = dict(zip(sheet["path"]["counts"], sheet["path"]["follow"]["1"], strict=True))
    assert [nodes[n] for n in (1, 4, 8, 64)] == [1, 1, 2, 16]


# What is odd.


def test_one_factor_that_counts_no_workers() -> None:
    result = fitted(runs().rename(columns={"workers": "depth"}), "a*depth + c", extrinsic="", intrinsic="depth")
    sheet = sheet_of(page(result))
    assert sheet["along"] is None
    assert sheet["answers"][0]["sentences"][0].startswith("No factor of the model counts the workers")
    assert sheet["answers"][1]["short"] != ""


def test_a_model_without_an_interval() -> None:
    """One draw, no noise: the interval is a point, which is not printed as an interval."""
    result = fitted(runs())
    member = replace(result.best, draws=result.best.constants[None, :])
    sure = dataclasses.replace(result, members=(member,), spread=Spread())
    answers = sheet_of(page(sure))["answers"]
    assert re.search(r"an? \w+ is predicted to do \d+ % of the work", answers[0]["sentences"][0])
    assert not any("interval" in sentence for a in answers[:3] for sentence in a["sentences"])


def test_many_groups_make_a_small_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of groups whose draws are too many those after the first have the prediction alone, the one that all have."""
    result = fitted(runs())
    group = GroupedResult(("net",), {(f"net {k}",): result for k in range(20)})
    all_whole = data_of(page(group))["groups"]
    alone = page(GroupedResult(("net",), {("net 0",): result}))
    monkeypatch.setattr(html, "MAX_DRAW_BYTES", 2.5 * html._bytes(result))
    many = page(group)
    groups = data_of(many)["groups"]
    assert ["engine" in g["sheet"] for g in groups] == [True] * 2 + [False] * 18
    assert groups[:2] == all_whole[:2]
    assert all(g["sheet"].items() <= whole["sheet"].items() for g, whole in zip(groups, all_whole, strict=True))
    at = groups[19]["sheet"]["at"]
    predicted = result.predict({"workers": at[0]}).iloc[0]
    assert groups[19]["sheet"]["summary"]["upper"] == pytest.approx(predicted.upper, rel=1e-6)
    assert (len(many) - len(alone)) / 19 < 3_000


def uneven() -> pd.DataFrame:
    """A single run, a series of four counts, and one of three that goes farther."""
    counts = {"baseline": (1,), "pipeline": (1, 2, 4, 8), "ring": (1, 4, 16)}
    rows = [(kind, n, 90.0 * n**0.9) for kind, several in counts.items() for n in several]
    return pd.DataFrame(rows, columns=["kind", "gpus", "samples_per_s"])


def test_the_page_begins_with_the_least_efficient_group_and_ends_with_the_single_run() -> None:
    by_group = gp.fit(uneven(), throughput="samples_per_s", extrinsic="gpus", group="kind")
    data = data_of(page(by_group))
    efficiencies = [group["sheet"]["summary"]["efficiency"] for group in data["groups"]]
    assert [group["key"][0] for group in data["groups"]] == ["ring", "pipeline", "baseline"]
    assert efficiencies[0] < efficiencies[1]
    assert efficiencies[2] is None


def test_groups_that_are_asked_about_begin_with_the_most_measured_and_the_least_efficient_is_named() -> None:
    """A group of one count beside them is shown without an efficiency."""
    counts = {"a": (1, 8, 64), "b": (1, 2, 4, 8), "c": (8,)}
    law = {"a": 0.6, "b": 0.98, "c": 0.9}
    rows = [("here", kind, n, 90.0 * n ** law[kind]) for kind, several in counts.items() for n in several]
    frame = pd.DataFrame(rows, columns=["site", "kind", "gpus", "samples_per_s"])
    by_group = gp.fit(frame, throughput="samples_per_s", extrinsic="gpus", group=["site", "kind"])
    text = page(by_group, View({"site": "here", "gpus": 64}))
    assert [group["name"] for group in data_of(text)["groups"]] == ["b", "a", "c"]
    assert "Look at a first" in text


def test_groups_that_failed_are_named() -> None:
    frame = pd.concat([runs().assign(net="a"), runs((1,)).assign(net="b")])
    groups = data_of(page(fitted(frame, "usl", group="net")))["groups"]
    assert groups[1]["key"] == ["b"]
    assert "failed" in groups[1]


def test_a_group_that_cannot_be_asked_is_named() -> None:
    """One level of the target was measured in one group only."""
    frames = [runs().assign(net=net, framework=level) for net, level in (("a", "mxnet"), ("b", "pytorch"))]
    by_group = fitted(pd.concat(frames), "amdahl", group="net", categorical="framework")
    groups = data_of(page(by_group, View({"framework": "mxnet"})))["groups"]
    assert [g["key"][0] for g in groups] == ["a", "b"]
    assert "never measured" in groups[1]["failed"]
    with pytest.raises(GenperfError, match="none of 2 groups can be shown"):
        page(by_group, View({"wrkers": 3}))


def test_command_repeats_the_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runs().to_csv("my runs.csv", index=False)
    table = gp.read_table("my runs.csv", time="s", extrinsic="workers", intrinsic=["batch"])
    result = gp.fit(table, model="a/workers + c", loss="log", fix={"c": 0.9}, seed=5)
    assert run(shlex.split(command_of(result))[1:]) == 0
    again = gp.load_model("model.json")
    assert again.best.values == result.best.values
    assert again.schema.sha256 == result.schema.sha256


@cases_in_text("options")
def test_command_reads_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]) -> None:
    monkeypatch.chdir(tmp_path)
    frame = pd.concat([runs().assign(run=k, ms=lambda f, k=k: 1000 * f.s + k) for k in (1, 2)])
    frame.assign(rate=lambda f: f.batch * f.workers / f.s).to_csv("runs.csv", index=False)
    roles = ["--extrinsic", "workers", "--model", "a/workers + c"]
    assert run(["fit", "runs.csv", *options, *roles, "-o", "model.json", "-q"]) == 0
    before = gp.load_model("model.json")
    command = shlex.split(command_of(before))
    assert set(options) <= set(command)
    assert run([*command[1:], "-q"]) == 0
    again = gp.load_model("model.json")
    assert again.schema.sha256 == before.schema.sha256
    assert command_of(again) == command_of(before)


def test_what_a_doubling_does_at_each_level_is_shown() -> None:
    frame = runs()
    both = pd.concat([frame.assign(net="bert"), frame.assign(net="vgg", s=2.0 * frame.s * frame.workers**0.3)])
    result = gp.fit(both, "generic", time="s", extrinsic="workers", categorical="net", draws=20)
    shown = sheet_of(page(result))["doublings"]
    assert shown["head"] == ["level", "workers"]
    assert sorted(row[0] for row in shown["rows"]) == ["net = bert", "net = vgg"]
    assert all("–" in row[1] for row in shown["rows"])
    assert sheet_of(page(fitted(runs())))["doublings"] is None


@pytest.mark.parametrize("per", [None, "Num GPUs"])
def test_a_count_whose_name_has_a_space_is_paid_for(per: str | None) -> None:
    frame = pd.DataFrame({"Num GPUs": [1, 2, 4, 8], "batch": 32, "s": [0.5, 0.52, 0.55, 0.57]})
    result = fitted(frame, extrinsic="Num GPUs", intrinsic="batch")
    assert re.search(r'"paidName": ?"Num GPUs"', page(result, View(price="2/h", per=per)))


def test_the_page_has_the_equation_to_read_and_to_take_away() -> None:
    frame = pd.DataFrame([(b, n) for b in (8, 16, 32) for n in (1, 2, 4, 8)], columns=["batch", "workers"])
    generic = fitted(frame.assign(s=0.1 * frame.batch * frame.workers**0.5), "generic", intrinsic="batch")
    sheet = sheet_of(page(generic))
    assert sheet["formula"].splitlines()[0] == "time (s) ="
    assert "(workers/" in sheet["formula"]
    assert sheet["latex"] == equation(generic)
    ensemble = sheet_of(page(fitted(runs(), "auto")))
    assert ensemble["formula"].startswith("T = ")
    assert ensemble["latex"] is None


def test_a_named_machine_that_no_plan_keeps_is_answered() -> None:
    result = gp.fit(runs(), time="s", extrinsic="workers", intrinsic="batch", model="amdahl", draws=20)
    view = View({"workers": 32}, samples="1T", deadline="1s")
    assert any(short.startswith("32 workers, ") and short.endswith(": late") for short in shorts(page(result, view)))
