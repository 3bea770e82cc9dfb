"""The core experiment's sample: networks, and how each is trained. experiments/protocols/core-experiment.md says why.

Nothing but the standard library: a design is read and tested where no framework is installed.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from networks import Network, forward_flops

#: What a network is.
INTRINSIC: dict[str, Sequence[Any]] = {
    "layers": (1, 2, 3, 4),
    "filters": (8, 16, 24, 32),
    "kernel_size": (1, 3, 5),
    "hidden": (64, 128, 192, 256, 384),
    "activation": ("relu", "tanh", "sigmoid", "gelu"),
    "optimizer": ("sgd", "momentum", "adam", "rmsprop"),
}
#: How it is trained; the workers come beside these.
EXTRINSIC: dict[str, Sequence[int]] = {"batch_per_worker": (4, 8, 16, 32), "data_chunks": (1, 2, 4)}
WORKERS = (1, 2, 3, 4, 6, 8)


@dataclass(frozen=True)
class Design:
    """How much is sampled, and what all cases have in common.

    Attributes
    ----------
    networks, settings : int
        Networks, and settings (workers, batch, chunks) of each: 160 configurations, of which the issue asks for 150.
    seed : int
    image_size : int
        Pixels along an edge. Small, so that one core computes a step in milliseconds.
    max_mflop : float
        The dearest forward pass of a worker, 1e6 operations: about 10 ms of a core for a step.
    slowdown : float
        A worker's device takes so many seconds for one of a core. 8 workers share 2 cores: 4 would leave no time.
    link_mbit : float
        The hosts' links, Mbit/s: the exchange then takes about as long as the computation.
    servers : int
        Of MXNet. One would hold up 8 workers for most of a step.
    """

    networks: int = 40
    settings: int = 4
    seed: int = 15
    image_size: int = 16
    max_mflop: float = 120.0
    slowdown: float = 8.0
    link_mbit: float = 100.0
    servers: int = 2


def configurations(design: Design | None = None, workers: Sequence[int] = WORKERS) -> list[Network]:
    """Return the sample: each network with settings of different counts of workers.

    Parameters
    ----------
    design : Design, optional
    workers : sequence of int
        The counts there are; each network takes `settings` of them.
    """
    design = design or Design()
    rng = random.Random(design.seed)
    networks: list[Network] = []
    while len(networks) < design.networks:
        network = _drawn(rng, INTRINSIC)
        smallest = {name: levels[0] for name, levels in EXTRINSIC.items()}
        if network not in networks and _fits(design, {**network, **smallest}):
            networks.append(network)
    sample = []
    for number, network in enumerate(networks):
        for count in sorted(rng.sample(list(workers), min(design.settings, len(workers)))):
            case = {"network": number, **network, "image_size": design.image_size, "workers": count}
            while not _fits(design, case):
                case.update(_drawn(rng, EXTRINSIC))
            sample.append(case)
    return sample


def _drawn(rng: random.Random, factors: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    return {name: rng.choice(levels) for name, levels in factors.items()}


def _fits(design: Design, case: Network) -> bool:
    if "batch_per_worker" not in case:
        return False
    return forward_flops({"image_size": design.image_size, **case}) <= design.max_mflop * 1e6
