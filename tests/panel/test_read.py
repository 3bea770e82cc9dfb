from pathlib import Path

import pandas as pd
import pytest
from helpers import cases_in_text
from hypothesis import given
from hypothesis import strategies as st

from genperf.errors import GenperfError, TableError
from genperf.panel import read_table
from genperf.panel.legend import SCALE
from genperf.panel.options import Roles
from genperf.panel.question import in_columns
from genperf.panel.read import legend_of, read_with_roles
from genperf.table.opened import open_source, understood


@pytest.fixture
def read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def reader(text, **options):
        (tmp_path / "runs.csv").write_text(text)
        return read_table("runs.csv", **{"time": "t", "extrinsic": "n", **options})

    return reader


RUNS = "n,b,fw,t\n1,8,tf,4.0\n2,8,tf,2.5\n4,16,mx,3.0\n"

# One bad cell or row each: the file, where it is, and what is said about it; test_clean has more cells.
BAD_ROWS = [
    ("n,t\n1,0.5\n2,abc\n", 3, "t", "abc", "is not a number"),
    ("n,t\n1,0.5\n2,\n", 3, "t", "", "is empty"),
    ("n,t\n1,0.5\n2,0\n", 3, "t", "0", "is zero (time must be above zero)"),
    ("n,t\n1,0.5\n\n# note\nx,1\n", 5, "n", "x", "is not a number"),
    ('n,t,c\n1,0.5,"a\nb"\n2,?,c\n', 4, "t", "?", "is a missing value, not a number"),
    ("n,t\n1,0.5\n2\n", 3, "", "2", "1 field where the header has 2"),
    ("n,t\n1,0.5\n2,1,1\n", 3, "", "2,1,1", "3 fields where the header has 2"),
]


@pytest.mark.parametrize(("text", "line", "column", "value", "reason"), BAD_ROWS)
def test_a_bad_row_is_named(read, text, line, column, value, reason):
    with pytest.raises(TableError) as caught:
        read(text)
    assert f"line {line}" in str(caught.value)
    assert str(caught.value).startswith("runs.csv: 1 of 2 rows cannot be used\n")
    assert "--skip-bad-rows" in str(caught.value)

    table = read(text, skip_bad_rows=True)
    assert len(table) == 1
    (rejection,) = table.rejected
    assert (rejection.source, rejection.line, rejection.column) == ("runs.csv", line, column)
    assert (rejection.value, rejection.reason) == (value, reason)
    assert [n.kind for n in table.notes] == ["rows_rejected", "factor_constant"]


def test_roles_without_a_measured_column_are_refused():
    source = open_source(pd.DataFrame({"n": [1, 2], "t": [2.0, 1.0]}))
    with pytest.raises(TableError, match="no measured column is named"):
        read_with_roles(source, Roles(extrinsic=("n",)), {})


def test_roles_and_types(read):
    table = read(RUNS, intrinsic=["b"], categorical="fw", let={"k": "b*n", "l": "k/2"}, where="fw == 'tf'")
    assert [(f.name, f.role) for f in table.factors] == [
        ("b", "intrinsic"), ("n", "extrinsic"), ("fw", "categorical"),
    ]  # fmt: skip
    assert table.frame["n"].dtype == float
    assert table.columns["fw"].tolist() == ["tf", "tf"]
    assert table.frame["l"].tolist() == [4.0, 8.0]
    assert (table.derived, table.constant) == ({"k": "b*n", "l": "k/2"}, ("b", "fw"))
    # Numbers in a categorical column are levels; a group may be a factor; unused columns are carried along.
    assert read("n,v,t\n1,8,1\n2,8.0,2\n", categorical="v").factor("v").levels == ("8", "8.0")
    grouped = read(RUNS, intrinsic="b", group="b,fw").groups()
    assert [(key, len(part)) for key, part in grouped] == [(("8", "tf"), 2), (("16", "mx"), 1)]
    unused = read(RUNS, where="fw != 'x'")
    assert (unused.unused, unused.frame["b"].tolist()) == (("b",), ["8", "8", "16"])


def test_derived_columns(read):
    table = read("n,speed,time\n1,320,x\n4,640,y\n", time=None, throughput="speed", work="32*n")
    assert (table.target.column, table.measured.tolist()) == ("time", [0.1, 0.2])
    assert table.derived == {"time": "(32*n)/speed"}
    let = ["s=ms/1000", "big=where(n>2, 1, 0)"]
    table = read("n,ms,t\n1,250,1\n4,125,1\n", let=let, time="s", categorical="big")
    assert (table.measured.tolist(), table.factor("big").levels) == ([0.125, 0.25], ("0", "1"))
    # Names with blanks stand in back ticks.
    table = read("gpu count,t\n1,2\n8,1\n", extrinsic="gpu count", let="half=`gpu count`/2", where="`gpu count` > 1")
    assert table.frame["half"].tolist() == [4.0]


def test_faults_are_counted_where_they_stand(read):
    # Only rows that pass the filter are checked.
    table = read("n,t,status\n1,4,ok\n2,,failed\n4,1,ok\n", where="status == 'ok'")
    assert (table.measured.tolist(), table.rejected) == ([4.0, 1.0], ())
    table = read("n,t,m\n1,4,1\n2,3,x\n4,1,2\n", let=["k=2*m", "j=k+1"], intrinsic="j", skip_bad_rows=True)
    assert [r.column for r in table.rejected] == ["m"]
    assert table.frame["j"].tolist() == [3.0, 5.0]
    table = read("n,t\n1,3\n2,1\nx,-1\n", skip_bad_rows=True)
    assert (len(table.rejected), table.rejected_rows) == (2, 1)


def test_a_count_below_zero_is_a_fault_and_one_of_zero_is_noted(read):
    with pytest.raises(TableError, match=r"'gpus': '-4' is negative \(a count of workers must not be\)"):
        read("gpus,t\n-4,1\n2,1\n", extrinsic="gpus")
    notes = read("gpus,t\n0,1\n2,1\n", extrinsic="gpus").notes
    assert [n.kind for n in notes] == ["count_zero"]
    # No servers are the architecture without them, and other columns may hold anything.
    assert not read("servers,t\n0,1\n2,1\n", extrinsic="servers").notes
    assert not read("x,t\n-4,1\n2,1\n", extrinsic="x").notes


@cases_in_text("repeat, text, mixed")
def test_repeats_that_differ_in_an_unnamed_setting_are_noted(read, repeat, text, mixed):
    found = [n.text for n in read(text, repeat=repeat).notes if n.kind == "configuration_mixed"]
    assert bool(found) == bool(mixed)
    assert not found or f"differ in {mixed}:" in found[0]


times = st.floats(1e-9, 1e9)
rows = st.lists(st.tuples(st.integers(1, 4096), st.floats(-1e9, 1e9), times), min_size=1, max_size=20)


@given(rows, st.sampled_from([",", ";", "\t", "|"]))
def test_a_written_table_is_read_back_exactly(tmp_path_factory, rows, delimiter):
    path = tmp_path_factory.mktemp("round") / "runs.csv"
    frame = pd.DataFrame(rows, columns=["n", "x", "t"])
    frame.to_csv(path, index=False, sep=delimiter)
    table = read_table(path, time="t", extrinsic="n", intrinsic="x")
    written = table.frame.sort_index()[["n", "x", "t"]]
    assert written.to_numpy().tolist() == frame.astype(float).to_numpy().tolist()
    assert table.sha256 == read_table(frame, time="t", extrinsic="n", intrinsic="x").sha256


def test_durations_are_read_as_seconds(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("nodes,elapsed\n1,1-00:00:10\n2,12:00:05\n4,06:00:02.5\n8,10801\n16,1h30m\n")
    table = read_table(path, time="elapsed", extrinsic="nodes")
    assert table.measured.tolist() == [86410.0, 43205.0, 21602.5, 10801.0, 5400.0]
    with pytest.raises(TableError, match="'1-00:00:10' is not a number"):
        read_table(path, time="elapsed", unit="min", extrinsic="nodes")


def test_repeats_that_are_far_apart_are_said() -> None:
    frame = pd.DataFrame({"gpus": [1, 1, 2, 2], "s": [0.1, 0.32, 0.11, 0.4], "loss": [1, 2, 3, 4]})
    notes = [n.text for n in read_table(frame, time="s", extrinsic="gpus").notes if n.kind == "repeats_apart"]
    assert len(notes) == 1
    assert "differ by a factor of 3.4 in the median" in notes[0]
    near = frame.assign(s=[0.1, 0.12, 0.11, 0.13])
    assert not [n for n in read_table(near, time="s", extrinsic="gpus").notes if n.kind == "repeats_apart"]


TRAINED = pd.DataFrame(
    {
        "strategy": ["DDP", "FSDP", "DDP", "FSDP"],
        "model": ["7B", "7B", "13B", "13B"],
        "GPUs": [8, 16, 8, 16],
        "batch_per_gpu": [8, 16, 16, 8],
        "tokens/s": [900.0, 1700.0, 1900.0, 3500.0],
    }
)


@cases_in_text("words, settings")
def test_words_of_a_question(words: str, settings: str) -> None:
    asked = in_columns(legend_of(understood(TRAINED)), {SCALE: words})
    said = [f"{name}={text}" for name, text in asked.at.items()]
    said += [f"--{name}={text}" for name, text in asked.options.items()]
    said += [note.replace("asked, and found nowhere in the runs: ", "?") for note in asked.notes]
    assert sorted(" ".join(said).split()) == sorted(settings.split())


@cases_in_text("words, hint")
def test_what_a_question_leaves_open_is_refused(words: str, hint: str) -> None:
    with pytest.raises(GenperfError) as caught:
        in_columns(legend_of(understood(TRAINED)), {SCALE: words})
    assert hint in str(caught.value.hint)
