"""A short fuzz of everything that reads files of others; `fuzz.py` does it for long, guided by coverage."""

from __future__ import annotations

import random

import pytest
from targets import TARGETS, Target, read

#: Of each target: a second or two.
RUNS = 300


def mutated(target: Target, rng: random.Random) -> bytes:
    """Return a seed with one to eight pieces cut, repeated, overwritten, or replaced by a word."""
    data = bytearray(rng.choice(target.seeds))
    for _ in range(rng.randint(1, 8)):
        at = rng.randrange(len(data) + 1)
        length = rng.choice((1, 1, 4, 40, len(data)))
        match rng.randrange(5):
            case 0:
                del data[at : at + length]
            case 1:
                data[at:at] = data[at : at + length]
            case 2:
                data[at : at + 1] = rng.randbytes(1)
            case 3:
                data[at:at] = rng.choice(target.words)
            case _:
                data[at : at + length] = rng.choice(target.words)
    return bytes(data)


@pytest.mark.parametrize("name", TARGETS)
def test_only_errors_of_the_user(name: str) -> None:
    target, rng = TARGETS[name], random.Random(name)
    assert all(read(target, seed) for seed in target.seeds)
    for _ in range(RUNS):
        read(target, mutated(target, rng))
