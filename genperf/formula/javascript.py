"""A tree printed as a JavaScript expression, so that a page without a server can evaluate it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from genperf.formula.nodes import Call, Name, Node, Number, Text

#: JavaScript of the functions of the allow-list that are not in `Math`; arguments come with the brackets they need.
_WRITTEN: Mapping[str, str] = {
    "or": "({0}||{1})",
    "and": "({0}&&{1})",
    "not": "(!{0})",
    "less": "({0}<{1})",
    "less_equal": "({0}<={1})",
    "greater": "({0}>{1})",
    "greater_equal": "({0}>={1})",
    "equal": "({0}==={1})",
    "not_equal": "({0}!=={1})",
    "add": "({0}+{1})",
    "subtract": "({0}-{1})",
    "multiply": "({0}*{1})",
    "divide": "({0}/{1})",
    "remainder": "remainder({0},{1})",
    "negative": "(-{0})",
    "power": "power({0},{1})",
    "where": "({0}?{1}:{2})",
}

#: Arithmetic where JavaScript differs from numpy: the sign of a remainder, and 1 to the power of NaN.
JAVASCRIPT_PRELUDE = "const remainder=(a,b)=>a-Math.floor(a/b)*b;\nconst power=(a,b)=>a===1||b===0?1:Math.pow(a,b);\n"


def javascript(node: Node, names: Mapping[str, str]) -> str:
    """Return the tree as a JavaScript expression with the same value.

    Parameters
    ----------
    node : Node
        An unbound tree.
    names : mapping of str to str
        JavaScript for each name, as `x[0]`. A name itself is never written, so it cannot become code.

    Returns
    -------
    str
        ASCII, without `<` inside texts: it may stand in a `<script>`. Needs `JAVASCRIPT_PRELUDE` before it.

    Raises
    ------
    KeyError
        For a name that is not in `names`.

    Examples
    --------
    >>> from genperf.formula import parse
    >>> javascript(parse("a*n**-p + max(b, log2(n))").node, {"a": "c[0]", "b": "c[1]", "p": "c[2]", "n": "x[0]"})
    '((c[0]*power(x[0],(-c[2])))+Math.max(c[1],Math.log2(x[0])))'
    """
    match node:
        case Number(value):
            return _number(value)
        case Text(value):
            return json.dumps(value).replace("<", "\\u003c")
        case Name(name):
            return names[name]
        case Call(function, arguments):
            parts = [javascript(a, names) for a in arguments]
            if function in _WRITTEN:
                return _WRITTEN[function].format(*parts)
            return f"Math.{function}({','.join(parts)})"
    raise TypeError("a bound tree has no JavaScript")


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "(-Infinity)"
    # In brackets where it has a sign: `a--1` is no JavaScript.
    text = repr(float(value))
    return f"({text})" if math.copysign(1.0, value) < 0 else text
