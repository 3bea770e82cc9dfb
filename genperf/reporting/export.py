"""A fitted expression as a function of another language, as LaTeX, or as Extra-P prints it."""

import keyword
import re

from genperf.attribution.equation import equation
from genperf.errors import GenperfError, counted
from genperf.formula import LANGUAGES, in_language, render
from genperf.result import FitResult

#: Language → how a function begins and ends: its name is `predict`, its arguments are the factors.
_FUNCTIONS = {
    "python": ("def predict({arguments}):\n    # {about}\n    return ", "\n"),
    "javascript": ("// {about}\nfunction predict({arguments}) {{\n  return ", ";\n}}\n"),
}
TARGETS = (*_FUNCTIONS, "latex", "extra-p")
#: Words of JavaScript that name no argument, beside Python's, between blanks.
_RESERVED = (
    " case class const default delete do enum export extends function let new null predict super switch this throw"
    " typeof var void "
)


def export(result: FitResult, to: str) -> str:
    """Return the fitted expression with its constants as one of `TARGETS`, without its interval; an average has none.

    In Python and JavaScript it is a function `predict` of the factors, with the value that `result.predict` has.
    """
    if not result.is_formula:
        raise GenperfError(
            f"an average of {counted(len(result.members), 'expression')} has no formula",
            hint="--model generic fits one, and so do families and formulas (genperf list models)",
        )
    expression, constants = result.best.expression, result.best.values
    if to == "latex":
        return equation(result)
    node = expression.filled(constants)
    if to == "extra-p":
        return render(node, lambda value: f"{value:.6g}").replace("**", "^")
    names = _identifiers([f.name for f in result.schema.factors])
    ranges = "; ".join(f"{f.name} {f.lower:.4g} to {f.upper:.4g}" for f in result.schema.factors if not f.levels)
    target = result.schema.target
    about = f"{target.name} in {target.unit}, fitted by genperf ({result.model}); measured: {_plain(ranges)}"
    head, tail = _FUNCTIONS[to]
    body = in_language(node, names, LANGUAGES[to])
    return LANGUAGES[to].prelude + head.format(arguments=", ".join(names.values()), about=about) + body + tail.format()


def _identifiers(names: list[str]) -> dict[str, str]:
    """Return an identifier for each name, the name itself where it is one, and none twice."""
    made: dict[str, str] = {}
    for name in names:
        word = re.sub(r"\W", "_", name, flags=re.ASCII) or "_"
        if word[0].isdigit() or keyword.iskeyword(word) or f" {word} " in _RESERVED:
            word = f"x_{word}"
        while word in made.values():
            word += "_"
        made[name] = word
    return made


def _plain(text: str) -> str:
    """Return text that ends no comment."""
    return re.sub(r"[^\w .,:%+-]", "_", text)
