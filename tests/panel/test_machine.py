"""One machine: whatever is named of it, and of its work, has the same whole; what cannot exist is refused."""

import json
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import genperf as gp
from experiments.advice import one_answer
from genperf.errors import GenperfError
from genperf.panel.quantities import QUANTITIES, Quantity
from genperf.search import Job

#: A step of 8 samples a device.
GROWN = pd.DataFrame({"devices": [8, 16, 32], "global_batch": [64, 128, 256], "step_time_s": [1.5, 1.6, 1.65]})
#: Eight devices a node; the rate of one.
RATES = pd.DataFrame({"nodes": [1, 2, 4], "gpus": [8, 16, 32], "tokens_per_s_per_gpu": [6700.0, 6500.0, 6400.0]})
LAYOUT = pd.DataFrame(
    {"gpus": [8, 16, 32], "dp": [2, 4, 8], "tp": 2, "pp": 2, "mbs": 2, "gbs": [32, 64, 128], "iter_ms": [900, 930, 980]}
)
PASSES = pd.DataFrame(
    {"nodes": [1, 2, 4], "gpus_per_node": 8, "micro_batch": 4, "grad_accum": 2, "step_time_s": [1.5, 1.6, 1.7]}
)


def answered(runs: pd.DataFrame, **at: float) -> dict[str, float]:
    """Return what `ask` says of a table: the value of its first quantity, its throughput, and the configuration."""
    reply = gp.ask(runs, **at).to_dict()
    return {"value": reply["answers"][0]["value"], "throughput": reply["throughput"], **reply["at"]}


def test_the_batch_of_a_device_shows_no_work_of_nodes_of_unknown_size() -> None:
    runs = pd.DataFrame({"nodes": [1, 2, 4], "batch_per_gpu": 64, "step_s": [0.2, 0.21, 0.22], "usd_per_gpu_hour": 2.0})
    alone, sized = (gp.ask(table, nodes=8).to_dict() for table in (runs, runs.assign(gpus_per_node=8)))
    assert [alone.get(name) for name in ("throughput", "cost_per_million")] == [None, None]
    assert alone["efficiency"] == pytest.approx(sized["efficiency"], rel=0.02)
    assert sized["throughput"] == pytest.approx(8 * 8 * 64 / sized["time"])
    assert sized["cost_per_million"] == pytest.approx(64 * 2 / 3600 * 1e6 / sized["throughput"])
    assert any("nothing shows how many devices a node has; --let gpus_per_node=8" in note for note in alone["notes"])
    (said,) = (n for n in gp.compare(runs, {"nodes": 8}, {"nodes": 4}).notes if n.endswith("says otherwise"))
    assert said.startswith("nothing shows how many devices a node has")
    assert "; --let gpus_per_node=8 " in said
    with pytest.raises(GenperfError, match="nothing shows how many devices") as refused:
        gp.optimize(gp.fit(runs), {"nodes": [1, 2, 4, 8]}, job=Job(samples=1e6))
    assert str(refused.value.hint).startswith("--let gpus_per_node=8; ")


ALMOST = pd.DataFrame({"devices": [8, 16, 32], "global_batch": [64, 130, 250], "step_time_s": [0.83, 0.85, 0.86]})


@pytest.mark.parametrize(
    ("runs", "devices", "batch", "rate"), [(GROWN, 128, 1024, 586), (ALMOST, 64, 500, 571)], ids=["grew", "almost"]
)
def test_a_batch_that_grew_with_the_devices_grows_on_at_every_door(
    runs: pd.DataFrame, devices: int, batch: int, rate: float, tmp_path: Path
) -> None:
    """1024 samples on 128 devices: 586 a second, in the answer, in the page and in the proposal."""
    (tmp_path / "runs.csv").write_text(runs.to_csv(index=False))
    door = one_answer.Asked(tmp_path / "runs.csv", one_answer.FORMS["devices, global batch"], None)
    at = {"devices": devices}
    said = door.ask(at)
    assert dict(said.at)["global_batch"] == batch
    assert said.throughput == pytest.approx(rate, rel=0.05)
    sheet = door.page(at)
    efficiency = said.throughput / (64 / runs.step_time_s[0]) / (devices / 8)
    assert sheet["summary"]["value"] == pytest.approx(said.value, rel=1e-6)
    assert sheet["summary"]["efficiency"] == pytest.approx(efficiency * 100, rel=0.05)
    door.command_proposal(at)
    rows = pd.read_csv(tmp_path / "runs.proposal.csv").set_index("devices")
    assert rows.loc[devices, "efficiency"] == pytest.approx(sheet["summary"]["efficiency"] / 100, rel=0.05)


def test_a_batch_that_grew_almost_in_proportion_is_as_measured_between_the_runs() -> None:
    result = gp.fit(gp.read_table(ALMOST), seed=0)
    batches = [result.query({"devices": n}).columns["global_batch"][0] for n in (8, 16, 32, 256)]
    assert batches == [64, 130, 250, 2000]
    assert sum("grew with the devices in the runs" in note for note in gp.ask(ALMOST, devices=64).notes) == 1


ALIKE, FEWER = ([2, 2, 2], [1.52, 1.6, 1.66]), ([8, 4, 2], [1.52, 0.8, 0.46])


@pytest.mark.parametrize(
    ("batch", "steps"),
    [("batch_per_gpu", ALIKE), ("per_device_batch", FEWER), ("batch_size", ALIKE), ("batch_size", FEWER)],
)
def test_a_batch_beside_passes_is_that_of_one(batch: str, steps: tuple[list[int], list[float]]) -> None:
    """The answer is that of micro-batches; beside the samples of a step it may be all that a device does."""
    runs = pd.DataFrame({"gpus": [8, 16, 32], "mbs": 4, "grad_accum": steps[0], "step_time_s": steps[1]})
    named = runs.rename(columns={"mbs": batch})
    assert answered(named, gpus=64)["throughput"] == pytest.approx(answered(runs, gpus=64)["throughput"], rel=1e-9)
    of_all = runs.assign(**{batch: 8, "global_batch": 8 * runs["gpus"], "grad_accum": 2}).drop(columns="mbs")
    assert answered(of_all, gpus=64)["global_batch"] == 512


def test_batches_show_how_many_passes_more_nodes_take() -> None:
    """Nothing counts the devices of a node; twice the nodes take half of the passes."""
    counts, seconds = {"nodes": [1, 2, 4], "grad_accum": [32, 16, 8]}, [8.0, 4.2, 2.3]
    runs = pd.DataFrame({**counts, "gbs": 2048, "mbs": 8, "step_s": seconds})
    assert gp.ask(runs, nodes=8).taken == {}
    assert answered(runs, nodes=8)["throughput"] == pytest.approx(1600.0, rel=0.15)


def test_a_question_says_how_many_devices_a_node_has_and_a_header_how_many_tokens_its_unit_is() -> None:
    """Of rates of a device beside nodes alone; a million tokens a second for a day are 86.4 thousand million."""
    of_nodes = RATES.drop(columns="gpus")
    asked = {"nodes": 16, "gpus_per_node": 8}
    reply, whole = gp.ask(of_nodes, at=asked).to_dict(), gp.ask(RATES.assign(gpus_per_node=8), at=asked).to_dict()
    assert reply["throughput"] == pytest.approx(whole["throughput"], rel=0.02)
    millions = pd.DataFrame({"gpus": [8, 16, 32], "Tokens/s (M)": [0.27, 0.52, 1.0]})
    assert gp.ask(millions, at={"gpus": 32}, tokens=86.4e9).to_dict()["days"] == pytest.approx(1.0, rel=0.05)


@pytest.mark.parametrize("header", ["gpus_per_node", "gpu_num_per_node"])
def test_devices_are_the_scale_where_nodes_and_their_devices_vary(header: str) -> None:
    """The answers are those of the same table with a column of all devices."""
    nodes, inside = [1, 1, 1, 2, 4], [1, 4, 8, 8, 8]
    rates = pd.DataFrame({"nodes": nodes, "samples/s": [119.6, 457.7, 921.3, 1499.4, 2885.8]})
    apart, whole = (
        rates.assign(**{header: inside}),
        rates.assign(gpus=[a * b for a, b in zip(nodes, inside, strict=True)]),
    )
    for at in ({"gpus": 64}, {"nodes": 8}, {"nodes": 8, "gpus_per_node": 4}, {"gpus": 4}):
        of_apart, of_whole = (gp.ask(runs, **at).to_dict() for runs in (apart, whole))
        assert of_apart["throughput"] == pytest.approx(of_whole["throughput"], rel=1e-9)
        assert 0.5 < of_apart["efficiency"] == pytest.approx(of_whole["efficiency"], rel=1e-9)


@pytest.mark.parametrize("runs", [LAYOUT, LAYOUT[["dp", "gbs", "iter_ms"]]])
def test_ways_of_a_split_make_the_devices(runs: pd.DataFrame) -> None:
    devices = 128 if "tp" in runs else 32
    by_devices, by_ways = answered(runs, gpus=devices), answered(runs, dp=32)
    assert by_devices == by_ways
    # Sixteen samples a data-parallel way, as in every run.
    assert by_devices["gbs"] == 512
    assert by_devices["throughput"] > 350


def test_passes_on_nodes_are_the_samples_of_a_step() -> None:
    """Four samples in each of two passes on 128 devices are 1024."""
    there = answered(PASSES, nodes=16)
    assert there["throughput"] * there["value"] == pytest.approx(1024)
    assert answered(PASSES, gpus=128) == there


def test_a_micro_batch_of_another_level_has_as_many_passes_as_the_work_of_its_level_asks_for() -> None:
    """DDP ran 4 passes of 4, and FSDP 2 of 8: DDP with 8 takes 2 passes, and no pass less because FSDP took 2."""
    columns = {
        "micro_bs": [4] * 3 + [8] * 3,
        "grad_accum": [4] * 3 + [2] * 3,
        "step_s": [1.0, 1.02, 1.05, 1.1, 1.2, 1.3],
    }
    runs = pd.DataFrame({"strategy": ["ddp"] * 3 + ["fsdp"] * 3, "gpus": [8, 16, 32] * 2, **columns})
    result = gp.fit(gp.read_table(runs))
    for level, micro_batch, passes in (("ddp", 8, 2.0), ("ddp", 16, 1.0), ("fsdp", 4, 4.0)):
        at = {"strategy": level, "micro_bs": micro_batch, "gpus": 64}
        assert result.query(at).columns["grad_accum"].tolist() == [passes]


def test_nodes_are_completed_by_predict_and_unknown_factors_are_not() -> None:
    runs = RATES.assign(layers=[12, 24, 12], s=[1.0, 2.1, 1.2]).drop(columns="tokens_per_s_per_gpu")
    result = gp.fit(runs, time="s", extrinsic="nodes,gpus", intrinsic="layers", model="a*layers + b*gpus")
    assert result.predict({"nodes": 32, "layers": 12})["gpus"].tolist() == [256.0]
    with pytest.raises(gp.GenperfError, match="'layers' is missing"):
        result.predict(pd.DataFrame({"nodes": [32]}))
    assert result.predict({"nodes": 32})["layers"].tolist() == [dict(gp.ask(result, nodes=32).facts.at)["layers"]]


UNKNOWN_NODES = "nothing shows how many devices a node has"
ZERO_WAYS = pd.DataFrame({"tp": [1, 2, 4, 8], "pp": [1, 0, 2, 2], "s": [1.0, 1.1, 1.2, 1.3]})


@pytest.mark.parametrize(
    ("runs", "at", "said"),
    [
        (RATES, {"nodes": 4, "gpus": 64}, "4 nodes of 8 hold 32, and 64 fill 8"),
        (RATES, {"nodes": 16, "gpus": 4}, "16 nodes of 8 hold 128, and 4 fill 1"),
        (RATES.drop(columns="gpus"), {"nodes": 64}, UNKNOWN_NODES),
        (GROWN, {"nodes": 64}, UNKNOWN_NODES),
        (LAYOUT, {"gpus": 64, "dp": 8}, "do not make gpus=64: their product is 32"),
        (LAYOUT, {"gpus": 64, "tp": 3}, "gpus=64 is no multiple of tp=3 x pp=2: 60 or 66 would be"),
        (LAYOUT, {"gpus": 50}, "gpus=50 is no multiple of tp="),
        (ZERO_WAYS, {"tp": 16}, "column 'pp' goes down to 0"),
    ],
)
def test_what_is_no_machine_is_refused_with_both_readings(runs: pd.DataFrame, at: dict[str, float], said: str) -> None:
    with pytest.raises(gp.GenperfError, match=said):
        gp.ask(runs, **at)
    if "fill" in said:
        with pytest.raises(gp.GenperfError, match=said):
            gp.fit(runs, throughput="tokens_per_s_per_gpu", extrinsic="nodes,gpus").predict(at)


def test_the_work_of_a_step_may_name_a_column_that_was_left_out(tmp_path: Path) -> None:
    runs = pd.DataFrame({"gpus": [1, 2, 4], "batch": 8, "foo": [1, 3, 2], "step_s": [1.0, 1.1, 1.2]})
    table = tmp_path / "runs.csv"
    runs.to_csv(table, index=False)
    reply = json.loads(
        one_answer.command("ask", table, "--at", "gpus=16", "--at", "foo=2", "--work", "foo*gpus", "--json")
    )
    assert reply["throughput"] * reply["time"] == pytest.approx(32)
    with pytest.raises(one_answer.RefusedError, match="--intrinsic bar"):
        one_answer.command("ask", table, "--at", "gpus=16", "--work", "bar*gpus")


def test_of_ways_that_are_all_there_is_the_other_stays_as_most_runs_near_had_it() -> None:
    rows = [(m, t, p, 2.0 * t * p) for m in ("a", "b") for t, p in ((1, 1), (2, 1), (4, 1), (1, 2), (2, 2))]
    answer = gp.ask(pd.DataFrame(rows, columns=["model", "tp", "pp", "req_per_s"]), tp=8)
    there = answer.to_dict()
    assert (there["at"]["devices"], there["at"]["pp"], there["taken"]["pp"]) == (8, 1, 1)


def test_numbers_of_runs_are_no_measurements() -> None:
    runs = pd.DataFrame({"gpus": [1, 2, 4, 8], "s": [1.0, 1.1, 1.2, 1.25]})
    named = runs.assign(run_id=[4, 9, 12, 40], Auftrag=[1001, 1002, 1003, 1004], job=[77, 78, 80, 81])
    assert [one["quantity"] for one in gp.ask(named, gpus=16).to_dict()["answers"]] == ["s"]
    # Whole numbers of no known header may name the runs; whoever wants them is answered.
    for numbers in ([4, 9, 12, 40], [88213, 87120, 90311, 90318]):
        unknown = runs.assign(Vorgang=numbers)
        assert [one.quantity for one in gp.ask(unknown, gpus=16).answers] == ["s"]
    assert gp.ask(unknown, want="Vorgang", gpus=16).answers[0].quantity == "Vorgang"
    # A setting is one that repeats, and a throughput of a network has no other measurement beside it.
    rates = pd.DataFrame({"gpus": [1, 2, 4, 8], "resnet50": [410, 792, 1530, 2905]})
    assert gp.ask(rates, gpus=16).answers[0].quantity == "resnet50"
    beside_memory = rates.rename(columns={"resnet50": "score"}).assign(peak_mem_gb=[61.2, 61.9, 61.1, 61.5])
    assert gp.ask(beside_memory, gpus=16).answers[0].quantity == "score"
    repeated = pd.concat([runs, runs]).assign(lauf=[4, 9, 12, 40, 41, 50, 52, 64])
    assert gp.ask(repeated, gpus=16).read_as.startswith("read as: --time s --extrinsic gpus; left out: lauf")


def test_a_throughput_in_proportion_to_the_count_is_measured() -> None:
    runs = pd.DataFrame([{"model": "gpt", "4 GPUs": 5.89557, "8 GPUs": 11.7026, "16 GPUs": 23.5295}])
    assert gp.ask(runs, GPUs=32).value == pytest.approx(47, rel=0.1)


def test_a_measured_configuration_has_its_measurement() -> None:
    runs = pd.DataFrame({"gpus": [1, 1, 2, 4], "batch": 8, "s": [1.0, 1.2, 1.25, 1.6]})
    assert gp.ask(runs, gpus=2).sentences["expect"].startswith("Measured: 12.8 samples/s at gpus=2 (one run).")
    assert "(median of 2 runs, 6.67 to 8)" in gp.ask(runs, gpus=1).sentences["expect"]
    assert "easured" not in gp.ask(runs, gpus=8).sentences["expect"]


def test_a_measured_machine_stays_as_it_was_whatever_its_parts_multiply_to() -> None:
    # Four tensor-parallel ways stand in no column.
    runs = pd.DataFrame({"gpus": [16, 64, 128, 256], "dp": [1, 1, 1, 4], "pp": [4, 16, 32, 16]})
    runs["Throughput"] = ["661 ms", "1439 ms", "2124 ms", "1826 ms"]
    (answer,) = gp.ask(runs, gpus=128).to_dict()["answers"]
    assert (answer["at"]["dp"], answer["at"]["pp"], answer["unit"]) == (1, 32, "ms")
    assert answer["value"] == pytest.approx(2124, rel=0.1)
    spread = pd.DataFrame({"nodes": [1, 1, 2, 2], "gpus": [1, 2, 2, 2], "tokens/s": [85065, 63724, 1522, 1583]})
    assert gp.ask(spread, nodes=2).to_dict()["answers"][0]["at"]["gpus"] == 2


def test_series_of_one_count_are_told_apart() -> None:
    runs = pd.DataFrame({"net": ["a", "b"], "nodes": 4, "gpus": 32, "img/s": [4046, 2744], "img/s/gpu": [126, 85]})
    assert [gp.ask(runs, gpus=32, net=net).value for net in ("a", "b")] == pytest.approx([4046, 2744], rel=0.01)
    assert gp.ask(runs, gpus=32).others


def test_a_quantity_is_a_row_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Device-seconds of a step stand beside the prediction in `ask` and `optimize`."""
    monkeypatch.setitem(QUANTITIES, "device_seconds", Quantity("workers*value", "s", "device-seconds", "beside"))
    runs = pd.DataFrame({"gpus": [1, 2, 4, 8], "batch": 8, "s": [1.0, 1.1, 1.2, 1.25]})
    fitted = gp.fit(gp.read_table(runs, time="s", extrinsic="gpus", intrinsic="batch"))
    answer = gp.ask(fitted, gpus=16)
    assert answer.facts.quantities["device_seconds"] == pytest.approx(16 * answer.value)
    best = gp.optimize(fitted, {"gpus": [16]}).best
    assert best["device_seconds"][0] == pytest.approx(16 * answer.value)
    assert best["device_seconds_upper"][0] == pytest.approx(16 * answer.interval[1])


@settings(max_examples=3, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10_000), door=st.sampled_from([*one_answer.DOORS][1:9]))
def test_every_wording_of_a_machine_has_one_answer(
    tmp_path_factory: pytest.TempPathFactory, seed: int, door: str
) -> None:
    """A drawn table is asked in every wording by `ask`, and in one of them at another door."""
    folder = tmp_path_factory.mktemp("runs")
    rows = [*one_answer.judged(seed, folder, doors=(door,))]
    assert len(rows) > 1
    assert not [row for row in rows if row.get("fault")]
    # The law is that of its parts: one second on 8 devices, each with 4 samples, and a ring of 8.
    machine = one_answer.Law(8, 1, 1, 4, 1, (8, 16), 32, False, 0.0, 0.25, 0.08, "ring").machine(8)
    assert machine["s"] == pytest.approx(1.0 + 0.08 * 7 / 8)
    assert machine["rate"] * machine["s"] == pytest.approx(32)


def test_a_table_that_counts_no_machine_is_completed() -> None:
    """Links of three kinds: the latency of the measured run, and no workers to place."""
    runs = pd.DataFrame({"link_mbit": [100, 200, 200], "latency_ms": [0, 0, 10], "s": [0.66, 0.36, 0.38]})
    result = gp.fit(runs, "pmnf", time="s", extrinsic="link_mbit,latency_ms")
    assert result.query({"link_mbit": 400.0}).single("") == {"link_mbit": 400.0, "latency_ms": 0.0}


@pytest.mark.parametrize("devices", [{"gpus": [4, 8, 12, 16]}, {"gpus_per_server": 4}])
def test_servers_that_hold_devices_are_nodes(devices: dict[str, list[int] | int]) -> None:
    runs = pd.DataFrame({"servers": [1, 2, 3, 4], **devices, "images/s": [2790, 5310, 7700, 10100]})
    by_servers, by_gpus = (gp.ask(runs, **at) for at in ({"servers": 16}, {"gpus": 64}))
    assert by_servers.value == pytest.approx(by_gpus.value) == pytest.approx(36_000, rel=0.05)
    of_words = runs.rename(columns={"servers": "servers used", "gpus": "world_size"})
    assert gp.ask(of_words, nodes=16).value == pytest.approx(by_gpus.value)
    assert by_gpus.to_dict()["at"]["servers"] == 16
    assert gp.fit(runs).predict({"gpus": [64]})["throughput"][0] == pytest.approx(by_gpus.value)
    # Workers of one server each may push to it.
    pushing = pd.DataFrame({"workers": [4, 8, 16], "servers": [1, 2, 4], "step_s": [0.2, 0.21, 0.22]})
    assert "servers" not in gp.ask(pushing, workers=32).reading.mapping.values()


def test_ways_of_experts_that_multiply_to_the_devices_are_ways() -> None:
    runs = pd.DataFrame({"gpus": [8, 16, 32, 64], "ep": [8, 8, 16, 32], "dp": [1, 2, 2, 2], "s": [1.1, 1.2, 1.3, 1.4]})
    at = gp.ask(runs, gpus=256).to_dict()["at"]
    assert at["ep"] * at["dp"] == 256
    # Over the data-parallel ways they divide no devices.
    assert gp.ask(runs.assign(dp=runs["gpus"]), gpus=256).to_dict()["at"].get("dp", 256) == 256


#: Four tensor-parallel ways stand in no column.
NO_TENSOR = pd.DataFrame([(p, d, 4 * p * d) for p in (1, 2, 4) for d in (1, 2, 4, 8)], columns=["PP", "DP", "GPUs"])
NO_TENSOR["tokens/s"] = 52_000 * NO_TENSOR.PP * NO_TENSOR.DP / (1 + 0.03 * NO_TENSOR.PP + 0.01 * NO_TENSOR.DP)


def test_ways_that_no_column_has_are_kept_at_every_door(tmp_path: Path) -> None:
    """Four pipeline stages of 16 data-parallel ways were 4·4·16 devices."""
    table, page = tmp_path / "runs.csv", tmp_path / "page.html"
    NO_TENSOR.to_csv(table, index=False)
    wordings = [gp.ask(NO_TENSOR, at=at) for at in ({"PP": 4, "DP": 16}, {"GPUs": 256, "PP": 4}, {"gpus": 256})]
    assert {tuple(answer.to_dict()["at"].items()) for answer in wordings} == {(("PP", 4), ("DP", 16), ("GPUs", 256))}
    assert {answer.value for answer in wordings} == {wordings[0].value}
    assert wordings[0].value == pytest.approx(52_000 * 64 / 1.28, rel=0.1)
    fitted = gp.fit(NO_TENSOR)
    (rate,) = fitted.predict({"PP": [4], "DP": [16]})["throughput"]
    assert rate == pytest.approx(wordings[0].value)
    for grid in (["--over", "PP=4", "--over", "DP=8,16"], ["--devices", "256", "--where", "DP == 16"]):
        (best, *_) = json.loads(one_answer.command("optimize", table, *grid, "--json"))["best"]
        assert (best["PP"], best["DP"], best["throughput"]) == (4, 16, pytest.approx(rate))
    for refused in ({"gpus": 250}, {"gpus": 64, "PP": 4, "DP": 16}):
        with pytest.raises(gp.GenperfError, match="x 4 further ways"):
            gp.ask(NO_TENSOR, at=refused)
    one_answer.command("report", table, "-o", page, "--at", "gpus=256")
    assert '"further":4' in page.read_text().replace(" ", "").replace(".0", "")
    # A table of all three ways is no contradiction where a further one was the same in every run.
    whole = gp.ask(NO_TENSOR.assign(TP=2, GPUs=2 * NO_TENSOR.GPUs), at={"PP": 4, "DP": 16}).to_dict()["at"]
    assert whole["GPUs"] == 512


def test_a_batch_of_no_known_owner_is_that_of_all_where_no_device_has_one() -> None:
    runs = pd.DataFrame([(n, b) for n in (4, 8, 16) for b in (256, 1024)], columns=["gpus", "global batch"])
    runs["step (ms)"] = 30 + 1.9 * runs["global batch"] / runs.gpus
    fitted = gp.fit(runs)
    for at in ({"batch": 1024}, {"bs": 1024}, {"global_batch": 1024}, {"batch_per_gpu": 32}):
        assert gp.ask(runs, gpus=32, **at).to_dict()["at"]["global batch"] == 1024
        assert fitted.predict({"gpus": [32], **{name: [value] for name, value in at.items()}})["time"][0] < 0.1


#: Nodes of 48 cores.
HYBRID = pd.DataFrame(
    [(n, p, 48 // p) for n in (1, 2, 4, 8, 16) for p in (48, 12)], columns=["nodes", "ppn", "threads"]
)
HYBRID["time (s)"] = (5200 / (48 * HYBRID.nodes) + 2.5) * (1.0 + 0.01 * (HYBRID.threads == 4))


@pytest.mark.parametrize("counted", [False, True])
def test_cores_are_the_scale_where_processes_and_their_threads_vary(counted: bool) -> None:
    """On 1536 cores 5200/1536 + 2.5 s, of which (5200/48 + 2.5)/32 would be all without the constant: 59 %."""
    runs = HYBRID.assign(cores=48 * HYBRID.nodes) if counted else HYBRID
    wordings = [{"nodes": 32}, {"cores": 1536}, {"nodes": 32, "ppn": 48}, {"nodes": 32, "ppn": 48, "threads": 1}]
    for at in wordings:
        answer = gp.ask(runs, at=at).to_dict()
        assert (answer["at"]["cores"], answer["at"]["threads"]) == (1536, 1)
        assert answer["answers"][0]["value"] == pytest.approx(5.9, rel=0.1)
        assert answer["efficiency"] == pytest.approx(0.59, rel=0.1)
    # Twelve processes a node had four threads each.
    assert gp.ask(runs, at={"nodes": 32, "ppn": 12}).to_dict()["taken"]["threads"] == 4
    fitted = gp.fit(runs)
    assert fitted.predict({"nodes": 32, "threads": 4})["cores"].tolist() == [1536]
    assert fitted.predict({"nodes": 32, "ppn": 6, "threads": 4})["cores"].tolist() == [768]


def test_a_column_of_cores_is_ranks_times_their_threads() -> None:
    pairs = [(1, 1), (2, 1), (4, 1), (8, 1), (8, 2), (8, 4), (16, 4)]
    runs = pd.DataFrame(
        [(r, t, r * t, 95 / (r * t) + 0.2) for r, t in pairs], columns=["ranks", "threads", "cores", "s"]
    )
    by_cores, by_ranks = (gp.ask(runs, at=at).to_dict() for at in ({"cores": 128, "threads": 4}, {"ranks": 32}))
    assert by_cores["at"] == by_ranks["at"] == {"cores": 128, "threads": 4}
    with pytest.raises(gp.GenperfError, match="'threads' and 'cores' are missing"):
        gp.fit(runs).predict(pd.DataFrame({"ranks": [32]}))


RUNS_OF_EPOCHS = pd.DataFrame({"gpus": [4, 8, 16, 32], "epochs": [10, 10, 20, 40]})
RUNS_OF_EPOCHS["train time (h)"] = RUNS_OF_EPOCHS.epochs * (4.2 / RUNS_OF_EPOCHS.gpus + 0.05)
RUNS_OF_STEPS = pd.DataFrame({"gpus": [1, 2, 4, 8], "batch_size_per_gpu": 32, "steps": [500, 250, 125, 125]})
RUNS_OF_STEPS["total_time_s"] = RUNS_OF_STEPS.steps * (0.4 + 0.02 * RUNS_OF_STEPS.gpus**0.5)


@pytest.mark.parametrize(
    ("runs", "at", "seconds", "efficiency"),
    [
        (RUNS_OF_EPOCHS, {"gpus": 64}, 3600 * (4.2 / 64 + 0.05), (4.2 / 4 + 0.05) / (4.2 / 64 + 0.05) / 16),
        (RUNS_OF_STEPS, {"gpus": 16}, 0.48, 0.42 / 0.48),
    ],
    ids=["epochs", "steps"],
)
def test_what_elapsed_in_another_number_of_steps_in_each_run_is_told_of_one(
    runs: pd.DataFrame, at: dict[str, float], seconds: float, efficiency: float
) -> None:
    reply = gp.ask(runs, at=at).to_dict()
    assert reply["time"] == pytest.approx(seconds, rel=0.05)
    assert reply["efficiency"] == pytest.approx(efficiency, rel=0.1)
    assert gp.fit(runs).predict({"gpus": [at["gpus"]]})["time"][0] == pytest.approx(reply["time"])
    # The iterations of a solver differ by less.
    solved = runs.assign(**{runs.columns[-2]: [100, 110, 120, 130]}).rename(columns={"epochs": "iterations"})
    assert gp.ask(solved, at=at).answers[0].quantity == runs.columns[-1]


def test_rounds_a_time_are_steps_whose_work_is_not_divided_by_their_clients() -> None:
    runs = pd.DataFrame([(n, e) for n in (8, 16, 32, 64) for e in (1, 2)], columns=["clients", "local_epochs"])
    runs["rounds/h"] = 3600 / (14 + 9 * runs.local_epochs + 0.12 * runs.clients)
    reply = gp.ask(runs, clients=128, local_epochs=2).to_dict()
    assert reply["time"] == pytest.approx(14 + 18 + 0.12 * 128, rel=0.1)
    assert reply.get("efficiency") is None
