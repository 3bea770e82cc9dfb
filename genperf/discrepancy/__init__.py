"""What an expression cannot say: one Gaussian process on ln T, with a kernel for each kind of table."""

from genperf.discrepancy.extrapolation import Extrapolation
from genperf.discrepancy.kernels import Effect, Exponential, Kernel, RandomWalk
from genperf.discrepancy.process import AtRows, Discrepancy, Geometry
from genperf.discrepancy.surface import Surface

__all__ = [
    "AtRows",
    "Discrepancy",
    "Effect",
    "Exponential",
    "Extrapolation",
    "Geometry",
    "Kernel",
    "RandomWalk",
    "Surface",
]
