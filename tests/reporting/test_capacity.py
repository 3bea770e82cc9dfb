"""What a device holds, on the page and at the command line: no browser is needed."""

from pathlib import Path

import pandas as pd
import pytest
from helpers import Shell, cases_in_text, done, refusal
from layouts import layout_runs
from test_page import data_of, fitted, runs

import genperf as gp
from genperf.errors import GenperfError
from genperf.reporting import View, page


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    table = gp.read_table(
        layout_runs(), time="s", intrinsic="layers,mbs,gbs", extrinsic="dp,tp,pp,nodes", also="memory=gib:GiB"
    )
    result = gp.fit(table, "transformer", draws=10)
    path = tmp_path_factory.mktemp("capacity") / "model.json"
    gp.save_model(result, path)
    return path


def test_the_page_holds_memory_splits_and_capacity(model: Path, shell: Shell) -> None:
    done(shell, "report", str(model), "--capacity", "memory=20GiB", "-o", "page.html")
    data = data_of(Path("page.html").read_text())
    assert data["capacity"] == {"memory": 20.0}
    sheet = data["groups"][0]["sheet"]
    (memory,) = sheet["further"]
    assert (memory["name"], memory["unit"]) == ("memory", "GiB")
    assert len(memory["measured"]) == len(layout_runs())
    names = [f["name"] for f in sheet["factors"]]
    assert [names[k] for k in sheet["splits"]["ways"]] == ["dp", "tp", "pp"]
    assert sheet["splits"]["inside"] == 4


@cases_in_text("given, message")
def test_a_capacity_that_nothing_predicts_is_refused(model: Path, given: str, message: str, shell: Shell) -> None:
    assert message in refusal(shell, "report", str(model), "--capacity", given, "-o", "no.html")
    assert not Path("no.html").exists()


def test_a_page_without_memory_has_none_of_it() -> None:
    data = data_of(page(fitted(runs())))
    sheet = data["groups"][0]["sheet"]
    assert (data["capacity"], sheet["further"], sheet["splits"]) == ({}, [], None)


def test_a_memory_alone_has_a_capacity_too() -> None:
    frame = pd.DataFrame({"workers": [1, 2, 4, 8], "gb": [20.0, 12.1, 8.0, 6.1]})
    result = gp.fit(gp.read_table(frame, quantity="gb:GB", extrinsic="workers"), "c + s/workers", draws=5)
    assert data_of(page(result, View(capacity={"gb": 16})))["capacity"] == {"gb": 16.0}
    with pytest.raises(GenperfError, match="memory"):
        page(result, View(capacity={"memory": 16}))
