"""A small CNN and a decoder-only transformer in PyTorch, and one training step of either."""

from __future__ import annotations

from collections.abc import Callable

import torch
from gpu_design import CHANNELS, CLASSES, HEAD, Configuration, pooled_after, sizes
from gpu_timing import Step
from pytorch_choices import ACTIVATIONS, OPTIMIZERS
from torch import nn
from torch.nn import functional


def cnn(configuration: Configuration) -> nn.Module:
    """Return convolutions of one width with one max pooling among them, then two dense layers."""
    c, activation = sizes(configuration), ACTIVATIONS[str(configuration["activation"])]
    kernel, filters, layers = c["kernel_size"], c["filters"], []
    for i in range(c["layers"]):
        layers += [nn.Conv2d(filters if i else CHANNELS, filters, kernel, padding=kernel // 2), activation()]
        if i + 1 == pooled_after(c["layers"]):
            layers.append(nn.MaxPool2d(c["pool_size"]))
    side = c["image_size"] // c["pool_size"]
    dense = [nn.Linear(filters * side**2, c["hidden"]), activation(), nn.Linear(c["hidden"], CLASSES)]
    return nn.Sequential(*layers, nn.Flatten(), *dense)


class Block(nn.Module):
    """Causal self-attention and a dense part of four times the width, each with normalisation before and a shortcut."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.heads = width // HEAD
        self.before_attention, self.before_dense = nn.LayerNorm(width), nn.LayerNorm(width)
        self.inward, self.outward = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.dense = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map (batch, length, width) to the same shape."""
        batch, length, width = x.shape
        split = self.inward(self.before_attention(x)).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = split.permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.outward(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.dense(self.before_dense(x))


class Transformer(nn.Module):
    """A decoder-only transformer with learned positions."""

    def __init__(self, configuration: Configuration) -> None:
        super().__init__()
        c = sizes(configuration)
        width = c["d_model"]
        self.tokens = nn.Embedding(c["vocabulary"], width)
        self.positions = nn.Parameter(torch.zeros(c["sequence"], width))
        self.blocks = nn.Sequential(*[Block(width) for _ in range(c["layers"])], nn.LayerNorm(width))
        self.scores = nn.Linear(width, c["vocabulary"], bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Map tokens (batch, length) to scores (batch · length, vocabulary)."""
        scores: torch.Tensor = self.scores(self.blocks(self.tokens(tokens) + self.positions))
        return scores.flatten(0, 1)


MODELS: dict[str, Callable[[Configuration], nn.Module]] = {"cnn": cnn, "transformer": Transformer}


def batch(network: str, configuration: Configuration, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Return random inputs and what they should give, on the device: reading and copying data is not measured."""
    c = sizes(configuration)
    count = c["batch_per_device"]
    if network == "cnn":
        images = torch.randn(count, CHANNELS, c["image_size"], c["image_size"], device=device)
        return images, torch.randint(0, CLASSES, (count,), device=device)
    tokens = torch.randint(0, c["vocabulary"], (2, count, c["sequence"]), device=device)
    return tokens[0], tokens[1].flatten()


def training_step(network: str, configuration: Configuration, device: torch.device) -> Step:
    """Build a network on the device and return a function that trains it by one step."""
    torch.manual_seed(0)
    precision = configuration["precision"]
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    torch.backends.cudnn.allow_tf32 = precision == "tf32"
    with device:
        model = MODELS[network](configuration)
    inputs, wanted = batch(network, configuration, device)
    optimizer = OPTIMIZERS[str(configuration["optimizer"])](model.parameters())

    def step(mark: Callable[[], None]) -> None:
        with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16"):
            loss = functional.cross_entropy(model(inputs), wanted)
        mark()
        loss.backward()
        mark()
        optimizer.step()
        optimizer.zero_grad()
        mark()

    return step
