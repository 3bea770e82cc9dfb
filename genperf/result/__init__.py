"""What came back from a fit, and the file it is kept in."""

from genperf.result.answering import answering, predicting_levels, read_as, with_scaling
from genperf.result.file import dump_model, is_model, load_model, model_pieces, parse_model, save_model
from genperf.result.fit_result import FitResult, GroupedResult
