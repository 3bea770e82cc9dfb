"""MLPerf logs: throughputs as they are logged, and otherwise from the samples and times of the intervals."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from genperf.errors import TableError
from genperf.importers.mlperf import read

DATA = Path(__file__).parent / "data"


def line(key: str, value: Any = None, ms: float = 0, **metadata: Any) -> str:
    entry = {
        "namespace": "",
        "time_ms": ms,
        "event_type": "POINT_IN_TIME",
        "key": key,
        "value": value,
        "metadata": metadata,
    }
    return f":::MLLOG {json.dumps(entry)}"


BATCH = line("global_batch_size", 100)


def test_logged_throughputs_are_rows() -> None:
    text = (DATA / "mlperf_throughput.txt").read_text()
    table = read(text, "log.txt")
    logged = [float(found) for found in re.findall(r'"throughput": ([\d.e+]+)', text)]
    assert len(logged) == 3
    assert [row["throughput"] for row in table.rows] == logged
    assert [row["step_time_s"] for row in table.rows] == [32 / x for x in logged]
    assert table.rows[0]["benchmark"] == "resnet"
    assert table.values("global_batch_size") == {32}
    assert not table.notes


def test_blocks_give_their_samples_over_their_time_less_the_evaluations() -> None:
    text = (DATA / "mlperf_blocks.txt").read_text()
    (note,) = read(text, "log.txt").notes
    assert "no throughput is logged" in note.text
    # Worked by hand: 800 samples in 10 s, of which 2 s are an evaluation: 100 a second, 1 s for a step of 100.
    lines = [
        BATCH,
        line("block_start", ms=1000, samples_count=0),
        line("eval_start", ms=5000),
        line("eval_stop", ms=7000),
        line("block_stop", ms=11000, samples_count=800),
        line("block_start", ms=11000),
        line("block_stop", ms=12000),
    ]
    table = read("\n".join(lines), "log.txt")
    assert [(row["throughput"], row["step_time_s"]) for row in table.rows] == [(100.0, 1.0)]
    assert table.left_out == ("log.txt: line 6: block_start: how many samples it took is not known",)


def test_epochs_take_the_training_set_unless_they_were_stopped() -> None:
    lines = [
        BATCH,
        line("train_samples", 1000),
        *(line("epoch_start", ms=0, epoch_num=n) for n in (1, 1)),
        line("epoch_stop", ms=5000, epoch_num=1),
        line("epoch_start", ms=5000, epoch_num=2),
        line("epoch_stop", ms=6000, epoch_num=1.3),
    ]
    table = read("\n".join(lines), "log.txt")
    assert [row["throughput"] for row in table.rows] == [200.0]
    assert len(table.left_out) == 1


def test_averages_after_the_run_count_only_where_there_is_nothing_else() -> None:
    during, stop, after = (
        line("tracked_stats", {"throughput": 50}),
        line("run_stop"),
        line("tracked_stats", {"throughput": 40}),
    )
    assert [row["throughput"] for row in read("\n".join([BATCH, during, stop, after]), "log").rows] == [50]
    assert [row["throughput"] for row in read("\n".join([BATCH, stop, after]), "log").rows] == [40]


def test_the_system_description_tells_the_scale() -> None:
    system = {"number_of_nodes": "64", "accelerators_per_node": "8", "accelerator_model_name": "H100", "framework": ""}
    text = f":::SYSJSON {json.dumps(system)}\n0: {BATCH}\nnoise\n0: " + line(
        "tracked_stats", {"throughput": 50, "loss": 1}
    )
    (row,) = read(text, "log").rows
    assert (row["nodes"], row["accelerators"], row["accelerator_model_name"]) == (64, 512, "H100")
    assert "framework" not in row


def test_lines_that_ran_into_each_other_are_named() -> None:
    text = "\n".join([BATCH, BATCH[:40], line("tracked_stats", {"throughput": 50}), ":::MLLOG []", ":::MLLOG {}"])
    table = read(text, "log")
    assert len(table.rows) == 1
    assert [reason.split(":")[1].strip().split(",")[0] for reason in table.left_out] == ["line 2", "line 4", "line 5"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no ':::MLLOG' line"),
        ("step 1: 0.5 s", "holds no ':::MLLOG' line"),
        (line("tracked_stats", {"throughput": 50}), "logs no 'global_batch_size'"),
        (BATCH, "logs neither a throughput nor the samples"),
        (BATCH + "\n" + line("tracked_stats", {"throughput": float("inf")}), "logs neither a throughput"),
        (BATCH + "\n" + line("tracked_stats", {"throughput": "fast"}), "logs neither a throughput"),
    ],
)
def test_logs_that_do_not_tell(text: str, said: str) -> None:
    with pytest.raises(TableError) as caught:
        read(text, "log")
    assert said in str(caught.value)
