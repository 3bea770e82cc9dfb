"""Formulas over canonical names → an expression over a table's columns; what the laws of an exchange have in common.

Terms that the rows cannot identify are left out.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from genperf.arrays import Array
from genperf.errors import ModelError
from genperf.expression import Constant, Expression, Term, coefficient
from genperf.formula import Call, Name, Node, Text, call, evaluate, names_in, parse, substitute
from genperf.panel import Panel, share
from genperf.table import Factor
from genperf.vocabulary.names import ALIASES


def compose(
    family: str,
    terms: Mapping[str, str],
    constants: Sequence[Constant],
    factors: Panel,
    total: str | None = None,
    spare: Mapping[str, str] | None = None,
) -> Expression:
    """Write an expression from formulas over canonical factor names and constants.

    Terms that the table's rows cannot identify are left out, so that few measurements suffice. They are terms that
    are zero in every row (a network, on one node), and spare terms beside one that is constant.

    Parameters
    ----------
    terms : mapping of str to str
        Term name → formula.
    constants : sequence of Constant
        Those that occur in the terms are kept. One that is named like a column of the table gets a trailing `_`.
    factors : Panel
        Where the columns come from.
    total : str, optional
        Formula over the terms' names (and constants); the sum where omitted.
    spare : mapping of str to str, optional
        Spare term → the term that replaces it where that one is constant: a constant beside a computation whose batch
        does not vary.

    Raises
    ------
    ModelError
        Where a formula uses a factor that the table does not have.

    Examples
    --------
    >>> from genperf.expression import coefficient
    >>> from genperf.table import Factor
    >>> gpus = Panel((Factor("gpu count", "extrinsic"),), {"workers": "gpu count"})
    >>> str(compose("amdahl", {"serial": "c", "parallel": "a/workers"}, [coefficient("c"), coefficient("a")], gpus))
    'c + a/`gpu count`'
    """
    trees = {name: parse(text).node for name, text in terms.items()}
    whole = parse(total).node if total is not None else None
    dropped = _unidentified(trees, {c.name for c in constants}, factors, spare or {})
    trees = {name: tree for name, tree in trees.items() if name not in dropped}
    whole = None if whole is None else _without(whole, dropped)
    renamed = {c.name: unused_name(c.name, {f.name for f in factors.factors}) for c in constants}
    by_name: dict[str, Node] = {old: Name(new) for old, new in renamed.items()}
    used = set().union(*(names_in(t) for t in trees.values()), names_in(whole) if whole is not None else set())
    for name in used - set(renamed) - set(terms):
        node = factors.node(name) if name in ALIASES else None
        if node is None:
            raise ModelError(f"family '{family}' needs '{name}', which the table does not have")
        by_name[name] = node
    kept = tuple(replace(c, name=renamed[c.name]) for c in constants if c.name in used)
    return Expression(
        family,
        tuple(Term(name, substitute(tree, by_name)) for name, tree in trees.items()),
        kept,
        None if whole is None else substitute(whole, {k: v for k, v in by_name.items() if k not in terms}),
    )


def with_computation(
    family: str,
    factors: Panel,
    exchange: Mapping[str, str],
    constants: Sequence[Constant],
    *,
    job: bool = False,
    known: bool = False,
    total: str | None = None,
) -> Expression:
    """Write `T = c + a·w + the exchange`, with one worker's work w."""
    work = share(factors, job=job)
    compute = {} if known and not work.known else {"compute": work.of("a")}
    return compose(
        family,
        {"constant": "c", **compute, **exchange},
        [coefficient("c"), coefficient("a", work.unit), *constants],
        factors,
        total,
        spare={"constant": "compute"},
    )


#: The coefficient of a cost of working together that neither the workers nor the bytes change, and its term.
SYNCHRONISATION_COST: Constant = coefficient("d")
SYNCHRONISATION = {"synchronisation": f"where(workers > 1, {SYNCHRONISATION_COST.name}, 0)"}

#: Worker counts that separate a step between one worker and two from growth with the workers: 1 and two more.
LEAST_COUNTS = 3


def measured_alone(factors: Panel) -> bool:
    """Return whether a table has runs of one worker beside two larger counts, so that a step between them shows.

    Examples
    --------
    >>> from genperf.table.factor import measure
    >>> [measured_alone(Panel((measure("gpus", "extrinsic", n),))) for n in ([1, 2, 4], [1, 2], [2, 4, 8])]
    [True, False, False]
    """
    workers = factors.workers
    return workers is not None and workers.lower <= 1.0 and workers.distinct >= LEAST_COUNTS


def together(formula: str) -> str:
    """Return a formula that is zero for one worker."""
    return f"where(workers > 1, {formula}, 0)"


#: The share of backward pass and exchange that one follows the other in: a layer of as many equal ones. All values that
#: it may have; a search begins at a quarter, as four layers have it.
SERIAL = Constant("serial", "shape", 0.0, 1.0, start=0.25, penalised=False)


def partly_hidden(backward: str, exchange: str) -> str:
    """Return the time of a backward pass and an exchange of which a share does not hide.

        t = s·(t_b + t_c) + (1 − s)·max(t_b, t_c)

    Of L equal layers the last gradients leave when the pass is done, and the first ones when one layer is: the time is
    max(t_b + t_c/L, t_b/L + t_c), which is this with s = 1/L.

    Examples
    --------
    >>> partly_hidden("backward", "ring")
    'serial*(backward + ring) + (1 - serial)*max(backward, ring)'
    """
    return f"serial*({backward} + {exchange}) + (1 - serial)*max({backward}, {exchange})"


def at_level(factor: Factor, level: str, value: float = 1.0) -> Node:
    """Return a value where a categorical factor has a level, and 0 elsewhere."""
    return call("where", call("equal", Name(factor.name), Text(level)), value, 0.0)


def unused_name(name: str, columns: Collection[str]) -> str:
    """Return a name that no column has: the given one, with as many trailing `_` as that takes.

    Examples
    --------
    >>> unused_name("a", {"a", "a_"}), unused_name("b", {"a"})
    ('a__', 'b')
    """
    while name in columns:
        name += "_"
    return name


def _unidentified(
    trees: Mapping[str, Node], constants: Collection[str], factors: Panel, spare: Mapping[str, str]
) -> set[str]:
    """Return the terms that are zero, or spare beside a constant one, over the measured range."""
    ranges = {name: _corners(tree, constants, factors) for name, tree in trees.items()}
    known = {name: values for name, values in ranges.items() if values is not None}
    zero = {name for name, values in known.items() if not values.any()}
    fixed = {name for name, values in known.items() if np.ptp(values) == 0.0}
    unneeded = {name for name, other in spare.items() if name in trees and other in fixed - zero}
    return (zero if set(trees) - zero else set()) | unneeded


def _corners(tree: Node, constants: Collection[str], factors: Panel) -> Array | None:
    """Return a term at the corners of the measured range, every constant 1; None where the range is not known."""
    nodes = {name: factors.node(name) for name in names_in(tree) - set(constants)}
    known = {name: node for name, node in nodes.items() if node is not None}
    here = [f for f in factors.factors if any(f.name in names_in(n) for n in known.values())]
    if len(known) < len(nodes) or any(f.distinct == 0 for f in here):
        return None
    grid = np.array(list(product(*((f.lower, f.upper) for f in here)))).T.reshape(len(here), 2 ** len(here))
    ones = dict.fromkeys(constants, 1.0)
    values = evaluate(substitute(tree, known), {**ones, **dict(zip((f.name for f in here), grid, strict=True))})
    return np.asarray(np.broadcast_to(values, 2 ** len(here)), float)


def _without(node: Node, dropped: Collection[str]) -> Node | None:
    """Return a total without some of its terms; None where nothing is left."""
    match node:
        case Name(name):
            return None if name in dropped else node
        case Call(function, arguments):
            kept = [(a, _without(a, dropped)) for a in arguments]
            left = [part for _, part in kept if part is not None]
            if len(left) == len(kept):
                return Call(function, tuple(left))
            return left[0] if left and function in ("add", "max") and len(left) == 1 else None
        case _:
            return node
