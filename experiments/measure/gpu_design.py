"""What the single-device campaign measures: the factors of two networks, and a seeded sample of their configurations.

Nothing here needs more than the standard library, so a design can be read and tested where no framework is installed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

Level = int | str
Configuration = dict[str, Level]

CLASSES = 10
#: Channels of an image.
CHANNELS = 3
#: Width of an attention head.
HEAD = 64
#: A step computes the forward pass once and the backward pass at twice its cost.
PASSES = 3
#: Draws in a row that bring nothing new before a design counts as used up.
PATIENCE = 10_000
#: Precisions that CUDA devices compute in hardware from capability 8.0 on.
NEWER = ("tf32", "bf16")


@dataclass(frozen=True)
class Design:
    """A network's factors with their levels, and how large a step may be.

    Parameters
    ----------
    network : {"cnn", "transformer"}
    levels : mapping of str to tuple
        Levels per factor.
    limit : mapping of str to float
        Most floating-point operations of a step, by precision: single precision is several times slower.
    """

    network: str
    levels: Mapping[str, tuple[Level, ...]]
    limit: Mapping[str, float]

    def forward_flops(self, configuration: Configuration) -> int:
        """Return the operations of one forward pass over the batch, a multiply-add counted as two."""
        return FLOPS[self.network](configuration)

    def parameters(self, configuration: Configuration) -> int:
        """Return the number of trained parameters."""
        return PARAMETERS[self.network](configuration)

    def without(self, factor: str, dropped: tuple[Level, ...]) -> Design:
        """Return the design without some levels of a factor."""
        kept = tuple(level for level in self.levels[factor] if level not in dropped)
        return replace(self, levels={**self.levels, factor: kept})

    def sample(self, count: int, seed: int) -> list[Configuration]:
        """Draw distinct configurations within the limit.

        A longer sample of the same seed begins with the shorter one, so that a campaign can be made longer later. Only
        `Random.random` is drawn from: its sequence is the one that Python promises to keep.

        Returns
        -------
        list of dict
            `count` of them, or fewer where the design holds no more.
        """
        rng, chosen, misses = random.Random(seed), {}, 0
        while len(chosen) < count and misses < PATIENCE:
            drawn = {factor: levels[int(rng.random() * len(levels))] for factor, levels in self.levels.items()}
            key = tuple(drawn.values())
            if key in chosen or PASSES * self.forward_flops(drawn) > self.limit[str(drawn["precision"])]:
                misses += 1
                continue
            chosen[key], misses = drawn, 0
        return list(chosen.values())


def sizes(configuration: Configuration) -> dict[str, int]:
    """Return the factors that are numbers."""
    return {factor: level for factor, level in configuration.items() if isinstance(level, int)}


def pooled_after(layers: int) -> int:
    """Return the number of convolutions before the only pooling."""
    return layers // 2 + 1


def cnn_flops(configuration: Configuration) -> int:
    c = sizes(configuration)
    before, side = pooled_after(c["layers"]), c["image_size"] // c["pool_size"]
    kernel = 2 * c["kernel_size"] ** 2 * c["filters"]
    large = kernel * c["image_size"] ** 2 * (CHANNELS + (before - 1) * c["filters"])
    small = kernel * side**2 * (c["layers"] - before) * c["filters"]
    dense = 2 * c["hidden"] * (c["filters"] * side**2 + CLASSES)
    return c["batch_per_device"] * (large + small + dense)


def cnn_parameters(configuration: Configuration) -> int:
    c = sizes(configuration)
    side, filters = c["image_size"] // c["pool_size"], c["filters"]
    convolutions = c["kernel_size"] ** 2 * filters * (CHANNELS + (c["layers"] - 1) * filters) + c["layers"] * filters
    return convolutions + (filters * side**2 + 1) * c["hidden"] + (c["hidden"] + 1) * CLASSES


def transformer_flops(configuration: Configuration) -> int:
    """Return the operations of a forward pass, without the half of the attention that causality masks."""
    c = sizes(configuration)
    block = 24 * c["d_model"] ** 2 + 2 * c["sequence"] * c["d_model"]
    return c["batch_per_device"] * c["sequence"] * (c["layers"] * block + 2 * c["d_model"] * c["vocabulary"])


def transformer_parameters(configuration: Configuration) -> int:
    c = sizes(configuration)
    width = c["d_model"]
    block = 12 * width**2 + 13 * width
    return c["layers"] * block + (2 * c["vocabulary"] + c["sequence"]) * width + 2 * width


FLOPS: dict[str, Callable[[Configuration], int]] = {"cnn": cnn_flops, "transformer": transformer_flops}
PARAMETERS: dict[str, Callable[[Configuration], int]] = {"cnn": cnn_parameters, "transformer": transformer_parameters}
NETWORKS = tuple(FLOPS)

#: For a data-centre accelerator: the largest step takes some tenths of a second.
FULL = {
    "cnn": Design(
        "cnn",
        {
            "batch_per_device": (16, 32, 64, 128, 256, 512),
            "layers": (2, 4, 6, 8, 12),
            "filters": (16, 32, 64, 128, 256),
            "kernel_size": (1, 3, 5, 7),
            "pool_size": (2, 4),
            "hidden": (128, 512, 2048),
            "image_size": (32, 64),
            "activation": ("relu", "gelu", "tanh", "sigmoid"),
            "optimizer": ("sgd", "momentum", "adam", "rmsprop"),
            "precision": ("fp32", "tf32", "bf16"),
        },
        {"fp32": 3e12, "tf32": 3e12, "bf16": 3e12},
    ),
    "transformer": Design(
        "transformer",
        {
            "batch_per_device": (1, 2, 4, 8, 16, 32),
            "layers": (2, 4, 6, 8, 12, 16, 24),
            "d_model": (256, 512, 768, 1024, 1536, 2048),
            "sequence": (128, 256, 512, 1024, 2048),
            "vocabulary": (32_000,),
            "optimizer": ("adam",),
            "precision": ("fp32", "tf32", "bf16"),
        },
        {"fp32": 8e12, "tf32": 3e13, "bf16": 3e13},
    ),
}
#: For a try on a processor: the largest step takes some hundredths of a second.
TINY = {
    "cnn": Design(
        "cnn",
        {
            "batch_per_device": (4, 8, 16),
            "layers": (2, 3, 4),
            "filters": (4, 8, 16),
            "kernel_size": (1, 3),
            "pool_size": (2, 4),
            "hidden": (32, 128),
            "image_size": (16,),
            "activation": ("relu", "gelu", "tanh", "sigmoid"),
            "optimizer": ("sgd", "momentum", "adam", "rmsprop"),
            "precision": ("fp32",),
        },
        {"fp32": 3e8},
    ),
    "transformer": Design(
        "transformer",
        {
            "batch_per_device": (1, 2, 4),
            "layers": (1, 2, 3),
            "d_model": (64, 128),
            "sequence": (16, 32, 64),
            "vocabulary": (500,),
            "optimizer": ("adam",),
            "precision": ("fp32", "bf16"),
        },
        {"fp32": 5e8, "bf16": 5e8},
    ),
}
