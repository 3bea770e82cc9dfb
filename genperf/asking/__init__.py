"""A question about one configuration: its facts, gathered once, and their answer."""

from genperf.asking.answer import Answer
from genperf.asking.ask import ask
from genperf.asking.plan import Plan
from genperf.asking.question import Question

__all__ = ["Answer", "Plan", "Question", "ask"]
