"""Where a run lies among published ones.

Each source counts as one, whatever its number of runs, and runs that differ in the device's family, the precision, the
size or the kind of network count less. The cumulative share of published runs below a utilisation u is

    F(u) = Σ w_i Φ((logit u − logit u_i)/h),   w_i ∝ Π similarity / (runs of the source alike)
"""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from genperf import datasets
from genperf.arrays import Array, Mask
from genperf.one_run.run import TrainingRun

#: What a run of another family, size, precision, or of a mixture of experts in place of a dense network (or the other
#: way round) counts. Half and double move the ends by under two points (`experiments/advice/one_run.py`).
OTHER_FAMILY, OTHER_SIZE, OTHER_PRECISION, OTHER_KIND = 0.2, 0.5, 0.3, 0.3
#: Width of the kernel, in logits: the spread of repeats of one set-up.
KERNEL = 0.2
#: Active parameters that part small, usual and large networks.
SIZES = (3e9, 15e9)
SIZE_WORDS = ("under 3 B", "of 3 to 15 B", "over 15 B")
#: Runs from which on those of the same family, size and precision are named by themselves.
FEWEST_RUNS = 8
#: Logits at which the cumulative share is computed: utilisations of 0.25 to 97 %.
_GRID = np.linspace(-6.0, 3.5, 400)


@dataclass(frozen=True, eq=False)
class Reference:
    """Published runs as arrays, shape (runs,)."""

    values: Array
    family: Any
    precision: Any
    size: Array
    mixture: Mask
    source: Any

    def without(self, source: str) -> "Reference":
        """Return the runs of the other sources."""
        rows = self.source != source
        return replace(self, **{name: array[rows] for name, array in vars(self).items()})


@dataclass(frozen=True)
class PublishedPlace:
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
def reference() -> Reference:
    """Return the bundled runs, `genperf.datasets.runs`."""
    table = datasets.runs()
    size = np.digitize(table["active"].fillna(np.mean(SIZES)), SIZES).astype(float)
    family, precision, source = (table[n].to_numpy(dtype=str) for n in ("family", "precision_class", "repository"))
    mixture = table["mixture"].fillna(0.0).to_numpy() > 0.0
    return Reference(table["mfu"].to_numpy(), family, precision, size, mixture, source)


def place_of(run: TrainingRun, value: float | None, published: Reference | None = None) -> PublishedPlace | None:
    """Return where a utilisation of a run lies; without a value only the range. None of a network for images.

    Examples
    --------
    >>> from genperf.one_run.run import run_of_words
    >>> place = place_of(run_of_words(("8xh100", "7B", "76800tok/s", "bf16")), 0.41)
    >>> place.among, place.low < 0.41 < place.high
    ('H100 runs of 3 to 15 B', True)
    """
    from scipy.special import expit, logit, ndtr

    network, known = run.network, reference() if published is None else published
    if network is not None and network.multiply_adds is not None:
        return None
    size = int(np.digitize(np.mean(SIZES) if network is None else network.active, SIZES))
    precision, mixture = run.precision or "16-bit", network is not None and network.is_mixture
    family = known.family == ("" if run.device is None else run.device.family)
    alike = (family, known.size == size, known.precision == precision, known.mixture == mixture)
    others = (OTHER_FAMILY, OTHER_SIZE, OTHER_PRECISION, OTHER_KIND)
    similar = np.prod([np.where(same, 1.0, other) for same, other in zip(alike, others, strict=True)], axis=0)
    weights = similar.copy()
    for source in np.unique(known.source):
        rows = known.source == source
        weights[rows] /= similar[rows].sum() / similar[rows].max()
    shares = weights / weights.sum() @ ndtr((_GRID - logit(known.values)[:, None]) / KERNEL)
    low, median, high = (float(expit(end)) for end in np.interp([0.05, 0.5, 0.95], shares, _GRID))
    percentile = None if value is None else 100.0 * float(np.interp(logit(min(value, 0.999)), _GRID, shares))
    label = "" if run.device is None else f"{run.device.family.upper().replace('TPU-', 'TPU ')} "
    kind, fp8 = "mixture-of-experts runs" if mixture else "runs", "" if precision == "16-bit" else f" in {precision}"
    narrowest = (
        (np.all(alike, axis=0), f"{label}{kind} {SIZE_WORDS[size]}{fp8}", 2),
        (alike[0] & alike[2], f"{label}runs{fp8}", 2),
        (alike[0], f"{label}runs", 1),
        (np.ones(len(known.values), dtype=bool), "runs of all devices", 1),
    )
    rows, among = next(
        (rows, among)
        for rows, among, fewest in narrowest
        if rows.sum() >= FEWEST_RUNS and len(np.unique(known.source[rows])) >= fewest
    )
    count, sources = int(rows.sum()), len(np.unique(known.source[rows]))
    return PublishedPlace("mfu", value, percentile, median, low, high, count, sources, among)
