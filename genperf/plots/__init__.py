"""Figures (matplotlib, extra `plots`). Every function returns a Figure; none is shown, nothing is styled at import."""

from genperf.plots.figures import (
    answer_curve,
    constants,
    efficiency,
    elasticities,
    groups,
    image,
    kind_of,
    paper,
    predicted_against_measured,
    published,
    residuals,
    save,
    scaling,
    sobol,
    speedup,
    terms,
    waterfall,
)
