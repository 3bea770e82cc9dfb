"""Where the utilisation of a run lies among published single runs.

Each source counts as one, whatever its number of runs, and runs that differ in the device's family, the precision, the
size or the kind of network count less. The cumulative share of them below a utilisation u is

    F(u) = Σ w_i Φ((logit u − logit u_i)/h),   w_i ∝ Π similarity / (runs of the source alike)
"""

import numpy as np
import pandas as pd

from genperf import datasets
from genperf.facts import PublishedPlace
from genperf.panel.panel import several_nodes
from genperf.peaks import device_in, devices

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


def place_of_run(
    value: float | None,
    family: str,
    active: float = 0.0,
    precision: str = "16-bit",
    mixture: bool = False,
    published: pd.DataFrame | None = None,
) -> PublishedPlace:
    """Return where a utilisation lies among published runs of such devices and networks; without one only the range."""
    from scipy.special import expit, logit, ndtr

    table = datasets.runs() if published is None else published
    size, *sizes = np.digitize([active or np.mean(SIZES), *table["active"].fillna(np.mean(SIZES))], SIZES)
    facts = pd.Series({"family": family, "size": size, "precision_class": precision, "mixture": mixture})
    same = table.assign(size=sizes, mixture=table["mixture"] > 0.0)[[*OTHER]] == facts
    same["size"] |= not active
    # A run weighs less for each fact in which it differs; all of a repository weigh as much as its most similar one.
    similarity = pd.Series(np.where(same, 1.0, [*OTHER.values()]).prod(axis=1), index=table.index)
    sources = table["repository"]
    by_source = similarity.groupby(sources)
    weights = np.asarray(similarity / by_source.transform(lambda of: of.sum() / of.max()), float)
    # The distribution of logit(MFU), each run smoothed by a normal kernel.
    shares = weights / weights.sum() @ ndtr((_GRID - logit(table["mfu"].to_numpy())[:, None]) / KERNEL)
    low, median, high = (float(expit(end)) for end in np.interp([0.05, 0.5, 0.95], shares, _GRID))
    percentile = None if value is None else 100.0 * float(np.interp(logit(min(value, 0.999)), _GRID, shares))
    label, fp8 = f"{devices()[family].label} " if family else "", "" if precision == "16-bit" else f" in {precision}"
    kind, of_size = "mixture-of-experts runs" if mixture else "runs", f" {SIZE_WORDS[size]}" if active else ""
    narrowest = (
        ((*OTHER,), 2, f"{label}{kind}{of_size}{fp8}"),
        (("family", "precision_class"), 2, f"{label}runs{fp8}"),
        (("family",), 1, f"{label}runs"),
        ((), 1, "runs of all devices"),
    )
    named = ((sources[same[[*alike]].all(axis=1)], fewest, among) for alike, fewest, among in narrowest)
    of, _, among = next(row for row in named if len(row[0]) >= FEWEST_RUNS and row[0].nunique() >= row[1])
    return PublishedPlace("mfu", value, percentile, median, low, high, len(of), of.nunique(), among)


def place_of_test(busbw: float, collective: str, family: str, several: bool) -> PublishedPlace | None:
    """Return where a test of a collective lies among published ones of such devices, on one node or on several."""
    table = datasets.collectives()
    families = table["device"].map(lambda device: getattr(device_in(str(device)), "family", None))
    on_several = several_nodes(table["nodes"].to_numpy()) == several
    rows = table[(table["collective"] == collective) & on_several & (families == family)]
    if rows.empty:
        return None
    values = rows["busbw_GBps"].to_numpy() * 1e9
    low, median, high = np.quantile(values, [0.05, 0.5, 0.95]).tolist()
    among = f"{'over several nodes' if several else 'in one node'} of {devices()[family].label}"
    below = 100.0 * float(np.mean(values < busbw) + 0.5 * np.mean(values == busbw))
    return PublishedPlace("busbw", busbw, below, median, low, high, len(rows), rows["repository"].nunique(), among)
