"""Sources that nobody means well with: bounded, named, nothing executed."""

import os
from pathlib import Path

import numpy as np
import pytest

from genperf.asking.tables import ask
from genperf.errors import GenperfError
from genperf.table import content, facts, opened
from genperf.table.opened import open_files, open_source, understood
from genperf.table.text import plain_table, read_delimited

STEPS = "\n".join(f"step: {n}  time: 0.25 s  tps: {7000 + n}" for n in range(1, 20)) + "\n"


def refusal(path: Path | str) -> str:
    with pytest.raises(GenperfError) as caught:
        understood(open_files([path]))
    return str(caught.value)


def test_a_log_of_two_gigabytes_is_read_from_its_beginning_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facts, "MOST_OF_A_LOG", 100_000)
    path = tmp_path / "train.log"
    path.write_text("world_size: 8\n" + STEPS * 200, encoding="utf-8")
    with path.open("r+b") as file:
        file.truncate(2_000_000_000)  # the rest is a hole that takes no disk
    source = understood(open_source(path))
    assert source.columns["world_size"].tolist() == [8.0]
    assert any("only the first" in step.text and "of 2000 MB" in step.text for step in source.steps)


def test_a_folder_of_many_files_tells_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(60):
        (tmp_path / f"run_{n + 1}gpus.log").write_text(STEPS, encoding="utf-8")
    monkeypatch.setattr(opened, "MANY_FILES", 25)
    reports: list[str] = []
    assert len(understood(open_files([tmp_path], tell=reports.append))) == 60
    assert reports == ["reading 0 of 60 files", "reading 25 of 60 files", "reading 50 of 60 files"]


def test_a_log_of_steps_beside_one_of_results_and_rates_of_the_devices_of_one_run(tmp_path: Path) -> None:
    of_steps = "".join(f"gpus: {n}\n" + "\n".join(f"step {i} time {2 + i / n} s\n" for i in (1, 2, 3)) for n in (1, 2))
    (tmp_path / "a.log").write_text(of_steps, encoding="utf-8")
    (tmp_path / "b.log").write_text("".join(f"gpus: {n}\nstep 1 time 1.5 s\n" for n in (4, 8)), encoding="utf-8")
    assert len(understood(open_files([tmp_path]))) == 4
    (tmp_path / "c.log").write_text("step 1 gpu0: 9 img/s gpu1: 9 img/s gpu2: 9 img/s\n" * 9, encoding="utf-8")
    assert {"gpu0", "gpu1", "gpu2"} <= {*understood(tmp_path / "c.log").columns}


def test_a_folder_of_too_many_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content, "MAX_FILES", 50)
    for n in range(60):
        (tmp_path / f"{n}.log").write_text(STEPS, encoding="utf-8")
    assert "more than 50 files" in refusal(tmp_path)


def test_links_and_circles_of_links(tmp_path: Path) -> None:
    inside = tmp_path / "runs"
    inside.mkdir()
    for gpus in (1, 2):
        (inside / f"{gpus}gpus.log").write_text(STEPS, encoding="utf-8")
    (inside / "again").symlink_to(inside, target_is_directory=True)
    (inside / "up").symlink_to(tmp_path, target_is_directory=True)
    (inside / "nowhere.log").symlink_to(inside / "missing")
    (inside / "self.log").symlink_to(inside / "self.log")
    assert len(open_files([inside])) == 2
    assert "cannot be read" in refusal(inside / "self.log") or "no such file" in refusal(inside / "self.log")


def test_names_with_dots_stay_names(tmp_path: Path) -> None:
    for name in ("..8gpus.log", "a..b_4gpus.log", "$(touch owned)_2gpus.log", "-o_1gpus.log"):
        (tmp_path / name).write_text(STEPS, encoding="utf-8")
    before = sorted(os.listdir(tmp_path))
    source = understood(open_files([tmp_path]))
    # A name that begins with a dot is hidden.
    assert source.columns["file"].tolist() == ["$(touch owned)_2gpus", "-o_1gpus", "a..b_4gpus"]
    assert sorted(os.listdir(tmp_path)) == before
    assert "no such file" in refusal(tmp_path / ".." / "missing" / ".." / "runs.csv")


def test_code_is_text(tmp_path: Path) -> None:
    """Code in logs, cells and keys is never run, and a program is no log of runs."""
    evil = "__import__('os').system('touch owned')"
    (tmp_path / "train.py").write_text(f"import os\n\ndef main(gpus=8):\n    {evil}\n    return 0\n", encoding="utf-8")
    with pytest.raises(GenperfError):
        ask(str(tmp_path / "train.py"), at={"gpus": 8})
    for gpus in (1, 2):
        log = f"cmd: {evil}\n{{'{evil}': 1, 'loss': {evil}}}\n{STEPS}"
        (tmp_path / f"{gpus}gpus.log").write_text(log, encoding="utf-8")
    (tmp_path / "train.py").unlink()
    source = understood(open_files([tmp_path]))
    assert source.columns["time"].tolist() == [0.25, 0.25]
    assert not (tmp_path / "owned").exists()


def test_a_page_with_a_declaration_that_html_lacks_keeps_the_table_above_it(tmp_path: Path) -> None:
    rows = "".join(f"<tr><td>{n}</td><td>{9 * n}</td></tr>" for n in (1, 2))
    page = f"<html><table><tr><th>gpus</th><th>img/s</th></tr>{rows}</table><![x[<table>"
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    assert understood(tmp_path / "page.html").columns["gpus"].tolist() == ["1", "2"]


def test_numbers_beside_a_table_without_a_header_of_theirs_are_not_its_rows(tmp_path: Path) -> None:
    ragged = ",rate,,time,\nn,mean,st ,mean,std1,9,1,4,rate,,1*<![x[mean,std1,9,1,4,rate,,1*<![x["
    (tmp_path / "runs.csv").write_text(ragged, encoding="utf-8")
    assert {*understood(tmp_path / "runs.csv").columns} >= {"rate", "time"}
    (tmp_path / "runs.csv").write_text("n,s,,n,s\n1,9,,2,8\n2,5,,4,4\n", encoding="utf-8")
    assert understood(tmp_path / "runs.csv").columns["n"].tolist() == ["1", "2"]


@pytest.mark.parametrize("piece", ["x", "#", "# ", "x_", "1/", "8 GPUs ", "8 nodes, "])
def test_a_line_that_is_much_too_long_ends_no_reading(tmp_path: Path, piece: str) -> None:
    # What takes the square of its length would take an hour.
    path = tmp_path / "notes.txt"
    path.write_text(f"8 GPUs: 9.5 s\n{piece * (150_000 // len(piece))}\n16 GPUs: 5.25 s\n", encoding="utf-8")
    source = understood(path)
    assert [source.columns[name].tolist() for name in ("GPUs", "time")] == [[8.0, 16.0], [9.5, 5.25]]


# --- A long text is the table that its first lines show, and no otherwise than a short one is read -------------------

ROWS = [f"{1 << k % 7},net{k % 3}, {1.0 + 0.001 * (k % 977):.3f}" for k in range(300)]
#: A line behind the first ones, and whether it is like them.
LINES = {
    "4,net1,0.9": True,
    '4,"net, 1",0.9': False,
    "4,net1": False,
    "": False,
    "# the second day": False,
    "gpus,network,step_s": False,
    "4,**net1**,0.9": False,
    "4,net1,n/a": False,
}


@pytest.mark.parametrize(("line", "is_like_them"), LINES.items())
def test_only_a_text_whose_lines_are_all_alike_is_read_as_its_first_lines_are(line, is_like_them):
    lines = ["gpus,network,step_s", *ROWS, line, *ROWS]
    head, whole = (read_delimited("\n".join(of), "runs.csv", None) for of in (lines[:100], lines))
    found = plain_table("\n".join(lines), head)
    assert (found is not None) == is_like_them
    if found is not None:
        assert {n: c.tolist() for n, c in found.cells.items()} == {n: c.tolist() for n, c in whole.cells.items()}
        assert found.lines.tolist() == whole.lines.tolist()


@pytest.mark.parametrize("columns", [1, 3])
def test_a_long_file_keeps_every_row(tmp_path, columns, monkeypatch):
    monkeypatch.setattr(facts, "MOST_READ", content.HEAD_BYTES + 1)
    rows = [",".join(row.split(",")[:columns]) for row in ROWS] * 100
    text = "\n".join([",".join(["gpus", "network", "step_s"][:columns]), *rows]) + "\n"
    assert len(text) > facts.MOST_READ
    (tmp_path / "runs.csv").write_text(text)
    source = open_source(tmp_path / "runs.csv")
    assert source.cells["gpus"].tolist() == [row.split(",")[0] for row in rows]
    assert np.array_equal(source.lines, np.arange(2, len(rows) + 2))
