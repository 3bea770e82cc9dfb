"""The picture of the report that the README opens with, of the bundled measurements.

    python experiments/report_picture.py [-o docs/images/report.png]

Needs Chromium with its driver (Debian: apt-get install chromium chromium-driver) and `pip install ".[report,browser]"`.
Fonts and the browser's version change pixels, so this is drawn by hand, not in the tests.
"""

from __future__ import annotations

import argparse
import base64
import shutil
import sys
import tempfile
from pathlib import Path

import genperf as gp
from genperf.reporting import View

#: Measured up to so many devices; the page is asked about twice as many.
KNOWN = 16
SERIES = ("official-tensorflow2-2.3.0-resnet50_v1.5-fp16", "128")
WIDTH, HEIGHT = 1280, 1430
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run")


def write_page(path: Path) -> None:
    """Fit the series up to KNOWN devices and write the report of one."""
    table = gp.datasets.load("dlperf", categorical="", group="config,batch_per_device")
    counts = table.frame.groupby(list(table.group))["devices"].transform("nunique")
    known = table.take(((counts >= 5) & (table.frame["devices"] <= KNOWN)).to_numpy())
    title = f"ResNet-50 in TensorFlow, measured up to {KNOWN} GPUs"
    gp.report(gp.fit(known, "auto", seed=0)[SERIES], path, View(title=title))


def photograph(page: Path, picture: Path) -> None:
    """Take a picture of the page's top."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or driver is None:
        sys.exit("no Chromium with its driver here (Debian: apt-get install chromium chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    with tempfile.TemporaryDirectory() as profile:
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        window = webdriver.Chrome(options=options, service=Service(driver))
        try:
            size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
            window.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            window.get(page.resolve().as_uri())
            window.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
            shot = window.execute_cdp_cmd("Page.captureScreenshot", {})
        finally:
            window.quit()
    picture.parent.mkdir(parents=True, exist_ok=True)
    picture.write_bytes(base64.b64decode(shot["data"]))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("-o", "--output", type=Path, default=Path("docs/images/report.png"))
    output = arguments.parse_args().output
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        write_page(page)
        photograph(page, output)
    print(f"wrote {output}, {output.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
