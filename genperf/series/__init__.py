"""`auto` on a series: families of overheads, weighed by their evidence under a prior learned from many clusters."""

from genperf.series.fit import fit_series, weigh
from genperf.series.measured import Series, refuse_one_scale, repeat_noise, series_of
from genperf.series.sharing import TablePrior, table_prior

__all__ = [
    "Series",
    "TablePrior",
    "fit_series",
    "refuse_one_scale",
    "repeat_noise",
    "series_of",
    "table_prior",
    "weigh",
]
