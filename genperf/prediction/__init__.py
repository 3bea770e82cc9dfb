"""From a fitted model to predictions: queries checked, bands drawn, verdicts given."""

from genperf.prediction.bands import Band, mixture_quantiles
from genperf.prediction.feasibility import Feasibility
from genperf.prediction.member import Member, Spread, Status, central_times, discrepancies_of, forecasts, stack_of
from genperf.prediction.predict import Ensemble, PredictedFrom, predict, predicted_columns
from genperf.prediction.schema import Query, Schema, cells_of, read_query, schema_of
from genperf.prediction.verdict import Evidence, distance_beyond
