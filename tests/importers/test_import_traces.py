"""Traces and binary files of other tools, and what is exported to others."""

import json
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from helpers import Shell, reply

from genperf.errors import GenperfError, TableError
from genperf.importers import import_files
from genperf.table.importers import nsight
from genperf.table.importers.extra_p import read as read_import_extra_p
from genperf.table.importers.pytorch_profiler import read
from genperf.table.opened import open_source

DATA = Path(__file__).parent / "data"
Event = dict[str, Any]


def event(category: str, name: str, start: float, length: float, **arguments: Any) -> Event:
    return {"ph": "X", "cat": category, "name": name, "ts": start, "dur": length, "pid": 1, "tid": 1, "args": arguments}


def mark(name: str, start: float, length: float) -> Event:
    return event("user_annotation", name, start, length)


def launched(category: str, name: str, asked: float, start: float, length: float, number: int) -> list[Event]:
    """Return what a device does, and the host's call that asks for it."""
    call = event("cuda_runtime", "cudaLaunchKernel", asked, 1.0, correlation=number)
    return [call, event(category, name, start, length, correlation=number)]


def trace(*events: Event, **more: Any) -> str:
    return json.dumps({"schemaVersion": 1, **more, "traceEvents": list(events)})


def test_a_trace_of_ddp_tells_the_steps_workers_and_phases() -> None:
    text = (DATA / "ddp_workers2_rank0.pt.trace.json").read_text()
    held = {e["name"]: e["dur"] for e in json.loads(text)["traceEvents"] if e["name"].startswith("ProfilerStep")}
    table = read(text, "trace.json")
    assert {f"ProfilerStep#{row['step']}": float(row["step_time_s"]) for row in table.rows} == {
        name: pytest.approx(length / 1e6, rel=1e-12) for name, length in held.items()
    }
    assert table.values("workers") == {2}
    assert table.values("rank") == {0}
    assert table.factors == ["workers", "backend"]
    phases = ["input_s", "forward_s", "backward_s", "exchange_s", "update_s"]
    assert list(table.columns) == ["workers", "backend", "rank", "step", "step_time_s", *phases]
    for row in table.rows:
        # One thread does everything but the exchange.
        assert sum(float(row[phase]) for phase in phases if phase != "exchange_s") < float(row["step_time_s"])


def test_a_step_in_which_the_profiler_stopped_is_left_out() -> None:
    table = read((DATA / "stopped.pt.trace.json").read_text(), "trace.json")
    assert [row["step"] for row in table.rows] == [2, 3]
    assert table.left_out == ["trace.json: step 4: nothing was done in it (the profiler stopped)"]


def test_phases_of_the_host_worked_by_hand() -> None:
    events = [
        mark("ProfilerStep#5", 0, 1000),
        mark("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 100),
        mark("## Forward ##", 100, 200),
        mark("DistributedDataParallel.forward", 100, 150),
        mark("backward", 300, 600),
        # The engine ran 300 to 400 and 350 to 450: 150, of which the call of a collective took 20.
        event("cpu_op", "autograd::engine::evaluate_function: A", 300, 100),
        event("cpu_op", "autograd::engine::evaluate_function: B", 350, 100),
        event("cpu_op", "c10d::allreduce_", 430, 20),
        mark("gloo:all_reduce", 435, 400),
        mark("Optimizer.step#SGD.step", 900, 50),
        mark("optimizer", 880, 120),
    ]
    (row,) = read(trace(*events), "t").rows
    phases = {"input_s": 0.0001, "forward_s": 0.0002, "backward_s": 0.00013, "exchange_s": 0.0004, "update_s": 5e-05}
    assert dict(row) == {"step": 5, "step_time_s": 0.001, **phases}


def device(first: float) -> list[Event]:
    """Two steps of 100 on the host, which runs ahead: on the device they end at 250 and 420."""
    return [
        mark("ProfilerStep#1", first, 100),
        *launched("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", first + 5, first + 10, 20, 1),
        mark("Optimizer.step#SGD.step", first + 50, 30),
        *launched("kernel", "multi_tensor_apply", first + 60, first + 200, 50, 2),
        mark("ProfilerStep#2", first + 100, 100),
        mark("forward", first + 100, 20),
        *launched("kernel", "gemm", first + 110, first + 260, 40, 3),
        event("cpu_op", "autograd::engine::evaluate_function: A", first + 130, 40),
        *launched("kernel", "gemm_backward", first + 140, first + 300, 60, 4),
        *launched("kernel", "gemm_backward", first + 141, first + 340, 30, 5),
        *launched("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(…)", first + 150, first + 350, 70, 6),
        mark("Optimizer.step#SGD.step", first + 180, 10),
    ]


def test_phases_and_steps_of_a_device_worked_by_hand() -> None:
    table = read(trace(*device(0.0), deviceProperties=[{"name": "A100"}]), "t")
    # The first step's beginning on the device is not known; the second took from 250 to 420.
    (row,) = table.rows
    phases = {"forward_s": 40e-6, "backward_s": 70e-6, "exchange_s": 70e-6}
    assert dict(row) == {"device": "A100", "step": 2, "step_time_s": 170e-6, "host_step_s": 100e-6, **phases}
    assert "step 1: the device was still at work" in table.left_out[0]


def test_events_of_other_kinds_do_not_disturb() -> None:
    odd: list[Any] = [None, 3, {"ph": "M"}, {"ph": "X"}, {**mark("x", 0, 1), "ts": "0"}, {**mark("x", 0, 1), "dur": -1}]
    odd += [{**mark("x", 0, 1), "args": None}, {**mark("x", 10**400, 1)}, event("cpu_op", "aten::mm", 5, 1)]
    text = trace(mark("ProfilerStep#1", 0, 100), *odd)
    assert len(read(text, "t").rows) == 1
    # A trace may also be the bare list of its events.
    assert len(read(json.dumps(json.loads(text)["traceEvents"]), "t").rows) == 1


#: What is no trace of steps, and what is said of it.
NO_TRACES = (
    ("{}", "is JSON, but no trace of torch.profiler"),
    ('{"traceEvents": {}}', "is JSON, but no trace of torch.profiler"),
    ('{"traceEvents": [], "x": 1}', "is JSON, but no trace of torch.profiler"),
    (trace(event("cpu_op", "aten::mm", 0, 1)), "has no 'ProfilerStep#N'"),
    (trace(mark("ProfilerStep#1", 0, 1)), "has no 'ProfilerStep#N' in which something was done"),
    (trace(*device(0.0)[:6]), "record two steps or more"),
    (trace(mark("ProfilerStep#1", 0, 1))[:-4], "the file is cut off here"),
)


# --- tensorBoard's event files and Nsight Systems' exports: files that are no text -----------------------------------

Scalars = Sequence[tuple[str, float]]


def write_events(folder: Path, *steps: tuple[int, Scalars]) -> str:
    """Write an event file by TensorBoard, and return its path."""
    summary = pytest.importorskip("tensorboard.summary")
    writer = summary.Writer(str(folder))
    for step, scalars in steps:
        for tag, value in scalars:
            writer.add_scalar(tag, value, step=step)
    writer.close()
    (file,) = folder.glob("events.out.tfevents.*")
    return str(file)


def test_scalars_that_frameworks_log_are_a_run(tmp_path: Path) -> None:
    scalars = [(10 * i, [("iteration-time", 0.5 + i), ("batch-size", 64.0), ("lm-loss", 3.0)]) for i in (1, 2, 3)]
    source = open_source(write_events(tmp_path, *scalars))
    assert (source.columns["iteration-time"].tolist(), source.columns["batch-size"].tolist()) == ([3.0], [64.0])


def test_the_clock_of_entries_is_used_where_no_time_is_logged(tmp_path: Path) -> None:
    source = open_source(write_events(tmp_path, *((i, [("loss", 1.0 / (i + 1))]) for i in range(4))))
    assert 0.0 < source.columns["step time (s)"][0] < 10.0


def test_one_entry_is_no_time(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="no two steps"):
        open_source(write_events(tmp_path, (1, [("loss", 1.0)])))


def test_a_step_of_an_export_has_phases_by_its_kernels() -> None:
    table = import_files("nsight", [str(DATA / "nsight.sqlite")], {"workers": "2"})
    assert table.time == "step_time_s"
    assert [(row["rank"], row["step"]) for row in table.rows] == [(0, 2), (0, 3), (1, 2), (1, 3)]
    assert {row["device"] for row in table.rows} == {"NVIDIA H100 80GB HBM3"}
    row = table.rows[0]
    # The step ends with its last kernel, 10 ms after that of the step before.
    assert row["step_time_s"] == pytest.approx(0.010)
    assert row["forward_s"] == pytest.approx(0.003)
    assert row["backward_s"] == pytest.approx(0.004)
    assert row["exchange_s"] == pytest.approx(0.0015)
    assert row["transfer_s"] == pytest.approx(0.0005)


def test_an_export_without_steps_names_its_ranges(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    database = sqlite3.connect(path)
    with database:
        database.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL)")
        database.execute(
            "CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, text TEXT, globalTid INT, textId INT)"
        )
        database.execute("INSERT INTO NVTX_EVENTS VALUES (0, 9, 59, 'loader 7', 16777217, NULL)")
    database.close()
    with pytest.raises(TableError, match="no NVTX range with the name of a step") as error:
        nsight.read(str(path), "run.sqlite")
    assert "'loader N'" in str(error.value.hint)


@pytest.mark.parametrize("data", [b"", b"SQLite format 3\0" + b"\0" * 200, b"gpus,time_s\n1,9\n"])
def test_a_file_that_is_no_export_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "run.sqlite"
    path.write_bytes(data)
    with pytest.raises(TableError):
        import_files("nsight", [str(path)])


def test_binary_formats_are_read_from_files_only() -> None:
    with pytest.raises(GenperfError, match="is no file"):
        import_files("nsight", ["-"])


# --- extra-P's formats say the same; what does not fit together is named by its place --------------------------------

FILES = ("extra_p.txt", "extra_p.json", "extra_p_ids.json", "extra_p.jsonl")
TWO = "PARAMETER p q\nPOINTS {}\nREGION r\nDATA 1\nDATA 2\n"


@pytest.mark.parametrize("file", FILES)
def test_every_format_gives_the_measured_values(file: str) -> None:
    measured = pd.read_csv(Path(__file__).parents[2] / "data" / "pytorch_cpu.csv")
    network = {"batch_per_worker": 16, "layers": 4, "filters": 32, "kernel_size": 3, "hidden": 1024}
    rows = measured[(measured[list(network)] == pd.Series(network)).all(axis=1)].sort_values(["workers", "repeat"])
    table = read_import_extra_p((DATA / file).read_text(), file)
    assert [row["value"] for row in table.rows] == rows["step_time_s"].tolist()
    assert [row["workers"] for row in table.rows] == rows["workers"].tolist()
    assert [row["repeat"] for row in table.rows] == [0, 1, 2] * 8
    assert table.values("callpath") == {"step"}
    assert table.values("metric") == {"time"}
    assert (table.factors, table.group) == (["workers"], ["callpath", "metric"])


@pytest.mark.parametrize("points", ["(1 2) (3 4)", "( 1 2 )( 3 4 )", "((1) (2)) ((3) (4))", "(1 2)\nPOINTS (3 4)"])
def test_points_are_written_in_several_ways(points: str) -> None:
    rows = read_import_extra_p(TWO.format(points), "runs.txt").rows
    assert [(row["p"], row["q"]) for row in rows] == [(1, 2), (3, 4)]


def test_points_start_again_with_each_region_and_metric() -> None:
    text = (
        "# a comment\nPARAMETER n\nPOINTS 1 2\nMETRIC time\nREGION a->b\nDATA 5\nDATA 6.5 7\nREGION c\nDATA 8\nDATA 9\n"
    )
    rows = read_import_extra_p(text, "runs.txt").rows
    assert [(row["callpath"], row["n"], row["repeat"], row["value"]) for row in rows] == [
        ("a->b", 1, 0, 5),
        ("a->b", 2, 0, 6.5),
        ("a->b", 2, 1, 7),
        ("c", 1, 0, 8),
        ("c", 2, 0, 9),
    ]
    assert {row["metric"] for row in rows} == {"time"}


def test_lines_may_hold_lists_and_leave_call_path_and_metric_out() -> None:
    table = read_import_extra_p(
        '{"params": {"n": 4}, "value": [0.5, 0.25]}\n\n{"params": {"n": 4}, "value": 1}\n', "runs.jsonl"
    )
    assert [dict(row) for row in table.rows] == [
        {"n": 4, "repeat": repeat, "value": value} for repeat, value in enumerate((0.5, 0.25, 1))
    ]
    assert table.group == []
    assert len(read_import_extra_p('{"params": {"n": 4}, "value": [0.5, 0.25]}', "one.jsonl").rows) == 2


def ids(**changes: object) -> str:
    whole = json.loads((DATA / "extra_p_ids.json").read_text())
    return json.dumps({**whole, **changes})


#: Texts of Extra-P in which something does not fit, and what is said of it.
UNFIT = (
    (" \n", "the file is empty"),
    ("hello world", "f: line 1: 'hello' is none of PARAMETER, POINTS"),
    ("PARAMETER n\nPOINT 1", "f: line 2: 'POINT' is none of"),
    ("POINTS 1 2", "f: line 1: POINTS come before any PARAMETER"),
    (TWO.format("(1 2) (3)"), "f: line 2: point (3) does not give one coordinate for each of p, q"),
    (TWO.format("(1 2) (3 4"), "f: line 2: the brackets of the points do not match"),
    (TWO.format("(1 2) )3 4("), "f: line 2: the brackets of the points do not match"),
    (TWO.format("(1 x) (3 4)"), "f: line 2: a coordinate must be a finite number, not 'x'"),
    (TWO.format("(1 2)"), "f: line 5: more DATA lines than 1 point"),
    (TWO.format("(1 2) (3 4) (5 6)"), "f: line 3: 2 DATA lines for 3 points"),
    ("PARAMETER n\nPOINTS 1\nDATA", "f: line 3: no number follows the keyword"),
    ("PARAMETER n\nPOINTS 1\nDATA inf", "f: line 3: a value must be a finite number, not 'inf'"),
    ("PARAMETER n\nPOINTS 1\n", "holds no measurement"),
    ("PARAMETER repeat\nPOINTS 1\nDATA 1", "a parameter is named 'repeat'"),
    ('{"a": 1}', "is JSON, but not as Extra-P writes it"),
    ('{"parameters": ["n"], "measurements": {"r": {"t": [{"point": [1]}]}}}', "measurements.r.t[0]: has no 'values'"),
    (
        '{"parameters": ["n"], "measurements": {"r": {"t": [{"point": [1, 2], "values": [1]}]}}}',
        "f: measurements.r.t[0].point: a coordinate for each of n is expected, not 2",
    ),
    ('{"parameters": ["n"], "measurements": {"r"', "f: line 1, column 43: the file is cut off here"),
    (ids(callpaths=[]), "f: measurements[0]: 'callpath_id' is 1, and no item has that id"),
    (ids(coordinates=[{"id": 1, "parameter_value_pairs": []}]), "f: coordinates[0]: does not give one value"),
    ('{"params": {"n": 1}, "value": 1}\n{"params": {"m": 1}, "value": 1}', "f: line 2: gives m, not n"),
    ('{"params": {"n": 1}, "value": 1}\n{"params": {"n": 1}, "val', "f: line 2, column 22: the file is cut off here"),
    ('{"x": 1}\n{"x": 2}', "f: line 1: is not as Extra-P writes it"),
)


@pytest.mark.parametrize(
    ("reader", "text", "said"),
    [*((read, *case) for case in NO_TRACES), *((read_import_extra_p, *case) for case in UNFIT)],
)
def test_what_does_not_fit_is_named(reader: Callable[[str, str], object], text: str, said: str) -> None:
    with pytest.raises(TableError) as caught:
        reader(text, "f")
    assert said in str(caught.value)


# --- tables that MLflow, Weights & Biases, Lightning and Slurm export are answered as they are -----------------------


@pytest.fixture
def ask(shell: Shell) -> Any:

    def of(text: str, at: str) -> dict[str, Any]:
        Path("export.csv").write_text(text)
        return dict(reply(shell, "ask", "export.csv", "--at", at))

    return of


def test_runs_of_mlflow(ask: Any) -> None:
    # The last number of a name counts the runs of a configuration: it is no kind of them.
    answer = ask((DATA / "mlflow.csv").read_text(), "world_size=16")
    assert not any("kind" in column for column in answer["read_as"])
    assert {a["quantity"] for a in answer["answers"]} == {"metrics.step_time_s", "metrics.samples_per_second"}
    time = next(a for a in answer["answers"] if a["quantity"] == "metrics.step_time_s")
    assert time["lower"] < 0.21 + 0.012 * 4 < time["upper"]
