"""The measured networks: one small CNN, its intrinsic factors, seeded samples and grids of them.

The network is `layers` convolutions (`filters` channels, `kernel_size` × `kernel_size`, same padding) on `image_size` ×
`image_size` × 3 inputs, global average pooling, then dense filters → hidden → hidden → 10. `hidden` moves the number of
parameters (what is communicated) almost independently of the convolutions (what is computed).

Read by the launcher and, inside the frameworks' environments, by the workers: nothing but the standard library.
"""

from __future__ import annotations

import itertools
import random
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Network = dict[str, Any]

CLASSES = 10
CHANNELS = 3
BYTES_PER_PARAMETER = 4

_FILE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
BASE: Network = _FILE["base"]
FACTORS: dict[str, Sequence[Any]] = _FILE["factors"]


def parameter_count(network: Network) -> int:
    filters, kernel, hidden = network["filters"], network["kernel_size"] ** 2, network["hidden"]
    convolutions = CHANNELS * filters * kernel + filters
    convolutions += (network["layers"] - 1) * (filters * filters * kernel + filters)
    dense = (filters + 1) * hidden + (hidden + 1) * hidden + (hidden + 1) * CLASSES
    return convolutions + dense


def forward_flops(network: Network) -> int:
    """Return the floating-point operations of one forward pass of one worker's batch; a multiply-add counts as 2."""
    filters, hidden = network["filters"], network["hidden"]
    pixels = network["image_size"] ** 2 * network["kernel_size"] ** 2
    convolutions = 2 * pixels * filters * (CHANNELS + (network["layers"] - 1) * filters)
    dense = 2 * (filters * hidden + hidden**2 + hidden * CLASSES)
    return int(network["batch_per_worker"] * (convolutions + dense))


def grid(factors: Mapping[str, Sequence[Any]]) -> list[Network]:
    """Return every combination of the factors given, the others as in BASE."""
    return [{**BASE, **dict(zip(factors, values, strict=True))} for values in itertools.product(*factors.values())]


def sample(count: int, seed: int, *, max_gflop: float = 1.0) -> list[Network]:
    """Return a seeded sample of distinct networks, BASE first."""
    rng = random.Random(seed)
    found = [network for network in grid(FACTORS) if forward_flops(network) <= max_gflop * 1e9 and network != BASE]
    rng.shuffle(found)
    return [dict(BASE), *found[: count - 1]]
