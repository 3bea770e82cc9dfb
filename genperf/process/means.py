"""The means of the process: sums of products, fitted in ln T by Gauss–Newton steps, anew in every look-back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice, product
from typing import NamedTuple

import numpy as np

from genperf.arrays import AnyArray, Array
from genperf.discrepancy.form import deviation, features
from genperf.errors import ModelError
from genperf.estimate.prepare import CONTENT_SEED
from genperf.expression import Constant, Expression, Term, coefficient
from genperf.formula import Name, Node, Number, bind_values, call, chain, names_in, parse, quote_name, values_of
from genperf.models import MODELS
from genperf.models.compose import at_level, unused_name
from genperf.panel import Table
from genperf.panel.table import one_at_a_time
from genperf.process.axes import derived
from genperf.process.settings import (
    ENTERING_COLUMNS,
    GAUSS_NEWTON_STEPS,
    GROWING_RIDGE,
    LEAST_GAIN,
    LEAST_STEP,
    LEVEL_RIDGE,
    MOST_COLUMNS,
    REFIT_STEPS,
    SUM_RIDGE,
    TERM_DRAWS,
    TRACE_SHARE,
)
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
            steps, levels = GAUSS_NEWTON_STEPS, np.zeros(self.levels.shape[1])
            c = self._solved(np.exp(-y)[:, None] * self.columns, np.ones(len(y)), np.zeros(self.columns.shape[1]))
        else:
            steps, (c, levels) = REFIT_STEPS, start
        for _ in range(steps):
            log = self._log(c)
            levels = self._effects(y - log)
            target = y - self.levels @ levels - log + 1.0
            wanted = self._solved(self.columns / np.exp(log)[:, None], target, c)
            error, step = self._loss(c, levels, y), 1.0
            while not (after := self._loss(tried := c + step * (wanted - c), levels, y)) < error:
                step *= 0.5
                if step < LEAST_STEP:
                    return Coefficients(c, levels)
            c = tried
            if error - after < LEAST_GAIN * error:
                break
        return Coefficients(c, levels)

    def without_traces(self, constants: Coefficients, y: Array) -> Coefficients:
        """Return the constants without the columns that are a trace of the time everywhere, fitted again."""
        shares = self.columns * constants.columns / np.exp(self._log(constants.columns))[:, None]
        kept = np.flatnonzero(shares.max(axis=0) >= TRACE_SHARE)
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
            steepest = np.argsort(-slope, kind="stable")[:ENTERING_COLUMNS]
            entering = steepest[slope[steepest] > 1e-9 * len(target)]
            if not len(entering):
                return np.asarray(x / length)
            used = np.append(np.flatnonzero(x), entering)

    def _effects(self, residual: Array) -> Array:
        """Return the levels' effects, each shrunk toward zero, by ridge regression."""
        L = self.levels
        return np.asarray(np.linalg.solve(L.T @ L + LEVEL_RIDGE * np.eye(L.shape[1]), L.T @ residual))

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
    #: Places of columns φ/n, φ·(1 − 1/n) and φ, which is the sum of the other two.
    same: tuple[tuple[int, int, int], ...] = ()

    def plainest(self, columns: Array) -> Array:
        """Return the coefficients of the same sum in which φ/n and φ·(1 − 1/n) do not both stand for φ."""
        out = columns.copy()
        for falls, rises, alone in self.same:
            both = min(out[falls], out[rises])
            out[[falls, rises, alone]] += [-both, -both, both]
        return out

    def drawn(self, basis: Basis, y: Array, constants: Coefficients, places: Array, apart: bool) -> list[Coefficients]:
        """Return draws of the constants: fits to ln T with noise and with an error of the form.

        Both have the sizes that the residuals show (`genperf.discrepancy.form`).
        """
        log = basis._log(constants.columns)
        residual, used = y - log - basis.levels @ constants.levels, constants.columns > 0.0
        slopes = np.hstack([basis.columns[:, used] * constants.columns[used] / np.exp(log)[:, None], basis.levels])
        left = max(len(y) - np.linalg.matrix_rank(slopes), 0.2 * len(y))
        variance = float(residual @ residual) / left
        form = min(deviation(residual, slopes, places), float(np.sqrt(variance)))
        generator, root = np.random.default_rng([CONTENT_SEED, 4]), features(places)
        normal = [generator.standard_normal((TERM_DRAWS, n)) for n in (len(y), root.shape[1])]
        errors = np.sqrt(max(variance - form**2, 0.0)) * normal[0] + form * normal[1] @ root.T
        # Where no row varies two factors together, every other draw has no products of them.
        sums = basis if not apart else replace(basis, columns=basis.columns * [" × " not in n for n in self.names])
        return [(sums if k % 2 else basis).fitted(y + error, constants) for k, error in enumerate(errors)]

    def basis(self, table: Mapping[str, AnyArray]) -> Basis:
        """Return the columns of the sum at the rows of a table."""
        rows = len(next(iter(table.values())))
        with np.errstate(all="ignore"):
            columns = [values_of(node, table) for node in self.nodes]
        levels = np.array([table[f.name] == level for f, level in self.levels], float).reshape(-1, rows).T
        ridge = np.where(self.growing, SUM_RIDGE * GROWING_RIDGE, SUM_RIDGE)
        return Basis(np.column_stack(columns), ridge, levels)

    def expression(
        self, constants: Coefficients, columns: set[str], draws: Sequence[Coefficients] = ()
    ) -> tuple[Expression, int, Array, Array]:
        """Return the expression of the terms above zero, how many coefficients it has, its constants and draws."""
        each = [Coefficients(self.plainest(c.columns), c.levels) for c in (constants, *draws)]
        above = np.any([c.columns > 0.0 for c in each], axis=0)
        used = [j for j in range(len(self.nodes)) if above[j]]
        names = [unused_name(f"d_{f.name}[{level}]", columns) for f, level in self.levels]
        levels = [Constant(name, "level", -np.inf, np.inf, 0.0) for name in names]
        effects = [call("multiply", Name(name), at_level(*each)) for each, name in zip(self.levels, names, strict=True)]
        factor = [call("exp", chain("add", effects))] if effects else []
        amounts, taken = [], set(columns)
        for j in used:
            amounts.append(coefficient(unused_name(f"a_{_plain(self.names[j])}", taken)))
            taken.add(amounts[-1].name)
        terms: dict[str, list[Node]] = {}
        for amount, j in zip(amounts, used, strict=True):
            basis = [] if self.nodes[j] == Number(1.0) else [self.nodes[j]]
            terms.setdefault(self.names[j], []).append(chain("multiply", [Name(amount.name), *basis, *factor]))
        named = tuple(Term(name, chain("add", nodes)) for name, nodes in terms.items())
        expression = Expression(self.family or self.kind, named, (*amounts, *levels))
        first, *others = [np.concatenate([c.columns[used], c.levels]) for c in each]
        return expression, len(used), first, np.array(others or [first])


def means_of(table: Table) -> list[Mean]:
    """Return the means that a table's factors allow, the plainest first."""
    levels = tuple((f, level) for f in table.categorical if f.distinct > 1 for level in f.levels)
    sums = [_sum("sum", "a sum of products", ("1/{}", "1 - 1/{}", "{}"), table, levels)]
    sums.append(_sum("server", "a shared server", ("1/{}", "{}"), table, levels))
    return [_work(table), *(mean for mean in sums if len(mean.names) > 1), *_physics(table)]


def terms_of(table: Table) -> Mean | None:
    """Return the sum that shows what the time is made of: a level multiplies the terms that it changes, none else.

    A transformer's terms where the table has its factors; nothing where no number varies.
    """
    physics = _physics(table)
    if physics:
        return physics[0]
    plain = _sum("terms", "terms", ("1/{}", "1 - 1/{}", "{}"), table, ())
    levels = [(f, level) for f in table.categorical if f.distinct > 1 for level in f.levels]
    count = len(plain.names)
    if count < 2 or count * (1 + len(levels)) > MOST_COLUMNS:
        return None
    shifts = range(0, count * (1 + len(levels)), count)
    at = [call("multiply", node, at_level(*each)) for each in levels for node in plain.nodes]
    same = tuple((a + k, b + k, c + k) for k in shifts for a, b, c in plain.same)
    each = len(shifts)
    return replace(plain, names=plain.names * each, nodes=(*plain.nodes, *at), growing=plain.growing * each, same=same)


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
    products = list(islice(_products(choices), MOST_COLUMNS - 1))
    if kind != "terms" and one_at_a_time(table):
        # Products of two factors would be a share of both forms; the process about a constant multiplies.
        products = [chosen for chosen in products if len(chosen) == 1]
    place = {frozenset(name for name, _, _ in chosen): 1 + j for j, chosen in enumerate(products)} | {frozenset(): 0}
    same = []
    for chosen, j in place.items():
        for name in chosen:
            falls, alone = chosen - {name} | {f"1/{name[6:]}"}, chosen - {name}
            if name.startswith("1 - 1/") and falls in place and alone in place:
                same.append((place[falls], j, place[alone]))
    names = ("constant", *(_name([name for name, _, _ in chosen]) for chosen in products))
    nodes = (Number(1.0), *(chain("multiply", [node for _, node, _ in chosen]) for chosen in products))
    growing = (False, *(kind == "sum" and any(way == "grows" for _, _, way in chosen) for chosen in products))
    return Mean(kind, label, names, nodes, growing, levels, same=tuple(same))


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
