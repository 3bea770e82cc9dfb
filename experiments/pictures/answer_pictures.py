"""The pictures of an answer: the card at 80 and 120 columns, light and dark; the page's first screen; the help.

The page needs Chromium with its driver (Debian: apt-get install chromium chromium-driver) and
`pip install ".[report,browser]"`. Fonts and the browser's version change pixels, so no test draws them.
"""

from __future__ import annotations

import base64
import re
import sys
from collections.abc import Iterable
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
from click.testing import CliRunner
from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI, TerminalTheme
from rich.text import Text

import genperf as gp
from experiments.shared import DATA, IMAGES, chromium
from genperf.asking.answer import card
from genperf.cli.main import cli
from genperf.cli.main import run as command

#: One published series: ResNet-50 on up to four nodes of eight V100.
SERIES = {"config": "ngc-mxnet-1.6.0-resnet50_v1.5-fp32-dali", "batch_per_device": 128}
COLUMNS = ["nodes", "devices", "batch_per_device", "samples_per_s"]
#: The table of the site's first page, and what it is asked.
TABLE = Path("docs/examples/resnet.csv")
QUESTION = ["--at", "gpus=32", "--at", "nodes=4", "--price", "2€/h"]
#: Picture → width, height, whether it is dark, and the medium.
SCREENS = {
    "report": (1280, 800, False, "screen"),
    "report-dark": (1280, 800, True, "screen"),
    "report-390": (390, 844, False, "screen"),
    "report-print": (718, 1016, False, "print"),
}
#: A terminal with a light ground; the dark one is rich's own.
INKS = [(36, 41, 46), (179, 29, 40), (23, 122, 50), (150, 100, 0), (3, 81, 190), (111, 66, 193), (0, 110, 130)]
THEMES = {"light": TerminalTheme((255, 255, 255), INKS[0], [*INKS, (90, 96, 102)]), "dark": DIMMED_MONOKAI}


def drawn(name: str, title: str, lines: Iterable[Text], width: int, theme: str) -> None:
    """Write lines of a terminal as an SVG, in the reader's own font."""
    console = Console(record=True, width=width, file=StringIO(), force_terminal=True)
    for line in lines:
        console.print(line, highlight=False)
    svg = console.export_svg(title=title, theme=THEMES[theme], unique_id=name)
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    (IMAGES / f"{name}.svg").write_text(svg, encoding="utf-8")


def cards() -> None:
    """Draw the card of the published series, and the help."""
    runs = pd.read_csv(DATA / "dlperf.csv")
    rows = (runs[list(SERIES)] == pd.Series(SERIES)).all(axis=1)
    with TemporaryDirectory() as folder:
        table = Path(folder) / "resnet50.csv"
        runs.loc[rows, COLUMNS].to_csv(table, index=False)
        answer = gp.ask(table, devices=128, price="2/h")
    title = "genperf resnet50.csv --at devices=128 --price 2/h"
    for width in (80, 120):
        for theme in THEMES:
            drawn(f"card-{width}-{theme}", title, card(answer, width), width, theme)
    text = CliRunner().invoke(cli, ["--help"], prog_name="genperf", terminal_width=100).output
    drawn("help", "genperf --help", map(Text, text.splitlines()), 100, "light")


def photographs() -> None:
    """Write the report of the table, and take a picture of its first screen for each kind of reader."""
    with TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        command(["report", str(TABLE), *QUESTION, "-o", str(page)])
        window = chromium("--hide-scrollbars", "--no-first-run", f"--user-data-dir={folder}/profile")
        if window is None:
            sys.exit("no Chromium with its driver here (Debian: apt-get install chromium chromium-driver)")
        try:
            for name, (width, height, dark, medium) in SCREENS.items():
                size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
                scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
                window.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
                window.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": medium, "features": [scheme]})
                window.get(page.resolve().as_uri())
                if medium == "print":
                    window.execute_script("dispatchEvent(new Event('beforeprint'))")
                window.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
                shot = window.execute_cdp_cmd("Page.captureScreenshot", {})
                (IMAGES / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))
        finally:
            window.quit()


def run() -> None:
    cards()
    photographs()
