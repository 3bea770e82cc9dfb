"""torch.profiler's traces: steps and phases, on the host and on a device."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from genperf.errors import TableError
from genperf.importers.pytorch_profiler import read

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
    assert table.factors == ("workers", "backend")
    phases = ["input_s", "forward_s", "backward_s", "exchange_s", "update_s"]
    assert list(table.columns) == ["workers", "backend", "rank", "step", "step_time_s", *phases]
    for row in table.rows:
        # One thread does everything but the exchange.
        assert sum(float(row[phase]) for phase in phases if phase != "exchange_s") < float(row["step_time_s"])


def test_a_single_process_says_nothing_of_workers() -> None:
    table = read((DATA / "single_workers1.pt.trace.json").read_text(), "trace.json")
    assert list(table.columns) == ["step", "step_time_s", "input_s", "backward_s", "update_s"]
    assert len(table.rows) == 3


def test_a_step_in_which_the_profiler_stopped_is_left_out() -> None:
    table = read((DATA / "stopped.pt.trace.json").read_text(), "trace.json")
    assert [row["step"] for row in table.rows] == [2, 3]
    assert table.left_out == ("trace.json: step 4: nothing was done in it (the profiler stopped)",)


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
    assert dict(row) == {
        "step": 5,
        "step_time_s": 0.001,
        "input_s": 0.0001,
        "forward_s": 0.0002,
        "backward_s": 0.00013,
        "exchange_s": 0.0004,
        "update_s": 5e-05,
    }


def test_an_exchange_that_is_partly_recorded_is_left_empty() -> None:
    calls = [event("cpu_op", "c10d::allreduce_", start, 5) for start in (10, 20)]
    table = read(trace(mark("ProfilerStep#1", 0, 100), *calls, mark("gloo:all_reduce", 12, 5)), "t")
    assert "exchange_s" not in table.rows[0]
    assert "1 of 2 collectives recorded" in table.notes[0].text


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
    assert dict(row) == {
        "device": "A100",
        "step": 2,
        "step_time_s": 170e-6,
        "host_step_s": 100e-6,
        "forward_s": 40e-6,
        "backward_s": 70e-6,
        "exchange_s": 70e-6,
    }
    assert "step 1: the device was still at work" in table.left_out[0]


def test_a_device_that_keeps_up_leaves_the_hosts_time() -> None:
    events = [mark("ProfilerStep#1", 0, 100), mark("forward", 0, 50), *launched("kernel", "gemm", 10, 20, 70, 1)]
    (row,) = read(trace(*events), "t").rows
    assert (row["step_time_s"], row["forward_s"]) == (0.0001, 7e-05)


def test_what_a_device_did_unrecorded_is_not_taken_for_the_host() -> None:
    call = event("cuda_runtime", "cudaLaunchKernel", 20, 1, correlation=3)
    table = read(trace(mark("ProfilerStep#1", 0, 100), mark("forward", 0, 50), call), "t")
    assert "forward_s" not in table.rows[0]
    assert "not recorded" in table.notes[0].text


def test_events_of_other_kinds_do_not_disturb() -> None:
    odd: list[Any] = [None, 3, {"ph": "M"}, {"ph": "X"}, {**mark("x", 0, 1), "ts": "0"}, {**mark("x", 0, 1), "dur": -1}]
    odd += [{**mark("x", 0, 1), "args": None}, {**mark("x", 10**400, 1)}, event("cpu_op", "aten::mm", 5, 1)]
    text = trace(mark("ProfilerStep#1", 0, 100), *odd)
    assert len(read(text, "t").rows) == 1
    # A trace may also be the bare list of its events.
    assert len(read(json.dumps(json.loads(text)["traceEvents"]), "t").rows) == 1


def test_compressed_traces_are_read(tmp_path: Path) -> None:
    from genperf.importers import import_files

    table = import_files("pytorch-profiler", [str(DATA / "ddp_workers2_rank1.pt.trace.json.gz")])
    assert table.values("rank") == {1}
    broken = tmp_path / "broken.json.gz"
    broken.write_bytes(gzip.compress(b'{"traceEvents": []}')[:-9])
    with pytest.raises(TableError, match="damaged or cut off"):
        import_files("pytorch-profiler", [str(broken)])
    broken.write_bytes(b"\x00\xff\x00 no gzip")
    with pytest.raises(TableError, match="not UTF-8 text"):
        import_files("pytorch-profiler", [str(broken)])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "is JSON, but no trace of torch.profiler"),
        ('{"traceEvents": {}}', "is JSON, but no trace of torch.profiler"),
        ('{"traceEvents": [], "x": 1}', "is JSON, but no trace of torch.profiler"),
        (trace(event("cpu_op", "aten::mm", 0, 1)), "has no 'ProfilerStep#N'"),
        (trace(mark("ProfilerStep#1", 0, 1)), "has no 'ProfilerStep#N' in which something was done"),
        (trace(*device(0.0)[:6]), "record two steps or more"),
        (trace(mark("ProfilerStep#1", 0, 1))[:-4], "the file is cut off here"),
    ],
)
def test_what_is_no_trace_of_steps_is_said_to_be_none(text: str, said: str) -> None:
    with pytest.raises(TableError) as caught:
        read(text, "t")
    assert said in str(caught.value)
