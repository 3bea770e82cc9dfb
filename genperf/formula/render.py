"""A tree written: as the text it is read from, as LaTeX, and as an expression of a programming language.

A language is a table: what each function is written as, how tightly that binds, and how tightly its arguments must bind
to need no brackets.
"""

import json
import keyword
import math
from collections.abc import Callable, Mapping
from functools import reduce

from msgspec import Struct

from genperf.formula.nodes import CALLABLE, FUNCTIONS, Call, Function, Name, Node, Number, Text

#: How tightly binds what needs no brackets anywhere: above every operator of `FUNCTIONS`.
_TIGHTEST = 100
_MULTIPLY, _NEGATIVE, _POWER = (FUNCTIONS[name].precedence for name in ("multiply", "negative", "power"))
#: A text and how tightly its outermost operator binds.
_Part = tuple[str, int]


class FunctionForm(Struct, frozen=True):
    """What a function is written as."""

    template: str  #: `{0}` is the first argument.
    strength: int = _TIGHTEST  #: How tightly it binds.
    least: tuple[int, ...] = (0, 0, 0)  #: An argument that binds less tightly than this is put in brackets.


class Language(Struct, frozen=True):
    """How a language writes what a formula may hold."""

    #: By function; a template alone has the brackets that it needs. One whose name ends in ` text` is for arguments of
    #: which one is a text.
    forms: Mapping[str, FunctionForm | str]
    #: Any other function, from its name and its arguments.
    call: str
    brackets: str = "({})"
    between: str = ","
    #: A number that is not finite, and a text.
    not_finite: Callable[[float], str] = str
    text: Callable[[str], str] = json.dumps
    prelude: str = ""  #: Stands before the expression: arithmetic where the language differs from numpy.


def _form_of(name: str, function: Function) -> FunctionForm:
    """Return how a formula writes an operator; what binds less, or as much to its right, gets brackets."""
    symbol, strength = str(function.symbol), function.precedence
    if function.most == 1:
        return FunctionForm(symbol + " " * symbol.isalpha() + "{0}", strength, (strength,))
    if name == "power":
        # Right-associative, and its right side may start with a sign.
        return FunctionForm("{0}**{1}", strength, (strength + 1, strength - 1))
    gap = "" if strength == _MULTIPLY else " "
    compares = strength == FUNCTIONS["less"].precedence  # `(a < b) < c` keeps its brackets on the left
    return FunctionForm(f"{{0}}{gap}{symbol}{gap}{{1}}", strength, (strength + compares, strength + 1))


_FORMULA = Language({n: _form_of(n, f) for n, f in FUNCTIONS.items() if f.symbol}, "{0}({1})", between=", ", text=repr)
_LATEX_OPERATORS: Mapping[str, str] = {
    **{"add": " + ", "subtract": " - ", "multiply": r" \cdot ", "remainder": r" \bmod ", "less": " < "},
    **{"less_equal": r" \le ", "greater": " > ", "greater_equal": r" \ge ", "equal": " = ", "not_equal": r" \ne "},
    **{"and": r" \land ", "or": r" \lor "},
}
_LATEX = Language(
    {
        **{
            name: FunctionForm(f"{{0}}{sign}{{1}}", strength, (strength, strength + 1))
            for name, sign in _LATEX_OPERATORS.items()
            for strength in [FUNCTIONS[name].precedence]
        },
        # A fraction needs brackets below an exponent, and nowhere else.
        "divide": FunctionForm(r"\frac{{{0}}}{{{1}}}", _TIGHTEST - 1),
        "power": FunctionForm("{0}^{{{1}}}", _POWER, (_TIGHTEST, 0)),
        "negative": FunctionForm("-{0}", _NEGATIVE, (_NEGATIVE,)),
        "not": FunctionForm(r"\lnot {0}", FUNCTIONS["not"].precedence, (_TIGHTEST,)),
        "sqrt": FunctionForm(r"\sqrt{{{0}}}"),
        "abs": FunctionForm(r"\left|{0}\right|"),
        "ceil": FunctionForm(r"\left\lceil{{{0}}}\right\rceil"),
        "floor": FunctionForm(r"\left\lfloor{{{0}}}\right\rfloor"),
        "exp": FunctionForm("e^{{{0}}}", _POWER),
        "log": FunctionForm(r"\ln\left({0}\right)"),
        "log2": FunctionForm(r"\log_2\left({0}\right)"),
        "where": FunctionForm(r"\begin{{cases}} {1} & {0} \\ {2} & \text{{otherwise}} \end{{cases}}"),
    },
    r"\{0}\left({1}\right)",
    brackets=r"\left({}\right)",
    between=", ",
    text=lambda text: rf"\mathrm{{{_escape(text)}}}",
)
_OPERATORS = {name: f"({{0}}{f.symbol}{{1}})" for name, f in FUNCTIONS.items() if f.symbol} | {"negative": "(-{0})"}

#: The sign of a remainder, and 1 to the power of NaN, differ from numpy's. A text is ASCII, without `<`: it may stand
#: in a `<script>`.
JAVASCRIPT = Language(
    {
        **{**_OPERATORS, "equal": "({0}==={1})", "not_equal": "({0}!=={1})", "where": "({0}?{1}:{2})"},
        **{"or": "({0}||{1})", "and": "({0}&&{1})", "not": "(!{0})"},
        **{"remainder": "remainder({0},{1})", "power": "power({0},{1})"},
    },
    "Math.{0}({1})",
    not_finite=lambda value: "NaN" if math.isnan(value) else "Infinity" if value > 0 else "(-Infinity)",
    text=lambda text: json.dumps(text).replace("<", "\\u003c"),
    prelude="const remainder=(a,b)=>a-Math.floor(a/b)*b;\nconst power=(a,b)=>a===1||b===0?1:Math.pow(a,b);\n",
)
PYTHON = Language(
    {
        **{**_OPERATORS, "or": "({0} or {1})", "and": "({0} and {1})", "not": "(not {0})"},
        **{"where": "({1} if {0} else {2})", "abs": "abs({0})", "min": "min({0},{1})", "max": "max({0},{1})"},
    },
    "math.{0}({1})",
    not_finite=lambda value: f"float('{value}')",
    text=repr,
    prelude="import math\n",
)
LANGUAGES = {"python": PYTHON, "javascript": JAVASCRIPT}


def _written(node: Node, language: Language, number: Callable[[float], _Part], name: Callable[[str], str]) -> _Part:
    """Return the text of a tree in a language, and how strongly its parts bind: `a + b` binds less than `a*b`."""
    match node:
        case Number(value):
            return number(value)
        case Text(text):
            return language.text(text), _TIGHTEST
        case Name(identifier):
            return name(identifier), _TIGHTEST
        case Call(function, arguments):
            written = [_written(argument, language, number, name) for argument in arguments]
            compared = any(isinstance(argument, Text) for argument in arguments)
            of_numbers = language.forms.get(function)
            form = language.forms.get(f"{function} text", of_numbers) if compared else of_numbers
            if form is None:
                return language.call.format(function, language.between.join(text for text, _ in written)), _TIGHTEST
            form = FunctionForm(form) if isinstance(form, str) else form
            # Each argument beside how tightly it has to bind; further ones of a call need no brackets.
            pairs = zip(written, [*form.least, *(0 for _ in written)], strict=False)
            texts = [text if strength >= least else language.brackets.format(text) for (text, strength), least in pairs]
            # Two arguments at a time, where a formula may give `min` and `max` more.
            many = function in ("min", "max")
            return reduce(form.template.format, texts) if many else form.template.format(*texts), form.strength
    raise TypeError("a bound tree has no text")


def quote_name(name: str) -> str:
    """Write a name as a formula needs it: in back-ticks, those inside it doubled, unless it is a plain word."""
    # A word that begins with two underscores is one of Python's own.
    word = name.isidentifier() and name.isascii() and not name.startswith("__")
    plain = word and not keyword.iskeyword(name) and name not in CALLABLE
    return name if plain else "`" + name.replace("`", "``") + "`"


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def render(node: Node, number: Callable[[float], str] = _number, name: Callable[[str], str] = quote_name) -> str:
    """Return an unbound tree as text that `parse` reads back to the same tree, unless `number` rounds its numbers.

    >>> from genperf.formula import parse
    >>> render(parse("(a + b)/(2*c)**-n").node)
    '(a + b)/(2*c)**-n'
    """
    return _written(node, _FORMULA, lambda v: (number(v), _TIGHTEST if v >= 0 else _NEGATIVE), name)[0]


def _one_fraction(node: Node) -> Node:
    """Return a tree with `a/b/c` as a/(b·c)."""
    if not isinstance(node, Call):
        return node
    arguments = tuple(map(_one_fraction, node.arguments))
    match (node.function, arguments):
        case ("divide", (Call("divide", (over, under)), last)):
            return Call("divide", (over, Call("multiply", (under, last))))
    return Call(node.function, arguments)


def latex(node: Node, number: Callable[[float], str] = _number) -> str:
    """Return the tree as LaTeX (mathematics mode, without delimiters)."""

    def written(value: float) -> _Part:
        """Return a number, `1.5e-06` as 1.5 times a power of ten, which binds as a product does."""
        mantissa, e, exponent = number(value).partition("e")
        text = rf"{mantissa} \times 10^{{{int(exponent)}}}" if e else mantissa
        return text, _TIGHTEST if value >= 0 and not e else _MULTIPLY

    return _written(_one_fraction(node), _LATEX, written, latex_name)[0]


def in_language(node: Node, names: Mapping[str, str], language: Language) -> str:
    """Return an unbound tree as an expression with the same value, which needs the language's `prelude` before it."""

    def written(value: float) -> _Part:
        text = repr(float(value)) if math.isfinite(value) else language.not_finite(value)
        # In brackets where it has a sign: `a--1` is no JavaScript.
        signed = math.isfinite(value) and math.copysign(1.0, value) < 0
        return f"({text})" if signed else text, _TIGHTEST

    return _written(node, language, written, names.__getitem__)[0]


_GREEK = {"alpha", "beta", "gamma", "delta", "eta", "kappa", "lambda", "sigma", "theta", "tau", "omega", "mu", "rho"}


def latex_name(name: str) -> str:
    """Write a name for LaTeX: single letters and Greek ones as symbols, words upright, a trailing part as index."""
    head, _, tail = name.partition("_")
    if head in _GREEK or len(head) == 1:
        symbol = f"\\{head}" if head in _GREEK else head
        return symbol + (f"_{{\\mathrm{{{_escape(tail)}}}}}" if tail else "")
    return f"\\mathrm{{{_escape(name)}}}"


_SPECIAL = {"\\": r"\backslash ", "{": r"\{", "}": r"\}", "^": r"\hat{}", "~": r"\tilde{}", " ": r"\ "}


def _escape(text: str) -> str:
    return "".join(_SPECIAL.get(c, "\\" + c if c in "_$%&#" else c) for c in text)
