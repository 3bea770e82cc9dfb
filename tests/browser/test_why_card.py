"""The card that says why steps are slow, beside the one that says that they are."""

from __future__ import annotations

import pandas as pd
from chromium import Browser

import genperf as gp
from genperf.reporting import page

CARDS = "return [...document.querySelectorAll('.answer')].map((card) => card.textContent)"


def cards_of(browser: Browser, step_s: list[float]) -> list[str]:
    runs = pd.DataFrame({"gpus": [8, 16, 32], "nodes": [1, 2, 4], "batch_per_gpu": 32, "step_s": step_s})
    table = gp.read_table(runs, time="step_s", extrinsic="gpus,nodes", intrinsic="batch_per_gpu")
    browser.open(page(gp.fit(table, hints={"bandwidth": "25Gbit/s", "parameters": "110M"})))
    return [str(text).replace("\N{NO-BREAK SPACE}", " ") for text in browser.js(CARDS)]


def test_a_low_efficiency_has_a_cause_and_the_run_that_decides(browser: Browser) -> None:
    cards = cards_of(browser, [0.30, 0.52, 0.61])
    (normal,), (card,) = ([t for t in cards if t.startswith(name)] for name in ("Is this normal?", "Why is it slow?"))
    assert "The exchange of 440 MB between 8 nodes needs at least 0.246 s" in normal
    assert "exchange not overlapped (" in card
    assert "To decide: a profile of one step at gpus=32" in card
    assert not browser.complaints()


def test_a_usual_efficiency_needs_none(browser: Browser) -> None:
    assert not any(text.startswith("Why is it slow?") for text in cards_of(browser, [0.30, 0.31, 0.32]))
