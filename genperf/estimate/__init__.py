"""One family on one table → one fitted member; structure and λ are chosen inside."""

from genperf.estimate.alike import at_once, estimate_alike
from genperf.estimate.candidates import affordable
from genperf.estimate.feasibility import feasibility_of
from genperf.estimate.fit import estimate
from genperf.estimate.grow import NO_GROWTH, GrowthRules
from genperf.estimate.options import FitOptions
from genperf.estimate.phases import estimate_phases
from genperf.estimate.prepare import fewer_factors
