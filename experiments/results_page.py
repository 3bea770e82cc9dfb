"""Put the measured fragments of docs/results/ together as docs/results.md.

Each fragment is written by the experiment it names; this only joins them, in order, one heading deeper.

    python experiments/results_page.py
"""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
#: Title, fragment, in the order of the page.
SECTIONS = (
    (None, "summary.md"),
    ("Extrapolation of series", "extrapolation.md"),
    ("Other clusters: a prior learned without the one that it judges", "corpus.md"),
    ("Pooling between groups", "pooling.md"),
    ("Pooling with other priors", "pooling-priors.md"),
    ("The generic model, and auto, on tables of many factors", "generic.md"),
    ("Our own measurements on an emulated cluster", "measured-cluster.md"),
    ("Advice: what to measure next", "advice.md"),
    ("The best configuration", "optimize.md"),
)


def section(title: str | None, text: str) -> str:
    """Return a fragment under its title, its own first heading left out and the others one deeper.

    What it links to beside its folder is beside the page.
    """
    if title is None:
        return text.strip()
    body = re.sub(r"\A# .*\n+", "", text.strip()).replace("](../", "](")
    return f"## {title}\n\n" + re.sub(r"(?m)^(#+) ", r"#\1 ", body)


def page() -> str:
    """Return the whole page."""
    parts = [section(title, (DOCS / "results" / name).read_text(encoding="utf-8")) for title, name in SECTIONS]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    (DOCS / "results.md").write_text(page(), encoding="utf-8")
