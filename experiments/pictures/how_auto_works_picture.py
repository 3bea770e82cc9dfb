"""Draw how the members of a stack and their pool go on beyond the measured counts: docs/images/how-auto-works.svg.

The rows are those of `server_knee.csv` on one server: the model knows those up to 8 workers. The same files give the
same bytes.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

import genperf as gp
from experiments.shared import IMAGES
from genperf.plots.figures import BLACK, FAINT, GREEN, INK, PALETTE, image, new_figure
from genperf.prediction import stack_of
from genperf.prediction.member import log_times

KNOWN, LARGEST = 8, 32


def run() -> None:
    table = gp.datasets.load("server_knee")
    result = gp.fit(table.take(np.asarray(table.columns["workers"]) <= KNOWN))
    counts = np.exp(np.linspace(0.0, np.log(LARGEST), 80))
    at = {"workers": counts, "servers": np.ones(80), "compute_s": np.full(80, 0.3)}
    out = result.predict(pd.DataFrame(at))
    stack = stack_of(result.members)
    assert stack is not None
    beyond = next(b for b in stack.beyond if b.factor == "workers")
    figure, ax = new_figure(8.4, 3.8)
    ax.fill_between(counts, out.lower, out.upper, color=GREEN, alpha=0.2, lw=0)
    ax.plot(counts, out.time, color=BLACK, lw=2, label="pool and its 90 % interval")
    members = sorted(zip(result.members, log_times(result.members, at), strict=True), key=lambda pair: -pair[0].weight)
    for colour, (member, logarithms) in zip(PALETTE[:4], members, strict=False):
        place = member.process.place if member.process is not None else 0
        label = f"{member.label}: {member.weight:.2f}, beyond {beyond.weights[place]:.2f}"
        ax.plot(counts, np.exp(logarithms), "--", color=colour, lw=1.5, label=label)
    medians = table.medians().frame.assign(s=table.medians().measured)
    measured = medians[(medians.servers == 1) & (medians.compute_s == 0.3)]
    for known, fill in ((True, BLACK), (False, "white")):
        rows = measured[(measured.workers <= KNOWN) == known]
        ax.plot(rows.workers, rows.s, "o", color=BLACK, markerfacecolor=fill, ms=5)
    ax.axvline(KNOWN, color=FAINT, ls=":")
    ax.text(1.03 * KNOWN, 5.0, "measured up to here", fontsize=9, color=INK)
    ax.set(xscale="log", yscale="log", xlim=(1, LARGEST), ylim=(0.3, 6), xlabel="workers")
    ax.set_xticks([1, 2, 4, 8, 16, 32], ["1", "2", "4", "8", "16", "32"])
    ax.set_yticks([0.5, 1, 2, 4], ["0.5 s", "1 s", "2 s", "4 s"])
    ax.minorticks_off()
    figure.legend(loc="outside right upper", frameon=False, fontsize=9)
    (IMAGES / "how-auto-works.svg").write_bytes(image(figure, "svg"))
