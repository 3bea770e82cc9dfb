"""The picture of the report that the README and the site open with, of the table on the site's first page.

    python -m experiments report_picture [--picture docs/images/report.png]

Needs Chromium with its driver (Debian: apt-get install chromium chromium-driver) and `pip install ".[report,browser]"`.
Fonts and the browser's version change pixels, so this is drawn by hand, not in the tests.
"""

from __future__ import annotations

import base64
import shutil
import sys
import tempfile
from pathlib import Path

from experiments.shared import IMAGES
from genperf.cli.main import run as command

#: The table of the site's first page.
TABLE = Path("docs/examples/resnet.csv")
TITLE = "ResNet-50 in MXNet, measured up to 16 GPUs"
WIDTH, HEIGHT = 1280, 1430
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run")


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


def run(picture: Path = IMAGES / "report.png") -> None:
    """Write the report of the table, and take its picture."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        command(["report", str(TABLE), "--title", TITLE, "-o", str(page)])
        photograph(page, picture)
    print(f"wrote {picture}, {picture.stat().st_size / 1000:.0f} kB")
