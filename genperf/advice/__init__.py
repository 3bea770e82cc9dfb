"""Advice: what to measure next, and which configuration is best."""

from genperf.advice.answers import Suggestions
from genperf.advice.goal import Goal
from genperf.advice.objective import Job
from genperf.advice.optimize import optimize
from genperf.advice.optimum import Optimum
from genperf.advice.suggest import suggest

__all__ = ["Goal", "Job", "Optimum", "Suggestions", "optimize", "suggest"]
