"""The page of a model of memory: its name and unit, and no word of times."""

import pandas as pd
import pytest
from chromium import Browser
from msgspec.structs import replace

import genperf as gp
from genperf.panel.panel import Target
from genperf.reporting import page
from genperf.result import FitResult


@pytest.fixture(scope="module")
def memory() -> FitResult:
    """Return M = 4 + 0.25·batch + 16/workers, in GB."""
    rows = [(n, b, (4 + 0.25 * b + 16 / n) * (1 + 0.01 * ((n + b) % 3 - 1))) for n in (1, 2, 4, 8) for b in (8, 16)]
    runs = pd.DataFrame(rows, columns=["workers", "batch", "peak"])
    table = gp.read_table(runs, time="peak", extrinsic="workers", intrinsic="batch")
    return gp.fit(
        replace(table, target=Target("peak", "memory_gb", "GB"), notes=()), "w + a*batch + s/workers", draws=20
    )


def test_name_and_unit_stand_everywhere(browser: Browser, memory: FitResult) -> None:
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
    assert browser.js("return $('value').textContent") == f"{value['memory_gb'].iloc[0]:.3g} GB"
    assert "memory_gb = " in browser.js("return $('formula').textContent")
    assert "--quantity peak:GB" in text
    assert not browser.complaints()


def test_terms_where_no_factor_counts_the_workers(browser: Browser) -> None:
    runs = pd.DataFrame({"batch": [8, 16, 32, 64], "peak": [6.0, 8.1, 11.9, 20.0]})
    table = gp.read_table(runs, time="peak", intrinsic="batch")
    fitted = gp.fit(replace(table, target=Target("peak", "memory_gb", "GB"), notes=()), "w + a*batch", draws=20)
    browser.open(page(fitted))
    shorts = browser.js("return sheet.answers.map((a) => [a.question, a.short])")
    assert shorts[0] == ["How well does it scale?", "left out"]
    assert len(shorts) == 3
    heads = browser.js("return [...document.querySelectorAll('#stack th')].map((e) => e.textContent)")
    assert heads[:3] == ["term", "memory_gb (GB)", "share (%)"]
    assert not browser.complaints()
