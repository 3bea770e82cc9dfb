"""From a fitted model to predictions: queries checked, bands drawn, verdicts given."""

from genperf.prediction.bands import mixture_quantiles
from genperf.prediction.feasibility import Feasibility
from genperf.prediction.member import Member, Spread, Status, discrepancies_of, forecasts, stack_of
from genperf.prediction.new_levels import substituted_feasibility, substituted_members, substitution_notes
from genperf.prediction.predict import (
    Band,
    Ensemble,
    Fitted,
    central_times,
    predict,
    throughputs,
)
from genperf.prediction.query import Query, cells_of, read_query
from genperf.prediction.schema import Schema, schema_of
from genperf.prediction.verdict import VERDICTS, Evidence, Verdict, distance_beyond, doublings_beyond, verdicts

__all__ = [
    "VERDICTS",
    "Band",
    "Ensemble",
    "Evidence",
    "Feasibility",
    "Fitted",
    "Member",
    "Query",
    "Schema",
    "Spread",
    "Status",
    "Verdict",
    "cells_of",
    "central_times",
    "discrepancies_of",
    "distance_beyond",
    "doublings_beyond",
    "forecasts",
    "mixture_quantiles",
    "predict",
    "read_query",
    "schema_of",
    "stack_of",
    "substituted_feasibility",
    "substituted_members",
    "substitution_notes",
    "throughputs",
    "verdicts",
]
