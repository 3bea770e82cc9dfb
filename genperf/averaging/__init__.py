"""`auto` on a table of many factors: averaged expressions, whose residuals are kriged."""

from genperf.averaging.average import fit_factors

__all__ = ["fit_factors"]
