"""A table of any shape is read as what it holds: one small table a shape, with what is to be read from it."""

import json
import re
from pathlib import Path

import pytest

from genperf.cli.main import run
from genperf.errors import TableError
from genperf.panel import read_table
from genperf.table.cells import as_csv, parts_of
from genperf.table.opened import open_files, understood


def lines(*rows: str) -> str:
    return "\n".join(rows) + "\n"


def shapes() -> dict[str, tuple[str, dict[str, list[object]], list[str]]]:
    """Return the shapes of `shapes.txt`: by its name the text, the columns to be read from it, and words of the report.

    After `===` is the head of a shape, as JSON, and below it the text.
    """
    parts = re.split(r"^=== ", Path(__file__).with_name("shapes.txt").read_text(encoding="utf-8"), flags=re.MULTILINE)
    read = {}
    for head, _, text in (part.partition("\n") for part in parts[1:]):
        shape = json.loads(head)
        read[shape["name"]] = text, shape["columns"], shape.get("says", [])
    return read


SHAPES = shapes()


def read(folder: Path, text: str) -> dict[str, list[object]]:
    path = folder / "runs.csv"
    path.write_text(text, encoding="utf-8")
    return {name: list(cells) for name, cells in understood(path).columns.items()}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_is_understood_and_reported(tmp_path: Path, shape: str) -> None:
    text, expected, reported = SHAPES[shape]
    path = tmp_path / "runs.csv"
    path.write_text(text, encoding="utf-8")
    source = understood(path)
    columns = {name: list(cells) for name, cells in source.columns.items()}
    assert {name: columns.get(name) for name in expected} == expected
    report = "\n".join(map(str, source.steps))
    assert all(words in report for words in reported)
    assert bool(report) == bool(reported)


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_written_is_understood_alike(tmp_path: Path, shape: str) -> None:
    first = tmp_path / "runs.csv"
    first.write_text(SHAPES[shape][0], encoding="utf-8")
    once = understood(first)
    again = tmp_path / "again.csv"
    again.write_text(as_csv(once), encoding="utf-8")
    twice = understood(again)
    assert as_csv(twice) == as_csv(once)
    assert dict(twice.units) == dict(once.units)


REFUSED = {
    "duplicates": ("gpus, gpus,s\n1,1,9\n", "columns 1 and 2 are both named 'gpus'"),
    "a log": (
        lines(*(f"step {i} {'loss ' * (i % 4)}took {i}.5" for i in range(1, 9))),
        "is a log or a text, not a table",
    ),
    "prose": (
        lines("Results", "we ran it on four nodes", "it took about nine seconds each"),
        "its lines are sentences",
    ),
    "a trace": ('{"traceEvents": [{"ph": "X", "ts": 1}]}', "has no 'ProfilerStep#N'"),
    "JSON of lists only": ('[{"a": [1.5, 2.5]}]', "is JSON without a number or a text"),
    "JSON of a number without end": (f'[{{"a": {"1" * 5000}}}]', "holds a number that cannot be read"),
    "broken JSON": ('{"a": 1}\n{"a": }\n', "line 2, column 7: is JSON with a fault"),
    "JSON of numbers and records": ('{"a": 1}\n3\n', "JSON lines that are no records"),
    "very many keys": (f"[{{{', '.join(f'{chr(34)}k{i}{chr(34)}: 1' for i in range(2500))}}}]", "2,500 different keys"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_table_is_named(tmp_path: Path, case: str) -> None:
    text, message = REFUSED[case]
    with pytest.raises(TableError) as caught:
        read(tmp_path, text)
    assert message in str(caught.value)


def test_deep_json_is_cut_and_long_lists_are_left_out(tmp_path: Path) -> None:
    deep = "1"
    for _ in range(30):
        deep = f'{{"in": {deep}}}'
    columns = read(tmp_path, f'[{{"s": 9, "deep": {deep}, "all": [{", ".join(["1.5"] * 100_000)}]}}]')
    assert columns == {"s": ["9"]}


def test_a_fault_is_named_where_it_stands_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("# cluster b\nnet,1 GPU,4 GPUs,8 GPUs\na,9 s,5 s,fast\n\nb,8 s,0 s,2 s\n", encoding="utf-8")
    with pytest.raises(TableError) as caught:
        read_table(path, time="value", extrinsic="GPUs", categorical="net")
    assert "line 3, column '8 GPUs': 'fast' is not a number" in str(caught.value)
    assert "line 5, column '4 GPUs': '0 s' is zero" in str(caught.value)


def test_columns_that_the_user_names_stay_wide(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("batch,1 GPU,4 GPUs\n8,9,5\n16,17,8\n", encoding="utf-8")
    table = read_table(path, time="1 GPU", intrinsic="batch")
    assert table.measured.tolist() == [9.0, 17.0]
    assert not table.notes


def test_levels_filters_and_units_read_the_cells_as_written(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("memory,time,used\n16GB,500 ms,1.5 GB\n32GB,300 ms,2.5 GB\n", encoding="utf-8")
    table = read_table(path, time="time", categorical="memory")
    assert table.factor("memory").levels == ("16GB", "32GB")
    assert dict(zip(table.frame["memory"], table.measured, strict=True)) == {"16GB": 0.5, "32GB": 0.3}
    assert read_table(path, time="time", unit="ms", intrinsic="memory").measured.tolist() == [0.5, 0.3]
    assert len(read_table(path, time="time", intrinsic="memory", where="memory == '16GB'")) == 1
    assert read_table(path, time="time", intrinsic="x", let="x=memory*2").measured.tolist() == [0.5, 0.3]
    assert read_table(path, quantity="used", intrinsic="memory").target.unit == "GB"
    with pytest.raises(TableError, match="are in GB, which is no unit of time"):
        read_table(path, time="used", intrinsic="memory")


def test_a_level_that_was_not_measured_is_taken_apart_alike(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("card,gpus,rate\nA100 80GB,1,10\n2x A100 80GB,2,19\nV100,1,4\n", encoding="utf-8")
    assert understood(path).names["card"].of("8x A100 80GB") == {"gpus": 8.0, "card kind": "A100 80GB"}


def test_several_files_report_the_steps_of_each(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("gpus,s\n1,9\n,\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("gpus,s\n-,ms\n2,5\n", encoding="utf-8")
    with pytest.raises(TableError, match="has the columns gpus, s"):
        open_files([str(tmp_path / "*.csv")])
    (tmp_path / "b.csv").write_text("gpus,s\n2,5\n,\n\ngpus,s\n4,3\n", encoding="utf-8")
    source = open_files([str(tmp_path / "*.csv")])
    assert source.columns["gpus"].tolist() == ["1", "2", "4"]
    assert [str(step) for step in source.steps] == [
        "1 row without a filled cell left out (in 2 of 2 files)",
        "2 tables of the same columns read as one (in 1 of 2 files)",
    ]


def test_thousands_of_rows_take_no_rule_of_each_cell(tmp_path: Path) -> None:
    plain = "n,s\n" + "".join(f"{i},{i}.5\n" for i in range(20_000))
    path = tmp_path / "runs.csv"
    path.write_text(plain, encoding="utf-8")
    parts_of.cache_clear()
    assert len(understood(path).lines) == 20_000
    assert parts_of.cache_info().misses < 10


def test_check_shows_and_writes_the_table_as_understood(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "runs.csv", tmp_path / "out.csv"
    path.write_text("net,1 GPU,4 GPUs\na,9 s,5 s\nb,8 s,4 s\n", encoding="utf-8")
    assert run(["check", str(path), "--as-read", str(out)]) == 0
    assert out.read_text(encoding="utf-8") == "net,GPUs,value\na,1,9 s\na,4,5 s\nb,1,8 s\nb,4,4 s\n"
    printed = capsys.readouterr()
    assert "4 rows, 3 columns" in printed.out
    assert "4 cells: unit 's' removed from 'value'" in printed.out + printed.err
    roles = ["--time", "value", "--extrinsic", "GPUs", "--categorical", "net", "--json"]
    answers = []
    for name in (path, out):
        assert run(["check", str(name), *roles]) == 0
        answers.append(json.loads(capsys.readouterr().out))
    assert answers[0]["sha256"] == answers[1]["sha256"]


def test_a_drawing_and_titles_that_a_column_repeats_are_left_unsaid(tmp_path: Path) -> None:
    drawing = lines("| `train` | `data` |", "|---|---|", "| a | b |", "")
    tables = lines(
        "### 3x3", "", "| gpus | atoms | s |", "|---|---|---|", "| 1 | 27 | 9 |", "| 2 | 27 | 5 |", "",
        "### 4x4", "", "| gpus | atoms | s |", "|---|---|---|", "| 1 | 64 | 19 |", "| 2 | 64 | 11 |",
    )  # fmt: skip
    (tmp_path / "runs.md").write_text(drawing + tables)
    source = understood(tmp_path / "runs.md")
    assert [*source.columns] == ["gpus", "atoms", "s"]
    assert [str(step) for step in source.steps] == [
        "4 rows read from a table drawn with | and -",
        "2 tables of the same columns read as one",
    ]


def test_a_comment_above_the_header_states_the_unit_of_a_rate(tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text("# throughput in samples/s\ngpus,value\n1,100\n2,190\n", encoding="utf-8")
    assert understood(tmp_path / "runs.csv").units == {"value": "samples/s"}


def test_columns_of_files_that_mean_the_same_are_one(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("num_gpus,images_per_s,loss\n1,9,3\n2,17,3\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("GPUs,images/s,loss\n1,8,2\n", encoding="utf-8")
    source = open_files([str(tmp_path / "*.csv")])
    assert source.columns["num_gpus"].tolist() == ["1", "2", "1"]
    assert source.columns["images_per_s"].tolist() == ["9", "17", "8"]
    assert "'GPUs' read as 'num_gpus', as another file calls it (in 1 of 2 files)" in [*map(str, source.steps)]
    # Another unit is another column.
    (tmp_path / "b.csv").write_text("GPUs,images/min,loss\n1,8,2\n", encoding="utf-8")
    with pytest.raises(TableError, match=r"has the columns GPUs, images/min, loss"):
        open_files([str(tmp_path / "*.csv")])
