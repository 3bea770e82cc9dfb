"""Run every experiment that has a gate of the bank of curves or of the process, and write experiments/results/gates.md.

    python experiments/gates.py [--outside FOLDER]

`--outside` is that of `corpus.py`. Twelve minutes on two quiet cores.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--outside", type=Path, help="a folder of more sources, which are not bundled")
    given = parser.parse_args()
    outside = [] if given.outside is None else ["--outside", str(given.outside.resolve())]
    experiments = (
        ["corpus.py", "--extra-p", *outside],
        ["growth.py", *outside],
        # And the page of pooling, P3 and P4.
        ["extrapolation.py", "--extra-p"],
        ["process.py", "--write"],
        ["results_page.py"],
    )
    for script, *options in experiments:
        subprocess.run([sys.executable, f"experiments/{script}", *options], cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
