"""Run every experiment that has a gate of the bank of curves or of the process, and write experiments/results/gates.md.

    python -m experiments gates [--outside FOLDER]

`--outside` is that of `corpus.py`. Twelve minutes on two quiet cores.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from experiments.shared import ROOT


def run(outside: Path | None = None) -> None:
    """Run the experiments one after the other, each in a process of its own."""
    outside_options = [] if outside is None else ["--outside", str(outside.resolve())]
    corpus, growth = (["corpus", "--extra-p", *outside_options], ["growth", *outside_options])
    # `extrapolation` writes the page of pooling, P3 and P4, as well.
    experiments = (corpus, growth, ["extrapolation", "--extra-p"], ["process"], ["results_page"])
    for words in experiments:
        subprocess.run([sys.executable, "-m", "experiments", *words], cwd=ROOT, check=True)
