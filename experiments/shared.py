"""What experiments share: folders, tables in Markdown, pages from their templates, and the rows that a page has."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined

ROOT = Path(__file__).parents[1]
DATA, IMAGES, RESULTS = ROOT / "data", ROOT / "docs" / "images", ROOT / "experiments" / "results"


def markdown(head: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a table in Markdown.

    >>> print(markdown(["n", "s"], [(1, 0.5)]))
    | n | s |
    | --- | --- |
    | 1 | 0.5 |
    """
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in (head, ["---"] * len(head), *rows))


def markdown_of(frame: pd.DataFrame, number: str = ".3g") -> str:
    """Return a data frame as a table in Markdown; what is missing is empty."""
    cells = [
        ["" if pd.isna(v) else format(v, number) if isinstance(v, float) else v for v in row] for row in frame.values
    ]
    return markdown(list(map(str, frame.columns)), cells)


def page(name: str, **figures: object) -> str:
    """Return the page of a template in `pages/`: `{{ rate | f(".1f") }}` formats a figure, a data frame is a table.

    The `command` is that of the experiment of the page's name, where none is given.
    """
    environment = Environment(
        loader=FileSystemLoader(ROOT / "experiments" / "pages"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: markdown_of(value) if isinstance(value, pd.DataFrame) else value,
    )
    environment.filters |= {"f": format, "table": markdown_of}
    figures = {"command": f"python -m experiments {name.replace('-', '_')}", **figures}
    return environment.get_template(f"{name}.md.j2").render(figures) + "\n"


def rows_of_page(name: str) -> list[dict[str, str]]:
    """Return the rows of a page's first table, without what is bold; none where there is no page."""
    path = RESULTS / f"{name}.md"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    lines = re.split(r"\n(?!\|)", text[text.find("\n|") + 1 :], maxsplit=1)[0].splitlines() if "\n|" in text else []
    cells = [[cell.strip(" *") for cell in line.strip("|").split("|")] for line in lines]
    return [dict(zip(cells[0], row, strict=False)) for row in cells[2:]]


def chromium(*flags: str) -> Any:
    """Start Chromium without a window, with its driver; None where one of them, or selenium, is not there."""
    try:
        from selenium import webdriver
        from selenium.common.exceptions import WebDriverException
        from selenium.webdriver.chrome.service import Service
    except ImportError:
        return None
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or driver is None:
        return None
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", *flags):
        options.add_argument(flag)
    try:
        return webdriver.Chrome(options=options, service=Service(driver))
    except WebDriverException:
        return None
