"""TensorBoard's event files and Nsight Systems' exports: files that are no text."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest
from helpers import shell_of

from genperf.errors import GenperfError, TableError
from genperf.importers import import_files, nsight

DATA = Path(__file__).parent / "data"
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


def test_scalars_that_frameworks_log_are_rows(tmp_path: Path) -> None:
    logged = [(10 * i, [("iteration-time", 0.5 + i), ("batch-size", 64.0), ("lm-loss", 3.0)]) for i in (1, 2, 3)]
    table = import_files("tensorboard", [write_events(tmp_path, *logged)], {"gpus": "8"})
    assert table.time == "step_time_s"
    assert [row["step_time_s"] for row in table.rows] == [2.5, 3.5]
    assert {row["global_batch"] for row in table.rows} == {64}
    assert table.factors == ("gpus", "global_batch")


def test_a_throughput_in_tensorboard_is_a_rate(tmp_path: Path) -> None:
    logged = [(i, [("throughput(tps)", 7000.0 + i)]) for i in range(3)]
    table = import_files("tensorboard", [write_events(tmp_path, *logged)])
    assert (table.time, table.rate) == ("tokens_per_s_per_gpu", True)
    assert [row[table.time] for row in table.rows] == [7001.0, 7002.0]


def test_the_clock_of_entries_is_used_where_no_time_is_logged(tmp_path: Path) -> None:
    table = import_files("tensorboard", [write_events(tmp_path, *((i, [("loss", 1.0 / (i + 1))]) for i in range(4)))])
    assert len(table.rows) == 2
    assert all(0.0 < float(row["step_time_s"]) < 10.0 for row in table.rows)
    assert "clock" in {note.kind for note in table.notes}


def test_one_entry_is_no_time(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="no two steps"):
        import_files("tensorboard", [write_events(tmp_path, (1, [("loss", 1.0)]))])


def test_another_file_is_no_event_file(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    other = tmp_path / "runs.csv"
    other.write_text("gpus,time_s\n1,9\n")
    with pytest.raises(TableError, match="no scalar"):
        import_files("tensorboard", [str(other)])


def test_a_table_command_names_the_importer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = write_events(tmp_path, (1, [("loss", 1.0)]))
    for file, importer in ((events, "tensorboard"), (str(DATA / "nsight.sqlite"), "nsight")):
        status, _, errors = shell_of(capsys)("ask", "--full", file)
        assert status == 1
        assert f"genperf import {importer}" in errors


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
