"""One family on one table → one fitted member; structure and λ are chosen inside."""

from genperf.estimate.fit import Estimate, estimate
from genperf.estimate.options import FitOptions
from genperf.estimate.relevance import fewer_factors

__all__ = ["Estimate", "FitOptions", "estimate", "fewer_factors"]
