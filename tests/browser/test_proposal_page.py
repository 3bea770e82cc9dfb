"""The proposal in a browser: it prints on two pages, fits a phone, and asks for nothing."""

from __future__ import annotations

import base64
import re

import pandas as pd
import pytest
from chromium import NARROW, Browser

import genperf as gp
from genperf.reporting import View, proposal_page

RUNS = pd.DataFrame({"gpus": [1, 2, 4, 8, 16], "nodes": [1, 1, 1, 1, 2], "images_per_s": [100.0, 190, 364, 696, 1200]})


@pytest.mark.parametrize("many", [False, True])
def test_a_proposal_prints_on_two_pages(browser: Browser, many: bool) -> None:
    counts = pd.DataFrame({"gpus": range(1, 41), "nodes": 1, "images_per_s": [100.0 * n**0.95 for n in range(1, 41)]})
    table = gp.read_table(counts if many else RUNS, throughput="images_per_s", work="gpus", extrinsic="gpus,nodes")
    result = gp.fit(table, model="power-law" if many else "auto")
    path = browser.folder / "proposal.html"
    path.write_text(proposal_page(result, View(samples="1B")), encoding="utf-8")
    browser.driver.get_log("browser")
    browser.driver.get_log("performance")
    browser.driver.get(path.as_uri())
    printed = base64.b64decode(browser.driver.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})["data"])
    assert len(re.findall(rb"/Type /Page\b", printed)) == 2
    width, height = browser.js("const i = document.images[0]; return [i.naturalWidth, i.naturalHeight]")
    assert width > height > 0
    assert not browser.complaints()
    assert not browser.requests()
    size = {"width": NARROW, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    assert browser.js("return document.documentElement.scrollWidth") <= NARROW
