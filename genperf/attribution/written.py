"""The generic expression as a person reads it, and the exponents in which a level differs from the shared one."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from genperf.errors import LISTED, counted
from genperf.formula import Call, Name, Node, Number, Text, bind_values, names_in, render
from genperf.models.generic import CONSTANT_TERM
from genperf.prediction import Member
from genperf.result import FitResult

# What is left out of a written expression.
#: Significant digits of a number.
WRITTEN_DIGITS = 3
#: A power with a smaller exponent is left out, and a level or a step that changes the logarithm of a term by less:
#: it moves the term by less than half a per cent.
LEAST_EFFECT_WRITTEN = 0.005
#: Deviation of a level's exponent from the shared one from which on it is listed: 0.02 is 1.4 % per doubling.
LEAST_DEVIATION = 0.02
#: Deviations that are listed, largest first.
MOST_DEVIATIONS = 6


@dataclass(frozen=True)
class _Factor:
    """A factor of a term."""

    #: Empty where it is left out.
    text: str
    #: What it changes ln T by, about.
    effect: float
    #: The categorical factor whose levels it lists; empty for another kind.
    levels: str = ""


def written_lines(result: FitResult) -> list[str]:
    """Return the fitted generic expression, a term a line; nothing for another family.

    Each factor is divided by its mean over the runs, so that a coefficient is the term's value at the centre of the
    measured runs.

    Examples
    --------
    >>> import genperf as gp
    >>> import pandas as pd
    >>> rows = [(batch, n, net) for net in ("resnet", "vgg") for batch in (8, 16, 32, 64) for n in (1, 2, 4)]
    >>> runs = pd.DataFrame(rows, columns=["batch", "n", "net"])
    >>> runs["t"] = 0.01 * runs.batch * runs.net.map({"resnet": 1.0, "vgg": 3.0}) * runs.n ** 0.1
    >>> table = gp.read_table(runs, time="t", intrinsic="batch", extrinsic="n", categorical="net")
    >>> for line in written_lines(gp.fit(table, "generic", structure="separable", draws=5)):
    ...     print(line)
    time (s) =
      0.242 * (batch/22.6) * (n/2)^0.1 * [net: vgg 3]
    """
    expression, target = result.best.expression, result.schema.target
    if expression.family != "generic":
        return []
    values = {name: float(value) for name, value in result.best.values.items()}
    terms = expression.without_zeros(values).terms
    powered = [product_of(t.node) for t in terms if t.name != CONSTANT_TERM]
    # A power or an interaction that all terms have; of one product the interactions.
    of_terms = {c.name for c in expression.constants if c.meaning is not None and c.meaning.term}
    alone = [node for factors in powered for node in factors[1:] if of_terms and not of_terms & names_in(node)]
    shared = shared_factors(powered) if len(powered) > 1 else alone
    unit = f" ({target.unit})" if target.unit else ""
    lines = [f"{target.name}{unit} ="]
    for term in terms:
        coefficient, *others = (node for node in product_of(term.node) if node not in shared)
        written = [_number(_value(coefficient, values)), *_joined([_factor(node, values) for node in others])]
        if term.name != CONSTANT_TERM or float(written[0]) != 0.0:
            lines.append(f"  {'+ ' if len(lines) > 1 else ''}{' * '.join(written)}")
    ordered = [_factor(node, values) for node in (powered[0] if powered else []) if node in shared]
    ranked = sorted((factor for factor in ordered if factor.text), key=lambda factor: -factor.effect)
    if ranked:
        lines.append("every term but a constant one times")
        lines += [f"    {text}" for factor in ranked[:LISTED] for text in _joined([factor])]
        more = len(ranked) - LISTED
        lines += [f"    and {counted(more, 'smaller factor')}"] if more > 0 else []
    return lines


def shared_factors(products: list[list[Node]]) -> list[Node]:
    """Return the factors that all of several products have, in order, but for their coefficients."""
    if len(products) < 2:
        return []
    return [node for node in products[0][1:] if all(node in others[1:] for others in products[1:])]


def product_of(node: Node) -> list[Node]:
    """Return the factors of a product, from left to right."""
    if isinstance(node, Call) and node.function == "multiply":
        return [*product_of(node.arguments[0]), *product_of(node.arguments[1])]
    return [node]


def _joined(factors: list[_Factor]) -> list[str]:
    """Return the texts of factors that have one, the levels of one categorical factor in one bracket."""
    texts: dict[str | int, list[str]] = {}
    for place, factor in enumerate(factors):
        if factor.text:
            texts.setdefault(factor.levels or place, []).append(factor.text)
    return [f"[{of}: {', '.join(parts)}]" if isinstance(of, str) else parts[0] for of, parts in texts.items()]


def _factor(node: Node, values: Mapping[str, float]) -> _Factor:
    """Return a factor of a term as text: a power, the levels of a categorical factor, a step, an interaction."""
    match node:
        case Call("power", (base, exponent)):
            return _power(base, _value(exponent, values))
        case Call("exp", (Call(_, (exponent, column)),)):
            size = _value(exponent, values)
        case _:
            return _Factor(_number(_value(node, values)), 0.0)
    if abs(size) < LEAST_EFFECT_WRITTEN:
        return _Factor("", 0.0)
    factor, conditions, levels = _Factor(_number(math.exp(size)), abs(size)), [], []
    for part in product_of(column):
        match part:
            case Call("log", (base,)):
                factor = _power(base, size)
            case Call("where", (Call(_, (Name(name), Text(level))), *_)):
                levels.append((name, level))
                conditions.append(f"{name} = {level}")
            case Call("where", (Call(_, (Name(name), Number(step))), *_)):
                conditions.append(f"{name} > {step:g}")
    if not conditions or not factor.text:
        return factor
    if len(conditions) == 1 and levels and len(product_of(column)) == 1:
        name, level = levels[0]
        return _Factor(f"{level} {factor.text}", factor.effect, name)
    return replace(factor, text=f"({factor.text} where {' and '.join(conditions)})")


def _power(base: Node, exponent: float) -> _Factor:
    """Return a factor over its centre, to a power."""
    if abs(exponent) < LEAST_EFFECT_WRITTEN:
        return _Factor("", 0.0)
    power, inside = _number(exponent), f"({render(base).replace(' ', '')})"
    return _Factor(inside if power == "1" else f"{inside}^{power}", abs(exponent))


def _value(node: Node, values: Mapping[str, float]) -> float:
    bound = bind_values(node, values)
    return bound.value if isinstance(bound, Number) else float("nan")


def _number(value: float) -> str:
    return f"{value:.{WRITTEN_DIGITS}g}"


#: What of a factor is an exponent.
POWERS = ("intrinsic", "extrinsic")


@dataclass(frozen=True)
class LevelExponent:
    """An exponent that differs at a level."""

    #: `level`, `categorical`, `factor`: the level, or levels with colons between, the factor or factors they are of,
    #: and the numeric factor.
    level: str
    categorical: str
    factor: str
    #: `exponent`, `shared`: at the level, and as all levels share it: the mean over the terms, each weighed by its
    #: coefficient.
    exponent: float
    shared: float

    def __str__(self) -> str:
        return (
            f"{self.level} ({self.categorical}): {self.factor} exponent {self.exponent:.2f} (shared {self.shared:.2f})"
        )


def level_exponents(result: FitResult) -> list[LevelExponent]:
    """Return the exponents in which a level differs from the shared one, largest difference first.

    Examples
    --------
    >>> import genperf as gp
    >>> import pandas as pd
    >>> rows = [(batch, net) for net in ("resnet", "vgg") for batch in (8, 16, 32, 64, 128, 256)]
    >>> runs = pd.DataFrame(rows, columns=["batch", "net"])
    >>> runs["t"] = 0.01 * runs.batch ** runs.net.map({"resnet": 0.8, "vgg": 1.0})
    >>> fitted = gp.fit(gp.read_table(runs, time="t", intrinsic="batch", categorical="net"), "generic", draws=5)
    >>> for one in level_exponents(fitted):
    ...     print(one)
    vgg (net): batch exponent 1.00 (shared 0.80)
    """
    member = result.best
    out = []
    for constant in member.expression.constants:
        deviation, meaning = float(member.values[constant.name]), constant.meaning
        if abs(deviation) >= LEAST_DEVIATION and meaning is not None and meaning.part in POWERS and meaning.level:
            shared = _shared(member, meaning.factor)
            out.append(LevelExponent(meaning.level, meaning.categorical, meaning.factor, shared + deviation, shared))
    return sorted(out, key=lambda e: -abs(e.exponent - e.shared))[:MOST_DEVIATIONS]


def _shared(member: Member, factor: str) -> float:
    """Return the mean exponent of a factor over the terms, each weighed by its coefficient."""
    weights: dict[int, float] = {}
    exponents: dict[int, float] = {}
    for constant in member.expression.constants:
        meaning = constant.meaning
        if meaning is not None and meaning.term and meaning.part == "scale":
            weights[meaning.term] = max(float(member.values[constant.name]), 1e-300)
        elif meaning is not None and meaning.term and meaning.part in POWERS and meaning.factor == factor:
            exponents[meaning.term] = float(member.values[constant.name])
    return float(np.average([exponents.get(term, 0.0) for term in weights], weights=list(weights.values())))
