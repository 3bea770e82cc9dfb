"""A tree as an expression of a programming language: JavaScript for the page, and what `genperf export` writes."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from genperf.formula.nodes import Call, Name, Node, Number, Text

#: Operators that are written alike, in brackets.
_OPERATORS = {
    "less": "({0}<{1})",
    "less_equal": "({0}<={1})",
    "greater": "({0}>{1})",
    "greater_equal": "({0}>={1})",
    "equal": "({0}=={1})",
    "not_equal": "({0}!={1})",
    "add": "({0}+{1})",
    "subtract": "({0}-{1})",
    "multiply": "({0}*{1})",
    "divide": "({0}/{1})",
    "negative": "(-{0})",
}
#: Those of C's family.
_LIKE_C = {"or": "({0}||{1})", "and": "({0}&&{1})", "not": "(!{0})", "where": "({0}?{1}:{2})"}
#: What may have more than two arguments in a formula, and has two in a language.
_TWO = frozenset(("min", "max"))


@dataclass(frozen=True)
class Language:
    """How a language writes what a formula may hold."""

    #: Function of the allow-list → what is written; `{0}` is its first argument, with the brackets that it needs.
    written: Mapping[str, str]
    #: A function that is not in `written`, from its name and its arguments.
    call: str
    #: A number that is not finite, and a text.
    not_finite: Callable[[float], str]
    text: Callable[[str], str] = json.dumps
    #: Functions that take two arguments, and are nested where there are more.
    nested: frozenset[str] = frozenset()
    #: What stands before: arithmetic where the language differs from numpy.
    prelude: str = ""
    #: A text that is compared, where `==` does not compare texts.
    compared: Mapping[str, str] = field(default_factory=dict)


#: The sign of a remainder, and 1 to the power of NaN, differ from numpy's. A text is ASCII, without `<`: it may stand
#: in a `<script>`.
JAVASCRIPT = Language(
    {
        **_OPERATORS,
        **_LIKE_C,
        "equal": "({0}==={1})",
        "not_equal": "({0}!=={1})",
        "remainder": "remainder({0},{1})",
        "power": "power({0},{1})",
    },
    "Math.{0}({1})",
    lambda value: "NaN" if math.isnan(value) else "Infinity" if value > 0 else "(-Infinity)",
    lambda text: json.dumps(text).replace("<", "\\u003c"),
    prelude=("const remainder=(a,b)=>a-Math.floor(a/b)*b;\nconst power=(a,b)=>a===1||b===0?1:Math.pow(a,b);\n"),
)
PYTHON = Language(
    {
        **_OPERATORS,
        "or": "({0} or {1})",
        "and": "({0} and {1})",
        "not": "(not {0})",
        "where": "({1} if {0} else {2})",
        "remainder": "({0}%{1})",
        "power": "({0}**{1})",
        "abs": "abs({0})",
        "min": "min({0},{1})",
        "max": "max({0},{1})",
    },
    "math.{0}({1})",
    lambda value: f"float('{value}')",
    repr,
    nested=_TWO,
    prelude="import math\n",
)
C = Language(
    {
        **_OPERATORS,
        **_LIKE_C,
        "remainder": "({0}-floor({0}/{1})*{1})",
        "power": "pow({0},{1})",
        "abs": "fabs({0})",
        "min": "fmin({0},{1})",
        "max": "fmax({0},{1})",
    },
    "{0}({1})",
    lambda value: "NAN" if math.isnan(value) else "INFINITY" if value > 0 else "(-INFINITY)",
    nested=_TWO,
    prelude="#include <math.h>\n#include <string.h>\n",
    compared={"equal": "(strcmp({0},{1})==0)", "not_equal": "(strcmp({0},{1})!=0)"},
)
LANGUAGES = {"python": PYTHON, "c": C, "javascript": JAVASCRIPT}


def in_language(node: Node, names: Mapping[str, str], language: Language) -> str:
    """Return the tree as an expression with the same value.

    Parameters
    ----------
    node : Node
        An unbound tree.
    names : mapping of str to str
        What is written for each name, as `x[0]`. A name itself is never written, so it cannot become code.

    Returns
    -------
    str
        Needs the language's `prelude` before it.

    Raises
    ------
    KeyError
        For a name that is not in `names`.

    Examples
    --------
    >>> from genperf.formula import parse
    >>> tree = parse("a*n**-p + max(b, log2(n))").node
    >>> in_language(tree, {"a": "c[0]", "b": "c[1]", "p": "c[2]", "n": "x[0]"}, JAVASCRIPT)
    '((c[0]*power(x[0],(-c[2])))+Math.max(c[1],Math.log2(x[0])))'
    >>> in_language(tree, {"a": "2.0", "b": "3.0", "p": "0.5", "n": "n"}, C)
    '((2.0*pow(n,(-0.5)))+fmax(3.0,log2(n)))'
    """
    match node:
        case Number(value):
            return _number(value, language)
        case Text(value):
            return language.text(value)
        case Name(name):
            return names[name]
        case Call(function, arguments):
            parts = [in_language(a, names, language) for a in arguments]
            if function in language.compared and any(isinstance(a, Text) for a in arguments):
                return language.compared[function].format(*parts)
            if function in language.nested:
                whole = parts[0]
                for part in parts[1:]:
                    whole = language.written[function].format(whole, part)
                return whole
            if function in language.written:
                return language.written[function].format(*parts)
            return language.call.format(function, ",".join(parts))
    raise TypeError("a bound tree is of no language")


def javascript(node: Node, names: Mapping[str, str]) -> str:
    """Return the tree as JavaScript for a page, as `in_language` does."""
    return in_language(node, names, JAVASCRIPT)


def _number(value: float, language: Language) -> str:
    """Write a number, in brackets where it has a sign: `a--1` is no JavaScript."""
    if not math.isfinite(value):
        return language.not_finite(value)
    text = repr(float(value))
    return f"({text})" if math.copysign(1.0, value) < 0 else text
