"""Quantities, jobs, phases and the axis of scale."""

import numpy as np
import pandas as pd
import pytest
from helpers import cases_in_text

import genperf as gp
from genperf.errors import TableError
from genperf.formula import values_of
from genperf.panel import read_table
from genperf.panel.panel import Target
from genperf.panel.quantities import quantities_of
from genperf.table.cells import measure
from genperf.vocabulary.names import canonical_of, column_of

RUNS = pd.DataFrame({"n": [1, 2, 4], "t": [3000.0, 1500.0, 750.0], "memory_gb": [30.0, 16.0, 9.0], "forward_s": 0.1})


SECONDS_OF = {"s": 3000.0, "": 3000.0, "ms": 3.0, " ms ": 3.0, "us": 3e-3, "µs": 3e-3, "μs": 3e-3, "ns": 3e-6}
SECONDS_OF |= {"min": 180_000.0, "h": 10_800_000.0}


def test_work_in_proportion_to_the_workers_counts_no_samples():
    runs = RUNS.assign(seq_len=2048)
    # 32 samples of a batch each, and a kind of scaling alone.
    batches = read_table(
        runs.assign(batch=32), time="t", extrinsic="n", intrinsic="seq_len,batch", mapping={"workers": "n"}
    )
    alone = read_table(runs, time="t", extrinsic="n", intrinsic="seq_len", mapping={"workers": "n"}, scaling="weak")
    assert [quantities_of(table.panel).has("tokens_per_s") for table in (batches, alone)] == [True, False]


@pytest.mark.parametrize(("unit", "seconds"), [*SECONDS_OF.items()])
def test_times_become_seconds(unit, seconds):
    table = read_table(RUNS, time="t", unit=unit, extrinsic="n")
    assert table.measured[0] == seconds
    assert table.target == Target("t", "time", "s")
    assert [n.kind for n in table.notes] == ([] if unit.strip() in ("", "s") else ["unit"])


def test_a_converted_time_is_the_decimal_number_that_was_meant():
    # 0.7 s is written 700 ms: 700/1000 is the double nearest to 0.7, and 700·0.001 is not.
    table = read_table(RUNS.assign(t=[700.0, 300.0, 100.0]), time="t", unit="ms", extrinsic="n")
    assert table.measured.tolist() == [0.7, 0.3, 0.1]
    assert str(table.notes[0]).startswith("'t' is converted from ms to seconds (1 ms = 0.001 s)")
    # Filters and formulas read the column as it stands in the table.
    table = read_table(RUNS, time="t", unit="ms", extrinsic="n", where="t > 1000", let="double=2*t")
    assert table.measured.tolist() == [3.0, 1.5]
    assert table.frame["double"].tolist() == [6000.0, 3000.0]
    # The same table as that of seconds, of which parts and medians are not converted again.
    converted = read_table(RUNS, time="t", unit="ms", extrinsic="n")
    seconds = read_table(RUNS.assign(t=RUNS.t / 1000), time="t", extrinsic="n")
    assert converted.sha256 == seconds.sha256 != read_table(RUNS, time="t", extrinsic="n").sha256
    assert converted.take([0]).measured.tolist() == [3.0]
    assert converted.medians().measured.tolist() == [3.0, 1.5, 0.75]


@pytest.mark.parametrize(
    ("options", "target"),
    [
        ({"quantity": "memory_gb"}, Target("memory_gb", "memory_gb", "")),
        ({"quantity": "memory_gb:GB"}, Target("memory_gb", "memory_gb", "GB")),
        ({"quantity": "memory_gb", "unit": "GB"}, Target("memory_gb", "memory_gb", "GB")),
        ({"quantity": " memory_gb : GB ", "unit": "GB"}, Target("memory_gb", "memory_gb", "GB")),
        ({"quantity": "memory_gb:ms"}, Target("memory_gb", "memory_gb", "ms")),
    ],
)
def test_another_quantity_keeps_its_values(options, target):
    table = read_table(RUNS, extrinsic="n", **options)
    assert table.target == target
    assert table.measured.tolist() == [30.0, 16.0, 9.0]
    # Phases are parts of a time.
    assert table.phases == {}
    assert "forward_s" in table.unused
    assert not table.notes


@pytest.mark.parametrize("options", [{"time": "t", "unit": "ms"}, {"quantity": "t:GB"}], ids=["time", "quantity"])
def test_an_aggregated_table_has_the_same_numbers(options, tmp_path):
    pytest.importorskip("duckdb", reason="the extra 'large' is not installed")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"n": np.repeat([1, 2, 4], 5), "t": rng.lognormal(7.0, 0.1, 15)})
    frame.to_csv(tmp_path / "runs.csv", index=False)
    rows = read_table(frame, extrinsic="n", **options)
    summed = read_table(tmp_path / "runs.csv", extrinsic="n", aggregate=True, **options)
    assert summed.target == rows.target
    assert summed.measured == pytest.approx(rows.medians().measured, rel=1e-14)
    assert summed.noise() == pytest.approx(rows.noise(), rel=1e-9)
    assert summed.extremes[0] == pytest.approx(rows.extremes[0], rel=1e-14)
    assert [n.kind for n in summed.notes] == ["aggregated", *(["unit"] if "unit" in options else [])]
    (tmp_path / "bad.csv").write_text("n,t\n1,2.0\n1,-3\n2,1.0\n")
    name = summed.target.name
    with pytest.raises(TableError, match=rf"'-3' is negative \({name} must be above zero\)"):
        read_table(tmp_path / "bad.csv", extrinsic="n", aggregate=True, **options)


# --- times of epochs and whole jobs: all workers share one amount of work, whatever the batch of each ----------------

COUNTS = np.array([1, 2, 4, 8, 16])


def read_as(scaling: str | None = None, **columns: object) -> tuple[str | None, str]:
    """Return the scaling that is read of times over counts, and the notes of it; the first column is the time."""
    (time, *others), frame = columns, pd.DataFrame({"gpus": COUNTS, **columns})
    given = {"scaling": scaling} if scaling else {}
    table = read_table(frame, time=time, extrinsic="gpus", intrinsic=others, **given)
    return table.scaling, "".join(n.text for n in table.notes if n.kind in ("job", "job_likely"))


def test_whether_all_share_the_work() -> None:
    # At the same batch a step takes as long, or falls with a batch that is shared.
    assert read_as(step_s=0.1 + 0.01 * np.log2(COUNTS), batch_per_gpu=32) == (None, "")
    assert read_as(t=1.0 / COUNTS, global_batch=64) == (None, "")
    assert read_as(t=1.0 / COUNTS, batch=64 / COUNTS) == (None, "")
    assert read_as(time_s=1.0 + 0.1 * COUNTS) == (None, "")
    # An epoch is a job; the user decides.
    scaling, said = read_as(epoch_s=np.full(5, 10.0), batch_per_gpu=32)
    assert (scaling, bool(said)) == ("job", True)
    assert read_as("weak", epoch_s=np.full(5, 10.0), batch_per_gpu=32) == ("weak", "")
    assert read_as("weak", time=100.0 / COUNTS, batch_per_gpu=32) == ("weak", "")
    # Times that fall too much are said.
    scaling, said = read_as(time=100.0 / COUNTS, batch_per_gpu=32)
    assert scaling is None
    assert said.startswith("at the same batch_per_gpu the time falls from 100 to 6.25 s from 1 to 16 gpus:")
    scaling, said = read_as(time_s=100.0 / COUNTS + COUNTS)
    assert scaling is None
    assert said.startswith("the time falls from 101 to 22.2 s from 1 to 16 gpus: too much for a batch each; --scaling")


@pytest.mark.parametrize("count", ["gpus", "np", "nodes"])
def test_a_job_of_which_all_shrinks_with_a_workers_part_is_covered(count: str) -> None:
    counts = np.array([1.0, 2.0, 4.0, 8.0, 32.0])
    for times in (60.0 * counts**-0.9, 60.0 * (1.0 + 0.07 * np.log2(counts)) / counts):
        answer = gp.ask(pd.DataFrame({count: counts[:4], "time_s": times[:4]}), **{count: 32.0}).answers[0]
        assert answer.lower < times[-1] < answer.upper


def test_an_epoch_with_a_batch_of_each_is_answered_as_its_steps_are() -> None:
    steps = pd.DataFrame({"gpus": COUNTS, "batch_per_gpu": 32, "step_s": 0.2 + 0.02 * np.log2(COUNTS)})
    epochs = steps.assign(epoch_s=1000.0 * steps["step_s"] / COUNTS).drop(columns="step_s")
    of_steps, of_epoch = (gp.ask(runs, gpus=64).interval for runs in (steps, epochs))
    assert of_epoch == pytest.approx([1000.0 / 64 * end for end in of_steps])


def test_iterations_of_each_device_are_no_samples_of_tokens() -> None:
    runs = pd.DataFrame({"gpus": [1, 2, 4], "seq_length": 2048})
    for header, known in (("it/s/gpu", False), ("samples/s/gpu", True), ("tokens/s/gpu", True)):
        assert quantities_of(read_table(runs.assign(**{header: [0.6, 0.59, 0.58]})).panel).has("tokens_per_s") == known


BATCHES = ("global_batch", "batch size (total)", "images per iteration", "batch_per_gpu", "lbs", "Seqs/GPU")


@cases_in_text("count, batches")
def test_a_step_has_the_samples_of_its_batch_whatever_the_count_and_the_batch_are_called(
    count: str, batches: tuple[str, ...]
) -> None:
    runs = pd.DataFrame({count: [2, 4, 8, 16], "step_s": [1.0, 1.06, 1.12, 1.19]})
    for batch in batches:
        samples = 32 * runs[count] if canonical_of(batch) == "global_batch" else 32
        answer = gp.ask(runs.assign(**{batch: samples}))
        facts = answer.facts
        work = answer.throughput * facts.expected.value.value
        assert work == pytest.approx(32 * facts.growth.target.count), batch


@pytest.mark.parametrize("header", ["sec", "Sec", "second", "s", "T"])
def test_a_unit_alone_is_the_time_of_a_step(header: str) -> None:
    answer = gp.ask(pd.DataFrame({"gpus": [2, 4, 8], "gbs": [64, 128, 256], header: [1.0, 1.06, 1.12]}), gpus=16)
    assert answer.throughput == pytest.approx(512 / answer.facts.expected.value.value)


RUNS_PHASE_COLUMNS = pd.DataFrame(
    {"n": [1, 2, 4], "Forward_S": ["0.1", "0.2", ""], "comm_s": [0.0, 0.1, 0.2], "update_s": ["a", "b", "c"]}
).assign(t=[1.0, 2.0, 3.0])


def test_phase_columns_are_recognised_by_name_and_numbers():
    table = read_table(RUNS_PHASE_COLUMNS.assign(ms=5.0), time="t", extrinsic="n", let={"io_s": "ms/1000"})
    assert table.phases == {"forward": "Forward_S", "exchange": "comm_s", "input": "io_s"}


def test_what_a_factor_is():
    for values, of in (([1.0, 2.0, 2.0], (True, True, 2)), ([1.0, 2.5], (False, True, 2)), ([0.0], (True, False, 1))):
        factor = measure("n", "extrinsic", values)
        assert (factor.integer, factor.positive, factor.distinct) == of
    # Levels are ordered by frequency, then name.
    factor = measure("fw", "categorical", np.array(["c", "b", "c", "a", "a", "d"], dtype=object))
    assert factor.levels == ("a", "c", "b", "d")
    assert factor.distinct == 4
    assert not factor.numeric
    # Finite, so that a model file can hold them.
    assert (factor.lower, factor.upper, factor.centre) == (0.0, 0.0, 1.0)


def test_a_batch_beside_steps_per_second_that_rise_is_that_of_all() -> None:
    steps = pd.DataFrame({"gpus": [1, 2, 4, 8], "batch_size": 512, "it/s": [1.0, 1.9, 3.6, 6.6]})
    # A run that did no step says nothing.
    for rates in ([1.0, 1.9, 3.6, 6.6], [1.0, 1.9, 3.6, 0.0]):
        answer = gp.ask(steps.assign(**{"it/s": rates}), gpus=16)
        assert answer.throughput * answer.facts.expected.value.value == pytest.approx(512)
        assert answer.facts.growth.sample == "samples"
        assert 5.0 < 1.0 / answer.facts.expected.value.value < 14.0


@pytest.mark.parametrize("batch", ["tokens_per_batch", "global batch size (tokens)", "tokens/step"])
@pytest.mark.parametrize("beside", [{}, {"seq_len": 4096}, {"seq_len": 4096, "tp": 2, "mbs": 1}])
def test_a_batch_in_tokens_is_the_work_of_a_step(batch: str, beside: dict[str, int]) -> None:
    counts = np.array([8, 16, 32, 64])
    for tokens in (np.full(4, 2**22), counts * 2**16):
        seconds = [1.01, 1.02, 1.03, 1.03] * tokens / counts / 2**16
        runs = pd.DataFrame({"gpus": counts, **beside, batch: tokens, "step (s)": seconds})
        answer = gp.ask(runs, gpus=128, tokens="1T").to_dict()
        whole = 2**22 if tokens[0] == 2**22 else 2**23
        assert answer["throughput"] * answer["answers"][0]["value"] == pytest.approx(whole)
        assert answer["days"] == pytest.approx(1e12 / answer["throughput"] / 86400)
        assert "tokens/s" in str(gp.ask(gp.fit(runs), gpus=128))


def test_tokens_of_a_step_beside_samples() -> None:
    runs = pd.DataFrame({"gpus": [8, 16, 32], "dp": [8, 16, 32], "mbs": 1, "seq": 2048, "tokens_per_step": 2**20})
    panel = read_table(
        runs.assign(s=[1.0, 0.52, 0.27]), time="s", extrinsic="gpus,dp", intrinsic="mbs,seq,tokens_per_step"
    ).panel
    # Passes are counted in samples.
    assert values_of(panel.node("micro_batches"), panel.measured) == pytest.approx([64, 32, 16])
    # Of a pass of unknown length, and beside the batch of each device, they are no batch of all.
    assert column_of("global_batch", ["gpus", "mbs", "tokens_per_step"]) is None
    assert column_of("global_batch", ["gpus", "batch_per_gpu", "seq", "tokens_per_step"]) is None


def test_what_elapsed_is_no_time_of_one_step() -> None:
    runs = pd.DataFrame({"gpus": [1, 2, 4, 8], "batch": 32, "total_time_s": [200.0, 208.0, 215.0, 223.0]})
    # Nothing shows of how many steps it is.
    answer = gp.ask(runs, gpus=16).to_dict()
    assert "throughput" not in answer
    assert answer["efficiency"] == pytest.approx(0.87, abs=0.02)
    assert "--work '500*batch*gpus'" in answer["sentences"]["expect"]
    of_steps = gp.ask(runs.assign(num_steps=500), gpus=16)
    (value,) = of_steps.answers
    assert (value.quantity, value.value) == ("total_time_s", pytest.approx(answer["answers"][0]["value"]))
    assert of_steps.to_dict()["throughput"] == pytest.approx(500 * 32 * 16 / value.value)


@pytest.mark.parametrize("count", ["gpus", "processes"])
@pytest.mark.parametrize("rate", ["it/s", "it_s", "steps_s"])
def test_steps_a_second_are_answered_as_the_time_of_one(count: str, rate: str) -> None:
    runs = pd.DataFrame({count: [1, 2, 4, 8], rate: [3.34, 3.3, 3.2, 3.0]})
    answer = gp.ask(runs, **{count: 16})
    assert (answer.facts.column, answer.facts.start.value) == (None, pytest.approx(1 / 3.0, rel=0.02))
    assert answer.facts.expected.value.value == pytest.approx(1 / answer.value)
