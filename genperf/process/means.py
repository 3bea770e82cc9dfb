"""The means of the process: sums of products, fitted in ln T by Gauss–Newton steps, anew in every look-back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, product
from typing import NamedTuple

import numpy as np

from genperf.arrays import AnyArray, Array
from genperf.errors import ModelError
from genperf.expression import Constant, Expression, Term, coefficient
from genperf.formula import Name, Node, Number, bind_values, call, chain, names_in, parse, quote_name, values_of
from genperf.models import MODELS
from genperf.models.compose import at_level, unused_name
from genperf.panel import Table
from genperf.process.axes import derived
from genperf.process.settings import SUMS
from genperf.solver.nonnegative import nonnegative_least_squares
from genperf.table import Factor


class Coefficients(NamedTuple):
    """The constants of a sum: c of each column and d of each level."""

    columns: Array
    levels: Array


@dataclass(frozen=True, eq=False)
class Basis:
    """The columns of a sum, at the rows of a table.

    ln m = Σ_l d_l·1[level l] + ln Σ_j c_j·φ_j,   c ≥ 0
    """

    #: Shape (rows, columns). φ.
    columns: Array
    #: Shape (columns,). Of each column at unit length.
    ridge: Array
    #: Shape (rows, levels). Ones where a row has a level.
    levels: Array

    def take(self, rows: AnyArray) -> Basis:
        """Return the basis at some of the rows."""
        return Basis(self.columns[rows], self.ridge, self.levels[rows])

    def log_sum(self, constants: Coefficients) -> Array:
        """Return ln m; where all is zero, that of the smallest number."""
        return np.asarray(self._log(constants.columns) + self.levels @ constants.levels)

    def fitted(self, y: Array, start: Coefficients | None = None) -> Coefficients:
        """Return the constants nearest to ln T, from those of a fit to more rows where they are given."""
        if start is None:
            steps, levels = SUMS.steps, np.zeros(self.levels.shape[1])
            c = self._solved(np.exp(-y)[:, None] * self.columns, np.ones(len(y)), np.zeros(self.columns.shape[1]))
        else:
            steps, (c, levels) = SUMS.refits, start
        for _ in range(steps):
            log = self._log(c)
            levels = self._effects(y - log)
            target = y - self.levels @ levels - log + 1.0
            wanted = self._solved(self.columns / np.exp(log)[:, None], target, c)
            error, step = self._loss(c, levels, y), 1.0
            while not (after := self._loss(tried := c + step * (wanted - c), levels, y)) < error:
                step *= 0.5
                if step < SUMS.least_step:
                    return Coefficients(c, levels)
            c = tried
            if error - after < SUMS.least_gain * error:
                break
        return Coefficients(c, levels)

    def without_traces(self, constants: Coefficients, y: Array) -> Coefficients:
        """Return the constants without the columns that are a trace of the time everywhere, fitted again."""
        shares = self.columns * constants.columns / np.exp(self._log(constants.columns))[:, None]
        kept = np.flatnonzero(shares.max(axis=0) >= SUMS.trace)
        if not len(kept):
            return constants
        part = Basis(self.columns[:, kept], self.ridge[kept], self.levels)
        fitted = part.fitted(y, Coefficients(constants.columns[kept], constants.levels))
        columns = np.zeros_like(constants.columns)
        columns[kept] = fitted.columns
        return Coefficients(columns, fitted.levels)

    def _log(self, c: Array) -> Array:
        """Return ln Σ c·φ."""
        return np.asarray(np.log(np.maximum(self.columns @ c, 1e-300)))

    def _solved(self, A: Array, target: Array, start: Array) -> Array:
        """Return c ≥ 0 that minimises |A·c − target|², the ridge on columns of unit length; a few enter at a time."""
        length = np.linalg.norm(A, axis=0)
        length = np.where(length > 0.0, length, 1.0)
        A, x, used = A / length, np.zeros(A.shape[1]), np.flatnonzero(start)
        while True:
            part = A[:, used]
            gram = part.T @ part + np.diag(self.ridge[used])
            x[:] = 0.0
            x[used] = nonnegative_least_squares(gram[None], (part.T @ target)[None])[0]
            slope = A.T @ (target - part @ x[used]) - self.ridge * x
            slope[used] = 0.0
            steepest = np.argsort(-slope, kind="stable")[: SUMS.entering]
            entering = steepest[slope[steepest] > 1e-9 * len(target)]
            if not len(entering):
                return np.asarray(x / length)
            used = np.append(np.flatnonzero(x), entering)

    def _effects(self, residual: Array) -> Array:
        """Return the levels' effects, each shrunk toward zero, by ridge regression."""
        L = self.levels
        return np.asarray(np.linalg.solve(L.T @ L + SUMS.level_ridge * np.eye(L.shape[1]), L.T @ residual))

    def _loss(self, c: Array, levels: Array, y: Array) -> float:
        """Return the squared error in ln T with the ridge, on coefficients as shares of the mean time."""
        log, used = self._log(c), np.flatnonzero(c)
        share = np.sum((self.columns[:, used] * c[used] / np.exp(log)[:, None]) ** 2, axis=0)
        away = y - log - self.levels @ levels
        return float(away @ away + self.ridge[used] @ share)


@dataclass(frozen=True, eq=False)
class Mean:
    """An expression Σ c_j·φ_j times the levels' effects."""

    kind: str
    #: What messages call it.
    label: str
    #: Of the terms.
    names: tuple[str, ...]
    #: φ over the factors, in units of its size at the centre of the data.
    nodes: tuple[Node, ...]
    #: Whether a term grows with a count.
    growing: tuple[bool, ...]
    #: Factor and level of each effect.
    levels: tuple[tuple[Factor, str], ...] = ()
    #: Of the literature, where it is one.
    family: str = ""

    def basis(self, table: Mapping[str, AnyArray]) -> Basis:
        """Return the columns of the sum at the rows of a table."""
        rows = len(next(iter(table.values())))
        with np.errstate(all="ignore"):
            columns = [values_of(node, table) for node in self.nodes]
        levels = np.array([table[f.name] == level for f, level in self.levels], float).reshape(-1, rows).T
        ridge = np.where(self.growing, SUMS.ridge * SUMS.growing_ridge, SUMS.ridge)
        return Basis(np.column_stack(columns), ridge, levels)

    def expression(self, constants: Coefficients, columns: set[str]) -> tuple[Expression, list[int], Array]:
        """Return the expression of the terms above zero, their places, and its constants."""
        used = [j for j in range(len(self.nodes)) if constants.columns[j] > 0.0]
        names = [unused_name(f"d_{f.name}[{level}]", columns) for f, level in self.levels]
        levels = [Constant(name, "level", -np.inf, np.inf, 0.0) for name in names]
        effects = [call("multiply", Name(name), at_level(*each)) for each, name in zip(self.levels, names, strict=True)]
        factor = [call("exp", chain("add", effects))] if effects else []
        amounts = [coefficient(unused_name(f"a_{_plain(self.names[j])}", columns)) for j in used]
        terms = []
        for amount, j in zip(amounts, used, strict=True):
            basis = [] if self.nodes[j] == Number(1.0) else [self.nodes[j]]
            terms.append(Term(self.names[j], chain("multiply", [Name(amount.name), *basis, *factor])))
        expression = Expression(self.family or self.kind, tuple(terms), (*amounts, *levels))
        return expression, used, np.concatenate([constants.columns[used], constants.levels])


def means_of(table: Table) -> list[Mean]:
    """Return the means that a table's factors allow, the plainest first."""
    levels = tuple((f, level) for f in table.categorical if f.distinct > 1 for level in f.levels)
    sums = [_sum("sum", "a sum of products", ("1/{}", "1 - 1/{}", "{}"), table, levels)]
    sums.append(_sum("server", "a shared server", ("1/{}", "{}"), table, levels))
    return [_work(table), *(mean for mean in sums if len(mean.names) > 1), *_physics(table)]


def _work(table: Table) -> Mean:
    """Return the work of a device times the pipeline's bubble, where the table knows them; otherwise a constant."""
    parts = derived(table) if table.target.is_time else {}
    if "work" not in parts:
        return Mean("work", "constant", ("constant",), (Number(1.0),), (False,))
    node = call("multiply", parts["work"], parts["bubble"]) if "bubble" in parts else parts["work"]
    return Mean("work", "work", ("work",), (_scaled(node, table),), (False,))


def _scaled(node: Node, table: Table) -> Node:
    """Return a formula over its geometric mean."""
    values = values_of(node, table.columns)
    good = values[np.isfinite(values) & (values > 0.0)]
    centre = float(f"{np.exp(np.mean(np.log(good))):.3g}") if len(good) else 1.0
    return call("divide", node, Number(centre))


def _sum(kind: str, label: str, functions: Sequence[str], table: Table, levels: tuple[tuple[Factor, str], ...]) -> Mean:
    """Return a sum of a constant and of products of sizes and of functions of counts."""
    choices = [_choices(f, functions) for f in table.numeric if f.distinct > 1 and f.lower >= 0.0]
    products = list(islice(_products(choices), SUMS.most_columns - 1))
    names = ("constant", *(_name([name for name, _, _ in chosen]) for chosen in products))
    nodes = (Number(1.0), *(chain("multiply", [node for _, node, _ in chosen]) for chosen in products))
    growing = (False, *(kind == "sum" and any(way == "grows" for _, _, way in chosen) for chosen in products))
    return Mean(kind, label, names, nodes, growing, levels)


Choice = tuple[str, Node, str]
#: How functions of a count behave.
WAYS = {"1/{}": "falls", "1 - 1/{}": "rises", "{}": "grows"}


def _choices(factor: Factor, functions: Sequence[str]) -> list[Choice]:
    """Return the functions of a factor beside 1, with names and how each behaves."""
    name = quote_name(factor.name)
    if factor.role != "extrinsic" or factor.lower < 1.0:
        size = f"{name}/{float(f'{factor.centre:.3g}')}"
        return [(factor.name, parse(size if factor.positive else f"1 + {size}").node, "")]
    return [(f.format(factor.name), parse(f.format(name)).node, WAYS[f]) for f in functions]


def _products(choices: Sequence[Sequence[Choice]]) -> Iterator[tuple[Choice, ...]]:
    """Yield products of one function of each of some factors, few factors first."""
    for many in range(1, len(choices) + 1):
        for factors in combinations(range(len(choices)), many):
            for chosen in product(*(choices[j] for j in factors)):
                ways = [way for _, _, way in chosen]
                if ways.count("falls") <= 1 and ways.count("grows") + ways.count("rises") <= 1:
                    yield chosen


def _name(parts: Sequence[str]) -> str:
    """Return a term's name by its factors: `batch × layers / workers`."""
    above = [p if " - " not in p else f"({p})" for p in parts if not p.startswith("1/")]
    below = [p[2:] for p in parts if p.startswith("1/")]
    return " / ".join([" × ".join(above) or "1", *below])


def _plain(name: str) -> str:
    """Return a term's name as that of a constant."""
    name = name.replace(" × ", "_").replace(" / ", "_per_").replace("(1 - 1/", "rest_")
    return name.replace(")", "").replace(" ", "_")


def _physics(table: Table) -> list[Mean]:
    """Return the terms of a transformer's time or memory at unit coefficients, where the table has its factors."""
    family = MODELS["transformer" if table.target.is_time else "transformer-memory"]
    if family.missing(table.panel):
        return []
    try:
        expression = [e for e in family.expressions(table.panel) if e.is_sum][-1]
    except (ModelError, IndexError):
        return []
    zero = {c.name: 0.0 for c in expression.constants if c.kind == "level"}
    terms: list[tuple[str, Node]] = []
    first: dict[str, str] = {}
    for term in expression.terms:
        inside = [c.name for c in expression.constants if c.kind == "coefficient" and c.name in names_in(term.node)]
        for one in inside:
            node = bind_values(term.node, {**{other: float(other == one) for other in inside}, **zero})
            values = values_of(node, table.columns)
            if np.all(np.isfinite(values)) and np.all(values >= 0.0) and values.any():
                of = first.setdefault(one, term.name)
                terms.append((term.name if of == term.name else f"{term.name} of {of}", _scaled(node, table)))
    switches = {c.name.partition("[")[0][2:] for c in expression.constants if c.kind == "level"}
    switching = [f for f in table.categorical if f.name in switches and f.distinct > 1]
    levels = tuple((f, level) for f in switching for level in f.levels)
    if not terms:
        return []
    names, nodes = zip(*terms, strict=True)
    return [Mean("physics", "a transformer's terms", names, nodes, (False,) * len(names), levels, family.name)]
