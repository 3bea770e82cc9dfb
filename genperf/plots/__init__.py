"""Figures (matplotlib, extra `plots`). Every function returns a Figure; none is shown, nothing is styled at import."""

from genperf.plots.figures import constants, predicted_against_measured, published, residuals, sobol, waterfall
from genperf.plots.scaling import efficiency, groups, scaling, speedup, terms
from genperf.plots.style import image, kind_of, save

__all__ = [
    "constants",
    "efficiency",
    "groups",
    "image",
    "kind_of",
    "predicted_against_measured",
    "published",
    "residuals",
    "save",
    "scaling",
    "sobol",
    "speedup",
    "terms",
    "waterfall",
]
