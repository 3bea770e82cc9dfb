"""A short fuzz of everything that reads files of others; `changes.py` and `fuzz.py` do it for long."""

from __future__ import annotations

import random

import pytest
from changes import mutated
from targets import TARGETS, read

#: Of each target: a second or two.
RUNS = 300


@pytest.mark.parametrize("name", TARGETS)
def test_only_errors_of_the_user(name: str) -> None:
    target, rng = TARGETS[name], random.Random(name)
    assert all(read(target, seed) for seed in target.seeds)
    for _ in range(RUNS):
        read(target, mutated(target, rng))
