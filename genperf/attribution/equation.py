"""The generic expression as a person reads it, as a paper prints it, and a table of its constants."""

import math
from collections.abc import Mapping
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from genperf.arrays import Array
from genperf.errors import LISTED, GenperfError, counted
from genperf.formula import Call, Name, Node, Number, Text, bind_values, latex, names_in, render
from genperf.formula.render import latex_name
from genperf.models.generic import CONSTANT_TERM
from genperf.prediction import Member
from genperf.result import FitResult
from genperf.words.numbers import error_text

#: Significant digits of a number: the least, and the most where its interval leaves more.
LEAST_DIGITS, MOST_DIGITS = 3, 5
#: A power with a smaller exponent is left out, and a level or a step that changes the logarithm of a term by less:
#: it moves the term by less than half a per cent.
LEAST_EFFECT_WRITTEN = 0.005
#: Deviation of a level's exponent from the shared one from which on it is listed: 0.02 is 1.4 % per doubling.
LEAST_DEVIATION = 0.02
#: Deviations that are listed, largest first.
MOST_DEVIATIONS = 6


class _Factor(Struct, frozen=True):
    """A factor of a term as text; empty where it is left out."""

    text: str
    effect: float = 0.0  #: What it changes ln T by, about.
    levels: str = ""  #: The categorical factor of which it is a level; empty for another kind.


def written_lines(result: FitResult) -> list[str]:
    """Return the fitted generic expression, a term a line, each factor over its mean; another family has no lines."""
    expression, target = result.best.expression, result.schema.target
    if expression.family != "generic":
        return []
    values = {name: float(value) for name, value in result.best.values.items()}
    terms = expression.without_zeros(values).terms
    products = [product_of(t.node) for t in terms if t.name != CONSTANT_TERM]
    shared = shared_factors(products)
    if len(products) == 1:
        # Of a single product: those without a constant of the term, as interactions are.
        of_term = {c.name for c in expression.constants if c.meaning is not None and c.meaning.term}
        shared = [node for node in products[0][1:] if of_term and not of_term & names_in(node)]
    unit = f" ({target.unit})" if target.unit else ""
    lines = [f"{target.name}{unit} ="]
    for term in terms:
        coefficient, *further_factors = (node for node in product_of(term.node) if node not in shared)
        factors_text = _factors_text([_factor(node, values) for node in further_factors])
        pieces = [_number(_value(coefficient, values)), *factors_text]
        if term.name != CONSTANT_TERM or float(pieces[0]) != 0.0:
            lines.append(f"  {'+ ' if len(lines) > 1 else ''}{' * '.join(pieces)}")
    ordered = [_factor(node, values) for node in (products[0] if products else []) if node in shared]
    ranked = sorted((factor for factor in ordered if factor.text), key=lambda factor: -factor.effect)
    if ranked:
        lines.append("every term but a constant one times")
        lines += [f"    {text}" for factor in ranked[:LISTED] for text in _factors_text([factor])]
        more = len(ranked) - LISTED
        lines += [f"    and {counted(more, 'smaller factor')}"] if more > 0 else []
    return lines


def shared_factors(products: list[list[Node]]) -> list[Node]:
    """Return the factors that all of several products have, in order, but for their coefficients."""
    if len(products) < 2:
        return []
    return [node for node in products[0][1:] if all(node in factors[1:] for factors in products[1:])]


def product_of(node: Node) -> list[Node]:
    """Return the factors of a product, from left to right."""
    if isinstance(node, Call) and node.function == "multiply":
        return [*product_of(node.arguments[0]), *product_of(node.arguments[1])]
    return [node]


def _factors_text(factors: list[_Factor]) -> list[str]:
    """Return the texts of factors, those of one categorical factor in one bracket: `[net: vgg 3, alexnet 0.4]`."""
    texts: dict[str | int, list[str]] = {}
    for place, factor in enumerate(factors):
        if factor.text:
            texts.setdefault(factor.levels or place, []).append(factor.text)
    return [f"[{of}: {', '.join(levels)}]" if isinstance(of, str) else levels[0] for of, levels in texts.items()]


def _factor(node: Node, values: Mapping[str, float]) -> _Factor:
    """Return a factor of a term as text: a number, a power, or exp(b·column) of a product of steps, levels and logs."""
    match node:
        # (n/8)^b
        case Call("power", (base, exponent)):
            return _power(base, _value(exponent, values))
        case Call("exp", (Call("multiply", (exponent, column)),)):
            effect, column_factors = _value(exponent, values), product_of(column)
        case _:
            return _Factor(_number(_value(node, values)))
    if abs(effect) < LEAST_EFFECT_WRITTEN:
        return _Factor("")
    changed_by = _Factor(_number(math.exp(effect)), abs(effect))
    match column_factors:
        # exp(b·where(gpu == 'a100', 1, 0)): a level by itself stands in the bracket of its factor.
        case [Call("where", (Call("equal", (Name(name), Text(level))), *_))]:
            return _Factor(f"{level} {changed_by.text}", changed_by.effect, name)
    conditions = []
    for part in column_factors:
        match part:
            # exp(b·log(n/8)·…) = (n/8)^b where the other parts are 1.
            case Call("log", (base,)):
                changed_by = _power(base, effect)
            case Call("where", (Call("equal", (Name(name), Text(level))), *_)):
                conditions.append(f"{name} = {level}")
            case Call("where", (Call("greater", (Name(name), Number(step))), *_)):
                conditions.append(f"{name} > {step:g}")
    if not conditions:
        return changed_by
    return replace(changed_by, text=f"({changed_by.text} where {' and '.join(conditions)})")


def _power(base: Node, exponent: float) -> _Factor:
    """Return a factor over its centre, to a power: `(workers/4)^0.5`; empty where the exponent is hardly above zero."""
    if abs(exponent) < LEAST_EFFECT_WRITTEN:
        return _Factor("")
    power, inside = _number(exponent), f"({render(base).replace(' ', '')})"
    return _Factor(inside if power == "1" else f"{inside}^{power}", abs(exponent))


def _value(node: Node, values: Mapping[str, float]) -> float:
    bound = bind_values(node, values)
    return bound.value if isinstance(bound, Number) else float("nan")


def _number(value: float) -> str:
    return f"{value:.{LEAST_DIGITS}g}"


#: What of a factor is an exponent.
POWERS = ("intrinsic", "extrinsic")


def level_exponents(result: FitResult) -> list[str]:
    """Return the exponents that differ most at a level: `vgg (net): batch exponent 0.50 (shared 0.80)`."""
    member = result.best
    out = []
    for constant in member.expression.constants:
        deviation, meaning = float(member.values[constant.name]), constant.meaning
        if abs(deviation) >= LEAST_DEVIATION and meaning is not None and meaning.part in POWERS and meaning.level:
            shared = _mean_exponent(member, meaning.factor)
            exponents = f"exponent {shared + deviation:.2f} (shared {shared:.2f})"
            out.append((-abs(deviation), f"{meaning.level} ({meaning.categorical}): {meaning.factor} {exponents}"))
    return [text for _, text in sorted(out, key=lambda pair: pair[0])[:MOST_DEVIATIONS]]


def _mean_exponent(member: Member, factor: str) -> float:
    """Return Σ w_t·p_t/Σ w_t over the terms t, of their coefficients w_t and their exponents p_t of a factor."""
    weights: dict[int, float] = {}
    exponents: dict[int, float] = {}
    for constant in member.expression.constants:
        meaning = constant.meaning
        if meaning is not None and meaning.term and meaning.part == "scale":
            weights[meaning.term] = max(float(member.values[constant.name]), 1e-300)
        elif meaning is not None and meaning.term and meaning.part in POWERS and meaning.factor == factor:
            exponents[meaning.term] = float(member.values[constant.name])
    return float(np.average([exponents.get(term, 0.0) for term in weights], weights=list(weights.values())))


Style = Literal["markdown", "csv", "latex"]


def _digits(value: float, half_width: float, least: int, otherwise: int) -> str:
    """Return a value to the second digit of its half width: 0.123 of 0.12345 ± 0.02; without one with `otherwise`."""
    if not half_width > 0.0 or value == 0.0:
        return f"{value:.{otherwise}g}"
    digits = 2 + math.floor(math.log10(abs(value))) - math.floor(math.log10(half_width))
    return f"{value:.{min(max(digits, least), MOST_DIGITS)}g}"


class _Equation:
    """The best member's constants and draws, and how they are printed."""

    def __init__(self, result: FitResult) -> None:
        member = result.best
        self.levels = {f.name: f.levels for f in result.schema.factors}
        # Of each constant its value, then those of the draws.
        drawn = np.vstack([member.constants, member.draws]).astype(float)
        self.values: dict[str, Array] = dict(zip(member.expression.constant_names, drawn.T, strict=True))
        self.best = member.values

    def number(self, drawn: Array) -> str:
        """Return the first of some values with the digits that the spread of the others leaves."""
        value, spread = float(drawn[0]), float(np.subtract(*np.quantile(drawn[1:], [0.95, 0.05]))) / 2.0
        mantissa, e, exponent = _digits(value, spread, LEAST_DIGITS, MOST_DIGITS).partition("e")
        return rf"{mantissa}\times 10^{{{int(exponent)}}}" if e else mantissa

    def coefficient(self, node: Node) -> Array:
        """Return a coefficient of every draw; one that is held has one value."""
        if isinstance(node, Name):
            return self.values[node.name]
        assert isinstance(node, Number)
        return np.full(len(next(iter(self.values.values()))), node.value)

    def product(self, nodes: list[Node]) -> tuple[list[str], Array | float]:
        """Write the factors of a product, and return by what its coefficient grows where they are not normalised."""
        texts: list[str] = []
        levels: dict[str, list[tuple[str, str]]] = {}
        unit: Array | float = 1.0
        for node in nodes:
            match node:
                case Call("power", (Call("divide", (Name(name), Number(centre))), Name(exponent))):
                    p = self.values[exponent]
                    if abs(p[0]) >= LEAST_EFFECT_WRITTEN:
                        power = self.number(p)
                        texts.append(latex_name(name) + ("" if power == "1" else f"^{{{power}}}"))
                        unit = unit * centre**-p
                # exp(d·where(net == 'vgg', 1, 0))
                case Call("exp", (Call("multiply", (Name(d), Call("where", (Call(_, (Name(name), Text(x))), *_)))),)):
                    levels.setdefault(name, []).append((x, self.number(np.exp(self.values[d]))))
                # exp(d·where(nodes > 1, 1, 0))
                case Call("exp", (Call("multiply", (Name(d), Call("where", (Call(_, (Name(name), Number(x))), *_)))),)):
                    if abs(self.best[d]) >= LEAST_EFFECT_WRITTEN:
                        texts.append(rf"{self.number(np.exp(self.values[d]))}^{{[{latex_name(name)}>{x:g}]}}")
                case _:
                    constants = names_in(node) & {*self.values}
                    if max((abs(self.best[name]) for name in constants), default=1.0) >= LEAST_EFFECT_WRITTEN:
                        bound = bind_values(node, self.best)
                        texts.append(rf"\left({latex(bound, lambda v: f'{v:.3g}')}\right)")
        for name, factors in levels.items():
            base = next((b for b in self.levels[name] if b not in dict(factors)), self.levels[name][0])
            listed = r",\,".join(rf"\text{{{_plain(level)}}}\,{by}" for level, by in [(base, "1"), *factors])
            texts.append(rf"\{{{listed}\}}_{{{latex_name(name)}}}")
        return texts, unit


def equation(result: FitResult) -> str:
    """Return the fitted expression as aligned LaTeX, of a generic one C + (Σ a_i I_i^p_i)·Π E_j^q_j·Π levels."""
    if not result.is_formula:
        raise GenperfError("an average of several expressions has no equation", hint="--model generic fits one")
    expression = result.best.expression
    if expression.family != "generic":
        return expression.latex(result.best.values, digits=3)
    writer = _Equation(result)
    terms = expression.without_zeros(result.best.values).terms
    products = [product_of(t.node) for t in terms if t.name != CONSTANT_TERM]
    in_all_terms = shared_factors(products)
    shared_texts, shared_unit = writer.product(in_all_terms)
    rows: list[str] = []
    for factors in products:
        texts, unit = writer.product([node for node in factors[1:] if node not in in_all_terms])
        scale = writer.number(np.asarray(writer.coefficient(factors[0]) * unit * shared_unit))
        term = r"\,".join([scale, *texts])
        # Short terms stand in one row.
        if rows and len(rows[-1]) + len(term) < 150:
            rows[-1] += f" + {term}"
        else:
            rows.append(term)
    body = "\\\\\n&\\quad {}+ ".join(rows)
    body = rf"\bigl({body}\bigr)" if len(products) > 1 and shared_texts else body
    for constant in (writer.number(writer.coefficient(t.node)) for t in terms if t.name == CONSTANT_TERM):
        if float(constant.partition(r"\times")[0]) != 0.0:
            body = f"{constant} + {body}"
    if shared_texts:
        body += "\\\\\n&\\times " + r"\,".join(shared_texts)
    return f"\\begin{{aligned}}\nT ={{}}& {body}\n\\end{{aligned}}"


def _plain(text: str) -> str:
    return "".join("\\" + c if c in "_$%&#{}" else c for c in text)


def constants_table(result: FitResult, style: Style = "markdown", interval: float = 0.9) -> str:
    """Return the constants with intervals, `paper` for factors not normalised, and the fit's statistics."""
    member = result.best
    frame = result.constants(interval)
    frame = frame[frame["member"] == member.name].drop(columns="member").drop_duplicates("constant")
    writer, unnormalised = _Equation(result), dict[str, float]()
    terms = member.expression.terms if member.expression.family == "generic" else ()
    for term in terms:
        coefficient, *factors = product_of(term.node)
        if term.name != CONSTANT_TERM and isinstance(coefficient, Name):
            _, unit = writer.product(factors)
            unnormalised[coefficient.name] = float(member.values[coefficient.name] * np.ravel(unit)[0])
    frame["paper"] = frame["constant"].map(unnormalised).astype(float)
    if style == "csv":
        return frame.to_csv(index=False).rstrip("\n")
    cells = []
    for row in frame.to_dict("records"):
        half_width = (row["upper"] - row["lower"]) / 2.0
        value, lower, upper = (_digits(row[name], half_width, 1, 3) for name in ("value", "lower", "upper"))
        paper = "" if math.isnan(row["paper"]) else f"{row['paper']:.3g}"
        cells.append((str(row["constant"]), value, f"{lower} to {upper}", paper, str(row["unit"]), str(row["state"])))
    heads = ("constant", "value", f"{100.0 * interval:g} %", "not normalised", "unit", "state")
    statistics = [f"{name}: {text}" for name, text in _statistics(result)]
    if style == "markdown":
        lines = ["| " + " | ".join(row) + " |" for row in [heads, ("---",) * len(heads), *cells]]
        return "\n".join([*lines, "", "; ".join(statistics)])
    head, *body = (" & ".join(map(_escaped, row)) + r" \\" for row in (heads, *cells))
    below = [rf"\multicolumn{{{len(heads)}}}{{l}}{{{_escaped(text)}}} \\" for text in statistics]
    lines = [r"\begin{tabular}{lrrrll}", r"\toprule", head, r"\midrule", *body, r"\midrule", *below]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def _escaped(text: str) -> str:
    """Return a text as a cell of a LaTeX table, in which a row may not begin with a bracket."""
    return _plain(text).replace("[", "{[}")


def _statistics(result: FitResult) -> list[tuple[str, str]]:
    """Return the statistics of the fit, by name."""
    held_out = "not measured" if result.held_out_error is None else error_text(result.held_out_error, 1)
    strength, compared = (result.options.get(name) for name in ("lambda", "structures"))
    return [
        ("configurations", str(result.schema.configurations)),
        ("R-squared", f"{result.metrics.get('r2', math.nan):.4f}"),
        ("mean relative error", f"{result.metrics.get('mape', math.nan):.1f} %"),
        ("held-out error", held_out),
        ("loss", str(result.options.get("loss", ""))),
        ("lambda", f"{strength:.3g}" if isinstance(strength, float) else str(strength)),
        *([("held-out errors of structures", compared)] if isinstance(compared, str) else []),
    ]
