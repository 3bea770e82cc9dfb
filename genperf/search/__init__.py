"""A search of configurations: the best one, alternatives ranked, and what to measure next."""

from genperf.search.compare import Ranking, compare
from genperf.search.optimize import Optimum, optimize
from genperf.search.problem import Goal, Job
from genperf.search.space import Layouts, layouts
from genperf.search.suggest import Suggestions, suggest

__all__ = ["Goal", "Job", "Layouts", "Optimum", "Ranking", "Suggestions", "compare", "layouts", "optimize", "suggest"]
