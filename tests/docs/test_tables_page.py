"""The pairs of `docs/tables.md`: each table is read as the page shows it, with the lines that it shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from genperf.table.opened import as_csv, understood

PAGE = (Path(__file__).parents[2] / "docs" / "tables.md").read_text(encoding="utf-8")
SECTIONS = PAGE.split("\n## ")[1:]
PAIRS = [
    pytest.param(*blocks, re.findall(r"^- (.*)$", section, re.MULTILINE), id=section.partition("\n")[0])
    for section in SECTIONS
    for blocks in re.findall(r"```text\n(.*?)```\n\n```csv\n(.*?)```", section, re.DOTALL)
]


def test_the_page_has_a_pair_in_each_section() -> None:
    assert len(PAIRS) == len(SECTIONS) == 16


@pytest.mark.parametrize(("before", "after", "steps"), PAIRS)
def test_a_table_is_read_as_the_page_shows(tmp_path: Path, before: str, after: str, steps: list[str]) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(before, encoding="utf-8")
    source = understood(path)
    assert as_csv(source) == after
    assert [str(step) for step in source.steps] == steps
