"""Covariances of the discrepancy, one small file each.

A kernel is a `msgspec.Struct` with a tag, which names it in the model file. It has the members `factors`, `covariance`,
`standing`, `variance`, `fault` and `numbered`. A new kernel is a file here, a name in `Kernel`, a class in
`reporting/assets/kernels.js`, a test, and the line that chooses it.

`Exponential` compares configurations by a sum of distances. A kernel of that sum is a covariance for any number of
factors if it is a mixture of exponential ones, such as (1 + d/2)⁻². A Matérn kernel (1 + d)·exp(−d) of the sum is none:
its matrices have negative eigenvalues.
"""

from __future__ import annotations

from typing import TypeAlias

from genperf.discrepancy.kernels.exponential import Effect, Exponential
from genperf.discrepancy.kernels.random_walk import RandomWalk

#: Every kernel that a model file may hold.
Kernel: TypeAlias = Exponential | RandomWalk

__all__ = ["Effect", "Exponential", "Kernel", "RandomWalk"]
