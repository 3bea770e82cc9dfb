"""Tables as people keep them: what each column is read as, and what the question makes of it."""

import json
from pathlib import Path

import pandas as pd
import pytest

import genperf as gp
from genperf.panel.reading import read_columns
from genperf.table.opened import understood

SECTIONS = Path(__file__).with_name("tables.txt").read_text(encoding="utf-8").split("\n== ")[1:]


@pytest.mark.parametrize("section", [pytest.param(text, id=text.partition("\n")[0]) for text in SECTIONS])
def test_the_meaning_of_each_column(section: str, tmp_path: Path) -> None:
    _, head, text = section.split("\n", 2)
    case = {"roles": {}, "group": "", "want": None, **json.loads(head)}
    (tmp_path / "runs.csv").write_text(f"{text}\n", encoding="utf-8")
    source = understood(str(tmp_path / "runs.csv"))
    reading = read_columns(source.columns, at=case["at"], want=case["want"], units=source.units)
    assert (reading.scale, [*reading.quantities]) == (case["scale"], case["quantities"])
    assert {n: reading.table_columns[n].role for n in case["roles"]} == case["roles"]
    assert all(meaning.reasons for meaning in reading.table_columns.values())
    assert reading.roles.texts.get("group", "") == case["group"]


def test_a_table_of_another_library_is_read_as_a_frame() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    runs = {"gpus": [1, 2, 4, 8], "images/s": [410.2, 792.5, 1530.0, 2905.0]}
    pd.testing.assert_frame_equal(gp.read_table(pyarrow.table(runs)).frame, gp.read_table(pd.DataFrame(runs)).frame)


def test_names_that_tell_runs_of_the_same_numbers_apart_are_kinds() -> None:
    """A run of each device, up to four times as fast; three runs of one job, alike, are repeats of it."""
    devices = pd.DataFrame({"GPU": ["V100", "A100", "H100"], "gpus": 8, "step_s": [0.41, 0.19, 0.1]})
    assert gp.ask(devices, at={"GPU": "H100"}).answers[0].value == pytest.approx(0.1, rel=0.1)
    jobs = devices.assign(GPU=["run-a", "run-b", "run-c"], step_s=[0.41, 0.4, 0.42])
    assert gp.ask(jobs).answers[0].value == pytest.approx(0.41, rel=0.02)
