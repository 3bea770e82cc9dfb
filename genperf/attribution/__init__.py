"""The parts of a prediction: terms, elasticities, sensitivity, scaling, comparisons (docs/attribution.md)."""

from genperf.attribution.answers import Comparison, Explanation, Scaling, Sensitivity
from genperf.attribution.elasticity import Sobol, sensitivity
from genperf.attribution.equation import written_lines
from genperf.attribution.explain import compare, explain
from genperf.attribution.scaling import Knee, scaling
