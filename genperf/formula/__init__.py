"""Formulas: text → checked tree → vectorised values, exact derivatives, text, LaTeX and JavaScript.

A formula is data. Only arithmetic, comparison, an allow-list of functions and the names it was given
are read; everything else is refused with a caret under the place, and nothing is ever executed.
"""

from genperf.formula.bind import bind, power_sum, with_sums
from genperf.formula.evaluate import evaluate, evaluate_with_gradient, spread, values_of
from genperf.formula.nodes import (
    FUNCTIONS,
    Call,
    Name,
    Node,
    Number,
    PowerSum,
    Text,
    addends,
    bind_values,
    call,
    calls_in,
    chain,
    names_in,
    ordered_names,
    substitute,
)
from genperf.formula.parse import Formula, names_read, parse
from genperf.formula.render import JAVASCRIPT, LANGUAGES, in_language, latex, quote_name, render
