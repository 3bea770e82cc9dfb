"""`auto` on a series: what a table tells of its scaling, families of overheads, and what is expected of them."""

from genperf.series.fit import fit_series, shortened, weigh
from genperf.series.measured import Series, outliers, refuse_one_scale, repeat_noise, series_of, taken_as
from genperf.series.outcome import Ensemble

__all__ = [
    "Ensemble",
    "Series",
    "fit_series",
    "outliers",
    "refuse_one_scale",
    "repeat_noise",
    "series_of",
    "shortened",
    "taken_as",
    "weigh",
]
