"""Runs that failed: which rows they are, what is kept of them, and what is refused."""

import io
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from helpers import cases_in_text

import genperf as gp
from genperf.errors import TableError

WORDS = [
    "OOM", "oom", "OOM-killed", "OOMKilled", "out of memory", "out_of_memory", "RuntimeError: CUDA error", "FAILED",
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "Failure", "error", "killed",
    "crash", "crashed",
]  # fmt: skip


def read(text: str, **options: Any) -> gp.Table:
    frame = pd.read_csv(io.StringIO(text), dtype=object, keep_default_na=False)
    return gp.read_table(frame, **{"time": "t", "intrinsic": "b", **options})


@pytest.mark.parametrize("word", WORDS)
def test_the_usual_words(word: str) -> None:
    table = gp.read_table(pd.DataFrame({"b": [1, 2, 4], "t": [1.0, 2.0, word]}), time="t", intrinsic="b")
    assert (len(table), table.failures.b.tolist(), table.rejected) == (2, [4.0], ())
    assert [n.kind for n in table.notes] == ["runs_failed"]
    assert str(table.notes[0]).startswith("1 run failed")
    assert table.factors[0].upper == 2.0


def test_a_column_of_status() -> None:
    text = "b,t,state\n1,1,ok\n2,2,COMPLETED\n4,nan,failed\n8,,OOM\n16,9,timeout\n"
    table = read(text, status="state")
    assert (len(table), table.failures.b.tolist()) == (2, [4.0, 8.0])
    # A limit of time shows nothing of memory.
    assert "1 run stopped by a limit or a user" in "".join(map(str, table.notes))
    assert "state" not in table.unused
    with pytest.raises(TableError, match="row 2, column 't'"):
        read(text)


def test_other_words() -> None:
    text = "b,t,exit\n1,1,0\n2,2,0\n4,,137\n8,3,9\n"
    table = read(text, failed="exit=137,9")
    assert (len(table), table.failures.b.tolist()) == (2, [4.0, 8.0])
    assert read(text, failed={"exit": ["137", "9"]}).sha256 == table.sha256
    # The named words stand in place of the usual ones, in that column.
    named = read("b,t\n1,1\n2,oom\n4,gone\n", failed="t=gone", skip_bad_rows=True)
    assert (named.failures.b.tolist(), named.rejected_rows) == ([4.0], 1)


def test_derived_factors_and_filters() -> None:
    text = "b,n,t\n1,1,1\n2,2,2\n4,2,OOM\n8,1,OOM\n"
    table = read(text, intrinsic="total", let="total=b*n", where="n > 1", skip_bad_rows=True)
    assert table.failures.total.tolist() == [8.0]
    # A filter that reads the measured column decides nothing of a run without one.
    assert read(text, where="t < 1.5").failures.b.tolist() == [4.0, 8.0]
    speeds = read("b,n,v\n1,1,8\n2,2,9\n4,2,OOM\n", time=None, throughput="v", work="b*n")
    assert (len(speeds), speeds.failures.b.tolist()) == (2, [4.0])


def test_groups_get_their_runs() -> None:
    text = "g,b,t\nx,1,1\nx,2,OOM\ny,1,1\ny,2,2\nz,1,OOM\nz,2,killed\n"
    table = read(text, group="g")
    assert [(key, len(part), part.failures.b.tolist()) for key, part in table.groups()] == [
        (("x",), 1, [2.0]),
        (("y",), 2, []),
    ]
    assert "every run failed of 1 group, left out: z" in "\n".join(map(str, table.notes))
    notes = [[n.kind for n in part.notes] for _, part in table.groups()]
    assert ["runs_failed" in kinds for kinds in notes] == [True, False]


def test_the_hash_knows_of_failures() -> None:
    runs = "b,t\n1,1\n2,2\n"
    assert read(runs + "4,OOM\n").sha256 != read(runs).sha256
    assert read(runs + "4,OOM\n").sha256 == read(runs + "4,killed\n").sha256


@cases_in_text("text, options, message, hint")
@pytest.mark.parametrize("aggregate", [False, True], ids=["rows", "summarised"])
def test_refused(text: str, options: dict[str, Any], message: str, hint: str, aggregate: bool, tmp_path: Path) -> None:
    if aggregate:
        pytest.importorskip("duckdb")
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(TableError) as caught:
        gp.read_table(tmp_path / "a.csv", time="t", intrinsic="b", aggregate=aggregate, **options)
    assert message in str(caught.value)
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize(
    "options",
    [{}, {"status": "state"}, {"failed": "state=failed"}, {"status": "state", "also": "memory=gb:GB"}],
    ids=["by the cell", "by the status", "by a value", "with a further quantity"],
)
def test_summarised_tables_keep_runs_that_failed(options: dict[str, Any], tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    rows = [
        *("1,1.0,3,ok", "1,1.2,3,ok", "2,2.0,4,ok", "2,OOM,,failed", "2,OOM,,failed"),
        *("4,out of memory,,failed", "8,4.0,10,ok"),
    ]
    (tmp_path / "a.csv").write_text("\n".join(["b,t,gb,state", *rows]))
    asked: dict[str, Any] = {"time": "t", "intrinsic": "b", **options}
    summed = gp.read_table(tmp_path / "a.csv", aggregate=True, **asked)
    plain = gp.read_table(tmp_path / "a.csv", aggregate=False, **asked)
    # Each configuration that failed stands there once.
    assert sorted(summed.failures["b"]) == sorted(set(plain.failures["b"])) == [2.0, 4.0]
    assert summed.measured.tolist() == plain.medians().measured.tolist() == [1.1, 2.0, 4.0]
    (told,) = (n for n in summed.notes if n.kind == "runs_failed")
    assert str(told).startswith("3 runs failed")
    assert [str(n) for n in plain.notes if n.kind == "runs_failed"] == [str(told)]
    result = gp.fit(summed, "a*b + c", draws=5)
    assert (
        result.predict(b=[1, 4, 8])["fits"].round(1).tolist()
        == gp.fit(plain, "a*b + c", draws=5).predict(b=[1, 4, 8])["fits"].round(1).tolist()
    )
    if "also" in options:
        assert summed.further["memory"].measured.tolist() == [3.0, 4.0, 10.0]
