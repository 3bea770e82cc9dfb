"""The card that says whether the measured efficiency is normal, with its small figure."""

from __future__ import annotations

import pandas as pd
from chromium import Browser

import genperf as gp
from genperf.reporting import page


def page_of(runs: pd.DataFrame) -> str:
    table = gp.read_table(runs, throughput="images_per_sec", work="gpus", extrinsic="gpus,nodes")
    return page(gp.fit(table, model="auto"))


def test_a_low_efficiency_is_marked_outside_the_bar(browser: Browser) -> None:
    browser.open(page_of(pd.DataFrame({"gpus": [8, 16], "nodes": [1, 2], "images_per_sec": [2900.0, 1500.0]})))
    card = browser.js(
        "return [...document.querySelectorAll('.answer')].find((a) => a.textContent.startsWith('Is this'))"
    )
    assert "26 %: low" in card.text
    assert "published series" in browser.js("return arguments[0].textContent", card)
    low, value = browser.js(
        "const c = arguments[0]; return [+c.querySelector('rect').getAttribute('x'), "
        "+c.querySelector('circle').getAttribute('cx')]",
        card,
    )
    assert value < low
    label = browser.js("return arguments[0].querySelector('svg').getAttribute('aria-label')", card)
    assert label.startswith("25.9 %, nine in ten from ")
    assert not browser.complaints()


def test_counts_of_something_else_have_no_card(browser: Browser) -> None:
    runs = pd.DataFrame({"cores": [1, 2, 4, 8], "s": [80.0, 41.0, 22.0, 13.0]})
    browser.open(page(gp.fit(gp.read_table(runs, time="s", extrinsic="cores"), model="auto")))
    assert (
        browser.js("return [...document.querySelectorAll('.answer h2')].map((h) => h.textContent)").count(
            "Is this normal?"
        )
        == 0
    )
