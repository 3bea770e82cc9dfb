"""The splits of a transformer on the page: time with memory beside it, as `predict` has them, and what fits."""

import numpy as np
import pandas as pd
import pytest
from chromium import Browser, page
from layouts import CAPACITY_GIB, layout_runs

import genperf as gp
from genperf.reporting import View
from genperf.result import FitResult
from genperf.search import layouts

AT = {"dp": 2, "tp": 2, "pp": 2, "mbs": 1, "gbs": 64, "layers": 24, "nodes": 2}


@pytest.fixture(scope="module")
def fitted() -> FitResult:
    table = gp.read_table(
        layout_runs(), time="s", intrinsic="layers,mbs,gbs", extrinsic="dp,tp,pp,nodes", also="memory=gib:GiB"
    )
    return gp.fit(table, "transformer", draws=20)


@pytest.fixture(scope="module")
def text(fitted: FitResult) -> str:
    return page(fitted, View(AT, capacity={"memory": CAPACITY_GIB}))


def place(fitted: FitResult, name: str) -> int:
    return [f.name for f in fitted.schema.factors].index(name)


def test_memory_follows_the_sliders_beside_the_time(browser: Browser, fitted: FitResult, text: str) -> None:
    browser.open(text)
    for tp, nodes in ((2, 2), (4, 4), (1, 1)):
        browser.js("set(arguments[0], arguments[1])", place(fitted, "tp"), tp)
        expected = fitted.predict({**AT, "tp": tp, "nodes": nodes}).iloc[0]
        # The nodes follow the devices: 4 on a node.
        assert browser.js("return state.x[arguments[0]]", place(fitted, "nodes")) == nodes
        there = browser.js(
            "return [$('value').dataset.value, ...['value', 'upper'].map((k) => $('further-0').dataset[k])]"
        )
        wanted = [expected.time, expected.memory, expected.memory_upper]
        np.testing.assert_allclose([float(v) for v in there], wanted, rtol=1e-6)
        lower, upper = expected.memory_lower, expected.memory_upper
        word = "fits" if upper <= CAPACITY_GIB else "does not fit" if lower > CAPACITY_GIB else "may not fit"
        assert browser.js("return document.querySelector('.keeps').dataset.keeps") == word
    assert word == "does not fit"


def test_the_splits_are_those_that_optimize_proposes(browser: Browser, fitted: FitResult, text: str) -> None:
    browser.open(text)
    proposed = layouts(fitted, 8, {"layers": 24, "gbs": 64, "mbs": 1})
    best = gp.optimize(fitted, proposed.over, proposed.where, top=100).best
    there = browser.js("return splitsAt(state.x)")
    frame = pd.DataFrame(there, columns=[f.name for f in fitted.schema.factors])
    ways = ["dp", "tp", "pp"]
    assert sorted(map(tuple, frame[ways].to_numpy())) == sorted(map(tuple, best[ways].to_numpy()))
    assert len(frame) > 5


def test_data_ways_without_a_column_take_the_devices_that_the_others_leave(browser: Browser, fitted: FitResult) -> None:
    runs = layout_runs()
    roles = {"time": "s", "intrinsic": "layers,mbs,gbs", "extrinsic": "gpus,tp,pp,nodes"}
    counted = gp.fit(gp.read_table(runs.assign(gpus=runs.dp * runs.tp * runs.pp), **roles), "transformer", draws=20)
    found = []
    for model in (fitted, counted):
        proposed = layouts(model, 8, {"layers": 24, "gbs": 64, "mbs": 1})
        found.append(gp.optimize(model, proposed.over, proposed.where, top=100).best[["tp", "pp"]].to_numpy())
    browser.open(page(counted, View({**{name: AT[name] for name in AT if name != "dp"}, "gpus": 8})))
    places = [place(counted, name) for name in ("gpus", "tp", "pp")]
    there = [[row[k] for k in places] for row in browser.js("return splitsAt(state.x)")]
    assert {row[0] for row in there} == {8}
    assert sorted(row[1:] for row in there) == sorted(found[0].tolist()) == sorted(found[1].tolist())
    for tp, gpus in ((4, 8), (16, 32)):
        browser.js("set(arguments[0], arguments[1])", places[1], tp)
        assert browser.js("return state.x[arguments[0]]", places[0]) == gpus


def test_a_split_that_is_chosen_sets_the_sliders(browser: Browser, fitted: FitResult, text: str) -> None:
    browser.open(text)
    first = browser.text("splits-first")
    assert first.startswith("The fastest that fits is ")
    browser.js("document.querySelector('#splits tbody button').click()")
    browser.settle()
    chosen = dict(zip([f.name for f in fitted.schema.factors], browser.js("return state.x"), strict=True))
    assert ", ".join(f"{w} {chosen[w]:g}" for w in ("dp", "tp", "pp")) in first
    expected = fitted.predict(chosen).iloc[0]
    assert float(browser.js("return $('value').dataset.value")) == pytest.approx(expected.time, rel=1e-9)
    assert expected.memory_upper <= CAPACITY_GIB
    # Memory is told in the row, and the row is marked.
    cells = browser.texts("#splits tr.now td")
    assert float(cells[6]) == pytest.approx(expected.memory, rel=1e-3)
    assert "fits" in cells


def test_another_capacity_changes_what_fits_and_stays_in_the_address(browser: Browser, text: str) -> None:
    browser.open(text)
    browser.js("const e = $('capacity-memory'); e.value = '2'; e.dispatchEvent(new Event('change'))")
    assert browser.js("return document.querySelector('.keeps').dataset.keeps") == "does not fit"
    assert browser.text("splits-first").startswith("The fastest, though none fits, is ")
    assert "capacity.memory=2" in browser.js("return location.hash")
    browser.js("const e = $('capacity-memory'); e.value = ''; e.dispatchEvent(new Event('change'))")
    assert browser.js("return document.querySelector('.keeps')") is None


def test_what_a_layout_needs_decides_what_fits(browser: Browser) -> None:
    runs = layout_runs()
    runs["s"] = np.where(runs.gib > 18.0, "OOM", runs.s.astype(str))
    table = gp.read_table(runs.drop(columns="gib"), time="s", intrinsic="layers,mbs,gbs", extrinsic="dp,tp,pp,nodes")
    result = gp.fit(table, "transformer", draws=5)
    assert result.feasibility.need is not None
    browser.open(page(result, View(AT)))
    rows = browser.js("return splitsAt(state.x)")
    expected = result.predict(pd.DataFrame(rows, columns=[f.name for f in result.schema.factors]))["fits"]
    there = browser.js("return arguments[0].map((x) => fitsAt(sheet.feasibility, x))", rows)
    np.testing.assert_allclose(there, expected, atol=1e-6)
    assert min(there) < 0.5 < max(there)
    heads = browser.texts("#splits th")
    assert "fits (%)" in heads
