"""Transformers in layouts drawn at random, and the memory of their devices as Megatron-LM and ZeRO are said to use it.

What a device holds is counted after Korthikanti et al. (2022) and Rajbhandari et al. (2020), to a few per cent. Beside
the parts of `transformer-memory` the first stage has the whole embedding, and ZeRO-3 gathers two layers at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

#: Layers, width and heads of networks of 1.3 to 30 billion parameters.
NETWORKS = ((24, 2048, 16), (32, 4096, 32), (40, 5120, 40), (48, 7168, 56))
VOCABULARY = 51200
_RECOMPUTED = ("none", "selective", "full")
_DRAWN = ("dp", "tp", "pp", "mbs", "gbs", "layers", "hidden", "heads", "seq_len", "zero_stage", "recompute")


@dataclass(frozen=True)
class Program:
    """How a training program uses memory."""

    #: Whether attention keeps no scores.
    fused: bool = False
    #: Whether norms and dropout are divided by the tensor ways.
    split_sequence: bool = False
    #: GiB of what every device holds.
    context: float = 1.5
    #: Standard deviation of ln of the memory.
    scatter: float = 0.03


def memory(run: Mapping[str, float | str], program: Program) -> float:
    """Return the GiB of a device of the first stage, without scatter.

    Examples
    --------
    >>> run = dict(zip(_DRAWN, (2, 4, 2, 1, 32, 32, 4096, 32, 2048, 1, "selective"), strict=True))
    >>> round(memory(run, Program()), 1)
    13.9
    """
    dp, tp, pp, b, batch, layers, h, heads, s, zero = (float(run[name]) for name in _DRAWN[:-1])
    each, first = 12 * h * h + 13 * h, layers / pp
    parameters = (first * each + VOCABULARY * h) / tp
    divided = [dp if zero >= stage else 1.0 for stage in (3, 2, 1)]
    states = parameters * sum(size / ways for size, ways in zip((2, 2, 12), divided, strict=True))
    states += 4 * each / tp * (zero >= 3) + 0.5 * parameters * (dp > 1)
    whole = tp if program.split_sequence else 1.0
    scores = 0.0 if program.fused else 5 * heads * s / h / tp
    kept = {"none": scores, "selective": 0.0, "full": 2 / whole - 10 / whole - 24 / tp}[str(run["recompute"])]
    of_layer = s * b * h * (10 / whole + 24 / tp + kept)
    working = s * b * h * (10 / whole + 24 / tp + scores) if run["recompute"] == "full" else 0.0
    activations = of_layer * first * min(pp, batch / (dp * b)) + working
    logits = 8 * s * b * VOCABULARY / tp if pp == 1 else 2 * s * b * h
    return (states + activations + logits) / 2**30 + program.context


def drawn(count: int, seed: int, program: Program, sequences: tuple[int, ...] = (2048, 4096)) -> pd.DataFrame:
    """Return different layouts on 8 to 128 devices, 8 a node, with their memory as `gb`.

    Those that need more than 320 GiB nobody would try, and are drawn again.
    """
    rng, runs = np.random.default_rng(seed), {}
    while len(runs) < count:
        layers, h, heads = NETWORKS[rng.integers(len(NETWORKS))]
        devices, tp, pp = (int(2 ** rng.integers(*ends)) for ends in ((3, 8), (0, 4), (0, 4)))
        b, batch = int(2 ** rng.integers(0, 5)), int(2 ** rng.integers(7, 10))
        dp, seq = devices // (tp * pp), int(rng.choice(sequences))
        # ZeRO-2 and -3 go together with stages in no usual program.
        zero, again = int(rng.integers(0, 4 if pp == 1 else 2)), _RECOMPUTED[rng.integers(3)]
        if dp * tp * pp != devices or layers % pp or batch % (b * dp):
            continue
        cells = (dp, tp, pp, b, batch, layers, h, heads, seq, zero, again)
        run = dict(zip(_DRAWN, cells, strict=True))
        gb = memory(run, program) * float(np.exp(program.scatter * rng.standard_normal()))
        if gb < 320.0 and cells not in runs:
            runs[cells] = {**run, "nodes": max(1, devices // 8), "gb": gb}
    return pd.DataFrame(list(runs.values()))
