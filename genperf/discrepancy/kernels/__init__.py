"""Covariances, one small file each.

A kernel is a `msgspec.Struct` with the members `factors`, `covariance`, `variance`, `fault` and `numbered`. A new part
of the product over factors is a name in `Axis.parts`, its size in `genperf.process.settings`, and a line in
`reporting/assets/kernels.js`.
"""

from __future__ import annotations

from typing import TypeAlias

from genperf.discrepancy.kernels.product import Axis, Product
from genperf.discrepancy.kernels.random_walk import RandomWalk

#: Every kernel of a series that a model file may hold.
Kernel: TypeAlias = RandomWalk

__all__ = ["Axis", "Kernel", "Product", "RandomWalk"]
