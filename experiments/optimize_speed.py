"""How long `optimize` takes for 10⁴ to 10⁷ configurations on one core. Writes experiments/results/optimize.md.

OPENBLAS_NUM_THREADS=1 python experiments/optimize_speed.py
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

import genperf as gp

OUT = Path(__file__).parents[1] / "experiments" / "results" / "optimize.md"
#: Values of workers and of the batch; the others make 100 combinations.
SIDES = (10, 32, 100, 316)
NETWORKS = {"layers": "2:10:2", "filters": "8:80:8", "kernel_size": "3,5", "hidden": [1024]}
#: And of a series, where every time is a median over draws.
SERIES, COUNTS = "ngc-mxnet-1.6.0-resnet50_v1.5-fp32-dali", (100, 1000, 10_000)
MODELS = {"generic": "generic", "one family": "a*batch_per_worker*layers*filters**2 + b*log2(workers) + c"}
HEAD = """# How long does `optimize` take?

Written by `OPENBLAS_NUM_THREADS=1 python experiments/optimize_speed.py`, on one core: the median of three runs. Every
configuration is evaluated, with one constraint; the ten best and the Pareto front are given with intervals.

| configurations | feasible | {models} |
|---|---|{rules}|
"""
TAIL = """
Models of one family, and generic ones, evaluate a formula. The default model of a series (`auto`) takes the median of
its draws for every configuration, here {draws:,}:

| configurations | auto of a series |
|---|---|
"""


def main() -> None:
    table = gp.datasets.load("pytorch_cpu")
    fitted = {name: gp.fit(table, model, seed=0) for name, model in MODELS.items()}
    lines = []
    for side in SIDES:
        over = {"workers": f"1:{side}", "batch_per_worker": f"1:{side}", **NETWORKS}
        seconds, found = [], None
        for result in fitted.values():
            runs = []
            for _ in range(3):
                start = time.perf_counter()
                found = gp.optimize(result, over, "workers*batch_per_worker >= 8", "time/(workers*batch_per_worker)")
                runs.append(time.perf_counter() - start)
            seconds.append(float(np.median(runs)))
        if found is not None:
            shown = " | ".join(f"{s:.2f} s" for s in seconds)
            lines.append(f"| {found.configurations:,} | {found.feasible:,} | {shown} |")
            print(lines[-1], flush=True)
    head = HEAD.format(models=" | ".join(MODELS), rules="|".join("---" for _ in MODELS))
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(head + "\n".join(lines) + "\n" + _series(), encoding="utf-8")


def _series() -> str:
    table = gp.datasets.load("dlperf", categorical="", where=f"config == '{SERIES}'")
    result = gp.fit(table, "auto", seed=0)
    lines = []
    for count in COUNTS:
        start = time.perf_counter()
        gp.optimize(result, {"devices": f"1:{count}", "nodes": 4, "batch_per_device": 128})
        lines.append(f"| {count:,} | {time.perf_counter() - start:.2f} s |")
        print(lines[-1], flush=True)
    return TAIL.format(draws=sum(len(m.draws) for m in result.members)) + "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
