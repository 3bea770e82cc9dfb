"""Runs that failed, on the page: the probability of fitting is that of Python, and is told in words."""

import numpy as np
import pandas as pd
from chromium import Browser

import genperf as gp
from genperf.reporting import View, page
from genperf.result import FitResult

#: Seconds where 1.2·batch + 20/gpus fits below 45, less of it on the small card.
RUNS = pd.DataFrame(
    [
        (n, b, kind, 0.02 * b + 1 / n if 10 + 1.2 * b + 20 / n < room else "OOM")
        for n in (1, 2, 4, 8)
        for b in (4, 8, 16, 32)
        for kind, room in (("large", 45), ("small", 30))
    ],
    columns=["gpus", "batch", "card", "s"],
)


def fitted() -> FitResult:
    result = gp.fit(
        RUNS, "generic", draws=10, structure="separable", lam=1e-4,
        time="s", extrinsic="gpus", intrinsic="batch", categorical="card",
    )  # fmt: skip
    return result


def test_the_probability_of_fitting_is_pythons(browser: Browser) -> None:
    result = fitted()
    browser.open(page(result))
    expected = result.predict({"gpus": [1, 2, 3, 8, 64], "batch": [2, 4, 12, 20, 32, 99], "card": ["large", "small"]})
    rows = [[row[f.name] for f in result.schema.factors] for row in expected.to_dict("records")]
    there = browser.js("return arguments[0].map((x) => fitsAt(sheet.feasibility, x))", rows)
    np.testing.assert_allclose(there, expected["fits"], atol=1e-6)
    assert 0.0 < min(there) + 0.02 < 0.5 < max(there)
    assert not browser.complaints()


def test_a_run_that_fails_is_told_first_and_in_the_what_if(browser: Browser) -> None:
    result = fitted()
    browser.open(page(result, View({"gpus": 8, "batch": 32, "card": "small"})))
    assert "At 8 gpus, such a run most likely fails" in browser.js("return $('first').textContent")
    assert browser.js("return $('fits').textContent").startswith("Such a run most likely fails")
    place = [f.name for f in result.schema.factors].index("batch")
    browser.js("set(arguments[0], 4)", place)
    assert browser.js("return $('fits').textContent") == ""
    assert browser.js("return getComputedStyle($('fits')).display") == "none"


def test_nothing_is_told_where_no_run_failed(browser: Browser) -> None:
    result = gp.fit(RUNS[RUNS.s != "OOM"], "a*batch + c", draws=5, time="s", extrinsic="gpus", intrinsic="batch")
    browser.open(page(result))
    assert browser.js("return sheet.feasibility") is None
    assert browser.js("return $('fits').textContent") == ""
