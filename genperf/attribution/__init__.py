"""What a time is made of: terms, elasticities, sensitivity, scaling, comparisons. Definitions: docs/attribution.md."""

from genperf.attribution.answers import Comparison, Explanation, Importance, Scaling, Sensitivity
from genperf.attribution.comparison import compare
from genperf.attribution.configurations import centre_of, completed
from genperf.attribution.explain import explain
from genperf.attribution.scaling import scaling
from genperf.attribution.sensitivity import sensitivity

__all__ = [
    "Comparison",
    "Explanation",
    "Importance",
    "Scaling",
    "Sensitivity",
    "centre_of",
    "compare",
    "completed",
    "explain",
    "scaling",
    "sensitivity",
]
