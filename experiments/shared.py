"""What experiments share: the folders of the repository, and tables as a page has them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

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
