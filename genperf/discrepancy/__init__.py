"""What an expression cannot say: a Gaussian process on ln T, for a series and for many factors."""

from genperf.discrepancy.product import KernelAxis, Product, kernel_script
from genperf.discrepancy.series import Discrepancy, Extrapolation, RandomWalk
from genperf.discrepancy.stack import Beyond, MeanProcess, Process, Stack
