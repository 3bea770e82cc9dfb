"""A headless Chromium with the network switched off; where there is none, these tests skip and say why."""

import base64
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --disable-extensions "
    "--host-resolver-rules=MAP*~NOTFOUND"
)
NARROW, WIDE = 360, 1920


class Browser:
    """What the tests do with a page."""

    def __init__(self, driver: Any, folder: Path) -> None:
        self.driver, self.folder = driver, folder

    def open(self, html: str, width: int = 1280, *, dark: bool = False, name: str = "report.html") -> None:
        path = self.folder / name
        path.write_text(html, encoding="utf-8")
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        self.driver.get(path.as_uri())
        assert self.js("return document.documentElement.dataset.ready") == "yes", self.complaints()

    def js(self, code: str, *arguments: Any) -> Any:
        return self.driver.execute_script(code, *arguments)

    def settle(self) -> None:
        """Wait until what was asked for is drawn."""
        self.driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")

    def complaints(self) -> list[str]:
        """Return what stands in the console."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """Return every address that was asked for, the page itself and data: apart."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        asked = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
        return [url for url in asked if not url.startswith(("file://", "data:"))]

    def picture(self, path: Path) -> None:
        size = self.driver.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        shot = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
        path.write_bytes(base64.b64decode(shot["data"]))


def _programs() -> tuple[str, str]:
    browser = next((p for n in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(n))), None)
    driver = next((p for n in ("chromedriver", "chromium.chromedriver") if (p := shutil.which(n))), None)
    if browser is None or driver is None:
        pytest.skip("no Chromium with its driver here (Debian: apt-get install chromium chromium-driver)")
    return browser, driver


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    selenium = pytest.importorskip("selenium.webdriver", reason='selenium is missing: pip install "genperf[browser]"')
    from selenium.webdriver.chrome.service import Service

    browser, program = _programs()
    options = selenium.ChromeOptions()
    options.binary_location = browser
    for flag in [*FLAGS.split(), f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"]:
        options.add_argument(flag.replace("MAP*~", "MAP * ~"))
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    # Nothing is to go out through a proxy, also not the driver's own connection.
    environment = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
    found = selenium.Chrome(options=options, service=Service(program, env=environment))
    yield found
    found.quit()


@pytest.fixture
def browser(driver: Any, tmp_path: Path) -> Browser:
    return Browser(driver, tmp_path)
