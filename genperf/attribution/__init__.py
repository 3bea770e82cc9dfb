"""What a time is made of: terms, elasticities, sensitivity, scaling, comparisons. Definitions: docs/attribution.md."""

from genperf.attribution.answers import Comparison, Explanation, Importance, Scaling, Sensitivity
from genperf.attribution.explain import centre_of, explain

__all__ = ["Comparison", "Explanation", "Importance", "Scaling", "Sensitivity", "centre_of", "explain"]
