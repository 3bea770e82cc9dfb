"""Logs and results of training frameworks, nccl-tests, serving benchmarks and pytest-benchmark."""

# ruff: noqa: E501 - lines of logs stand as they are printed.

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import shell_of

from genperf.errors import TableError
from genperf.importers import import_files, nccl_tests, pytest_benchmark, serving, trainer_state
from genperf.importers.training_log import read

DATA = Path(__file__).parent / "data"

#: Steps as each project prints them, with what is to be read: the column, its values, and the settings.
LOGS = {
    "megatron-lm": (
        " iteration  10/ 100 | consumed samples:  640 | elapsed time per iteration (ms): 2911.4 | global batch size:  64 |\n"
        " iteration  20/ 100 | consumed samples: 1280 | elapsed time per iteration (ms): 1604.2 | global batch size:  64 |\n",
        ("step_time_s", [1.6042], {"global_batch": 64}),
    ),
    "nemo": (
        "Training epoch 0, iteration 0/9 | lr: 1e-06 | global_batch_size: 8 | global_step: 0 | train_step_timing in s: 7.126\n"
        "Training epoch 0, iteration 1/9 | lr: 2e-06 | global_batch_size: 8 | global_step: 1 | train_step_timing in s: 2.505"
        " | consumed_samples: 16\n"
        "Epoch 0: : 100%|###| 3/3 [00:12<00:00, global_step=2.000, consumed_samples=24.0, train_step_timing in s=2.125]\n",
        ("step_time_s", [2.505, 2.125], {"global_batch": 8}),
    ),
    "nanotron": (
        "[INFO|DP=0|PP=0|TP=0|ip-1]: iteration: 2 / 20 | elapsed_time_per_iteration_ms: 1.5K | global_batch_size: 1.02K |\n"
        "[INFO|DP=0|PP=0|TP=0|ip-1]: iteration: 3 / 20 | elapsed_time_per_iteration_ms: 999 | global_batch_size: 1.02K |\n",
        # 1.02K is rounded: no setting.
        ("step_time_s", [0.999], {}),
    ),
    "deepspeed": (
        "[INFO] [timer.py:260:stop] epoch=0/micro_step=40/global_step=10, RunningAvgSamplesPerSec=25.02, CurrSamplesPerSec=24.5\n"
        "[INFO] [timer.py:260:stop] epoch=0/micro_step=80/global_step=20, RunningAvgSamplesPerSec=25.72, CurrSamplesPerSec=25.75,"
        " MemAllocated=4.32GB, MaxMemAllocated=38.49GB\n",
        ("samples_per_s", [25.75], {}),
    ),
    "torchtitan": (
        "[rank0]: - root - INFO - \x1b[31mstep: 10  \x1b[32mloss:  7.12  \x1b[33mmemory: 40.21GiB(42.34%)  \x1b[34mtps: 7,012  "
        "\x1b[36mtflops: 320.11  \x1b[35mmfu: 40.50%\x1b[39m\n"
        "[rank0]: - root - INFO - step: 20  loss:  6.80  memory: 40.21GiB(42.34%)  tps: 7,612  tflops: 330.1  mfu: 41.0%\n",
        ("tokens_per_s_per_gpu", [7612.0], {}),
    ),
    "composer": (
        "[batch=10/100]:\n\t Train throughput/samples_per_sec: 262.1\n\t Train throughput/device/samples_per_sec: 32.8\n"
        "[batch=20/100]:\n\t Train throughput/samples_per_sec: 270.5\n",
        ("samples_per_s", [270.5], {}),
    ),
}


@pytest.mark.parametrize("project", LOGS)
def test_steps_are_read_as_each_project_prints_them(project: str) -> None:
    text, (column, values, settings) = LOGS[project]
    table = read(text, "train.log")
    assert table.time == column
    assert table.rate == (column != "step_time_s")
    assert [row[column] for row in table.rows] == pytest.approx(values)
    assert {name: table.rows[0][name] for name in table.factors} == settings
    assert [note.kind for note in table.notes] == ["warm_up"]


def test_arguments_of_a_log_are_factors() -> None:
    table = import_files("training-log", [str(DATA / "megatron.log")])
    row = {name: table.rows[0][name] for name in table.factors}
    assert row == {
        "devices": 16,
        "data_parallel": 4,
        "tensor_parallel": 2,
        "pipeline_parallel": 2,
        "micro_batch": 2,
        "global_batch": 64,
        "seq_length": 2048,
        "num_layers": 24,
        "hidden_size": 2048,
        "num_heads": 16,
    }
    assert [r["step_time_s"] for r in table.rows] == pytest.approx([1.6042, 1.5987])


def test_a_step_without_a_number_is_counted() -> None:
    text = " iteration 1/ 9 | elapsed time per iteration (ms): nan |\n iteration 2/ 9 | elapsed time per iteration (ms): 12.0 |\n"
    table = read(text, "train.log")
    assert [row["step_time_s"] for row in table.rows] == [0.012]
    assert "1 lines look like steps" in str(table.notes[0])


def test_a_log_of_one_step_keeps_it() -> None:
    table = read("x | elapsed time per iteration (ms): 12.0 |\n", "train.log")
    assert len(table.rows) == 1
    assert not table.notes


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
    table = trainer_state.read((DATA / "trainer_state.json").read_text(), "trainer_state.json")
    assert table.rows == (
        {"batch_per_device": 16, "repeat": 0, "samples_per_s": 314.9, "step_time_s": pytest.approx(1 / 2.46)},
    )
    assert table.rate


def test_a_trainer_that_did_not_end_is_refused() -> None:
    with pytest.raises(TableError, match="logs no throughput"):
        trainer_state.read('{"log_history": [{"loss": 2.0, "step": 1}]}', "trainer_state.json")


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
    table = serving.read((DATA / "serving.jsonl").read_text(), "serving.jsonl")
    assert [(row["max_concurrency"], row["output_throughput"]) for row in table.rows] == [
        (1, 118.2),
        (4, 424.9),
        (16, 1266.0),
    ]
    assert table.factors == ("max_concurrency", "num_prompts", "backend")


def test_a_run_that_answered_nothing_is_left_out() -> None:
    text = '[{"max_concurrency": 1, "output_throughput": 0.0}, {"max_concurrency": 2, "output_throughput": 9.5}]'
    table = serving.read(text, "serve.json")
    assert [row["max_concurrency"] for row in table.rows] == [2]
    assert table.left_out == ("serve.json: [0]: no request was answered",)


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
