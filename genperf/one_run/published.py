"""Where a run lies among published ones.

Each source counts as one, whatever its number of runs, and runs that differ in the device's family, the precision, the
size or the kind of network count less. The cumulative share of published runs below a utilisation u is

    F(u) = Σ w_i Φ((logit u − logit u_i)/h),   w_i ∝ Π similarity / (runs of the source alike)
"""

from functools import cache

import numpy as np
import pandas as pd
from msgspec import Struct

from genperf import datasets
from genperf.one_run.run import TrainingRun
from genperf.peaks import devices

#: What a run of another family, size, precision, or of a mixture of experts in place of a dense network (or the other
#: way round) counts. Half and double move the ends by under two points (`experiments/advice/one_run.py`).
OTHER = {"family": 0.2, "size": 0.5, "precision_class": 0.3, "mixture": 0.3}
#: Width of the kernel, in logits: the spread of repeats of one set-up.
KERNEL = 0.2
#: Active parameters that part small, usual and large networks.
SIZES, SIZE_WORDS = (3e9, 15e9), ("under 3 B", "of 3 to 15 B", "over 15 B")
#: Runs from which on those of the same family, size and precision are named by themselves.
FEWEST_RUNS = 8
#: Logits at which the cumulative share is computed: utilisations of 0.25 to 97 %.
_GRID = np.linspace(-6.0, 3.5, 400)


class PublishedPlace(Struct, frozen=True):
    """Where a value lies among published ones; fractions, but for the percentile."""

    of: str
    value: float | None
    percentile: float | None
    median: float
    low: float
    high: float
    runs: int
    sources: int
    #: What the counted runs have in common: `H100 runs of 3 to 15 B`.
    among: str

    @property
    def judged(self) -> str:
        """What the percentile means, in words."""
        if self.percentile is None:
            return ""
        if not 5.0 <= self.percentile <= 95.0:
            return f"{'lower' if self.percentile < 50.0 else 'higher'} than nine in ten"
        return f"in the {('lower', 'middle', 'upper')[min(int(self.percentile / 100.0 * 3.0), 2)]} third"


@cache
def reference() -> pd.DataFrame:
    """Return the bundled runs, `genperf.datasets.runs`, with the class of their size."""
    table = datasets.runs()
    size = np.digitize(table["active"].fillna(np.mean(SIZES)), SIZES)
    return table.assign(size=size, mixture=table["mixture"].fillna(0.0) > 0.0)


def place_of(run: TrainingRun, value: float | None, published: pd.DataFrame | None = None) -> PublishedPlace | None:
    """Return where a utilisation of a run lies; without a value only the range. None of a network for images."""
    from scipy.special import expit, logit, ndtr

    network, table = run.network, reference() if published is None else published
    if network is not None and network.sample == "images":
        return None
    active, mixture = (np.mean(SIZES), False) if network is None else (network.active, network.is_mixture)
    size, precision = int(np.digitize(active, SIZES)), run.precision or "16-bit"
    facts = {"family": run.device and run.device.family, "size": size, "precision_class": precision, "mixture": mixture}
    alike = np.array([table[name] == fact for name, fact in facts.items()])
    repository = table["repository"].to_numpy(dtype=str)
    similar = pd.Series(np.prod(np.where(alike, 1.0, np.array([*OTHER.values()])[:, None]), axis=0))
    weights = np.asarray(similar / similar.groupby(repository).transform(lambda of: of.sum() / of.max()), float)
    shares = weights / weights.sum() @ ndtr((_GRID - logit(table["mfu"].to_numpy())[:, None]) / KERNEL)
    low, median, high = (float(expit(end)) for end in np.interp([0.05, 0.5, 0.95], shares, _GRID))
    percentile = None if value is None else 100.0 * float(np.interp(logit(min(value, 0.999)), _GRID, shares))
    label = "" if run.device is None else f"{devices()[run.device.family].label} "
    kind, fp8 = "mixture-of-experts runs" if mixture else "runs", "" if precision == "16-bit" else f" in {precision}"
    narrowest = (
        (alike.all(axis=0), f"{label}{kind} {SIZE_WORDS[size]}{fp8}", 2),
        (alike[0] & alike[2], f"{label}runs{fp8}", 2),
        (alike[0], f"{label}runs", 1),
        (np.ones(len(table), dtype=bool), "runs of all devices", 1),
    )
    count, sources, among = next(
        (int(rows.sum()), sources, among)
        for rows, among, fewest in narrowest
        if rows.sum() >= FEWEST_RUNS and (sources := len(np.unique(repository[rows]))) >= fewest
    )
    return PublishedPlace("mfu", value, percentile, median, low, high, count, sources, among)
