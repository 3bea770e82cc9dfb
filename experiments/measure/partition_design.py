"""The partitioned campaign's layouts, and the two transformers. experiments/protocols/partitioned.md says why.

Nothing but the standard library: a design is read and tested where no framework is installed.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DEVICES = (1, 2, 4, 8)


@dataclass(frozen=True)
class Shape:
    """A decoder-only transformer and the samples of a step."""

    name: str
    layers: int
    width: int
    heads: int
    sequence: int
    vocabulary: int
    #: Samples of a step, over all replicas.
    batch: int

    def parameters(self) -> int:
        """Return the number of trained parameters of a replica."""
        block = 12 * self.width**2 + 13 * self.width
        return self.layers * block + (2 * self.vocabulary + self.sequence + 2) * self.width


@dataclass(frozen=True)
class Layout:
    """How a transformer is divided among devices."""

    #: `replicas`, `stages`, `shards`: Ways of the data, of the layers and of each layer's matrices.
    replicas: int
    stages: int
    shards: int
    #: Samples that pass through the stages at once.
    micro: int

    @property
    def devices(self) -> int:
        """How many devices it takes."""
        return self.replicas * self.stages * self.shards

    def place(self, rank: int) -> tuple[int, int, int]:
        """Return the stage, the replica and the shard of a device: shards are neighbours, then replicas."""
        stage, rest = divmod(rank, self.replicas * self.shards)
        replica, shard = divmod(rest, self.shards)
        return stage, replica, shard

    def rank(self, stage: int, replica: int, shard: int) -> int:
        return (stage * self.replicas + replica) * self.shards + shard


_FILE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
FULL, TINY = ([Shape(**shape) for shape in _FILE[part]] for part in ("full", "tiny"))


def layouts(shape: Shape, devices: int) -> Iterator[Layout]:
    """Yield every layout of a shape on so many devices whose parts are equal and whose ways are powers of two.

    Examples
    --------
    >>> [len(list(layouts(FULL[0], devices))) for devices in DEVICES]
    [5, 14, 26, 40]
    """
    powers = [2**i for i in range(shape.batch.bit_length())]
    for replicas in powers:
        for stages in powers:
            shards, left = divmod(devices, replicas * stages)
            if left or not shards or shape.layers % stages or shape.heads % shards:
                continue
            for micro in powers:
                if shape.batch % (replicas * micro) == 0:
                    yield Layout(replicas, stages, shards, micro)


#: Columns of a case → sizes of its shape, and ways of its layout.
SIZES, WAYS = _FILE["sizes"], _FILE["ways"]


def cases(shapes: Sequence[Shape], devices: int) -> list[dict[str, Any]]:
    """Return the cases of so many devices, as columns of a table."""
    return [
        {"model": shape.name}
        | {column: getattr(shape, size) for column, size in SIZES.items()}
        | {column: getattr(layout, way) for column, way in WAYS.items()}
        for shape in shapes
        for layout in layouts(shape, devices)
    ]


def of_case(case: dict[str, Any]) -> tuple[Shape, Layout]:
    """Return what a case's columns stand for."""
    shape = Shape(case["model"], **{size: case[column] for column, size in SIZES.items()})
    return shape, Layout(**{way: case[column] for column, way in WAYS.items()})
