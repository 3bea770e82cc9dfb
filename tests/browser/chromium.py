"""What the tests do with a page in a browser."""

import base64
import json
from pathlib import Path
from typing import Any

from genperf import reporting
from genperf.reporting import View

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--disable-extensions",
    "--disable-dev-shm-usage",
    "--disable-component-update",
    "--disable-background-networking",
    "--no-first-run",
    # Whatever is asked for is not found.
    "--host-resolver-rules=MAP * ~NOTFOUND",
)
#: Pages with the results that they show, by these and what else is asked of a page.
_PAGES: dict[tuple[int, str], tuple[object, str]] = {}


def page(result: Any, *shown: View) -> str:
    """Return the page of a result, which is built once, however many tests open it."""
    key = id(result), repr(shown)
    if key not in _PAGES:
        _PAGES[key] = result, reporting.page(result, *shown)
    return _PAGES[key][1]


NARROW, WIDE, READY = 360, 1920, "return document.documentElement.dataset.ready"


class Browser:
    """What the tests do with a page."""

    def __init__(self, driver: Any, folder: Path) -> None:
        self.driver, self.folder, self.said = driver, folder, list[str]()

    def open(self, html: str, width: int = 1280, *, dark: bool = False, name: str = "report.html") -> None:
        from selenium.webdriver.support.ui import WebDriverWait

        path = self.folder / name
        path.write_text(html, encoding="utf-8")
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.said.clear()
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        # A window in front: a headless one without focus fires no focus events.
        self.driver.execute_cdp_cmd("Emulation.setFocusEmulationEnabled", {"enabled": True})
        self.driver.get(path.as_uri())  # On a busy machine it may return before the script has run.
        WebDriverWait(self.driver, 20).until(lambda _: self.js(READY), str(self.complaints()))

    def js(self, code: str, *arguments: Any) -> Any:
        return self.driver.execute_script(code, *arguments)

    def text(self, element: str) -> str:
        """Return the text of the element of an id, its blanks plain."""
        return str(self.js("return $(arguments[0]).textContent", element)).replace("\N{NO-BREAK SPACE}", " ")

    def texts(self, selector: str) -> list[str]:
        """Return the texts of all elements that a selector finds."""
        script = "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)"
        return list(self.js(script, selector))

    def settle(self) -> None:
        """Wait until what was asked for is drawn."""
        self.driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")

    def complaints(self) -> list[str]:
        """Return what the console has said of the page since it was opened."""
        self.said += [entry["message"] for entry in self.driver.get_log("browser")]
        return self.said

    def requests(self) -> list[str]:
        """Return every address that was asked for, the page itself and data: apart."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        asked = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
        return [url for url in asked if not url.startswith(("file://", "data:"))]

    def printed(self, **options: Any) -> bytes:
        """Return the page as PDF, once it is drawn; a busy browser may say once that printing failed."""
        from selenium.common.exceptions import WebDriverException

        self.settle()
        try:
            printed = self.driver.execute_cdp_cmd("Page.printToPDF", options)
        except WebDriverException:
            self.settle()
            printed = self.driver.execute_cdp_cmd("Page.printToPDF", options)
        return base64.b64decode(printed["data"])

    def picture(self, path: Path) -> None:
        size = self.driver.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        shot = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
        path.write_bytes(base64.b64decode(shot["data"]))
