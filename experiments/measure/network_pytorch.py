"""The measured network of `networks.py` in PyTorch."""

from typing import Any

from pytorch_choices import ACTIVATIONS
from torch import nn


def network(case: dict[str, Any]) -> nn.Module:
    """Return the network of a case."""
    kernel, filters, hidden, activation = (
        case["kernel_size"],
        case["filters"],
        case["hidden"],
        ACTIVATIONS[case["activation"]],
    )
    blocks: list[nn.Module] = []
    for i in range(case["layers"]):
        blocks += [nn.Conv2d(3 if i == 0 else filters, filters, kernel, padding=kernel // 2), activation()]
    return nn.Sequential(
        *blocks,
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(filters, hidden),
        activation(),
        nn.Linear(hidden, hidden),
        activation(),
        nn.Linear(hidden, 10),
    )
