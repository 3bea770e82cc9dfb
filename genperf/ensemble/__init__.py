"""`auto`: families of expressions weighted by how they predict, for a series or for a table of many factors."""

from genperf.ensemble.factors import fit_factors
from genperf.ensemble.pooled import with_pool
from genperf.series import Ensemble, Series, fit_series, refuse_one_scale, series_of

__all__ = ["Ensemble", "Series", "fit_factors", "fit_series", "refuse_one_scale", "series_of", "with_pool"]
