"""Runs of a transformer whose step time and memory follow a law, on nodes of 4 devices."""

import numpy as np
import pandas as pd

#: 24 layers, a global batch of 64, and a device of 20 GiB that some layouts exceed.
CAPACITY_GIB = 20.0


def layout_runs() -> pd.DataFrame:
    """Return the layouts of 1 to 16 devices with their seconds `s` and memory `gib`.

    The exchange of gradients makes data ways dearest in time; a whole network on a device makes them so in memory.
    """
    ways = [(d, t, p) for d in (1, 2, 4) for t in (1, 2, 4) for p in (1, 2, 4) if d * t * p <= 16]
    frame = pd.DataFrame([(*w, m) for w in ways for m in (1, 2)], columns=["dp", "tp", "pp", "mbs"]).astype(float)
    frame["layers"] = np.where(np.arange(len(frame)) % 3, 24.0, 12.0)
    frame["gbs"], frame["nodes"] = 64.0, np.ceil(frame.dp * frame.tp * frame.pp / 4)
    passes = frame.gbs / (frame.dp * frame.mbs)
    work = 0.01 * frame.layers * frame.mbs / (frame.tp * frame.pp)
    frame["s"] = work * (passes + frame.pp - 1) + 0.02 * frame.layers * (1 - 1 / frame.dp) + 0.05
    in_flight = np.minimum(frame.pp, passes) / frame.pp
    frame["gib"] = 2 + frame.layers * (1.2 / frame.pp + 0.5 * frame.mbs * in_flight) / frame.tp
    return frame
