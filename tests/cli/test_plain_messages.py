"""What a new user meets first: a table where a model is wanted, bad rows, a fit that is not kept."""

from pathlib import Path

import pytest

from genperf.cli.main import run


def test_a_table_in_the_place_of_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "runs.csv"
    table.write_text("gpus,s\n1,2\n2,1.1\n4,0.7\n")
    assert run(["predict", str(table), "--at", "gpus=8", "--json"]) == 0
    shown = capsys.readouterr()
    assert "read as: --time s" in shown.err
    assert run(["fit", str(table), "-o", str(tmp_path / "m.json"), "-q"]) == 0
    capsys.readouterr()
    assert run(["predict", str(tmp_path / "m.json"), "--at", "gpus=8", "--json"]) == 0
    assert capsys.readouterr().out == shown.out


def test_bad_rows_are_summed_up_per_column(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "runs.csv"
    table.write_text("gpus,s\n1,9\n2,bad\n4,bad\n8,bad\nmany,3\n")
    assert run(["check", str(table), "--time", "s", "--extrinsic", "gpus", "--skip-bad-rows"]) == 0
    out = capsys.readouterr().out
    assert "rejected: 4 rows" in out
    assert "'bad' is not a number; 2 more rows in this column" in out
    assert out.count("runs.csv: line") == 2


def test_a_column_in_quotes_is_told_of_backticks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "runs.csv"
    table.write_text("batch size,gpus,s\n1,1,2\n2,2,1\n")
    check = ["check", str(table), "--time", "s", "--extrinsic", "gpus", "--let"]
    assert run([*check, "twice='batch size'*2"]) == 1
    assert "a column's name goes in backticks: `batch size`" in capsys.readouterr().err
    assert run([*check, "twice=`batch size`*2"]) == 0


def test_a_file_that_is_no_table_shows_how_it_begins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("words.csv").write_text("name,color\nfoo,red\nbar,blue\nbaz,green\n")
    assert run(["ask", "words.csv"]) == 1
    message = capsys.readouterr().err
    assert "'color' is read as" in message
    assert message.endswith("  it begins:\n    name,color\n    foo,red\n    bar,blue\n")
    assert message.count("try:") == 1
