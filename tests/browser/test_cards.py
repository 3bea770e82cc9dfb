"""Cards and pages of some models: groups that borrow, slow steps, memory, runs that failed, a proposal."""

import re

import numpy as np
import pandas as pd
import pytest
from chromium import NARROW, Browser, page
from helpers import memory_model
from msgspec.structs import replace
from test_report_page import agrees

import genperf as gp
from genperf.panel.panel import Target
from genperf.reporting import View, proposal_page
from genperf.result import FitResult

# --- a group that borrows -------------------------------------------------------------------------------------------


def test_numbers_of_a_pooled_group(browser: Browser) -> None:
    # Twelve series to 32 workers, more than it takes to learn from; the thirteenth ends at 8.
    rows = [
        (f"net{k}", n, -(-n // 4), 0.1 * (k + 1) + 0.02 * (1 + k % 3) * np.log2(n))
        for k in range(13)
        for n in (1, 2, 4, 8, 16, 32)
        if k < 12 or n <= 8
    ]
    runs = pd.DataFrame(rows, columns=["net", "workers", "nodes", "seconds"])
    table = gp.read_table(runs, time="seconds", extrinsic="workers,nodes", group="net")
    result = gp.fit(table)["net12"]
    assert result.options["borrowed_to"] == 32
    browser.open(page(result))
    # One by one: a page is asked for a row at a time, and so are the nodes that go with the workers.
    for workers in (1, 8, 12, 16, 32, 64, 256):
        agrees(browser, result, {"workers": [workers], "nodes": [-(-workers // 4)]})


# --- why steps are slow, and whether that is normal -----------------------------------------------------------------


def cards_of(browser: Browser, step_s: list[float]) -> list[str]:
    runs = pd.DataFrame({"gpus": [8, 16, 32], "nodes": [1, 2, 4], "batch_per_gpu": 32, "step_s": step_s})
    table = gp.read_table(runs, time="step_s", extrinsic="gpus,nodes", intrinsic="batch_per_gpu")
    browser.open(page(gp.fit(table, hints={"bandwidth": "25Gbit/s", "parameters": "110M"})))
    return [text.replace("\N{NO-BREAK SPACE}", " ") for text in browser.texts(".answer")]


def test_a_low_efficiency_has_a_cause_and_the_run_that_decides(browser: Browser) -> None:
    cards = cards_of(browser, [0.30, 0.52, 0.61])
    (normal,), (card,) = ([t for t in cards if t.startswith(name)] for name in ("Is this normal?", "Why is it slow?"))
    assert "The exchange of 440 MB between 8 nodes needs at least 0.246 s" in normal
    assert "exchange not overlapped (" in card
    assert "To decide: a profile of one step at gpus=32" in card


def test_a_usual_efficiency_needs_none(browser: Browser) -> None:
    assert not any(text.startswith("Why is it slow?") for text in cards_of(browser, [0.30, 0.31, 0.32]))


def page_of(runs: pd.DataFrame) -> str:
    table = gp.read_table(runs, throughput="images_per_sec", work="gpus", extrinsic="gpus,nodes")
    return page(gp.fit(table, model="auto"))


def test_a_low_efficiency_is_marked_outside_the_bar(browser: Browser) -> None:
    browser.open(page_of(pd.DataFrame({"gpus": [8, 16], "nodes": [1, 2], "images_per_sec": [2900.0, 1500.0]})))
    card = browser.js(
        "return [...document.querySelectorAll('.answer')].find((a) => a.textContent.startsWith('Is this'))"
    )
    assert "26 % of one node's: low" in card.text
    assert "published series" in browser.js("return arguments[0].textContent", card)
    low, value = browser.js(
        "const c = arguments[0]; return [+c.querySelector('rect').getAttribute('x'), "
        "+c.querySelector('circle').getAttribute('cx')]",
        card,
    )
    assert value < low
    label = browser.js("return arguments[0].querySelector('svg').getAttribute('aria-label')", card)
    assert label.startswith("26 %, nine in ten from ")


def test_counts_of_something_else_have_no_card(browser: Browser) -> None:
    runs = pd.DataFrame({"cores": [1, 2, 4, 8], "s": [80.0, 41.0, 22.0, 13.0]})
    browser.open(page(gp.fit(gp.read_table(runs, time="s", extrinsic="cores"), model="auto")))
    assert browser.texts(".answer h2").count("Is this normal?") == 0


# --- a model of memory: its name and unit, and no word of times -----------------------------------------------------


def test_name_and_unit_stand_everywhere(browser: Browser) -> None:
    memory = memory_model()
    browser.open(page(memory))
    browser.js("document.querySelectorAll('details').forEach((d) => (d.open = true))")
    text = browser.js("return document.body.innerText + [...document.querySelectorAll('svg')].map((e) => "
                      "e.textContent + e.getAttribute('aria-label')).join(' ')")  # fmt: skip
    # One sentence gives the reason why efficiency and knee are left out.
    assert text.count("need a model of a time") == 1
    words = text.replace("need a model of a time", "").lower()
    assert "memory_gb (gb)" in words
    assert "what makes up memory_gb?" in words
    assert not [word for word in ("seconds", "time", "throughput", "perfect", " s to ") if word in words]
    assert browser.js("return document.getElementById('efficiency-card')") is None
    assert browser.js("return document.querySelectorAll('.curve').length") > 0
    value = memory.predict({"workers": browser.js("return state.x[sheet.along]"), "batch": 8})
    assert browser.text("value") == f"{value['memory_gb'].iloc[0]:.3g} GB"
    assert "memory_gb = " in browser.text("formula")
    assert "--quantity peak:GB" in text


def test_terms_where_no_factor_counts_the_workers(browser: Browser) -> None:
    runs = pd.DataFrame({"batch": [8, 16, 32, 64], "peak": [6.0, 8.1, 11.9, 20.0]})
    table = gp.read_table(runs, time="peak", intrinsic="batch")
    fitted = gp.fit(replace(table, target=Target("peak", "memory_gb", "GB"), notes=()), "w + a*batch", draws=20)
    browser.open(page(fitted))
    shorts = browser.js("return sheet.answers.map((a) => [a.question, a.short])")
    assert shorts[0] == ["How well does it scale?", "left out"]
    assert len(shorts) == 3
    heads = browser.texts("#stack th")
    assert heads[:3] == ["term", "memory_gb (GB)", "share (%)"]


# --- runs that failed: the probability of fitting is that of Python -------------------------------------------------

#: Seconds where 1.2·batch + 20/gpus fits below 45, less of it on the small card.
FAILED = pd.DataFrame(
    [
        (n, b, kind, 0.02 * b + 1 / n if 10 + 1.2 * b + 20 / n < room else "OOM")
        for n in (1, 2, 4, 8)
        for b in (4, 8, 16, 32)
        for kind, room in (("large", 45), ("small", 30))
    ],
    columns=["gpus", "batch", "card", "s"],
)


@pytest.fixture(scope="module")
def failing() -> FitResult:
    return gp.fit(
        FAILED, "generic", draws=10, structure="separable", lam=1e-4,
        time="s", extrinsic="gpus", intrinsic="batch", categorical="card",
    )  # fmt: skip


def test_the_probability_of_fitting_is_pythons(browser: Browser, failing: FitResult) -> None:
    result = failing
    browser.open(page(result))
    expected = result.predict({"gpus": [1, 2, 3, 8, 64], "batch": [2, 4, 12, 20, 32, 99], "card": ["large", "small"]})
    rows = [[row[f.name] for f in result.schema.factors] for row in expected.to_dict("records")]
    there = browser.js("return arguments[0].map((x) => fitsAt(sheet.feasibility, x))", rows)
    np.testing.assert_allclose(there, expected["fits"], atol=1e-6)
    assert 0.0 < min(there) + 0.02 < 0.5 < max(there)


def test_a_run_that_fails_is_told_first_and_in_the_what_if(browser: Browser, failing: FitResult) -> None:
    result = failing
    browser.open(page(result, View({"gpus": 8, "batch": 32, "card": "small"})))
    assert "At 8 gpus, such a run most likely fails" in browser.text("first")
    assert browser.text("fits").startswith("Such a run most likely fails")
    place = [f.name for f in result.schema.factors].index("batch")
    browser.js("set(arguments[0], 4)", place)
    assert browser.text("fits") == ""
    assert browser.js("return getComputedStyle($('fits')).display") == "none"


def test_nothing_is_told_where_no_run_failed(browser: Browser) -> None:
    result = gp.fit(FAILED[FAILED.s != "OOM"], "a*batch + c", draws=5, time="s", extrinsic="gpus", intrinsic="batch")
    browser.open(page(result))
    assert browser.js("return sheet.feasibility") is None
    assert browser.text("fits") == ""


# --- a proposal prints on two pages, fits a phone and asks for nothing ----------------------------------------------

RATES = pd.DataFrame({"gpus": [1, 2, 4, 8, 16], "nodes": [1, 1, 1, 1, 2], "images_per_s": [100.0, 190, 364, 696, 1200]})


@pytest.mark.parametrize("many", [False, True])
def test_a_proposal_prints_on_two_pages(browser: Browser, many: bool) -> None:
    counts = pd.DataFrame({"gpus": range(1, 41), "nodes": 1, "images_per_s": [100.0 * n**0.95 for n in range(1, 41)]})
    table = gp.read_table(counts if many else RATES, throughput="images_per_s", work="gpus", extrinsic="gpus,nodes")
    result = gp.fit(table, model="power-law" if many else "auto")
    path = browser.folder / "proposal.html"
    path.write_text(proposal_page(result, View(samples="1B")), encoding="utf-8")
    browser.driver.get_log("browser")
    browser.driver.get_log("performance")
    browser.driver.get(path.as_uri())
    printed = browser.printed(preferCSSPageSize=True)
    assert len(re.findall(rb"/Type /Page\b", printed)) == 2
    width, height = browser.js("const i = document.images[0]; return [i.naturalWidth, i.naturalHeight]")
    assert width > height > 0
    assert not browser.requests()
    size = {"width": NARROW, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    assert browser.js("return document.documentElement.scrollWidth") <= NARROW
