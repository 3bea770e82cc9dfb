"""What experiments share: folders, tables in Markdown, pages from their templates, and the rows that a page has."""

from __future__ import annotations

import io
import shutil
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined

ROOT = Path(__file__).parents[1]
DATA, IMAGES, RESULTS = ROOT / "data", ROOT / "docs" / "images", ROOT / "experiments" / "results"


def beside(module: str, name: str = "") -> dict[str, Any]:
    """Return the TOML that lies beside a module: of its own name, or of another one."""
    path = Path(module).with_name(name) if name else Path(module).with_suffix(".toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


def computed(formula: str, **values: Any) -> Any:
    """Return the value of a law's formula.

    >>> computed("a + 8/n", a=1.0, n=2.0)
    5.0
    """
    return eval(formula, {"__builtins__": {}}, {**values, "np": np})


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


def page(name: str, experiment: Mapping[str, object] | None = None, /, **figures: object) -> str:
    """Return the page of a template in `pages/`: `{{ rate | f(".1f") }}` formats a figure, a data frame is a table.

    `{{ table | cell("P1", "auto", "error, %") }}` is a cell of a text's tables, for what moved since an earlier page.
    An experiment that gives its `globals()` lets the template name its constants. The `command` is that of the
    experiment of the page's name, where none is given.
    """
    constants = {constant: value for constant, value in (experiment or {}).items() if constant.isupper()}
    environment = Environment(
        loader=FileSystemLoader(ROOT / "experiments" / "pages"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: markdown_of(value) if isinstance(value, pd.DataFrame) else value,
    )
    environment.filters |= {"f": format, "table": markdown_of, "cell": lambda text, *at: cells(text, *at)[0]}
    figures = {"command": f"python -m experiments {name.replace('-', '_')}", **figures}
    return environment.get_template(f"{name}.md.j2").render(constants | figures) + "\n"


@dataclass(frozen=True)
class Table:
    """A table of a page: the heading it stands under, the line before it, its head and its rows."""

    heading: str
    lead: str
    head: list[str]
    rows: list[list[str]]

    def starts(self, section: str, lead: str) -> bool:
        """Tell whether heading and lead start like this; the first cell of the head may stand for the lead."""
        return self.heading.startswith(section) and (self.lead.startswith(lead) or self.head[0] == lead)


def tables(text: str) -> Iterator[Table]:
    r"""Yield the tables of a page.

    >>> page = "## P1 (64 series)\n\n| model | error |\n| --- | --- |\n| auto | 2.9 |\n"
    >>> [t.heading for t in tables(page)], [t.rows for t in tables(page)]
    (['P1 (64 series)'], [[['auto', '2.9']]])
    """
    heading = lead = ""
    lines: list[str] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            lines.append(line)
            continue
        if lines:
            head, _, *rows = ([cell.strip() for cell in row.strip().strip("|").split("|")] for row in lines)
            yield Table(heading, lead, head, rows)
            lines = []
        if line.startswith("#"):
            heading, lead = line.lstrip("# "), ""
        elif line:
            lead = line


def cells(text: str, section: str, row: str, column: str) -> list[str]:
    r"""Return the cells of a page's table: one, or a column where the row is `*`; `#` is before the table's lead.

    >>> cells("## P1 (64 series)\n\n| model | error |\n| --- | --- |\n| auto | 2.9 |\n", "P1", "auto", "error")
    ['2.9']
    """
    heading, _, lead = section.partition(" # ")
    table = next((t for t in tables(text) if t.starts(heading, lead) and column in t.head), None)
    if table is None:
        raise LookupError(f"no table {section!r} with a column {column!r}")
    first = row.split(" & ")
    chosen = [r for r in table.rows if row == "*" or r[: len(first)] == first]
    if not chosen:
        raise LookupError(f"no row {row!r} in table {section!r}")
    return [r[table.head.index(column)] for r in chosen]


def rows_of_page(name: str) -> list[dict[str, str]]:
    """Return the rows of a page's first table, without what is bold; none where there is no page."""
    path = RESULTS / f"{name}.md"
    first = [*tables(path.read_text(encoding="utf-8"))][:1] if path.exists() else []
    return [dict(zip(t.head, (cell.strip(" *") for cell in row), strict=False)) for t in first for row in t.rows]


def command_line(*words: str) -> tuple[int, str, str]:
    """Run a command of genperf in this process, and return its status, its output and its errors."""
    from genperf.cli.main import run

    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = run([*words])
    return status, out.getvalue(), err.getvalue()


def pyplot() -> Any:
    """Return matplotlib's interface for pictures without a window."""
    import matplotlib

    matplotlib.use("Agg")
    return import_module("matplotlib.pyplot")


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
