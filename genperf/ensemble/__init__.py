"""`auto`: families of expressions weighted by how they predict, for a series or for a table of many factors."""

from genperf.ensemble.outcome import Ensemble

__all__ = ["Ensemble"]
