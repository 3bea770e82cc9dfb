"""Many factors: one Gaussian process on ln T about several means, stacked by how they predict held-out rows."""

from genperf.process.fit import fit_factors
