"""Logs and results of other tools, read by their shape; nccl-tests and pytest-benchmark, by their importers."""

# ruff: noqa: E501 - lines of logs stand as they are printed.

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import shell_of

from genperf.errors import TableError
from genperf.importers import import_sources, nccl_tests, pytest_benchmark
from genperf.table.facts import source_of_log

DATA = Path(__file__).parent / "data"

#: Steps as each project prints them, with what is to be read: the column, its median after the first, the settings.
LOGS = {
    "megatron-lm": (
        " iteration  10/ 100 | consumed samples:  640 | elapsed time per iteration (ms): 2911.4 | global batch size:  64 |\n"
        " iteration  20/ 100 | consumed samples: 1280 | elapsed time per iteration (ms): 1604.2 | global batch size:  64 |\n",
        ("elapsed time per iteration (ms)", 1604.2, {"global batch size": 64}),
    ),
    "nemo": (
        "Training epoch 0, iteration 0/9 | lr: 1e-06 | global_batch_size: 8 | global_step: 0 | train_step_timing in s: 7.126\n"
        "Training epoch 0, iteration 1/9 | lr: 2e-06 | global_batch_size: 8 | global_step: 1 | train_step_timing in s: 2.505"
        " | consumed_samples: 16\n"
        "Epoch 0: : 100%|###| 3/3 [00:12<00:00, global_step=2.000, consumed_samples=24.0, train_step_timing in s=2.125]\n",
        ("train_step_timing in s", 2.315, {"global_batch_size": 8}),
    ),
    "nanotron": (
        "[INFO|DP=0|PP=0|TP=0|ip-1]: iteration: 2 / 20 | elapsed_time_per_iteration_ms: 1.5K | global_batch_size: 1.02K |\n"
        "[INFO|DP=0|PP=0|TP=0|ip-1]: iteration: 3 / 20 | elapsed_time_per_iteration_ms: 999 | global_batch_size: 1.02K |\n",
        ("elapsed_time_per_iteration_ms", 999.0, {}),
    ),
    "deepspeed": (
        "[INFO] [timer.py:260:stop] epoch=0/micro_step=40/global_step=10, RunningAvgSamplesPerSec=25.02, CurrSamplesPerSec=24.5\n"
        "[INFO] [timer.py:260:stop] epoch=0/micro_step=80/global_step=20, RunningAvgSamplesPerSec=25.72, CurrSamplesPerSec=25.75,"
        " MemAllocated=4.32GB, MaxMemAllocated=38.49GB\n",
        ("CurrSamplesPerSec", 25.75, {}),
    ),
    "torchtitan": (
        "[rank0]: - root - INFO - \x1b[31mstep: 10  \x1b[32mloss:  7.12  \x1b[33mmemory: 40.21GiB(42.34%)  \x1b[34mtps: 7,012  "
        "\x1b[36mtflops: 320.11  \x1b[35mmfu: 40.50%\x1b[39m\n"
        "[rank0]: - root - INFO - step: 20  loss:  6.80  memory: 40.21GiB(42.34%)  tps: 7,612  tflops: 330.1  mfu: 41.0%\n",
        ("tps", 7612.0, {}),
    ),
    "composer": (
        "[batch=10/100]:\n\t Train throughput/samples_per_sec: 262.1\n\t Train throughput/device/samples_per_sec: 32.8\n"
        "[batch=20/100]:\n\t Train throughput/samples_per_sec: 270.5\n",
        ("Train throughput/samples_per_sec", 270.5, {}),
    ),
}


@pytest.mark.parametrize("project", LOGS)
def test_steps_are_read_as_each_project_prints_them(project: str) -> None:
    text, (column, value, settings) = LOGS[project]
    source = source_of_log(text, "train.log")
    assert source is not None
    assert source.columns[column].tolist() == pytest.approx([value])
    assert {name: source.columns[name][0] for name in settings} == settings


def test_arguments_of_a_log_are_settings() -> None:
    source = import_sources([str(DATA / "megatron.log")])
    row = {name: cells[0] for name, cells in source.columns.items()}
    expected = {
        **{"world size": 16, "data-parallel size": 4, "tensor-model-parallel size": 2},
        **{"pipeline-model-parallel size": 2, "micro_batch_size": 2, "global_batch_size": 64, "seq_length": 2048},
        **{"num_layers": 24, "hidden_size": 2048, "num_attention_heads": 16},
    }
    assert {name: row[name] for name in expected} == expected
    assert row["elapsed time per iteration (ms)"] == pytest.approx((1604.2 + 1598.7) / 2)


def test_a_log_of_one_step_keeps_it() -> None:
    source = source_of_log("x | elapsed time per iteration (ms): 12.0 |\n y: nan\n", "train.log")
    assert source is not None
    assert source.columns["elapsed time per iteration (ms)"].tolist() == [12.0]


def test_logs_become_a_table_that_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for gpus, milliseconds in ((1, 410.0), (2, 421.0), (4, 433.0), (8, 446.0)):
        lines = [
            f" iteration {i}/ 30 | elapsed time per iteration (ms): {milliseconds + 900.0 * (i == 10)} | global batch size: {8 * gpus} |"
            for i in (10, 20, 30)
        ]
        (tmp_path / f"run_{gpus}.log").write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)
    shell = shell_of(capsys)
    assert shell("import", "training-log", "run_*.log", "--from-name", "run_{gpus}.log", "-o", "runs.csv")[0] == 0
    assert "Expect" in shell("ask", "--full", "runs.csv", "--at", "gpus=16")[1]
    status, answer, _ = shell("ask", "--full", "run_1.log")
    assert status == 0
    assert "Measured: elapsed time per iteration (ms) of 410 ms" in answer


def test_the_last_entry_of_a_trainer_has_the_throughput() -> None:
    source = import_sources([str(DATA / "trainer_state.json")])
    assert float(source.columns["train_samples_per_second"][0]) == 314.9
    assert len(source) == 1


def test_collectives_have_bytes_ranks_and_both_kinds_of_buffers() -> None:
    table = nccl_tests.read((DATA / "all_reduce_perf.txt").read_text(), "all_reduce.txt")
    assert [(row["bytes"], row["buffers"], row["time_s"]) for row in table.rows] == [
        (1048576, "out of place", pytest.approx(151.2e-6)),
        (1048576, "in place", pytest.approx(149.8e-6)),
        (2097152, "out of place", pytest.approx(262.4e-6)),
        (2097152, "in place", pytest.approx(260.1e-6)),
    ]
    assert {(row["devices"], row["nodes"]) for row in table.rows} == {(4, 2)}


def test_a_collective_without_a_time_is_named() -> None:
    text = "# nThread 1 nGpus 1 \n 1024 256 float sum -1 N/A 0 0 0 20.0 0.05 0.05 0\n"
    table = nccl_tests.read(text, "all_reduce.txt")
    assert [row["buffers"] for row in table.rows] == ["in place"]
    assert table.left_out == ("all_reduce.txt: line 2: no time out of place ('N/A')",)


def test_serving_results_have_a_row_a_run() -> None:
    source = import_sources([str(DATA / "serving.jsonl")])
    columns = (source.columns[name].tolist() for name in ("max_concurrency", "output_throughput"))
    assert [*zip(*columns, strict=True)] == [("1", "118.2"), ("4", "424.9"), ("16", "1266.0")]


def test_rounds_of_a_benchmark_are_repeats() -> None:
    table = pytest_benchmark.read((DATA / "pytest_benchmark.json").read_text(), "bench.json")
    assert [(row["workers"], row["repeat"], row["time_s"]) for row in table.rows] == [
        (1, 0, 0.42),
        (1, 1, 0.41),
        (1, 2, 0.43),
        (2, 0, 0.24),
        (2, 1, 0.23),
        (2, 2, 0.23),
    ]
    assert table.group == ("test",)


def test_a_benchmark_without_rounds_says_how_to_keep_them() -> None:
    with pytest.raises(TableError, match="holds no round") as caught:
        pytest_benchmark.read('{"benchmarks": [{"name": "t", "stats": {"min": 1.0}}]}', "bench.json")
    assert "--benchmark-save-data" in str(caught.value.hint)
