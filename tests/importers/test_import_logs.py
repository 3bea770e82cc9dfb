# ruff: noqa: E501 - lines of logs stand as they are printed.
"""Logs and result files of other tools."""

import json
import re
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from helpers import Shell, cases_in_text, done
from hypothesis import given, settings
from hypothesis import strategies as st

from genperf.errors import GenperfError, TableError
from genperf.importers import FORMATS, READ_BY_SHAPE, import_files
from genperf.table.documents import of_events
from genperf.table.facts import source_of_log
from genperf.table.importers import nccl_tests
from genperf.table.importers.hyperfine import read as read_hyperfine
from genperf.table.importers.imported import Imported, csv_lines, factors_from_name
from genperf.table.opened import open_source

DATA = Path(__file__).parent / "data"
SCAN = str(DATA / "hyperfine_scan.json")
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
    assert source.columns[column].tolist() == pytest.approx([value])
    assert {name: source.columns[name][0] for name in settings} == settings


def test_logs_become_a_table_that_is_answered(tmp_path: Path, shell: Shell) -> None:
    for gpus, milliseconds in ((1, 410.0), (2, 421.0), (4, 433.0), (8, 446.0)):
        lines = [
            f" iteration {i}/ 30 | elapsed time per iteration (ms): {milliseconds + 900.0 * (i == 10)} | global batch size: {8 * gpus} |"
            for i in (10, 20, 30)
        ]
        (tmp_path / f"run_{gpus}.log").write_text("\n".join(lines))
    assert shell("import", "training-log", "run_*.log", "--from-name", "run_{gpus}.log", "-o", "runs.csv")[0] == 0
    assert "Expect" in shell("ask", "--full", "runs.csv", "--at", "gpus=16")[1]
    answer = done(shell, "ask", "--full", "run_1.log")
    assert "Measured: elapsed time per iteration (ms) of 410 ms" in answer


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
    assert table.left_out == ["all_reduce.txt: line 2: no time out of place ('N/A')"]


# --- several files as one table, factors from outside, and a CSV that reads back exactly -----------------------------

#: A file of each format.
EXAMPLES = {
    "hyperfine": "hyperfine_scan.json",
    "extra-p": "extra_p.json",
    "pytorch-profiler": "single_workers1.pt.trace.json",
    "nccl-tests": "all_reduce_perf.txt",
    "nsight": "nsight.sqlite",
}
Cells = st.one_of(st.text(), st.integers(-(10**15), 10**15), st.floats(allow_nan=False, allow_infinity=False))


@settings(max_examples=10)
@given(st.lists(st.tuples(Cells, Cells), min_size=1, max_size=5))
def test_a_written_table_reads_back(rows: list[tuple[str | int | float, str | int | float]]) -> None:
    import tempfile

    table = Imported([{"source": "#1.json", "a": a, "b, c": b} for a, b in rows], "a", "b, c")
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        file.write("".join(csv_lines(table, raw=True)).encode())
        file.flush()
        frame = open_source(file.name).cells
    assert list(frame) == ["source", "a", "b, c"]
    for column, values in zip(("a", "b, c"), zip(*rows, strict=True), strict=True):
        for cell, value in zip(frame[column], values, strict=True):
            if isinstance(value, str):
                readable = value.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()
                # Blanks around a cell are nobody's.
                assert cell == readable.strip()
            else:
                assert type(value)(cell) == value


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_of_another_format_is_recognised(format: str) -> None:
    for other, file in EXAMPLES.items():
        if other == format:
            assert import_files(format, [str(DATA / file)]).rows
            continue
        with pytest.raises(GenperfError) as caught:
            import_files(format, [str(DATA / file)])
        assert caught.value.hint == f"genperf import {other} {DATA / file}"


def test_every_format_has_an_example() -> None:
    assert set(EXAMPLES) == set(FORMATS)


def test_files_are_put_together_with_the_union_of_their_columns() -> None:
    files = [str(DATA / "single_workers1.pt.trace.json"), str(DATA / "ddp_workers2_*")]
    table = import_files("pytorch-profiler", files, {"batch": "32"}, "*_workers{workers}*")
    assert list(table.columns[:4]) == ["source", "batch", "workers", "step"]
    assert "exchange_s" in table.columns
    assert [row["workers"] for row in table.rows] == ["1"] * 3 + [2] * 6
    assert table.factors == ["batch", "workers", "backend"]
    assert len(table.values("source")) == 3
    # The same file twice is one.
    assert len(import_files("pytorch-profiler", files[:1] * 2).rows) == 3


def test_what_a_file_says_itself_goes_before_what_is_said_of_it() -> None:
    file = str(DATA / "ddp_workers2_rank0.pt.trace.json")
    table = import_files("pytorch-profiler", [file], {"workers": "8"})
    assert table.values("workers") == {2}
    assert [note.text for note in table.notes] == [f"{file}: 'workers' is 2 in the file, so 8 is not used"]
    assert not import_files("pytorch-profiler", [file], {"workers": "2"}).notes


def test_counts_that_some_files_lack_are_noted() -> None:
    files = [str(DATA / name) for name in ("single_workers1.pt.trace.json", "ddp_workers2_rank0.pt.trace.json")]
    (note,) = import_files("pytorch-profiler", files).notes
    assert note.text == f"'workers' is missing in {files[0]}: --set or --from-name fills it in"
    assert not import_files("pytorch-profiler", files, {"workers": "1"}).notes[1:]


@cases_in_text("pattern, path, factors")
def test_names_tell_factors(pattern: str, path: str, factors: dict[str, str]) -> None:
    assert factors_from_name(pattern, path) == factors


@pytest.mark.parametrize("pattern", ["run.json", "{}", "{a}_{a}", "{a", "a}", ""])
def test_a_pattern_that_names_no_factor_is_refused(pattern: str) -> None:
    with pytest.raises(GenperfError, match="must name each factor once"):
        factors_from_name(pattern, "run.json")


@cases_in_text("format, files, settings, pattern, said")
def test_what_cannot_be_imported_is_said(
    format: str, files: list[str], settings: dict[str, str], pattern: str | None, said: str
) -> None:
    paths = [str(DATA / file) for file in files]
    with pytest.raises(GenperfError) as caught:
        import_files(format, paths, settings, pattern)
    assert said in str(caught.value)


# --- formats that had an importer, and are read by their shape -------------------------------------------------------


def line(key: str, value: Any = None, ms: float = 0, **metadata: Any) -> str:
    entry = {"namespace": "", "time_ms": ms, "event_type": "POINT_IN_TIME", "key": key, "value": value}
    return f":::MLLOG {json.dumps({**entry, 'metadata': metadata})}"


def logged(*lines: str, **columns: Any) -> None:
    source = source_of_log(str(of_events("\n".join(lines))), "log.txt")
    assert source is not None
    assert {name: source.columns[name][0] if name in source.columns else None for name in columns} == columns


BATCH = line("global_batch_size", 100)


def test_events_tell_the_throughput_that_is_logged() -> None:
    text = (DATA / "mlperf_throughput.txt").read_text()
    throughputs = [float(found) for found in re.findall(r'"throughput": ([\d.e+]+)', text)]
    source = open_source(str(DATA / "mlperf_throughput.txt"))
    assert source.columns["throughput"].tolist() == [median(throughputs[1:])]
    assert (source.columns["global_batch_size"][0], source.columns["submission_benchmark"][0]) == (32, "resnet")


def test_blocks_give_their_samples_over_their_time_less_the_evaluations() -> None:
    # Worked by hand: 800 samples in 10 s, of which 2 s are an evaluation: 100 a second.
    logged(
        BATCH,
        line("block_start", ms=1000, samples_count=0),
        line("eval_start", ms=5000),
        line("eval_stop", ms=7000),
        line("block_stop", ms=11000, samples_count=800),
        line("block_start", ms=11000),
        line("block_stop", ms=21000),
        **{"throughput": 100.0, "block time": 10.0, "eval time": 2.0, "global_batch_size": 100.0},
    )


def test_epochs_take_the_training_set_unless_they_were_stopped() -> None:
    logged(
        BATCH,
        line("train_samples", 1000),
        *(line("epoch_start", ms=0, epoch_num=n) for n in (1, 1)),
        line("epoch_stop", ms=5000, epoch_num=1),
        line("epoch_start", ms=5000, epoch_num=2),
        line("epoch_stop", ms=10000, epoch_num=1.3),
        **{"throughput": 200.0, "epoch time": 5.0},
    )


def test_events_of_two_versions_between_other_lines_tell_the_scale() -> None:
    system = {"number_of_nodes": "64", "accelerators_per_node": "8", "accelerator_model_name": "H100", "framework": ""}
    torn = line("run_start", ms=0)[:-9]
    logged(
        f":::SYSJSON {json.dumps(system)}\n0: {BATCH}\nnoise\n{torn}",
        "0: " + line("tracked_stats", {"throughput": 50, "loss": 1}),
        *(f':::MLL {at} epoch_{end}: {{"value": null}}' for at, end in ((1.5, "start"), (4.0, "stop"))),
        **{"throughput": 50.0, "number_of_nodes": 64.0, "accelerators_per_node": 8.0, "epoch time": 2.5},
        **{"framework": None, "run time": None},
    )


def test_runs_that_failed_are_left_out_wherever_an_export_is_read(tmp_path: Path) -> None:
    result = {"command": "train", "times": [0.5, 0.1, 0.7, 0.25], "exit_codes": [0, 1, 0, None]}
    (tmp_path / "runs.json").write_text(json.dumps({"results": [result]}))
    assert open_source(str(tmp_path / "runs.json")).columns["time_s"].tolist() == [0.5, 0.7]


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_is_read_alike_whether_its_format_is_named_or_not(format: str, shell: Shell) -> None:
    file = str(DATA / EXAMPLES[format])
    table = import_files(format, [file])
    assert shell("import", file)[1] == shell("import", format, file)[1] == "".join(csv_lines(table))
    source = open_source(file)
    assert [*source.cells] == [name for name in table.columns if name != "source"]
    assert source.columns[table.time].tolist() == [row[table.time] for row in table.rows]
    assert done(shell, "ask", "--full", file)


def test_a_file_that_only_begins_like_an_export_is_read_as_what_it_is(tmp_path: Path) -> None:
    runs = [{"command": "train", "gpus": n, "seconds": 9.0 / n} for n in (1, 2, 4)]
    (tmp_path / "runs.json").write_text(json.dumps({"results": runs}))
    assert open_source(str(tmp_path / "runs.json")).columns["seconds"].tolist() == ["9.0", "4.5", "2.25"]


@pytest.mark.parametrize(("names", "answered"), [("aaa", True), ("abc", False)])
def test_only_rows_of_one_configuration_are_repeats(tmp_path: Path, shell: Shell, names: str, answered: bool) -> None:
    rows = "".join(f"{name},{k},{1 + k / 10}\n" for k, name in enumerate(names))
    (tmp_path / "runs.csv").write_text(f"name,repeat,time_s\n{rows}")
    status, printed, _ = shell("ask", "runs.csv")
    assert (status == 0 and "1.1 s" in printed) == answered


def test_tests_of_several_machines_in_one_text_have_their_own_counts(tmp_path: Path, shell: Shell) -> None:
    whole = (DATA / "all_reduce_perf.txt").read_text()
    small = re.sub(r"(?m)^#  Rank  [23].*\n", "", whole).replace("#  Rank  0", "  Rank  0")
    (tmp_path / "tests.txt").write_text(small + whole)
    source = open_source(str(tmp_path / "tests.txt"))
    counts = [*zip(source.columns["devices"].tolist(), source.columns["nodes"].tolist(), strict=True)]
    assert counts == [(2, 1)] * 4 + [(4, 2)] * 4
    assert "8 devices" in done(shell, "ask", "tests.txt", "--at", "devices=8")


@pytest.mark.parametrize("format", READ_BY_SHAPE)
def test_naming_a_format_that_is_read_by_its_shape_stays_possible(format: str, shell: Shell) -> None:
    assert shell("import", format, SCAN)[0] == 0


# --- hyperfine's exports: what is in them, and what is said of those that are none -----------------------------------


def export(**changes: Any) -> str:
    result = {"command": "train", "times": [0.5, 0.25], "exit_codes": [0, 0], **changes}
    return json.dumps({"results": [{k: v for k, v in result.items() if v is not None}]})


def test_a_scan_has_a_row_for_each_run_and_its_parameters() -> None:
    text = Path(SCAN).read_text()
    table = read_hyperfine(text, "scan.json")
    times = [time for result in json.loads(text)["results"] for time in result["times"]]
    assert [row["time_s"] for row in table.rows] == times
    assert [(row["batch"], row["workers"]) for row in table.rows[::3]] == [*product(("8", "16"), "12")]
    assert [row["repeat"] for row in table.rows] == [0, 1, 2] * 4
    assert table.factors == ["batch", "workers"]
    assert not table.left_out


def test_runs_that_failed_are_named_and_left_out() -> None:
    text = (DATA / "hyperfine_failures.json").read_text()
    codes = json.loads(text)["results"][0]["exit_codes"]
    table = read_hyperfine(text, "runs.json")
    assert {0, 1} == set(codes)
    assert [row["repeat"] for row in table.rows] == [i for i, code in enumerate(codes) if code == 0]
    assert len(table.left_out) == sum(codes)
    assert all("exit code 1" in reason for reason in table.left_out)
    assert table.factors == ["command"]


def test_memory_of_newer_versions_and_no_codes_of_older_ones() -> None:
    newer = read_hyperfine(export(memory_usage_byte=[1024, 2048], exit_codes=[0, None]), "runs.json")
    assert newer.rows[0]["memory_bytes"] == 1024
    assert newer.left_out == ["runs.json: results[0], run 1 of 'train': ended by a signal"]
    assert len(read_hyperfine(export(exit_codes=None), "runs.json").rows) == 2


#: What is no export of hyperfine, and what is said of it.
NO_EXPORTS = (
    ("", "runs.json: the file is empty"),
    ('{"results": [{"command": "a", "times": [1.0', "runs.json: line 1, column 44: the file is cut off here"),
    ("no JSON", "runs.json: line 1, column 1: this is not JSON"),
    ("[1, 2]", "is JSON, but no export of hyperfine"),
    ('{"results": {}}', "runs.json: results: a list is expected here, not an object"),
    ('{"results": []}', "holds no run"),
    ('{"results": [3]}', "runs.json: results[0]: an object is expected here, not a number"),
    ('{"results": [{"times": [1]}]}', "runs.json: results[0]: has no 'command' (it has times)"),
    (export(times=["fast"]), "runs.json: results[0].times[0]: a number is expected here, not text ('fast')"),
    (export(times=[float("nan"), 1.0]), "runs.json: results[0].times[0]: is not a finite number"),
    (export().replace("0.25", "1e999"), "results[0].times[1]: is not a finite number"),
    (export().replace("0.25", "9" * 400), "results[0].times[1]: is not a finite number"),
    (export().replace("0.25", "9" * 5000), "holds a number that cannot be read"),
    (export().replace("0.25", "[" * 10**5 + "]" * 10**5), "is nested too deeply"),
    (export(exit_codes=[0]), "holds 2 'times' and 1 'exit_codes'"),
    (export(exit_codes=[1, 2]), "holds no run that ended well"),
    (export(parameters={"time_s": "4"}), "a parameter is named 'time_s', as is a column of the table"),
    (export(parameters={" ": "4"}), "a parameter has no name"),
)


@pytest.mark.parametrize(("text", "said"), NO_EXPORTS)
def test_what_is_no_export_is_said_to_be_none(text: str, said: str) -> None:
    with pytest.raises(TableError) as caught:
        read_hyperfine(text, "runs.json")
    assert said in str(caught.value)
