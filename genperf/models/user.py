"""A user's formula: its factors, its constants, and which of them are coefficients by structure."""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations, count
from typing import NoReturn

from genperf.errors import FitError, FormulaError, ModelError, did_you_mean, misspelt, suggest
from genperf.expression import Constant, Expression, Term, exponent
from genperf.formula import addends, bind_values, parse, render, substitute
from genperf.formula.nodes import Call, Name, Node, Number, added, calls_in, chain, names_in, ordered_names
from genperf.panel import Panel
from genperf.vocabulary.names import ALIASES

#: Of an exponent, and where a fit begins. Twice the exponent of n², the steepest growth of a family, and slow
#: growth. Half and double the range err as much (experiments/results/settings.md).
FORMULA_EXPONENTS: tuple[float, float] = (-4.0, 4.0)
EXPONENT_START = 0.5
#: Of the other constants that are no coefficients. Three decades on both sides of the start, 1; half
#: and double the range err as much (experiments/results/settings.md).
FORMULA_SHAPES: tuple[float, float] = (1e-3, 1e3)
#: A search for the largest set of coefficients excludes at most this many constants: of 30 there are 4526 sets
#: with up to 3 excluded, and 31931 with 4. Half and double change no answer (experiments/results/settings.md).
MAX_EXCLUDED = 3


def user_expression(
    text: str, panel: Panel, *, fix: Mapping[str, float] | None = None, configurations: int | None = None
) -> Expression:
    """Read a user's formula as an expression.

    A name that is a column, or the field's name for one (`workers` where the column is `gpus`), is a factor; every
    other name is a constant. The terms are the addends of the sum, and of the sums inside a `max` among them.

    A constant is a *coefficient* where the formula is linear in all coefficients together, or homogeneous, as
    `max(a*n, b*m)` and `(x**g + y**g)**(1/g)` are. It is not negative. A constant alone in
    an exponent lies in [-4, 4]. Any other (`k` in `n/(n + k)`, the second of `a*b*n`) is a positive shape in
    [0.001, 1000], as is one whose part in the structure is not clear.
    """
    fix = dict(fix or {})
    node = _with_factors(text, panel)
    names = [name for name in ordered_names(node) if name not in {f.name for f in panel.factors}]
    if not names:
        hint = "names that are not columns are constants, as a and c in a/workers + c"
        raise FormulaError("there is no constant to fit", text=text, column=0, width=len(text), hint=hint)
    for name, value in fix.items():
        if name not in names:
            raise ModelError(f"--fix {name}: the formula has no constant '{name}'", hint=suggest(name, names))
        if not math.isfinite(value):
            raise ModelError(f"--fix {name}={value}: not a finite number")
    node = bind_values(node, fix)
    free = [name for name in names if name not in fix]
    if not free:
        raise ModelError("every constant of the formula is fixed", hint="leave one free, or there is nothing to fit")
    if configurations is not None and len(free) > configurations:
        fault = f"the formula has {len(free)} constants, and the table {configurations} configurations to find them"
        hint = "--fix NAME=X holds a constant at a value; or measure more, or write a shorter formula"
        raise FitError(fault, hint=hint)
    linear = frozenset(coefficients(node, free))
    terms_by_name: dict[str, Node] = {}
    total = _name_addends(node, linear, terms_by_name)
    terms = tuple(Term(name, term) for name, term in terms_by_name.items())
    constants = tuple(_constant(name, node, linear) for name in free)
    # What reads a coefficient inside a maximum or a power may be homogeneous in it, but is not linear.
    inside = (c for c in calls_in(node) if c.function in ("max", "min", "power"))
    return Expression("formula", terms, constants, total if any(names_in(c) & linear for c in inside) else None)


def _with_factors(text: str, panel: Panel) -> Node:
    """Parse a formula, and put columns in the place of the field's names; other names are constants, or refused."""
    columns = [f.name for f in panel.factors]
    node = parse(text, None, [f.name for f in panel.factors if not f.numeric], value="number").node
    canonical_of_alias = {alias: name for name, aliases in ALIASES.items() for alias in (*aliases, name)}
    by_name: dict[str, Node] = {}
    for name in (name for name in ordered_names(node) if name not in columns):
        column = panel.node(canonical_of_alias[name]) if name in canonical_of_alias else None
        if column is not None:
            by_name[name] = column
        elif name in canonical_of_alias:
            _refuse(text, name, "is a factor, and the table has no such column", did_you_mean(name, columns))
        # A name of three letters is a constant's rather than a misspelt column's.
        elif len(name) > 3 and misspelt(name, columns):
            _refuse(text, name, "is not a column", f"{did_you_mean(name, columns)} a constant needs another name")
    return substitute(node, by_name)


def _refuse(text: str, name: str, message: str, hint: str | None) -> NoReturn:
    """Refuse a name in a formula, with a caret under its first occurrence."""
    place = re.search(rf"\b{re.escape(name)}\b", text)
    column, hint = place.start() if place else 0, hint or "--map says which column it is, --let derives it"
    raise FormulaError(f"'{name}' {message}", text=text, column=column, width=len(name), hint=hint)


def coefficients(node: Node, names: Sequence[str]) -> list[str]:
    """Return the largest set of names in which the tree is, by its structure, linear or homogeneous of degree one."""
    # The largest set first: in max(a*n, b) neither name is a coefficient without the other.
    nonlinear = _nonlinear(node)
    candidates = [n for n in names if n not in nonlinear]
    sizes = range(len(candidates), max(len(candidates) - MAX_EXCLUDED, 1) - 1, -1)
    subsets = (subset for size in sizes for subset in combinations(candidates, size))
    return next((list(subset) for subset in subsets if degree(node, frozenset(subset)) in (ONE, AFFINE)), [])


def _nonlinear(node: Node) -> frozenset[str]:
    """Return the names in exponents, divisors, comparisons and arguments of functions other than `max` and `min`."""
    match node:
        case Call("add" | "subtract" | "multiply" | "negative" | "max" | "min", arguments):
            return frozenset().union(*(_nonlinear(a) for a in arguments))
        case Call("where", (test, yes, no)):
            return names_in(test) | _nonlinear(yes) | _nonlinear(no)
        case Call("divide" | "power", (left, right)):
            return _nonlinear(left) | names_in(right)
        case Call():
            return names_in(node)
        case _:
            return frozenset()


#: Degrees of a tree in some names: `b` has none in `a`, `a*n` has one, and `a*n + b` is affine, one beside none.
NONE, ONE = Number(0.0), Number(1.0)
AFFINE = Name("affine")


def degree(node: Node, names: frozenset[str]) -> Node | None:
    """Return the degree d, a number or a tree, with f(λ·a) = λ^d·f(a) in names a, by structure; None without one."""
    if names.isdisjoint(names_in(node)):
        return NONE
    match node:
        case Name():
            return ONE
        case Call("negative", (inner,)):
            return degree(inner, names)
        case Call("multiply", (first, second)):
            # A product is linear in names that are in one of its factors alone.
            of_first, of_second = degree(first, names), degree(second, names)
            if of_second == NONE:
                return of_first
            return of_second if of_first == NONE else None
        case Call("divide", (above, below)):
            return degree(above, names) if degree(below, names) == NONE else None
        case Call("power", (base, power)):
            return _degree_of_power(degree(base, names), power) if degree(power, names) == NONE else None
        case Call("add" | "subtract" | "max" | "min" as function, arguments):
            return _shared_degree(arguments, names, affine=function in ("add", "subtract"))
        case Call("where", (test, *values)):
            return _shared_degree(values, names, affine=True) if degree(test, names) == NONE else None
        case _:
            return None


def _shared_degree(nodes: Sequence[Node], names: frozenset[str], affine: bool) -> Node | None:
    """Return the degree of several nodes together: of a sum (`affine` too), a maximum, or branches; a zero has any."""
    degrees = {degree(node, names) for node in nodes if node != Number(0.0)}
    if len(degrees) == 1:
        return degrees.pop()
    return AFFINE if affine and degrees <= {NONE, ONE, AFFINE} else None


def _degree_of_power(base: Node | None, power: Node) -> Node | None:
    """Return the degree of a power, from that of its base."""
    if base == ONE:
        return power
    # `(a**g + b**g)**(1/g)` is of degree one.
    if isinstance(base, Number | Name) and base != AFFINE and power == Call("divide", (ONE, base)):
        return ONE
    return Number(base.value * power.value) if isinstance(base, Number) and isinstance(power, Number) else None


def _name_addends(node: Node, coefficients: frozenset[str], terms: dict[str, Node]) -> Node:
    """Put the addends of a sum and its maxima in `terms` by their texts, `TEXT (2)`; return the tree over these."""
    total_terms: list[Node] = []
    for addend in (added([signed]) for signed in addends(node)):
        match addend:
            case Call("max" | "min" as function, arguments) if degree(addend, coefficients) == ONE:
                total_terms.append(Call(function, tuple(_name_addends(a, coefficients, terms) for a in arguments)))
            case _:
                text = render(addend, lambda v: f"{v:.4g}").replace("`", "")
                numbered = (f"{text} ({number})" for number in count(2))
                name = text if text not in terms else next(name for name in numbered if name not in terms)
                terms[name] = addend
                total_terms.append(Name(name))
    return chain("add", total_terms)


def _constant(name: str, node: Node, linear: Collection[str]) -> Constant:
    """Return a constant with the bounds of its kind."""
    if name in linear:
        return Constant(name, "coefficient")
    if _only_exponent(name, node):
        return exponent(name, *FORMULA_EXPONENTS, start=EXPONENT_START)
    return Constant(name, "shape", *FORMULA_SHAPES, penalised=False)


def _only_exponent(name: str, node: Node) -> bool:
    """Return whether every occurrence of the name is an exponent, with a sign or not."""
    match node:
        case Call("power", (base, Name(power) | Call("negative", (Name(power),)))) if power == name:
            return _only_exponent(name, base)
        case Call(_, arguments):
            return all(_only_exponent(name, a) for a in arguments)
        case _:
            return node != Name(name)
