"""Rows summarised while they are read: the numbers that pandas gives, in bounded memory, faults counted."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from genperf import fit
from genperf.cli.main import cli
from genperf.errors import GenperfError
from genperf.panel import large as module
from genperf.panel import read_table
from genperf.panel.large import AggregatedTable

pytest.importorskip("duckdb", reason="the extra 'large' is not installed")

ROLES: dict[str, Any] = {"time": "s", "extrinsic": "workers", "intrinsic": "batch", "categorical": "net"}


def rows(count: int = 400, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    n, b = 2 ** rng.integers(0, 4, count), rng.choice([8, 16], count)
    net = rng.choice(["bert", "vgg"], count)
    s = (0.1 * b + 4.0 / n + 1.0) * np.exp(rng.normal(0, 0.1, count))
    frame = pd.DataFrame({"workers": n, "batch": b, "net": net, "step": np.arange(count), "s": s})
    return frame.sort_values(["workers", "batch", "net"], kind="stable")


def logs(folder: Path, frame: pd.DataFrame, kind: str) -> str:
    """Write the rows as one Parquet file or three CSVs; return what names them."""
    if kind == "parquet":
        frame.to_parquet(folder / "log.parquet", index=False)
        return str(folder / "log.parquet")
    for k in range(3):
        frame[k::3].to_csv(folder / f"log{k}.csv", index=False)
    return str(folder / "log*.csv")


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("exact_rows", [10**9, 0], ids=["one pass", "two passes"])
def test_the_numbers_are_those_of_pandas(
    kind: str, exact_rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_EXACT_ROWS", exact_rows)
    frame = rows()
    table = read_table(logs(tmp_path, frame, kind), **ROLES, aggregate=True)
    assert isinstance(table, AggregatedTable)
    plain = read_table(frame, **ROLES)
    by = frame.groupby(["workers", "batch", "net"]).s
    assert table.rows == 400
    assert table.unused == ("step",)
    assert table.measured == pytest.approx(by.median().to_numpy(), rel=1e-14)
    assert table.repeats.tolist() == by.size().tolist()
    assert table.frame["_mean"].to_numpy() == pytest.approx(by.mean().to_numpy(), rel=1e-11)
    assert table.frame["_variance"].to_numpy() == pytest.approx(by.var().to_numpy(), rel=1e-10)
    assert table.noise() == pytest.approx(plain.noise(), rel=1e-9)
    assert table.factors == plain.factors
    assert table.extremes[0].tolist() == by.min().tolist()
    assert table.extremes[1].tolist() == by.max().tolist()
    assert "400 rows summarised as 16 configurations" in str(table.notes[0])
    pd.testing.assert_frame_equal(
        table.medians().frame[["workers", "batch", "net", "s", "_repeats"]],
        plain.medians().frame[["workers", "batch", "net", "s", "_repeats"]],
    )


@pytest.mark.parametrize("model", ["ernest", "auto"])
def test_the_fit_is_that_of_the_rows(model: str, tmp_path: Path) -> None:
    frame = rows(3000)
    frame = frame[(frame.net == "vgg") & (frame.batch == 8)].drop(columns="net")
    asked: dict[str, Any] = {"time": "s", "extrinsic": "workers"}
    table = read_table(logs(tmp_path, frame, "csv"), **asked)
    a, b = fit(table, model, draws=10), fit(read_table(frame, **asked), model, draws=10)
    for n in (4, 64):
        one, other = (found.predict({"workers": n})["time"].iloc[0] for found in (a, b))
        assert one == pytest.approx(other, rel=1e-9 if model == "ernest" else 0.02)
    assert a.schema.rows == len(frame)  # type: ignore[union-attr]
    assert a.schema.medians == b.schema.medians  # type: ignore[union-attr]


def test_settings_that_are_written_otherwise_or_lead_to_the_same_are_one(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("gpus,batch,s\n8,2,1.0\n8.0,2,4.0\n4,4,2.0\n2,4,9.0\n")
    (tmp_path / "b.csv").write_text("gpus,batch,s\n 8,2,7.0\n4,4,3.0\n")
    table = read_table(tmp_path / "*.csv", time="s", extrinsic="total", let="total=gpus*batch")
    # 8·2 = 4·4 = 16: 1, 4, 7, 2 and 3 together, whose median is 3; 2·4 = 8 has 9 alone.
    assert dict(zip(table.columns["total"].tolist(), table.measured.tolist(), strict=True)) == {16.0: 3.0, 8.0: 9.0}
    assert sorted(table.repeats.tolist()) == [1, 5]
    assert table.frame["_mean"].max() == 9.0


def test_a_speed_becomes_the_time_of_the_work(tmp_path: Path) -> None:
    frame = rows().assign(speed=lambda d: d.workers * d.batch / d.s)
    asked = {key: ROLES[key] for key in ("extrinsic", "intrinsic", "categorical")}
    table = read_table(
        logs(tmp_path, frame, "parquet"), throughput="speed", work="workers*batch", **asked, aggregate=True
    )
    by = frame.groupby(["workers", "batch", "net"]).s
    assert table.measured == pytest.approx(by.median().to_numpy(), rel=1e-12)
    assert table.frame["_mean"].to_numpy() == pytest.approx(by.mean().to_numpy(), rel=1e-10)
    assert table.frame["_variance"].to_numpy() == pytest.approx(by.var().to_numpy(), rel=1e-9)
    assert table.frame["_longest"].to_numpy() == pytest.approx(by.max().to_numpy(), rel=1e-10)


def test_filter_weight_and_groups(tmp_path: Path) -> None:
    frame = rows().assign(w=lambda d: 1.0 + d.step % 2)
    table = read_table(
        logs(tmp_path, frame, "csv"), time="s", extrinsic="workers", group="net", where="batch == 8", weight="w"
    )
    kept = frame[frame.batch == 8]
    by = kept.groupby(["workers", "net"])
    assert table.rows == len(kept)
    assert table.frame["w"].tolist() == by.w.sum().tolist()
    parts = dict(table.groups())
    assert set(parts) == {("bert",), ("vgg",)}
    for (net,), part in parts.items():
        assert isinstance(part, AggregatedTable)
        own = read_table(kept[kept.net == net], time="s", extrinsic="workers", group="net", weight="w")
        assert part.noise() == pytest.approx(own.noise(), rel=1e-9)
        assert part.measured.tolist() == own.medians().measured.tolist()


def test_bad_rows_are_counted(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("workers,s\n1,1.0\n1,fast\n1,-2\n2,0.5\n4,nan\nx,3.0\n4,0.3\n")
    (tmp_path / "b.csv").write_text("workers,s\n1,1.2\n8,\n")
    asked: dict[str, Any] = {"time": "s", "extrinsic": "workers"}
    with pytest.raises(GenperfError) as caught:
        read_table(tmp_path / "*.csv", **asked)
    assert "cannot be used" in str(caught.value)
    assert "--skip-bad-rows" in str(caught.value)
    table = read_table(tmp_path / "*.csv", **asked, skip_bad_rows=True)
    assert table.columns["workers"].tolist() == [1.0, 2.0, 4.0]
    assert table.measured.tolist() == [1.1, 0.5, 0.3]
    assert table.repeats.tolist() == [2, 1, 1]
    (note,) = (n for n in table.notes if n.kind == "rows_rejected")
    assert str(note).startswith("5 rows left out")


def test_a_few_bad_times_are_told_by_one_of_them(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("workers,s\n1,1.0\n1,fast\n2,0.5\n")
    with pytest.raises(GenperfError) as caught:
        read_table(tmp_path / "a.csv", time="s", extrinsic="workers", aggregate=True)
    assert "1 of 3 rows cannot be used" in str(caught.value)
    assert "'fast' is not a number" in str(caught.value)


def test_hours_and_minutes_are_no_plain_numbers_of_a_summary(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("workers,s\n1,90.0\n2,00:00:45\n")
    table = read_table(tmp_path / "a.csv", time="s", extrinsic="workers", aggregate=True, skip_bad_rows=True)
    assert table.repeats.tolist() == [1]
    assert [r.reason for r in table.rejected] == ["is a date or a time of day, not a number"]


@pytest.mark.parametrize(
    ("source", "asked", "said"),
    [
        ("none*.csv", {}, "no file matches"),
        ("log*.csv", {"extrinsic": "gpus"}, "no column 'gpus'"),
        ("log*.csv", {"extrinsic": "workers,step"}, "a column that differs from row to row"),
        ("log*.csv", {"where": "s < 2"}, "differs from row to row, and rows are summarised"),
        ("log*.csv", {"let": "rate=batch/s"}, "differs from row to row, and rows are summarised"),
        ("log*.csv", {"where": "workers == 77"}, "no row fulfils the filter"),
        ("*", {}, "some files are Parquet and some are text"),
        ("missing.csv", {"aggregate": True}, "no such file"),
    ],
)
def test_refused(
    source: str, asked: dict[str, Any], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "AGGREGATION_MIN_ROWS", 50)
    logs(tmp_path, rows(), "csv")
    logs(tmp_path, rows(), "parquet")
    with pytest.raises(GenperfError) as caught:
        read_table(tmp_path / source, **{**ROLES, **asked})
    assert said in str(caught.value)


def test_a_frame_is_in_memory_already() -> None:
    with pytest.raises(GenperfError, match="only files are aggregated"):
        read_table(rows(), **ROLES, aggregate=True)


def test_without_duckdb_it_is_said_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(GenperfError) as caught:
        read_table(logs(tmp_path, rows(), "csv"), **ROLES)
    assert caught.value.hint == 'pip install "genperf[large]"'


def test_large_files_are_aggregated_unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = logs(tmp_path, rows(), "parquet")
    assert not isinstance(read_table(name, **ROLES), AggregatedTable)
    monkeypatch.setattr(module, "MIN_BYTES", 1000)
    assert isinstance(read_table(name, **ROLES), AggregatedTable)
    assert not isinstance(read_table(name, **ROLES, aggregate=False), AggregatedTable)


def test_on_the_command_line(tmp_path: Path) -> None:
    logs(tmp_path, rows(), "csv")
    asked = [str(tmp_path / "log*.csv"), "--time", "s", "--extrinsic", "workers", "--intrinsic", "batch"]
    checked = CliRunner().invoke(cli, ["check", *asked])
    assert checked.exit_code == 0
    assert "400 rows, 8 configurations" in checked.stdout
    model = tmp_path / "m.json"
    assert CliRunner().invoke(cli, ["fit", *asked, "--model", "a*batch+b/workers+c", "-o", str(model)]).exit_code == 0
    assert '"rows":400' in model.read_text()


def test_a_missing_file_is_named_as_without_a_summary(tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text("n,s\n1,2.0\n", encoding="utf-8")
    with pytest.raises(GenperfError, match=r"no such file\n  try: did you mean 'runs.csv'\?"):
        read_table(tmp_path / "run.csv", time="s", extrinsic="n", aggregate=True)
