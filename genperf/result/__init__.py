"""What came back from a fit, and the file it is kept in."""

from genperf.result.file import dump_model, load_model, model_pieces, parse_model, save_model
from genperf.result.fit_result import FitResult, GroupedResult, with_scaling

__all__ = [
    "FitResult",
    "GroupedResult",
    "dump_model",
    "load_model",
    "model_pieces",
    "parse_model",
    "save_model",
    "with_scaling",
]
