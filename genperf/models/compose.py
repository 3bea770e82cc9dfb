"""Formulas over canonical names → an expression over a table's columns; what the laws of an exchange have in common.

Terms that the rows cannot identify are left out.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import product

import numpy as np
from msgspec.structs import replace

from genperf.arrays import Array
from genperf.errors import ModelError
from genperf.expression import Constant, Expression, Term, coefficient
from genperf.formula import Call, Name, Node, Text, call, names_in, ordered_names, parse, substitute, values_of
from genperf.panel import Panel, share
from genperf.panel.panel import UNITS
from genperf.table import Factor
from genperf.vocabulary.names import ALIASES


def compose(
    family: str,
    terms: Mapping[str, str],
    factors: Panel,
    total: str | None = None,
    shapes: Sequence[Constant] = (),
    spare: Mapping[str, str] | None = None,
) -> Expression:
    """Write an expression from formulas over canonical factors and constants, without terms that rows cannot show.

    >>> from genperf.panel.options import Roles
    >>> jobs = Roles.of({"extrinsic": "slots", "intrinsic": "samples"}).panel.with_axis
    >>> law = compose("amdahl", {"serial": "c", "parallel": "a*samples/workers"}, jobs)
    >>> str(law), [constant.unit for constant in law.constants]
    ('c + a*samples/slots', ['s', 's/sample'])
    """
    trees = {name: _without_absent_factors(parse(text).node, factors) for name, text in terms.items()}
    dropped = _terms_not_shown(trees, factors, spare or {})
    trees = {name: tree for name, tree in trees.items() if name not in dropped}
    law = None if total is None else _without(parse(total).node, dropped)
    shape_of, columns = {shape.name: shape for shape in shapes}, {f.name for f in factors.factors}
    by_name: dict[str, Node] = {}
    constants: list[Constant] = []
    names_in_terms = [name for tree in (*trees.values(), law) if tree is not None for name in ordered_names(tree)]
    # Names of factors become columns, names of terms stay for the total, and all others are constants.
    for name in dict.fromkeys(names_in_terms):
        node = factors.node(name) if name in ALIASES else None
        if name in ALIASES and node is None:
            raise ModelError(f"family '{family}' needs '{name}', which the table does not have")
        if node is None and name not in terms:
            constant = shape_of.get(name) or coefficient(name, _unit(name, trees.values()))
            constants.append(replace(constant, name=unused_name(name, columns)))
            node = Name(constants[-1].name)
        if node is not None:
            by_name[name] = node
    written = tuple(Term(name, tree) for name, tree in trees.items())
    return Expression(family, written, tuple(constants), law).substituted(by_name)


def _terms_not_shown(trees: Mapping[str, Node], factors: Panel, spare: Mapping[str, str]) -> set[str]:
    """Return the terms that the rows cannot show: those that are zero, and `spare` ones beside a constant one."""
    at_corners = {name: values for name, tree in trees.items() if (values := _corners(tree, factors)) is not None}
    zero_terms = {name for name, values in at_corners.items() if not values.any()}
    constant_terms = {name for name, values in at_corners.items() if np.ptp(values) == 0.0} - zero_terms
    dropped = {name for name, beside in spare.items() if name in trees and beside in constant_terms}
    return dropped | zero_terms if trees.keys() - zero_terms else dropped


def _without_absent_factors(node: Node, factors: Panel) -> Node:
    """Return a formula without the factors that the table lacks."""
    match node:
        case Call("multiply" | "divide", (other, Name(name))) | Call("multiply", (Name(name), other)) if (
            name in ALIASES and not factors.has(name)
        ):
            return _without_absent_factors(other, factors)
        case Call(function, arguments):
            return Call(function, tuple(_without_absent_factors(a, factors) for a in arguments))
        case _:
            return node


def _unit(constant: str, terms: Iterable[Node]) -> str:
    """Return the unit of a coefficient that makes its term seconds: `s/sample` where it multiplies samples."""
    powers = next(_powers(term, constant) for term in terms if constant in names_in(term))
    units = sorted((unit, power) for unit, power in powers.items() if power)
    # A text times a negative number is empty: each unit is in one of the two parts.
    return "s" + "".join(f"*{unit}" * -power for unit, power in units) + "".join(f"/{u}" * power for u, power in units)


def _powers(node: Node, constant: str) -> Counter[str]:
    """Return the units, with their powers, of the product with a constant: {"sample": 1} of `a*samples/workers`."""
    match node:
        case Name(name):
            return Counter({UNITS[name]: 1} if name in UNITS else {})
        case Call("multiply" | "divide" as function, (left, right)):
            powers, right_powers = _powers(left, constant), _powers(right, constant)
            powers.update({unit: power if function == "multiply" else -power for unit, power in right_powers.items()})
            return powers
        case Call(_, arguments):
            return next((_powers(a, constant) for a in arguments if constant in names_in(a)), Counter())
        case _:
            return Counter()


def with_computation(
    family: str,
    factors: Panel,
    exchange: Mapping[str, str],
    *,
    job: bool = False,
    known: bool = False,
    total: str | None = None,
    shapes: Sequence[Constant] = (),
) -> Expression:
    """Write `T = c + a·w + the exchange`, of a `job` with its share w; without `a·w` where w should be `known`."""
    work = share(factors, job=job)
    compute = {} if known and not work.known else {"compute": work.of("a")}
    terms = {"constant": "c", **compute, **exchange}
    return compose(family, terms, factors, total, shapes, spare={"constant": "compute"})


#: A cost of working together that neither the workers nor the bytes change.
SYNCHRONISATION = {"synchronisation": "where(workers > 1, d, 0)"}

#: Worker counts that separate a step between one worker and two from growth with the workers: 1 and two more.
LEAST_COUNTS = 3


def measured_alone(factors: Panel) -> bool:
    """Return whether a table has runs of one worker beside two larger counts, so that a step between them shows."""
    workers = factors.workers
    return workers is not None and workers.lower <= 1.0 and workers.distinct >= LEAST_COUNTS


def together(formula: str) -> str:
    """Return a formula that is zero for one worker."""
    return f"where(workers > 1, {formula}, 0)"


#: The share s of backward pass and exchange that one follows the other in: s·(t_b + t_c) + (1 − s)·max(t_b, t_c). Of L
#: equal layers the last gradients leave when the pass is done, and the first ones when one layer is: the time is
#: max(t_b + t_c/L, t_b/L + t_c), which is this with s = 1/L. A search begins at a quarter, as four layers have it.
SERIAL = Constant("serial", "shape", 0.0, 1.0, start=0.25, penalised=False)


def at_level(factor: Factor, level: str, value: float = 1.0) -> Node:
    """Return a value where a categorical factor has a level, and 0 elsewhere."""
    return call("where", call("equal", Name(factor.name), Text(level)), value, 0.0)


def unused_name(name: str, columns: Collection[str]) -> str:
    """Return a name that no column has: the given one, with as many trailing `_` as that takes."""
    while name in columns:
        name += "_"
    return name


def _corners(tree: Node, factors: Panel) -> Array | None:
    """Return a term at the corners of the measured range, every constant 1; None where the range is not known."""
    nodes = {name: factors.node(name) for name in names_in(tree) & ALIASES.keys()}
    present = {name: node for name, node in nodes.items() if node is not None}
    read = frozenset().union(*map(names_in, present.values()))
    ranges = {factor.name: (factor.lower, factor.upper) for factor in factors.factors if factor.name in read}
    if len(present) < len(nodes) or any(factor.distinct == 0 for factor in factors.factors if factor.name in read):
        return None
    corners = dict(zip(ranges, np.array(list(product(*ranges.values()))).T, strict=True))
    return values_of(substitute(tree, present), dict.fromkeys(names_in(tree), 1.0) | corners)


def _without(node: Node, dropped: Collection[str]) -> Node | None:
    """Return a total without some of its terms; None where nothing is left."""
    match node:
        case Name(name):
            return None if name in dropped else node
        case Call(function, arguments):
            left = [reduced for a in arguments if (reduced := _without(a, dropped)) is not None]
            if len(left) == len(arguments):
                return Call(function, tuple(left))
            # What is left alone of a sum or a maximum stands for it; of any other function nothing is left.
            return left[0] if function in ("add", "max") and len(left) == 1 else None
        case _:
            return node
