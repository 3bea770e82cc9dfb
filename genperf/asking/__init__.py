"""A question about one configuration: its facts, gathered once, and their answer."""

from genperf.asking.answer import Answer
from genperf.asking.ask import Question, ask
from genperf.facts import Plan

__all__ = ["Answer", "Plan", "Question", "ask"]
