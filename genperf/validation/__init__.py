"""Errors on held-out configurations: models and learners fitted on a part of a table and compared on the other part."""

from genperf.validation.learners import LEARNERS
from genperf.validation.run import BLACK_BOXES, ModelScore, Validation, importance, validate
from genperf.validation.splits import SCHEMES, Split, split
