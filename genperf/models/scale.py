"""Names of `genperf.panel` for the rooms that still look for them here."""

from genperf.panel import Scale, Work, scale_of
from genperf.panel.following import following_counts

__all__ = ["Scale", "Work", "following_counts", "scale_of"]
