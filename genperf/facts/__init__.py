"""What an answer is made of: numbers with names about a fitted model at one configuration, without words."""

from genperf.facts.growth import Expectation, Growth, Interval, Paid, Stage
from genperf.facts.limit import Doubling, Limit, Part

__all__ = ["Doubling", "Expectation", "Growth", "Interval", "Limit", "Paid", "Part", "Stage"]
