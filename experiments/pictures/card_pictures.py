"""Draw the card of `ask` for a bundled table, as SVG: 80 and 120 columns, light and dark.

python -m experiments card_pictures
"""

import re
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI, TerminalTheme

import genperf as gp
from experiments.shared import DATA, IMAGES
from genperf.asking.card import card

#: One published series: ResNet-50 on up to four nodes of eight V100.
SERIES = {"config": "ngc-mxnet-1.6.0-resnet50_v1.5-fp32-dali", "batch_per_device": 128}
COLUMNS = ["nodes", "devices", "batch_per_device", "samples_per_s"]
#: A terminal with a light ground; the dark one is rich's own.
LIGHT = TerminalTheme(
    (255, 255, 255),
    (36, 41, 46),
    [
        (36, 41, 46),
        (179, 29, 40),
        (23, 122, 50),
        (150, 100, 0),
        (3, 81, 190),
        (111, 66, 193),
        (0, 110, 130),
        (90, 96, 102),
    ],
)


def run() -> None:
    """Draw each picture."""
    runs = pd.read_csv(DATA / "dlperf.csv")
    rows = (runs[list(SERIES)] == pd.Series(SERIES)).all(axis=1)
    with TemporaryDirectory() as folder:
        table = Path(folder) / "resnet50.csv"
        runs.loc[rows, COLUMNS].to_csv(table, index=False)
        answer = gp.ask(table, devices=128, price="2/h")
    for width in (80, 120):
        for name, theme in (("light", LIGHT), ("dark", DIMMED_MONOKAI)):
            console = Console(record=True, width=width, file=StringIO(), force_terminal=True)
            for line in card(answer, width):
                console.print(line)
            title = "genperf resnet50.csv --at devices=128 --price 2/h"
            svg = console.export_svg(title=title, theme=theme, unique_id=f"card-{width}-{name}")
            # The reader's own font stands in the place of one from the web.
            svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
            (IMAGES / f"card-{width}-{name}.svg").write_text(svg, encoding="utf-8")
