"""Training a transformer: the time of a step and the memory of a device, from its shape and its layout."""

from genperf.models.transformer.memory import FAMILY as MEMORY
from genperf.models.transformer.step import FAMILY

__all__ = ["FAMILY", "MEMORY"]
