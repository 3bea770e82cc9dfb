"""What is normal: where an efficiency stands among published series, and the least time that an exchange needs."""

from genperf.normal.compare import NORMAL, Lack, Normal, Step, compared, published, step_to
from genperf.normal.least import LEAST, Least, least_exchange

__all__ = ["LEAST", "NORMAL", "Lack", "Least", "Normal", "Step", "compared", "least_exchange", "published", "step_to"]
