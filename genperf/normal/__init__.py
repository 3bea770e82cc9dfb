"""What is normal: where an efficiency lies among published series, and the least time that an exchange needs."""

from genperf.normal.compare import NORMAL, Lack, Normal, Step, compared, published, step_to
from genperf.normal.exchange import LEAST, Exchange, Least, exchange_of, least_exchange
from genperf.normal.series import AmongPublished, among_published, judged, series_of, trains_networks

__all__ = [
    "LEAST",
    "NORMAL",
    "AmongPublished",
    "Exchange",
    "Lack",
    "Least",
    "Normal",
    "Step",
    "among_published",
    "compared",
    "exchange_of",
    "judged",
    "least_exchange",
    "published",
    "series_of",
    "step_to",
    "trains_networks",
]
