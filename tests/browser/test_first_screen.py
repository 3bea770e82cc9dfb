"""The first screen of a page: the decision, the chart, the card's table, the verdict; and what is printed of it."""

import re

import pandas as pd
import pytest
from chromium import Browser, page
from test_report_page import fitted, runs

import genperf as gp
from genperf.asking.answer import rows_of
from genperf.reporting import View
from genperf.reporting.place import place_of
from genperf.result import FitResult

SCREENS = {"desktop": (1280, 800), "phone": (390, 844)}
VIEW = View({"workers": 32}, price="2€/h", samples="1B")
CELLS = "[...document.querySelectorAll('#glance-table tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))"


@pytest.fixture(scope="module")
def one() -> FitResult:
    result: FitResult = fitted(runs().query("framework == 'mxnet' and batch == 32"), "auto", intrinsic="batch")
    return result


def bottom(browser: Browser, selector: str) -> float:
    script = "return document.querySelector(arguments[0]).getBoundingClientRect().bottom"
    return float(browser.js(script, selector))


@pytest.mark.parametrize("screen", SCREENS)
def test_decision_chart_table_and_verdict_are_on_the_first_screen(
    browser: Browser, one: FitResult, screen: str
) -> None:
    width, height = SCREENS[screen]
    browser.open(page(one, VIEW), width)
    browser.settle()
    order = ["h1", "#first", "#glance svg[role=img]", "#glance-table table", "#glance-verdict p"]
    ends = [bottom(browser, part) for part in order]
    assert ends[-1] <= height
    assert ends[:3] == sorted(ends[:3])
    if screen == "phone":
        assert ends == sorted(ends)
    assert browser.js("return document.documentElement.scrollWidth") <= width
    sides = browser.js("const t = document.querySelector('#glance-table table'); "
                       "return [t.scrollWidth, t.parentElement.clientWidth]")  # fmt: skip
    assert sides[0] <= sides[1]


def test_the_decision_is_one_sentence_of_at_most_three_numbers(browser: Browser, one: FitResult) -> None:
    for view in (View(), VIEW, View({"workers": 512}), View(price="2€/h", samples="1B", deadline="20d")):
        browser.open(page(one, view))
        decision = browser.text("first")
        assert len(re.findall(r"\d[\d.,]*", decision)) <= 3
        assert decision.count(". ") == 0
        assert len(decision.split()) < 25


def test_counts_of_the_axis_are_written_out(browser: Browser, one: FitResult) -> None:
    browser.open(page(one, View({"workers": 2048})))
    ticks = browser.texts("svg text")
    assert "1024" in ticks
    assert "1,020" not in ticks


def test_the_table_is_that_of_the_terminals_card(browser: Browser, one: FitResult) -> None:
    browser.open(page(one, VIEW))
    cells = browser.js(f"return {CELLS}")
    place = place_of(one, VIEW.about(one, {}), VIEW.target, VIEW.along)
    assert cells == [[*row[:4]] for row in rows_of(place.answer)]
    assert [value.partition(" ")[2] for name, value, *_ in cells if name in ("whole job", "job's cost")] == ["h", "€"]
    assert browser.text("glance-verdict").startswith(place.answer.verdict)
    steps = "[...document.querySelectorAll('#ladder tbody tr')].map((r) => [r.cells[0].textContent, r.className])"
    ladder = browser.js(f"return {steps}")
    assert ladder[0] == ["1", ""]
    assert ladder[-1] == ["32", "predicted"]


def test_axes_have_numbers_in_one_notation(browser: Browser, one: FitResult) -> None:
    browser.open(page(one, VIEW))
    texts = browser.texts("#glance svg[role=img] text")
    numbers = [text for text in texts if re.match(r"\d", text)]
    assert len(numbers) > 6
    assert all(re.fullmatch(r"\d{1,3}(,\d{3})*(\.\d+)?", number) for number in numbers)


def test_a_fleet_names_the_sick_series_first(browser: Browser) -> None:
    """Two nets lose 1 % with each doubling, the third a third."""
    rows = [
        (net, n, 32, 0.3 * loss**k * (1 + 0.001 * ((7 * n + len(net)) % 5)))
        for net, loss in (("good", 1.01), ("sick", 1.5), ("fine", 1.012))
        for k, n in enumerate((1, 2, 4, 8, 16))
    ]
    frame = pd.DataFrame(rows, columns=["net", "workers", "batch", "seconds"])
    result = gp.fit(gp.read_table(frame, time="seconds", extrinsic="workers", intrinsic="batch", group="net"), draws=60)
    browser.open(page(result))
    look = browser.text("look")
    assert re.match(
        r"Look at sick first: its efficiency at 32 workers is \d+ %; half of the series reach \d+ %\.", look
    )
    names = browser.texts("#overview tbody tr > :nth-child(1)")
    assert names[0] == "sick"
    assert bottom(browser, "#overview tbody tr") < SCREENS["desktop"][1]
    assert browser.text("first").startswith("sick: ")


def test_groups_that_are_alike_name_the_fastest(browser: Browser) -> None:
    frame = pd.DataFrame({"gpus": [1, 2, 4, 8] * 2, "precision": ["fp16"] * 4 + ["fp32"] * 4})
    frame["images_per_s"] = [1200, 2350, 4600, 9000, 400, 790, 1560, 3080]
    result = gp.fit(frame, throughput="images_per_s", extrinsic="gpus", group="precision", draws=60)
    browser.open(page(result))
    assert re.match(r"At 16 gpus fp16 is the fastest, 2\.\d+ x as fast as fp32; the least ", browser.text("look"))


def test_one_series_prints_on_four_pages_with_each_chart_below_its_title(browser: Browser, one: FitResult) -> None:
    browser.open(page(one, VIEW))
    assert len(re.findall(rb"/Type /Page\b", browser.printed(preferCSSPageSize=True))) <= 4
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    parted = browser.js("""
      const cards = [...document.querySelectorAll('figure')].map((f) => f.closest('.card'));
      const shown = cards.filter((card) => card.getClientRects().length);
      return shown.filter((card) => getComputedStyle(card).breakInside !== 'avoid').length;""")
    assert parted == 0
