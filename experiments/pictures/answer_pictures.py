"""The pictures of an answer: its card in a terminal of 80 columns, and the first screen of its page.

The page needs Chromium with its driver (Debian: apt-get install chromium chromium-driver) and
`pip install ".[report,browser]"`. Fonts and the browser's version change pixels, so no test draws them.
"""

from __future__ import annotations

import base64
import re
import sys
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
from rich.console import Console
from rich.terminal_theme import TerminalTheme

import genperf as gp
from experiments.shared import DATA, IMAGES, chromium
from genperf.asking.answer import card
from genperf.cli.main import run as command

#: One published series: ResNet-50 on up to four nodes of eight V100.
SERIES = {"config": "ngc-mxnet-1.6.0-resnet50_v1.5-fp32-dali", "batch_per_device": 128}
COLUMNS = ["nodes", "devices", "batch_per_device", "samples_per_s"]
#: The table of the site's first page, and what it is asked.
TABLE = Path("docs/examples/resnet.csv")
QUESTION = ["--at", "gpus=32", "--at", "nodes=4", "--price", "2€/h"]
#: Pixels of the first screen, and columns of the terminal.
SCREEN = {"width": 1280, "height": 800, "deviceScaleFactor": 1, "mobile": False}
WIDTH = 80
#: A terminal with a light ground.
INKS = [(36, 41, 46), (179, 29, 40), (23, 122, 50), (150, 100, 0), (3, 81, 190), (111, 66, 193), (0, 110, 130)]
LIGHT = TerminalTheme((255, 255, 255), INKS[0], [*INKS, (90, 96, 102)])


def drawn() -> None:
    """Draw the card of the published series, in the reader's own font."""
    runs = pd.read_csv(DATA / "dlperf.csv")
    rows = (runs[list(SERIES)] == pd.Series(SERIES)).all(axis=1)
    with TemporaryDirectory() as folder:
        table = Path(folder) / "resnet50.csv"
        runs.loc[rows, COLUMNS].to_csv(table, index=False)
        answer = gp.ask(table, devices=128, price="2/h")
    console = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True)
    for line in card(answer, WIDTH):
        console.print(line, highlight=False)
    title, name = "genperf resnet50.csv --at devices=128 --price 2/h", "card-80-light"
    svg = console.export_svg(title=title, theme=LIGHT, unique_id=name)
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    (IMAGES / f"{name}.svg").write_text(svg, encoding="utf-8")


def photographed() -> None:
    """Write the report of the table, and take a picture of its first screen."""
    with TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        command(["report", str(TABLE), *QUESTION, "-o", str(page)])
        window = chromium("--hide-scrollbars", "--no-first-run", f"--user-data-dir={folder}/profile")
        if window is None:
            sys.exit("no Chromium with its driver here (Debian: apt-get install chromium chromium-driver)")
        try:
            window.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", SCREEN)
            window.get(page.resolve().as_uri())
            window.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
            shot = window.execute_cdp_cmd("Page.captureScreenshot", {})
            (IMAGES / "report.png").write_bytes(base64.b64decode(shot["data"]))
        finally:
            window.quit()


def run() -> None:
    drawn()
    photographed()
