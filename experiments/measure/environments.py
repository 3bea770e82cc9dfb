"""Makes an environment for each framework to be measured: they cannot share one (MXNet needs numpy 1.26).

    python experiments/measure/environments.py pytorch tensorflow mxnet        into .measure/ of the current folder

The interpreter of a framework is then found there; `GENPERF_MEASURE_PYTORCH_PYTHON` (TENSORFLOW, MXNET) names another.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import venv
from pathlib import Path

from problems import MeasureError

#: What was measured with. A CPU build does; the frameworks' own pages say how to get one where an index offers others.
REQUIREMENTS: dict[str, tuple[str, ...]] = {
    "pytorch": ("torch==2.13.0", "numpy"),
    "tensorflow": ("tensorflow-cpu==2.21.*",),
    "mxnet": ("mxnet==1.9.1", "numpy==1.26.*"),
}
FOLDER = Path(".measure")


def variable(framework: str) -> str:
    """Return the name of the environment variable that says where a framework's interpreter is."""
    return f"GENPERF_MEASURE_{framework.upper()}_PYTHON"


def interpreter(framework: str) -> Path:
    named = os.environ.get(variable(framework))
    path = Path(named) if named else FOLDER / framework / "bin" / "python"
    if not path.exists():
        raise MeasureError(
            f"{framework} is not installed ({path} is not there): "
            f"run python {Path(__file__).name} {framework}, or set {variable(framework)}"
        )
    # Not resolved: a virtual environment is known by the link that its interpreter is.
    return path.absolute()


def make(framework: str, folder: Path = FOLDER) -> Path:
    """Make the environment of a framework and return its interpreter."""
    place = folder / framework
    python = place / "bin" / "python"
    if not python.exists():
        venv.create(place, with_pip=True, symlinks=True)
    for command in (
        [python, "-m", "pip", "install", "--quiet", *REQUIREMENTS[framework]],
        [python, "-m", "pip", "check"],
    ):
        done = subprocess.run([str(word) for word in command], check=False)
        if done.returncode:
            raise MeasureError(f"{framework} could not be installed into {place}; pip's own words stand above")
    return python


def main() -> None:
    parser = argparse.ArgumentParser(description="Make an environment for each framework to be measured.")
    parser.add_argument("frameworks", nargs="+", choices=list(REQUIREMENTS))
    parser.add_argument("--into", type=Path, default=FOLDER, help=f"folder of the environments (default {FOLDER})")
    given = parser.parse_args()
    try:
        for framework in given.frameworks:
            print(f"{framework}: {make(framework, given.into)}")
    except MeasureError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
