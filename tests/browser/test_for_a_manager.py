"""One sentence first, all groups in a table that sorts, a link that shows the same, CSV, folded parts, the keyboard."""

import csv
import io
from typing import Any

import pandas as pd
import pytest
from chromium import NARROW, WIDE, Browser, page
from test_report_page import HOSTILE, fitted, runs

import genperf as gp
from genperf.result import FitResult, GroupedResult

SCALES = {"slow, large": 3.0, HOSTILE[1]: 1.0, "middle": 2.0}


@pytest.fixture(scope="module")
def groups() -> GroupedResult:
    parts = [runs(scale, seed=k).query("framework == 'mxnet'").assign(net=name)
             for k, (name, scale) in enumerate(SCALES.items())]  # fmt: skip
    alone = runs().query("workers == 1")[:1].assign(net="too short")
    result: GroupedResult = fitted(pd.concat([*parts, alone]), "generic", intrinsic="batch", group="net")
    return result


@pytest.fixture(scope="module")
def one() -> FitResult:
    result: FitResult = fitted(runs().query("framework == 'mxnet'"), "generic", intrinsic="batch")
    return result


def shown(browser: Browser) -> list[str]:
    return browser.texts("#overview tbody tr > :nth-child(1)")


def saved(browser: Browser, selector: str) -> list[dict[str, str]]:
    """Return the rows of the CSV that a button saves."""
    text = browser.driver.execute_async_script(
        """const done = arguments[1], make = URL.createObjectURL;
        URL.createObjectURL = (blob) => { blob.text().then(done); return make.call(URL, blob); };
        document.querySelector(arguments[0]).click();
        URL.createObjectURL = make;""",
        selector,
    )
    return list(csv.DictReader(io.StringIO(text)))


def test_the_first_sentence_tells_the_prediction(browser: Browser, one: FitResult) -> None:
    browser.open(page(one))
    first = browser.text("first")
    assert first.startswith("Growing to 32 workers pays: expect ")
    assert " samples/s instead of " in first
    assert browser.js("return $('first').compareDocumentPosition($('answers')) & 4")


def test_all_groups_stand_in_front_and_sort(browser: Browser, groups: GroupedResult) -> None:
    browser.open(page(groups))
    assert browser.js("return $('overview').compareDocumentPosition($('answers')) & 4")
    names = browser.js("return PAGE.groups.map(nameOf)")
    assert shown(browser) == names
    efficiencies = browser.js("return PAGE.groups.map((g) => (g.failed ? 1e9 : g.sheet.summary.efficiency))")
    assert efficiencies == sorted(efficiencies)
    assert {*names} == {*SCALES, "too short"}
    head = browser.texts("#overview th")
    assert head == ["group", "time (s)", "from", "to", "verdict", "efficiency (%)"]
    times = browser.driver.find_elements("css selector", "#overview th button")[1]
    times.send_keys("\ue007")  # enter: the keyboard is enough
    assert shown(browser) == [HOSTILE[1], "middle", "slow, large", "too short"]
    assert browser.js("return document.querySelector('#overview th:nth-child(2)').ariaSort") == "ascending"
    assert browser.js("return document.activeElement.textContent") == "time (s)"
    browser.driver.switch_to.active_element.send_keys("\ue007")
    assert shown(browser) == ["slow, large", "middle", HOSTILE[1], "too short"]


def test_a_group_is_chosen_in_the_table(browser: Browser, groups: GroupedResult) -> None:
    browser.open(page(groups))
    browser.js("document.querySelectorAll('#overview tbody button')[2].click()")
    assert browser.js("return [state.group, $('group').value]") == [2, "2"]
    current = browser.js("return document.querySelector('#overview tr[aria-current]').cells[0].textContent")
    assert current == shown(browser)[2]


def test_a_link_shows_the_same(browser: Browser, groups: GroupedResult) -> None:
    browser.open(page(groups))
    assert browser.js("return location.hash") == ""
    browser.js("choose(1); set(sheet.along, 48); set(sheet.factors.findIndex((f) => f.name === 'batch'), 20)")
    browser.js("document.querySelectorAll('#overview th button')[1].click()")
    link = browser.js("return location.href")
    before = browser.js("return [state.group, state.x, $('value').textContent, $('first').textContent]")
    order = shown(browser)
    browser.driver.get("about:blank")
    browser.driver.get(link)
    assert browser.js("return [state.group, state.x, $('value').textContent, $('first').textContent]") == before
    assert shown(browser) == order
    typed = browser.driver.find_element("css selector", "input[aria-label='batch, exact value']")
    assert typed.get_property("value") == "20"


@pytest.mark.parametrize("words", ["group=nobody", "at.workers=-3&at.batch=many", "sort=77,1", "%%%&at.=2"])
def test_a_broken_link_shows_the_page_as_it_opens(browser: Browser, groups: GroupedResult, words: str) -> None:
    browser.open(page(groups))
    expected = browser.js("return [state.group, state.x, state.sort]")
    browser.driver.get(browser.js("return location.href").split("#")[0] + "#" + words)
    browser.settle()
    assert browser.js("return [state.group, state.x, state.sort]") == expected


def test_tables_are_saved_as_csv(browser: Browser, groups: GroupedResult) -> None:
    browser.open(page(groups))
    rows = saved(browser, "#overview .save")
    assert {row["net"] for row in rows} == {*SCALES}
    assert float(rows[0]["lower"]) < float(rows[0]["time"]) < float(rows[0]["upper"])
    predicted = saved(browser, "#scaling-table .save")
    count = int(float(predicted[-1]["workers"]))
    batch = browser.js("return state.x[sheet.factors.findIndex((f) => f.name === 'batch')]")
    expected = groups[rows[0]["net"]].predict({"workers": count, "batch": batch}).iloc[0]
    assert float(predicted[-1]["time"]) == pytest.approx(expected["time"], rel=1e-9)
    assert predicted[-1]["reason"] == expected["reason"]


def test_expert_parts_are_folded_and_printed(browser: Browser, one: FitResult) -> None:
    browser.open(page(one))
    folded: Any = browser.js(
        "return [...document.querySelectorAll('details.card:not([open])')].map((d) => [d.innerText, d.open])"
    )
    assert [text.strip() for text, _ in folded] == [
        "Was it right before?", "The model and its constants", "The data", "How it was fitted",
    ]  # fmt: skip
    assert not any(is_open for _, is_open in folded)
    browser.driver.find_elements("css selector", "details.card:not([open]) > summary")[1].send_keys("\ue007")
    assert browser.js("return $('constants').getClientRects().length") > 0
    browser.js("dispatchEvent(new Event('beforeprint'))")
    assert browser.js("return [...document.querySelectorAll('details.card')].every((d) => d.open)")
    assert browser.js("return $('scaling-table').parentElement.open") is False


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_groups_fit_every_screen(browser: Browser, groups: GroupedResult, width: int, dark: bool) -> None:
    browser.open(page(groups), width, dark=dark)
    browser.settle()
    assert browser.js("return document.documentElement.scrollWidth") <= width


def test_groups_told_at_unlike_counts_say_so_and_nodes_follow_beyond_the_only_one(browser: Browser) -> None:
    """Group b was measured inside one node of 8 alone: its answer is for 16 gpus, on 2 nodes."""
    counts = {"a": (1, 2, 4, 8, 16), "b": (1, 2, 4, 8)}
    rows = [(net, n, max(1, n // 8), 1 + 0.03 * n) for net, several in counts.items() for n in several]
    table = pd.DataFrame(rows, columns=["net", "gpus", "nodes", "s"])
    result = gp.fit(table, time="s", extrinsic="gpus,nodes", group="net")
    browser.open(page(result))
    head = browser.texts("#overview th")
    assert head[-1] == "at gpus"
    cells = browser.texts("#overview tbody tr > :last-child")
    assert cells == ["32", "16"]
    assert [row["gpus"] for row in saved(browser, "#overview .save")] == ["32", "16"]
    browser.js("document.querySelectorAll('#overview tbody button')[1].click()")
    browser.settle()
    assert browser.js("return Object.fromEntries(sheet.factors.map((f, i) => [f.name, state.x[i]]))") == {
        "gpus": 16,
        "nodes": 2,
    }
    assert "measured at 1 only; follows gpus until it is moved" in browser.text("controls")
    expected = result["b"].predict(gpus=16).iloc[0]
    assert expected["nodes"] == 2
    assert float(browser.js("return $('value').dataset.shown")) == pytest.approx(expected["time"], rel=1e-9)


def test_the_single_run_of_a_group_is_told_at_its_own_count_and_moved(browser: Browser) -> None:
    rows = [("one", 1, 9.0), *(("series", n, 1 + 8 / n) for n in (1, 2, 4, 8))]
    table = pd.DataFrame(rows, columns=["net", "gpus", "s"])
    result = gp.fit(table, time="s", extrinsic="gpus", group="net")
    browser.open(page(result))
    cells = browser.texts("#overview tbody tr > :last-child")
    assert shown(browser) == ["series", "one"]
    assert cells == ["16", "2"]
    browser.js("choose(1)")
    assert "measured at 1 only" in browser.text("controls")
    browser.js("set(0, 4)")
    browser.settle()
    expected = result["one"].predict(gpus=4).iloc[0]
    assert browser.text("verdict") == expected["verdict"]
    assert float(browser.js("return $('value').dataset.value")) == pytest.approx(expected["time"], rel=1e-9)
