"""The experiments are scripts beside the package: their folders go on the path."""

import sys
from pathlib import Path

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
sys.path[:0] = [str(EXPERIMENTS), str(EXPERIMENTS / "measure")]
