"""Tables: checked, summarised, and what repeats show."""

import itertools
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers import Shell, cases_in_text, runs_of

import genperf as gp
from genperf.errors import GenperfError, TableError
from genperf.panel import REPEATS, read_table
from genperf.panel import large as module
from genperf.panel.configurations import typical_run
from genperf.panel.large import AggregatedTable
from genperf.panel.panel import Median
from genperf.panel.table import design_notes
from genperf.prediction import schema_of

RUNS = pd.DataFrame(
    {
        "n": [2, 1, 2, 1, 4, 2],
        "fw": ["tf", "tf", "tf", "tf", "mx", "mx"],
        "run": [0, 0, 1, 1, 0, 0],
        "w": [1.0, 1.0, 3.0, 1.0, 2.0, 4.0],
        "t": [0.5, 0.9, 0.5, 1.1, 0.3, 0.6],
    }
)


@pytest.fixture
def table():
    return read_table(RUNS, time="t", extrinsic="n", categorical="fw", repeat="run", weight="w")


def test_a_bad_run_does_not_make_a_table_noisy():
    times = np.outer([1.0, 1.1, 1.2, 1.3, 1.4], [0.99, 1.0, 1.01])
    assert read_table({"n": np.repeat([1, 2, 4, 8, 16], 3), "t": times.ravel()}, extrinsic="n").noise() < 0.0101
    times[2, 1] *= 3.0
    # Its configuration counts as three usual deviations, √((4 + 9·1.39)/5) of 1 %, where 39 % were shown.
    assert 0.01 < read_table({"n": np.repeat([1, 2, 4, 8, 16], 3), "t": times.ravel()}, extrinsic="n").noise() < 0.02


def test_rows_of_one_configuration(table):
    # In the order of groups and levels, then of counts; the index has the place of each row in the source.
    assert table.frame.index.tolist() == [5, 4, 1, 3, 0, 2]
    assert table.configuration.tolist() == [0, 1, 2, 2, 3, 3]
    assert read_table(RUNS, time="t", extrinsic="n", group="fw").configuration.tolist() == [0, 1, 2, 2, 3, 3]
    plain = read_table(RUNS, time="t", extrinsic="n")
    assert plain.frame.index.tolist() == [1, 3, 0, 2, 5, 4]
    assert plain.configuration.tolist() == [0, 0, 1, 1, 1, 2]
    ((key, whole),) = table.groups()
    assert (key, whole) == ((), table)
    # Weights have mean one.
    assert table.weights == pytest.approx(np.array([4, 2, 1, 1, 1, 3]) / 2)
    assert plain.weights.tolist() == [1.0] * 6
    # n=2, tf: no scatter; n=1, tf: ±10 %. Two configurations of two repeats leave two degrees of freedom.
    assert table.noise() == pytest.approx(math.sqrt((0.1**2 + 0.1**2) / 2))
    # Repeats do not move the centre. Configurations n = 2, 1, 4, 2 once each: (2·1·4·2)^(1/4) = 2.
    assert table.factor("n").centre == pytest.approx(2.0)
    assert table.factor("fw").levels == ("mx", "tf")
    assert [[f.name for f in of] for of in (table.numeric, table.categorical)] == [["n"], ["fw"]]
    with pytest.raises(TableError, match="no factor 'm'"):
        table.factor("m")


def test_medians(table):
    medians = table.medians()
    assert medians.measured.tolist() == [0.6, 0.3, 1.0, 0.5]
    assert medians.frame["w"].tolist() == [4.0, 2.0, 2.0, 4.0]
    assert medians.frame[REPEATS].tolist() == [1, 1, 2, 2]
    assert medians.configuration.tolist() == [0, 1, 2, 3]
    assert medians.medians().measured.tolist() == medians.measured.tolist()
    assert math.isnan(medians.noise())


def test_take_describes_the_rows_taken(table):
    part, before = table.take(table.columns["n"] <= 2), table.sha256
    assert len(part) == 5
    assert (part.factor("n").lower, part.factor("n").upper) == (1.0, 2.0)
    one = table.take([0, 1])
    assert one.constant == ("fw",)
    assert [n.kind for n in one.notes] == ["factor_constant"]
    assert "'fw' has one value, mx" in str(one.notes[0])
    assert one.configuration.tolist() == [0, 1]
    assert one.take([0]).constant == ("n", "fw")
    assert len(one.take([0]).notes) == 2
    # In the order and the repetition asked for; the table stays as it was.
    taken = table.take([5, 0, 0])
    assert taken.measured.tolist() == [0.5, 0.6, 0.6]
    taken.frame["t"] = 9.0
    assert (table.measured[0], table.sha256) == (0.6, before)
    with pytest.raises(TableError, match="no rows are left"):
        table.take(np.zeros(6, dtype=bool))
    with pytest.raises(ValueError, match="mask"):
        table.take(np.ones(5, dtype=bool))


def test_the_hash_is_of_what_a_fit_sees(table):
    def of(frame, **roles):
        given = {"time": "t", "extrinsic": "n", "categorical": "fw", "repeat": "run", "weight": "w"}
        return read_table(frame, **(given | roles)).sha256

    assert of(RUNS) == table.sha256
    assert of(RUNS.assign(unused=1)) == table.sha256
    assert of(RUNS[["t", "w", "run", "fw", "n"]]) == table.sha256
    assert of(RUNS.iloc[::-1]) == table.sha256
    changed = [
        of(RUNS.assign(t=RUNS["t"] * (1 + 1e-15))),
        of(RUNS, weight=None),
        of(RUNS, extrinsic="", intrinsic="n"),
        of(RUNS, categorical="", group="fw"),
    ]
    assert len({table.sha256, *changed}) == 5
    # On every machine.
    frame = pd.DataFrame({"n": [1, 2], "fw": ["é", "b"], "t": [0.5, 0.25]})
    there = read_table(frame, time="t", extrinsic="n", categorical="fw")
    assert there.sha256 == "6827eacb85a141bcf3417e8f15201e8725ccfc657ce07c1e0f739b119e0a24dc"


def test_summary_and_text(table):
    summary = table.summary()
    assert summary["factor"].tolist() == ["n", "fw"]
    assert summary["max"].tolist()[0] == 4.0
    assert summary["levels"].tolist() == ["", "mx, tf"]
    text = str(table)
    assert text.startswith("DataFrame: 6 rows, 4 configurations, noise 10.0 %; time 't' 0.3 to 1.1 s")
    assert "extrinsic" in text
    assert repr(table) == f"<Table {text.splitlines()[0]}>"
    html = read_table(RUNS.assign(fw="<b>"), time="t", extrinsic="n", categorical="fw")._repr_html_()
    assert "<b>" not in html
    assert "&lt;b&gt;" in html


# --- rows summarised while they are read: the numbers that pandas gives, in bounded memory, faults counted -----------

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
    by = frame.assign(net=pd.Categorical(frame.net, plain.factor("net").levels)).groupby(["net", "workers", "batch"]).s
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


def test_settings_that_are_written_otherwise_or_lead_to_the_same_are_one(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("gpus,batch,s\n8,2,1.0\n8.0,2,4.0\n4,4,2.0\n2,4,9.0\n")
    (tmp_path / "b.csv").write_text("gpus,batch,s\n 8,2,7.0\n4,4,3.0\n")
    table = read_table(tmp_path / "*.csv", time="s", extrinsic="total", let="total=gpus*batch", aggregate=True)
    # 8·2 = 4·4 = 16: 1, 4, 7, 2 and 3 together, whose median is 3; 2·4 = 8 has 9 alone.
    assert dict(zip(table.columns["total"].tolist(), table.measured.tolist(), strict=True)) == {16.0: 3.0, 8.0: 9.0}
    assert sorted(table.repeats.tolist()) == [1, 5]
    assert table.frame["_mean"].max() == 9.0


def test_filter_weight_and_groups(tmp_path: Path) -> None:
    frame = rows().assign(w=lambda d: 1.0 + d.step % 2)
    table = read_table(
        logs(tmp_path, frame, "csv"),
        time="s",
        extrinsic="workers",
        group="net",
        where="batch == 8",
        weight="w",
        aggregate=True,
    )
    kept = frame[frame.batch == 8]
    by = kept.groupby(["net", "workers"])
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
    asked: dict[str, Any] = {"time": "s", "extrinsic": "workers", "aggregate": True}
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
    # Hours and minutes are no plain numbers of a summary.
    (tmp_path / "c.csv").write_text("workers,s\n1,90.0\n2,00:00:45\n")
    timed = read_table(tmp_path / "c.csv", **asked, skip_bad_rows=True)
    assert timed.repeats.tolist() == [1]
    assert [r.reason for r in timed.rejected] == ["is a date or a time of day, not a number"]


@cases_in_text("source, asked, said")
def test_refused(
    source: str, asked: dict[str, Any], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "AGGREGATION_MIN_ROWS", 50)
    logs(tmp_path, rows(), "csv")
    logs(tmp_path, rows(), "parquet")
    with pytest.raises(GenperfError) as caught:
        read_table(tmp_path / source, **{**ROLES, **asked})
    assert said in str(caught.value)
    with pytest.raises(GenperfError, match="only files are aggregated"):
        read_table(rows(), **ROLES, aggregate=True)


def test_without_duckdb_it_is_said_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(GenperfError) as caught:
        read_table(logs(tmp_path, rows(), "csv"), **ROLES, aggregate=True)
    assert caught.value.hint == 'pip install "genperf[large]"'


# --- configurations kept with a model: medians, extremes and repeats; of very many, evenly spaced ones ---------------


def test_repeats_of_each_configuration() -> None:
    runs = pd.DataFrame({"n": [2, 1, 2, 2], "net": ["a", "b", "a", "a"], "t": [3.0, 5.0, 1.0, 2.0]})
    table = read_table(runs, time="t", extrinsic="n", categorical="net")
    assert table.median_runs() == (Median((2.0, "a"), 2.0, 1.0, 3.0, 3), Median((1.0, "b"), 5.0, 5.0, 5.0, 1))
    # Of very many some, with both ends.
    many = read_table(pd.DataFrame({"n": range(1, 1002), "t": range(1, 1002)}), time="t", extrinsic="n")
    assert [m.values[0] for m in many.median_runs(3)] == [1.0, 501.0, 1001.0]


# --- the run that stands for the factors a question leaves open ------------------------------------------------------

#: Splits of transformers: the devices are the product of the three, which the centre of each factor is not.
SPLITS = pd.DataFrame(
    [
        {"net": net, "dp": dp, "tp": tp, "pp": pp, "devices": dp * tp * pp, "s": (2.0 + tp) * pp / dp}
        for net, dp, tp, pp in itertools.product(["bert", "gpt"], [1, 2, 8], [1, 4], [1, 2])
        if net == "bert" or tp > 1
    ]
)
SCHEMA = schema_of(gp.read_table(SPLITS, time="s", extrinsic="devices,dp", intrinsic="tp,pp", categorical="net"))


@pytest.mark.parametrize("given", [{}, {"devices": 4}, {"devices": 64}, {"devices": 1000, "net": "gpt"}, {"tp": 3}])
def test_the_values_were_measured_together(given: dict[str, float | str]) -> None:
    run = typical_run(SCHEMA.panel, given)
    same = (SPLITS[list(run)] == pd.Series(run)).all(axis=1)
    assert same.sum() == 1
    assert run["devices"] == run["dp"] * run["tp"] * run["pp"]
    # A larger scale goes on from the largest run, and what is given holds.
    assert run["devices"] == 64 if given.get("devices", 0) >= 64 else run["devices"] <= 64
    assert run["tp"] == 4 or given.get("net") != "gpt"


# --- what the design of a table leaves unknown is named, through the command line too --------------------------------


def runs() -> pd.DataFrame:
    return runs_of(
        lambda f: 0.01 * f.batch + 0.02 * f.workers, {"batch": (8, 16, 32), "workers": (1, 2, 4), "net": ["a", "b"]}
    )


def notes(frame: pd.DataFrame, intrinsic: str = "batch", extrinsic: str = "workers", categorical: str = "net") -> str:
    """Return what is said of a design, in one text."""
    table = gp.read_table(frame, time="s", intrinsic=intrinsic, extrinsic=extrinsic, categorical=categorical)
    return " / ".join(str(note) for note in design_notes(table))


def test_what_a_design_leaves_unknown_is_named() -> None:
    frame = runs()
    assert notes(frame) == ""
    once = pd.DataFrame([(8, 2, f"net{k}", 0.3) for k in range(5)], columns=["batch", "workers", "net", "s"])
    assert "net0, net1, net2, … (5 in all)" in notes(pd.concat([frame, once]))
    varied = frame.assign(chunks=np.where(frame.net == "a", 4, frame.workers * 3))
    assert notes(varied, "batch,chunks").startswith("'chunks' varies only where net = b")
    wobble = 1.0 + 1e-3 * np.sin(np.arange(len(frame)))
    together = notes(frame.assign(bytes=4000.0 * frame.batch**2 * wobble), "batch,bytes")
    assert together.startswith("'batch' and 'bytes' rise together (correlation 1.000)")
    assert "one falls as the other rises" in notes(frame.assign(rest=1.0 / frame.batch), "batch,rest")
    # Nodes rise with the workers that fill them.
    filled = pd.DataFrame({"gpus": [8, 16, 32, 64], "nodes": [1, 2, 4, 8], "s": [1.0, 1.1, 1.3, 1.7]})
    assert notes(filled, "", "gpus,nodes", "") == ""


@pytest.mark.parametrize("model", ["auto", "generic"])
def test_fit_and_its_answer_name_them(model: str, tmp_path: Path, shell: Shell) -> None:
    frame = runs()
    path = tmp_path / "runs.csv"
    frame.assign(id=[f"run{k}" for k in range(len(frame))], tokens=128 * frame.batch).to_csv(path, index=False)
    roles = ["--time", "s", "--intrinsic", "batch,tokens", "--extrinsic", "workers", "--categorical", "net,id"]
    status, out, err = shell("fit", str(path), *roles, "--model", model, "-o", str(tmp_path / "model.json"))
    assert status == 0
    assert "'batch' and 'tokens' rise together" in out + err
    # As many levels as configurations: the column is left out, and the fit goes on without it.
    assert "'id' has another level in each configuration" in out + err
    assert "left out id" in out + err


def test_a_column_of_ways_without_a_cell_is_none(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("tp,gpus,step_s\n,1,1.0\n,2,0.6\n,4,0.4\n")
    assert [factor.name for factor in gp.read_table(path).factors] == ["gpus"]
