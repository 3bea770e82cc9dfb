"""The page of a group that borrows says what Python says."""

import numpy as np
import pandas as pd
from chromium import Browser
from test_report_page import agrees

import genperf as gp
from genperf.reporting import page


def test_numbers_of_a_pooled_group(browser: Browser) -> None:
    # Twelve series to 32 workers: as many as it takes to learn from; the thirteenth ends at 8.
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
