"""How long `optimize` takes for 10⁴ to 10⁷ configurations on one core."""

from __future__ import annotations

import timeit
from collections.abc import Callable

import numpy as np

import genperf as gp
from experiments.shared import markdown, page

#: Values of workers and of the batch; the others make 100 combinations.
SIDES = (10, 32, 100, 316)
NETWORKS = {"layers": "2:10:2", "filters": "8:80:8", "kernel_size": "3,5", "hidden": [1024]}
#: And of a series, where every time is a median over draws.
SERIES, COUNTS = "ngc-mxnet-1.6.0-resnet50_v1.5-fp32-dali", (100, 1000, 10_000)
MODELS = {"generic": "generic", "one family": "a*batch_per_worker*layers*filters**2 + b*log2(workers) + c"}


def seconds(work: Callable[[], object], repeats: int = 3) -> str:
    """Return the median time of a search."""
    return f"{np.median(timeit.repeat(work, number=1, repeat=repeats)):.2f} s"


def run() -> dict[str, str]:
    """Search grids of growing size, and return the page."""
    table = gp.datasets.load("pytorch_cpu")
    fitted = {name: gp.fit(table, model, seed=0) for name, model in MODELS.items()}
    rows = []
    for side in SIDES:
        over = {"workers": f"1:{side}", "batch_per_worker": f"1:{side}", **NETWORKS}
        goal = (over, "workers*batch_per_worker >= 8", "time/(workers*batch_per_worker)")
        took = [seconds(lambda result=result, goal=goal: gp.optimize(result, *goal)) for result in fitted.values()]
        found = gp.optimize(fitted["generic"], *goal)
        rows.append([f"{found.configurations:,}", f"{found.feasible:,}", *took])
        print(rows[-1], flush=True)
    table = gp.datasets.load("dlperf", categorical="", where=f"config == '{SERIES}'")
    result = gp.fit(table, "auto", seed=0)
    of_series = [
        (
            f"{n:,}",
            seconds(lambda n=n: gp.optimize(result, {"devices": f"1:{n}", "nodes": 4, "batch_per_device": 128}), 1),
        )
        for n in COUNTS
    ]
    return {"optimize": page("optimize",
        grids=markdown(["configurations", "feasible", *MODELS], rows),
        draws=sum(len(m.draws) for m in result.members),
        series=markdown(["configurations", "auto of a series"], of_series),
    )}  # fmt: skip
