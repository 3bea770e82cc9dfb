"""What an expression cannot say: one Gaussian process on ln T, with a kernel for each kind of table."""

from genperf.discrepancy.extrapolation import Extrapolation
from genperf.discrepancy.kernels import Axis, Kernel, Product, RandomWalk
from genperf.discrepancy.process import AtRows, Discrepancy, Geometry
from genperf.discrepancy.stack import Beyond, Part, Process, Stack

__all__ = [
    "AtRows",
    "Axis",
    "Beyond",
    "Discrepancy",
    "Extrapolation",
    "Geometry",
    "Kernel",
    "Part",
    "Process",
    "Product",
    "RandomWalk",
    "Stack",
]
