"""Why steps are slow: laws of one cause each, and the evidence of the runs for them."""

from genperf.causes.diagnosis import Cause, Diagnosis, why

__all__ = ["Cause", "Diagnosis", "why"]
