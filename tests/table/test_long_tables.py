"""A long text is the table that its first lines show, and no otherwise than a short one is read."""

import numpy as np
import pytest

from genperf.table import opened
from genperf.table.opened import open_source
from genperf.table.text import plain_table, read_delimited

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
    monkeypatch.setattr(opened, "MOST_READ", opened.HEAD_BYTES + 1)
    rows = [",".join(row.split(",")[:columns]) for row in ROWS] * 100
    text = "\n".join([",".join(["gpus", "network", "step_s"][:columns]), *rows]) + "\n"
    assert len(text) > opened.MOST_READ
    (tmp_path / "runs.csv").write_text(text)
    source = open_source(tmp_path / "runs.csv")
    assert source.cells["gpus"].tolist() == [row.split(",")[0] for row in rows]
    assert np.array_equal(source.lines, np.arange(2, len(rows) + 2))
