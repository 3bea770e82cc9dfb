"""A tree printed: as the text it is read from, and as LaTeX."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Mapping

from genperf.formula.nodes import CALLABLE, FUNCTIONS, Call, Name, Node, Number, Text

#: Precedence of what needs no brackets anywhere: above every operator of `FUNCTIONS`.
_TIGHTEST = 100


def quote_name(name: str) -> str:
    """Write a name as a formula needs it: in back-ticks, those inside it doubled, unless it is a plain word.

    Examples
    --------
    >>> quote_name("workers"), quote_name("gpu count"), quote_name("lambda")
    ('workers', '`gpu count`', '`lambda`')
    """
    # A word that begins with two underscores is one of Python's own.
    word = name.isidentifier() and name.isascii() and not name.startswith("__")
    plain = word and not keyword.iskeyword(name) and name not in CALLABLE
    return name if plain else "`" + name.replace("`", "``") + "`"


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def render(node: Node, number: Callable[[float], str] = _number) -> str:
    """Return the tree as text that `parse` reads back to the same tree.

    Parameters
    ----------
    node : Node
        An unbound tree.
    number : callable, optional
        How a number is written; the default is exact.

    Examples
    --------
    >>> from genperf.formula import parse
    >>> render(parse("(a + b)/(2*c)**-n").node)
    '(a + b)/(2*c)**-n'
    """
    return _text(node, number)[0]


def _text(node: Node, number: Callable[[float], str]) -> tuple[str, int]:
    """Return the text and how tightly its outermost operator binds."""
    match node:
        case Number(value):
            return (number(value), _TIGHTEST) if value >= 0 else (number(value), FUNCTIONS["negative"].precedence)
        case Text(value):
            return repr(value), _TIGHTEST
        case Name(name):
            return quote_name(name), _TIGHTEST
        case Call(function, arguments):
            held = FUNCTIONS[function]
            parts = [_text(a, number) for a in arguments]
            if held.symbol is None:
                return f"{function}({', '.join(text for text, _ in parts)})", _TIGHTEST
            strength = held.precedence
            if len(parts) == 1:
                gap = " " if held.symbol.isalpha() else ""
                return held.symbol + gap + _bracket(parts[0], strength), strength
            if function == "power":
                # Right-associative, and its right side may start with a sign.
                return f"{_bracket(parts[0], strength + 1)}**{_bracket(parts[1], strength - 1)}", strength
            gap = "" if function in ("multiply", "divide", "remainder") else " "
            side = strength + 1 if strength == FUNCTIONS["less"].precedence else strength
            left, right = _bracket(parts[0], side), _bracket(parts[1], strength + 1)
            return f"{left}{gap}{held.symbol}{gap}{right}", strength
    raise TypeError("a bound tree has no text")


def _bracket(part: tuple[str, int], at_least: int) -> str:
    text, strength = part
    return text if strength >= at_least else f"({text})"


_GREEK = {"alpha", "beta", "gamma", "delta", "eta", "kappa", "lambda", "sigma", "theta", "tau", "omega", "mu", "rho"}


def latex_name(name: str) -> str:
    r"""Write a name for LaTeX: single letters and Greek ones as symbols, words upright, a trailing part as index.

    Examples
    --------
    >>> print(latex_name("a_1"), latex_name("alpha"), latex_name("batch_per_worker"))
    a_{\mathrm{1}} \alpha \mathrm{batch\_per\_worker}
    """
    head, _, tail = name.partition("_")
    if head in _GREEK or len(head) == 1:
        symbol = f"\\{head}" if head in _GREEK else head
        return symbol + (f"_{{\\mathrm{{{_escape(tail)}}}}}" if tail else "")
    return f"\\mathrm{{{_escape(name)}}}"


_SPECIAL = {"\\": r"\backslash ", "{": r"\{", "}": r"\}", "^": r"\hat{}", "~": r"\tilde{}", " ": r"\ "}


def _escape(text: str) -> str:
    return "".join(_SPECIAL.get(c, "\\" + c if c in "_$%&#" else c) for c in text)


_LATEX_OPERATORS: Mapping[str, str] = {
    "add": " + ",
    "subtract": " - ",
    "multiply": r" \cdot ",
    "remainder": r" \bmod ",
    "less": " < ",
    "less_equal": r" \le ",
    "greater": " > ",
    "greater_equal": r" \ge ",
    "equal": " = ",
    "not_equal": r" \ne ",
    "and": r" \land ",
    "or": r" \lor ",
}


def latex(node: Node, number: Callable[[float], str] = _number) -> str:
    r"""Return the tree as LaTeX (mathematics mode, without delimiters).

    Examples
    --------
    >>> from genperf.formula import parse
    >>> print(latex(parse("a*n**p/2").node))
    \frac{a \cdot n^{p}}{2}
    >>> print(latex(parse("2*(layers/1.94)**0.248").node))
    2 \cdot \left(\frac{\mathrm{layers}}{1.94}\right)^{0.248}
    """
    return _latex(node, number)[0]


def _latex(node: Node, number: Callable[[float], str]) -> tuple[str, int]:
    match node:
        case Number(value):
            mantissa, e, exponent = number(value).partition("e")
            text = rf"{mantissa} \times 10^{{{int(exponent)}}}" if e else mantissa
            return text, _TIGHTEST if value >= 0 and not e else FUNCTIONS["multiply"].precedence
        case Text(value):
            return rf"\mathrm{{{_escape(value)}}}", _TIGHTEST
        case Name(name):
            return latex_name(name), _TIGHTEST
        case Call(function, arguments):
            return _latex_call(function, [_latex(a, number) for a in arguments])
    raise TypeError("a bound tree has no LaTeX")


def _latex_call(function: str, parts: list[tuple[str, int]]) -> tuple[str, int]:
    strength = FUNCTIONS[function].precedence
    bare = [text for text, _ in parts]

    def side(index: int, at_least: int) -> str:
        text, precedence = parts[index]
        return text if precedence >= at_least else rf"\left({text}\right)"

    match function:
        case "divide":
            # A fraction needs brackets below an exponent, and nowhere else.
            return rf"\frac{{{bare[0]}}}{{{bare[1]}}}", _TIGHTEST - 1
        case "power":
            return f"{side(0, _TIGHTEST)}^{{{bare[1]}}}", FUNCTIONS["power"].precedence
        case "negative":
            return f"-{side(0, strength)}", strength
        case "not":
            return rf"\lnot {side(0, _TIGHTEST)}", strength
        case "sqrt":
            return rf"\sqrt{{{bare[0]}}}", _TIGHTEST
        case "abs":
            return rf"\left|{bare[0]}\right|", _TIGHTEST
        case "ceil" | "floor":
            return rf"\left\l{function}{{{bare[0]}}}\right\r{function}", _TIGHTEST
        case "exp":
            return f"e^{{{bare[0]}}}", FUNCTIONS["power"].precedence
        case "log" | "log2" | "min" | "max":
            shown = {"log": r"\ln", "log2": r"\log_2"}.get(function, f"\\{function}")
            return rf"{shown}\left({', '.join(bare)}\right)", _TIGHTEST
        case "where":
            test, yes, no = bare
            cases = rf"\begin{{cases}} {yes} & {test} \\ {no} & \text{{otherwise}} \end{{cases}}"
            return cases, _TIGHTEST
        case _:
            return f"{side(0, strength)}{_LATEX_OPERATORS[function]}{side(1, strength + 1)}", strength
