"""One step, several columns: tables that measure one law in several columns, asked about another batch than theirs.

A table has one to four of `MEASURED` at 8 to 64 devices, of which each keeps its batch or all share one; the batch is
named as that of a device, of all, or by micro-batches, and the scale in devices, nodes or both. What its answer says in
each column has to mean one speed, within 6 %, and lie within 30 % of the law's.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from typing import Any

import pandas as pd

import genperf as gp

#: Relative differences up to which two columns mean one speed, and within which the law's is found.
ONE_SPEED, NEAR = 0.06, 0.3
SEQUENCE, NOISE, COUNTS = 2048, 0.01, (8, 16, 32, 64)


def seconds(devices: float, batch: float) -> float:
    """Return the seconds of a step of the law by the batch of a device."""
    return 0.05 + 0.02 * batch + 0.015 * math.log2(devices)


#: A column → what it has of a speed in samples a second, of the devices and of the batch of one; and the speed of that.
MEASURED: Mapping[str, tuple[Callable[..., float], Callable[..., float]]] = {
    "step_s": (lambda v, n, b: n * b / v, lambda t, n, b: n * b / t),
    "step_ms": (lambda v, n, b: 1e3 * n * b / v, lambda t, n, b: 1e3 * n * b / t),
    "it/s": (lambda v, n, b: v / (n * b), lambda r, n, b: r * n * b),
    "samples/s": (lambda v, n, b: v, lambda r, n, b: r),
    "samples/s/gpu": (lambda v, n, b: v / n, lambda r, n, b: r * n),
    "tokens/s": (lambda v, n, b: v * SEQUENCE, lambda r, n, b: r / SEQUENCE),
    "tokens/s/gpu": (lambda v, n, b: v * SEQUENCE / n, lambda r, n, b: r * n / SEQUENCE),
    "tflops_per_gpu": (lambda v, n, b: 3.1 * v / n, lambda r, n, b: r * n / 3.1),
    "mfu": (lambda v, n, b: 0.01 * v / n, lambda r, n, b: (r if r < 2.0 else r / 100.0) * n / 0.01),
}
#: The batch by its names.
BATCHES = ("device", "all", "device and all", "passes", "all and pass")


def drawn(seed: int) -> tuple[pd.DataFrame, dict[str, float], float, float]:
    """Return a table, a question, and its devices and batch of a device."""
    chosen = random.Random(seed)
    each = chosen.random() < 0.5
    batches = [16.0 if each else 1024.0 / n for n in COUNTS]
    scale, of = chosen.choice(["devices", "nodes of 8", "both"]), chosen.choice(BATCHES)
    table: dict[str, Any] = {}
    table |= {"nodes": [n // 8 for n in COUNTS]} if scale != "devices" else {}
    table |= {"gpus_per_node": [8] * 4} if scale == "nodes of 8" else {}
    table |= {"gpus": [*COUNTS]} if scale in ("devices", "both") else {}
    table |= {"batch_per_gpu": batches} if "device" in of else {}
    table |= {"global_batch": [n * b for n, b in zip(COUNTS, batches, strict=True)]} if "all" in of else {}
    table |= {"micro_batch": [2] * 4} if of == "all and pass" else {}
    table |= {"micro_batch": [4] * 4, "grad_accum": [b / 4 for b in batches]} if of == "passes" else {}
    table |= {"seq_length": [SEQUENCE] * 4} if chosen.random() < 0.3 else {}
    noise = chosen.choice([0.0, NOISE])
    speeds = [
        n * b / seconds(n, b) * math.exp(noise * chosen.gauss(0.0, 1.0)) for n, b in zip(COUNTS, batches, strict=True)
    ]
    for name in chosen.sample([*MEASURED], chosen.randint(1, 4)):
        rows = zip(speeds, COUNTS, batches, strict=True)
        table[name] = [float(f"{MEASURED[name][0](*row):.5g}") for row in rows]
    devices, batch = float(chosen.choice([32, 64, 128])), float(chosen.choice([8, 16, 32]))
    at = {"gpus": devices} if "gpus" in table else {"nodes": devices / 8}
    if chosen.random() < 0.3:
        return pd.DataFrame(table), at, devices, 16.0 if each else 1024.0 / devices
    at |= {"grad_accum": batch / 4} if of == "passes" else {"batch_per_gpu": batch} if of == "device" else {}
    return pd.DataFrame(table), at | ({"global_batch": devices * batch} if "all" in of else {}), devices, batch


def judged(seed: int) -> str:
    """Return what is wrong with the answer about a table; empty where nothing is."""
    table, at, devices, batch = drawn(seed)
    try:
        answer = gp.ask(table, at=at)
    except Exception as error:
        return f"{seed}: {type(error).__name__}: {error}"
    values = [(v.quantity, v.value) for v in answer.answers if v.quantity in MEASURED]
    speeds = {name: MEASURED[name][1](value, devices, batch) for name, value in values}
    if answer.facts is not None and answer.throughput and (of := answer.facts.growth.sample) in ("samples", "tokens"):
        speeds["throughput"] = answer.throughput / (SEQUENCE if of == "tokens" else 1.0)
    true, (first, *_) = devices * batch / seconds(devices, batch), speeds.values()
    apart = any(abs(speed / first - 1.0) > ONE_SPEED for speed in speeds.values())
    told = {name: round(speed) for name, speed in speeds.items()}
    return f"{seed}: {told} for {true:.0f}: {at}" if apart or abs(first / true - 1.0) > NEAR else ""


def faults(tables: int, pool: Executor) -> list[str]:
    """Return the faults of some tables."""
    return [fault for fault in pool.map(judged, range(tables), chunksize=8) if fault]
