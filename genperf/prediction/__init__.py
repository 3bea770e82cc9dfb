"""From a fitted model to predicted times: queries checked, bands drawn, verdicts given."""

from genperf.prediction.bands import mixture_quantiles
from genperf.prediction.kriging import Axis, Effect, Kriging
from genperf.prediction.member import Member, Status, forecasts, krigings_of, which_kriging
from genperf.prediction.predict import PREDICTED, Band, Spread, band_of, beside, central_times, predict
from genperf.prediction.query import Query, cells_of, read_query
from genperf.prediction.schema import Schema, schema_of
from genperf.prediction.verdict import VERDICTS, Evidence, Verdict, doublings_beyond, verdicts
from genperf.prediction.walk import Walk

__all__ = [
    "PREDICTED",
    "VERDICTS",
    "Axis",
    "Band",
    "Effect",
    "Evidence",
    "Kriging",
    "Member",
    "Query",
    "Schema",
    "Spread",
    "Status",
    "Verdict",
    "Walk",
    "band_of",
    "beside",
    "cells_of",
    "central_times",
    "doublings_beyond",
    "forecasts",
    "krigings_of",
    "mixture_quantiles",
    "predict",
    "read_query",
    "schema_of",
    "verdicts",
    "which_kriging",
]
