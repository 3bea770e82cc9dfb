"""Figures (matplotlib, extra `plots`). Every function returns a Figure; none is shown, nothing is styled at import."""

from genperf.plots.figures import (
    answer_curve,
    constants,
    efficiency,
    elasticities,
    groups,
    paper,
    predicted_against_measured,
    published,
    residuals,
    scaling,
    sobol,
    speedup,
    terms,
    waterfall,
)
from genperf.plots.style import image, kind_of, save
