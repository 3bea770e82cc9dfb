"""Steps of transformers and of convolutional networks on one GPU: `python one_gpu.py FOLDER` writes a table of each.

Needs PyTorch and a GPU, and nothing of genperf. A step is forward, backward and update on data that lie on the device,
timed from one synchronisation to the next; a row is the median of some steps after some that warm up.
"""

import argparse
import csv
import itertools
import random
import statistics
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

DESIGN = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
#: Of the transformer: words, and the width of a head. Of the other: classes, and units of its dense layer.
WORDS, HEAD, CLASSES, DENSE = 32_000, 64, 100, 512
#: Convolutions, two by two, behind which the image is halved.
MOST_HALVED = 6


class Block(nn.Module):
    """A layer of a transformer: causal attention and a product of four times the width, each beside its input."""

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(hidden_size) for _ in range(2))
        self.inputs = nn.Linear(hidden_size, 3 * hidden_size, bias=False)
        self.outputs = nn.Linear(hidden_size, hidden_size, bias=False)
        self.dense = nn.Sequential(
            nn.Linear(hidden_size, 4 * hidden_size, bias=False),
            nn.GELU(),
            nn.Linear(4 * hidden_size, hidden_size, bias=False),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        samples, length, hidden_size = x.shape
        shape = samples, length, 3, hidden_size // HEAD, HEAD
        query, key, value = self.inputs(self.norms[0](x)).view(shape).permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.outputs(attended.transpose(1, 2).reshape(x.shape))
        return x + self.dense(self.norms[1](x))


class Transformer(nn.Module):
    """A decoder that predicts the next word."""

    def __init__(self, layers: int, hidden_size: int, seq_length: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, hidden_size), nn.Embedding(seq_length, hidden_size)
        blocks = (Block(hidden_size) for _ in range(layers))
        self.blocks = nn.Sequential(*blocks, nn.LayerNorm(hidden_size), nn.Linear(hidden_size, WORDS, bias=False))

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        places = torch.arange(words.shape[1], device=words.device)
        return self.blocks(self.words(words) + self.places(places)).flatten(0, 1)


def transformer(
    layers: int, hidden_size: int, seq_length: int, batch: int
) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """Return a transformer, with words and those that follow."""
    network = Transformer(layers, hidden_size, seq_length)
    return network, (torch.randint(WORDS, (batch, seq_length)), torch.randint(WORDS, (batch * seq_length,)))


def cnn(
    layers: int, filters: int, kernel_size: int, image_size: int, batch: int
) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """Return a convolutional network, with images and their classes."""
    modules: list[nn.Module] = []
    for layer in range(layers):
        before = filters if layer else 3
        modules += [nn.Conv2d(before, filters, kernel_size, padding=kernel_size // 2, bias=False)]
        modules += [nn.BatchNorm2d(filters), nn.ReLU()]
        modules += [nn.MaxPool2d(2)] if layer % 2 and layer < MOST_HALVED else []
    modules += [
        nn.AdaptiveAvgPool2d(4),
        nn.Flatten(),
        nn.Linear(16 * filters, DENSE),
        nn.ReLU(),
        nn.Linear(DENSE, CLASSES),
    ]
    network = nn.Sequential(*modules).to(memory_format=torch.channels_last)
    images = torch.randn(batch, 3, image_size, image_size).contiguous(memory_format=torch.channels_last)
    return network, (images, torch.randint(CLASSES, (batch,)))


def measure(network: nn.Module, data: tuple[torch.Tensor, ...], in_bf16: bool) -> dict[str, str]:
    """Return the seconds of a step, its operations and the largest memory of a device."""
    torch.cuda.reset_peak_memory_stats()
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4, fused=True)
    inputs, wanted = data
    counter, seconds = FlopCounterMode(display=False), list[float]()

    def step() -> None:
        with torch.autocast("cuda", torch.bfloat16, enabled=in_bf16):
            loss = functional.cross_entropy(network(inputs), wanted)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()

    with counter:
        step()
    for _ in range(DESIGN["warm_up"] + DESIGN["steps"]):
        start = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - start)
    return {
        "step_time_s": f"{statistics.median(seconds[DESIGN['warm_up'] :]):.6f}",
        "flops_per_step": str(counter.get_total_flops()),
        "memory_gb": f"{torch.cuda.max_memory_allocated() / 1e9:.3f}",
    }


def campaign(name: str, build: Callable[..., tuple[nn.Module, tuple[torch.Tensor, ...]]], path: Path) -> None:
    """Measure every combination of the levels, and write a row of each."""
    levels = DESIGN[name]
    runs = [(number, *run) for number in range(DESIGN["passes"]) for run in itertools.product(*levels.values())]
    random.Random(DESIGN["seed"]).shuffle(runs)
    runs.sort(key=lambda run: run[0])
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = None
        for number, *run in runs:
            factors = dict(zip(levels, run, strict=True))
            sizes = {factor: value for factor, value in factors.items() if factor != "precision"}
            with torch.device("cuda"):
                network, data = build(**sizes)
            measured = measure(network, data, factors.get("precision") != "tf32")
            parameters = sum(weights.numel() for weights in network.parameters())
            row = {"device": torch.cuda.get_device_name(), **factors, "parameters": parameters, "repeat": number}
            if writer is None:
                writer = csv.DictWriter(file, [*row, *measured])
                writer.writeheader()
            writer.writerow({**row, **measured})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    for name, build in (("transformer", transformer), ("cnn", cnn)):
        start = time.perf_counter()
        campaign(name, build, folder / f"gpu_{name}.csv")
        print(f"{name}: {time.perf_counter() - start:.0f} s, PyTorch {torch.__version__}", flush=True)


if __name__ == "__main__":
    main()
