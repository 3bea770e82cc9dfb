"""Advice: what to measure next, and which configuration is best."""

from genperf.advice.optimize import optimize
from genperf.advice.optimum import Optimum

__all__ = ["Optimum", "optimize"]
