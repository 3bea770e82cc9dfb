"""Advice: what to measure next, and which configuration is best."""

from genperf.advice.answer import Answer
from genperf.advice.ask import ask
from genperf.advice.compare import Ranking, compare
from genperf.advice.layouts import Layouts, layouts
from genperf.advice.optimize import Optimum, optimize
from genperf.advice.plan import Plan
from genperf.advice.problem import Goal, Job
from genperf.advice.question import Question
from genperf.advice.suggest import Suggestions, suggest

__all__ = [
    "Answer",
    "Goal",
    "Job",
    "Layouts",
    "Optimum",
    "Plan",
    "Question",
    "Ranking",
    "Suggestions",
    "ask",
    "compare",
    "layouts",
    "optimize",
    "suggest",
]
