"""A headless Chromium with the network switched off; where there is none, these tests skip and say why."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chromium import FLAGS, Browser


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
    for flag in [*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    # Nothing is to go out through a proxy, also not the driver's own connection.
    environment = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
    found = selenium.Chrome(options=options, service=Service(program, env=environment))
    yield found
    found.quit()


@pytest.fixture
def browser(driver: Any, tmp_path: Path) -> Iterator[Browser]:
    """Yield a browser whose pages complain of nothing."""
    shown = Browser(driver, tmp_path)
    yield shown
    assert not shown.complaints()
