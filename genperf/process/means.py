"""The means of the process: sums of products, fitted in ln T by Gauss–Newton steps, anew in every look-back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations, islice, product
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from genperf.arrays import AnyArray, Array, Index, Mask
from genperf.discrepancy.form import features, form_and_noise
from genperf.errors import ModelError
from genperf.estimate.prepare import CONTENT_SEED, LEAST_FREEDOM
from genperf.expression import Constant, Expression, Term, coefficient, exponent
from genperf.formula import Name, Node, Number, bind_values, call, chain, names_in, parse, quote_name, values_of
from genperf.gaussian import student_widening
from genperf.models import MODELS
from genperf.models.compose import at_level, unused_name
from genperf.panel import Table
from genperf.panel.table import one_at_a_time
from genperf.solver.nonnegative import nonnegative_least_squares
from genperf.table import Factor

#: Products that are tried; those of fewer factors come first.
MOST_COLUMNS = 600
#: Columns that enter the least squares together.
ENTERING_COLUMNS = 8
#: Of a column of unit length, and its multiple for one that grows with a count: growth has to be shown.
SUM_RIDGE, GROWING_RIDGE = 1e-3, 100.0
#: Of the sum that shows the terms. With 1e-3 it moved n^0.3 beside a constant of 0.3 to n^0.17 beside none.
TERM_RIDGE = 1e-5
#: Mean of a column's cost in a draw, where each has its own: of columns that no run tells apart the cheapest take all,
#: and without it every draw has those of the first fit, with the constant none of them.
COLUMN_COST = 3e-4
#: Of the powers of terms: bounds, prior standard deviation about one, the cost of one that is held, and the noise of a
#: first fit.
POWER_BOUNDS = (0.1, 3.0)
POWER_DEVIATION = 0.4
FIXED = 1e6
SUPPOSED_NOISE = 0.03
#: Powers of a count, each a form of the sum, and its standard deviation about each. From one start no step leads along
#: the valley between a constant and a power: n^0.4 was fitted as n^0.6, and all draws were within 0.1 of it.
POWERS_OF_A_COUNT = (0.2, 0.5, 0.8, 1.2)
COUNT_DEVIATION = 0.15
#: Akaike's weight over the largest below which a form of the sum has no draws.
LEAST_FORM = 0.05
#: Values of a factor from which on its terms have a power.
VALUES_OF_A_POWER = 3
#: Gauss–Newton steps in ln T, of a fit to all rows and of one that starts from it.
GAUSS_NEWTON_STEPS, REFIT_STEPS = 6, 3
#: Shares of a step, of which the first that lowers the error is taken, and the share of it below which the steps end.
STEP_SHARES, LEAST_GAIN = (1.0, 0.5, 0.25, 0.125, 0.0625), 1e-4
#: Rows that a level's effect is shrunk by.
LEVEL_RIDGE = 1.0
#: Seconds in the place of a sum that is zero: its inverse has a square.
LEAST_SUM = 1e-100
#: Share of the time below which, in every row, a term is left out.
TRACE_SHARE = 0.005
#: Of the terms' constants.
TERM_DRAWS = 60
#: What a transformer's step is in proportion to, where the table has no pipeline.
WORK = ("parameters", "global_batch", "sequence")
#: How functions of a count behave.
WAYS = {"1/{}": "falls", "1 - 1/{}": "rises", "{}": "grows"}


class FactorFunction(NamedTuple):
    """A function of a factor."""

    name: str
    node: Node
    way: str  #: How it behaves, as in `WAYS`; empty for a size.


class SumColumn(NamedTuple):
    """A term of a sum, its constant at one."""

    name: str
    node: Node  #: φ over the factors, in units of its size at the centre of the data.
    ways: tuple[str, ...] = ()  #: Of each function that it is a product of, how it behaves.


class Coefficients(NamedTuple):
    """The constants of a sum: c of each column, d of each level, p of each power."""

    columns: Array
    levels: Array
    powers: Array


class SumBasis(Struct, frozen=True, eq=False, dict=True):
    """The columns of a sum, at the rows of a table.

    ln m = Σ_l d_l·1[level l] + ln Σ_j c_j·φ_j·Π_i x_i^(p_i − 1),   c ≥ 0, i of the powers that φ_j has

    Powers cost Σ stiffness·(p − centre)² beside the squared error. Where it is `inverse`, ln m is minus this.
    """

    columns: Array  #: Shape (rows, columns). φ.
    ridge: Array  #: Shape (columns,). Of each column at unit length.
    levels: Array  #: Shape (rows, levels). Ones where a row has a level.
    logarithms: Array  #: Shape (rows, powers). ln x.
    raised: Array  #: Shape (powers, columns). Ones where a column has the power.
    #: Shape (powers,). What they are supposed to be, and the standard deviation about it: 0 for one that is held.
    centre: Array
    deviation: Array
    #: Shape (growths, 3). Of columns φ·(nᵖ − 1)/p, which grow from one worker on: the places of this column, of φ and
    #: of p; −1 where p is 1.
    growths: Index
    at_one: Array  #: Shape (rows, growths). φ, a growth's time at one worker.
    cost: Array  #: Shape (columns,). What a column costs beside the squared error, in proportion to it at unit length.
    variance: float = SUPPOSED_NOISE**2  #: Of ln T about the sum, as it is supposed.
    inverse: bool = False

    def take(self, rows: AnyArray) -> SumBasis:
        """Return the basis at some of the rows."""
        of_rows = {name: getattr(self, name)[rows] for name in ("columns", "levels", "logarithms", "at_one")}
        return replace(self, **of_rows)

    def without(self, columns: Mask) -> SumBasis:
        """Return the basis with zeros in the place of some columns."""
        return replace(self, columns=self.columns * ~columns, at_one=self.at_one * ~columns[self.growths[:, 0]])

    @cached_property
    def stiffness(self) -> Array:
        """The cost of each power's squared distance from its centre."""
        fitted = self.deviation > 0.0
        return np.where(fitted, self.variance / np.where(fitted, self.deviation, 1.0) ** 2, FIXED)

    def log_sum(self, constants: Coefficients) -> Array:
        """Return ln m; where the sum is zero, as if it were `LEAST_SUM`."""
        total = np.maximum(self.at(constants.powers) @ constants.columns, LEAST_SUM)
        log = np.asarray(np.log(total) + self.levels @ constants.levels)
        return -log if self.inverse else log

    def at(self, powers: Array) -> Array:
        """Return the columns at some powers, shape (rows, columns)."""
        return self._columns_for_slopes(powers)[0]

    def _columns_for_slopes(self, powers: Array) -> tuple[Array, Array]:
        """Return the columns φ·Π x^(p − 1), those of growth as φ·(nᵖ − 1)/p, and φ/p of each growth.

        φ·(nᵖ − 1)/p becomes φ·ln n as p → 0, so that steps of p stay small.
        """
        if not len(powers) + len(self.growths):
            return self.columns, self.at_one
        growth, base, power = self.growths.T
        p = _power(powers, power)
        L = self.logarithms * (powers - 1.0)
        columns = self.columns * np.exp(L @ self.raised)
        at_one = self.at_one * np.exp(L @ self.raised[:, base]) / p
        columns[:, growth] = columns[:, growth] / p - at_one
        return columns, at_one

    def slopes(self, constants: Coefficients) -> Array:
        """Return the derivatives of ln m by ln c and by the powers, t_j/Σt and Σ_j (∂t_j/∂p)/Σt, (rows, c and powers).

        ∂t/∂p is t·ln x of t = c·φ·x^(p − 1), and ln n·(t + c·φ/p) − t/p of a growth t = c·φ·(nᵖ − 1)/p.
        """
        growth, _, power = self.growths.T
        columns, at_one = self._columns_for_slopes(constants.powers)
        terms, at_one = columns * constants.columns, at_one * constants.columns[growth]
        # Shape (growths, powers): one where a growth has the power.
        is_power = np.equal.outer(np.arange(len(constants.powers)), power).astype(float).T
        by_powers = self.logarithms * (terms @ self.raised.T + at_one @ is_power)
        by_powers -= (terms[:, growth] / _power(constants.powers, power)) @ is_power
        return np.asarray(np.hstack([terms, by_powers]) / np.maximum(terms.sum(axis=1), LEAST_SUM)[:, None])

    def fitted(self, y: Array, start: Coefficients | None = None) -> Coefficients:
        """Return the constants nearest to ln T by Gauss–Newton, from those of a fit to more rows where they are given.

        Each step solves the levels first and then the sum. Powers bend the sum: three times the steps.
        """
        y = -y if self.inverse else y
        if start is None:
            # Relative errors: columns over T against one.
            steps, columns = GAUSS_NEWTON_STEPS, np.exp(-y)[:, None] * self.at(self.centre)
            c = self._nonnegative_solution(columns, np.ones(len(y)), np.zeros(columns.shape[1]))
            now = Coefficients(c, np.zeros(self.levels.shape[1]), self.centre)
        else:
            steps, now = REFIT_STEPS, start
        L, columns = self.levels, self.at(now.powers)
        # The levels are the means of what the sum leaves, shrunk to zero.
        shrunk = L.T @ L + LEVEL_RIDGE * np.eye(L.shape[1])
        for _ in range(3 * steps if len(self.centre) else steps):
            log = np.log(np.maximum(columns @ now.columns, LEAST_SUM))
            now = now._replace(levels=np.asarray(np.linalg.solve(shrunk, L.T @ (y - log))))
            # ln m ≈ ln m₀ + A·c − 1 with A = φ/m₀: A·c is to be the rest of ln T and one.
            wanted = self._step(y - L @ now.levels - log + 1.0, columns / np.exp(log)[:, None], now)
            error = self._loss(now, columns, y)
            for share in STEP_SHARES:
                tried = Coefficients(*(here + share * (there - here) for here, there in zip(now, wanted, strict=True)))
                columns = self.at(tried.powers)
                after = self._loss(tried, columns, y)
                if after < error:
                    break
            else:
                # No share of the step lowers the error.
                return now
            now = tried
            if error - after < LEAST_GAIN * error:
                break
        return now

    def _step(self, target: Array, A: Array, now: Coefficients) -> Coefficients:
        """Return the constants that minimise the linearised error, with S the slopes by the powers p₀ of `now`.

        |A·c + S·(p − p₀) − target|² + Σ stiffness·(p − centre)²,   c ≥ 0,   p = centre + more − less,   more, less ≥ 0
        """
        if not len(self.centre):
            return now._replace(columns=self._nonnegative_solution(A, target, now.columns))
        S, away = self.slopes(now)[:, len(now.columns) :], now.powers - self.centre
        start = np.concatenate([now.columns, np.maximum(away, 0.0), np.maximum(-away, 0.0)])
        stiffness = np.tile(self.stiffness, 2)
        unknowns = self._nonnegative_solution(np.hstack([A, S, -S]), target + S @ away, start, stiffness)
        columns, more, less = np.split(unknowns, np.cumsum([len(now.columns), len(away)]))
        return now._replace(columns=columns, powers=np.clip(self.centre + more - less, *POWER_BOUNDS))

    def without_traces(self, constants: Coefficients, y: Array) -> Coefficients:
        """Return the constants without the columns that are a trace of the time everywhere, fitted again."""
        traces = self.slopes(constants)[:, : len(constants.columns)].max(axis=0) < TRACE_SHARE
        if traces.all():
            return constants
        start = constants._replace(columns=np.where(traces, 0.0, constants.columns))
        return self.without(traces).fitted(y, start)

    def _nonnegative_solution(self, A: Array, target: Array, start: Array, stiffness: Array | tuple[()] = ()) -> Array:
        """Return c ≥ 0 that minimises |A·c − target|² + Σ ridge_j·x_j² + 2·Σ cost_j·x_j with x_j = |A_j|·c_j.

        Columns of A behind those of the basis have a stiffness each, Σ stiffness_j·c_j², and no cost. The columns of
        `start` that are above zero are solved first; then those along which the error falls most enter, a few at a
        time, until it falls along none.
        """
        length = np.linalg.norm(A, axis=0)
        length = np.where(length > 0.0, length, 1.0)
        # All in units of the columns' lengths: x = c·length.
        ridge = np.concatenate([self.ridge, stiffness / length[len(self.ridge) :] ** 2])
        cost = np.pad(self.cost, (0, len(stiffness)))
        A, x, used = A / length, np.zeros(A.shape[1]), np.flatnonzero(start)
        while True:
            columns = A[:, used]
            gram = columns.T @ columns + np.diag(ridge[used])
            x[:] = 0.0
            x[used] = nonnegative_least_squares(gram[None], (columns.T @ target - cost[used])[None])[0]
            slope = A.T @ (target - columns @ x[used]) - ridge * x - cost
            slope[used] = 0.0
            steepest = np.argsort(-slope, kind="stable")[:ENTERING_COLUMNS]
            entering = steepest[slope[steepest] > 1e-9 * len(target)]
            if not len(entering):
                return np.asarray(x / length)
            used = np.append(np.flatnonzero(x), entering)

    def _loss(self, constants: Coefficients, columns: Array, y: Array) -> float:
        """Return what a fit minimises, Σ_i (ln T − ln m)² + Σ_j (ridge_j·s_j + 2·cost_j)·s_j + what the powers cost.

        s_j² = Σ_i share_ij², and the share of a column j in a row i is c_j·φ_ij over the sum; the columns are given at
        the powers.
        """
        c, levels, powers = constants
        used = np.flatnonzero(c)
        terms = columns[:, used] * c[used]
        total = np.maximum(terms.sum(axis=1), LEAST_SUM)
        share = np.sqrt(np.sum((terms / total[:, None]) ** 2, axis=0))
        away = y - np.log(total) - self.levels @ levels
        of_columns = (self.ridge[used] * share + 2.0 * self.cost[used]) @ share
        return float(away @ away + of_columns + self.stiffness @ (powers - self.centre) ** 2)


class Mean(Struct, frozen=True, eq=False):
    """An expression Σ c_j·φ_j times the levels' effects."""

    kind: str
    #: What messages call it.
    label: str
    columns: tuple[SumColumn, ...]
    levels: tuple[tuple[Factor, str], ...] = ()  #: Factor and level of each effect.
    family: str = ""  #: Of the literature, where it is one.
    #: Places of columns φ/n, φ·(1 − 1/n) and φ, which is the sum of the other two.
    complements: tuple[tuple[int, int, int], ...] = ()
    powers: tuple[tuple[str, Node], ...] = ()  #: Names of the powers, and what they raise.
    #: Places of columns φ·nᵖ and φ, of which the first is fitted as growth φ·(nᵖ − 1)/p, and of p; −1 where p is 1.
    growths: tuple[tuple[int, int, int], ...] = ()
    #: Whether it is the reciprocal of the sum.
    inverse: bool = False

    def plainest(self, constants: Coefficients, as_wholes: bool = True) -> Coefficients:
        """Return the constants of the same sum, written with as few terms as there are.

            a·φ/n + b·φ·(1 − 1/n)    = (a − m)·φ/n + (b − m)·φ·(1 − 1/n) + m·φ,           m = min(a, b)
            c·φ·(nᵖ − 1)/p + d·φ     = (c/p − m)·φ·(nᵖ − 1) + (d − m)·φ + m·φ·nᵖ,         m = min(c/p, d)

        The coefficients of φ·nᵖ are behind those of the columns: m where growth is written `as_wholes`, else 0.
        """
        out, wholes = constants.columns.copy(), np.zeros(len(self.growths))
        for falls, rises, constant in self.complements:
            both = min(out[falls], out[rises])
            out[[falls, rises, constant]] += [-both, -both, both]
        for place, (growth, at_one, power) in enumerate(self.growths):
            out[growth] /= _power(constants.powers, power)
            wholes[place] = min(out[growth], out[at_one]) if as_wholes else 0.0
            out[[growth, at_one]] -= wholes[place]
        return constants._replace(columns=np.append(out, wholes))

    def drawn(
        self, basis: SumBasis, y: Array, places: Array, one_at_a_time: bool = False
    ) -> tuple[Coefficients, list[Coefficients]]:
        """Return the constants, and `TERM_DRAWS` draws of them: fits to ln T with noise and with an error of the form.

            y_d = ln T + t·(√(v − f²)·z + f·R·z'),   z, z' ~ N(0, I),   R·Rᵀ the form's correlation between the rows

        with v the variance of the residuals, f the form's standard deviation (`genperf.discrepancy.form`), and t
        Student's widening. Each draw has costs of its own for the columns. The forms of the sum have draws by their
        Akaike weights; the likeliest has the constants.
        """
        forms = self._forms(basis, one_at_a_time)
        fits = [form.without_traces(form.fitted(y), y) for form in forms]
        residuals = [y - form.log_sum(fit) for form, fit in zip(forms, fits, strict=True)]
        # Of each form the columns above zero and the powers that are not held.
        is_fitted = [np.append(fit.columns > 0.0, form.deviation > 0.0) for form, fit in zip(forms, fits, strict=True)]
        ranks = np.array([constants.sum() for constants in is_fitted]) + basis.levels.shape[1]
        squares = np.array([np.sum(residual**2) for residual in residuals])
        freedom = np.maximum(len(y) - ranks, LEAST_FREEDOM * len(y))
        # The form of least variance shows the sizes of the errors.
        least = int(np.argmin(squares / freedom))
        variance = float(squares[least] / freedom[least])
        slopes = np.hstack([forms[least].slopes(fits[least])[:, is_fitted[least]], basis.levels])
        form_sd = min(form_and_noise(residuals[least], slopes, places)[0], float(np.sqrt(variance)))
        # A quarter of the logarithm: errors of a form are no independent errors of rows.
        criterion = 0.25 * (-0.5 * squares / variance - ranks)
        # Where no row tells a sum from a product, the fit does not count.
        shares = np.ones(len(forms)) if one_at_a_time else np.exp(criterion - criterion.max())
        shares[shares < LEAST_FORM * shares.max()] = 0.0
        generator, root = np.random.default_rng([CONTENT_SEED, 4]), features(places)
        counts = len(y), root.shape[1], len(self.powers)
        of_rows, of_form, of_powers = (generator.standard_normal((TERM_DRAWS, count)) for count in counts)
        # The constant has no cost: it is supposed before other terms.
        of_columns = [0.0 if not column.ways else COLUMN_COST for column in self.columns]
        costs = of_columns * generator.exponential(1.0, (TERM_DRAWS, len(of_columns)))
        errors = np.sqrt(max(variance - form_sd**2, 0.0)) * of_rows + form_sd * of_form @ root.T
        errors = student_widening(freedom[least]) * errors
        form_of_draw = np.searchsorted(np.cumsum(shares / shares.sum()), (np.arange(TERM_DRAWS) + 0.5) / TERM_DRAWS)
        draws = []
        for place, error, deviations, cost in zip(form_of_draw.tolist(), errors, of_powers, costs, strict=True):
            # Powers are drawn about their centres by their prior.
            centre = np.clip(forms[place].centre + forms[place].deviation * deviations, *POWER_BOUNDS)
            form = replace(forms[place], centre=centre, variance=variance, cost=cost)
            fit = form.fitted(y + error, fits[place])
            draws.append(self._with_constant(fit, forms[place]))
        likeliest = int(np.argmax(shares))
        constants = replace(forms[likeliest], variance=variance).fitted(y, fits[likeliest])
        return self._with_constant(constants, forms[likeliest]), draws

    def _with_constant(self, constants: Coefficients, form: SumBasis) -> Coefficients:
        """Return the constants of a form as those of the whole sum.

        A form may leave out φ, a growth's time at one worker: its growth is c·φ·nᵖ/p = c·φ·(nᵖ − 1)/p + (c/p)·φ, so
        that φ has the constant c/p in the sum.
        """
        columns = constants.columns.copy()
        for (growth, at_one, power), times_at_one in zip(self.growths, form.at_one.T, strict=True):
            if not times_at_one.any():
                columns[at_one] += columns[growth] / _power(constants.powers, power)
        return constants._replace(columns=columns)

    def _forms(self, basis: SumBasis, one_at_a_time: bool) -> list[SumBasis]:
        """Return the forms of the sum that are fitted: each growth with a count, with each choice of columns left out.

        A count grows to a limit, 1 − 1/n, or as a power, about one of `POWERS_OF_A_COUNT`. Left out are no columns, the
        products, all but products and the constant, and for runs of one factor at a time also the constant: what does
        not change with one factor may change with another. A growth without its φ begins at no workers, φ·nᵖ/p.
        """
        to_a_limit = np.array(["rises" in column.ways for column in self.columns])
        # The basis itself holds the powers of counts at 1, and has the growth to a limit.
        growths, of_count = [basis], basis.deviation == 0.0
        deviations = np.where(of_count, COUNT_DEVIATION, POWER_DEVIATION)
        if of_count.any():
            for power in POWERS_OF_A_COUNT:
                centre = np.where(of_count, power, 1.0)
                growths.append(replace(basis.without(to_a_limit), centre=centre, deviation=deviations))
        # How many functions each column is a product of: none is the constant.
        functions = np.array([len(column.ways) for column in self.columns])
        left_out = [np.zeros(len(functions), bool)]
        if np.any(functions > 1):
            left_out += [functions > 1, functions == 1, *([functions <= 1] if one_at_a_time else [])]
        # Where φ is left out, the growth φ·(nᵖ − 1)/p has no φ to be taken off.
        at_one = basis.growths[:, 1]
        return [replace(s, at_one=s.at_one * ~drop[at_one]).without(drop) for drop in left_out for s in growths]

    def basis(self, table: Mapping[str, AnyArray]) -> SumBasis:
        """Return the columns of the sum, with all powers at one, at the rows of a table."""
        rows = len(next(iter(table.values())))
        unit_powers = {name: 1.0 for name, _ in self.powers}
        with np.errstate(all="ignore"):
            columns = np.column_stack([values_of(column.node, {**table, **unit_powers}) for column in self.columns])
            logarithms = [np.log(values_of(node, table)) for _, node in self.powers]
        levels = np.array([table[f.name] == level for f, level in self.levels], float).reshape(-1, rows).T
        ridge = np.full(len(self.columns), TERM_RIDGE if self.kind == "terms" else SUM_RIDGE)
        if self.kind == "sum":
            ridge[["grows" in column.ways for column in self.columns]] *= GROWING_RIDGE
        names = [names_in(column.node) for column in self.columns]
        raised = np.array([[power in read for read in names] for power in unit_powers], float).reshape(-1, len(names))
        # The power of a count is held at first: it has functions enough.
        deviation = np.array([POWER_DEVIATION if name.startswith("p_") else 0.0 for name in unit_powers])
        log_powers = np.array(logarithms).reshape(-1, rows).T
        centre, cost = np.ones(len(unit_powers)), np.zeros(len(ridge))
        growths = np.array(self.growths, int).reshape(-1, 3)
        at_one = columns[:, growths[:, 1]]
        arrays = columns, ridge, levels, log_powers, raised, centre, deviation, growths, at_one, cost
        return SumBasis(*arrays, inverse=self.inverse)

    def expression(
        self, constants: Coefficients, columns: set[str], draws: Sequence[Coefficients] = ()
    ) -> tuple[Expression, int, Array, Array]:
        """Return the expression of the terms above zero, how many coefficients it has, its constants and their draws.

            Σ_terms Σ_j a_j·φ_j·exp(Σ_l d_l·1[level l])        the constants are a, d and the powers in φ, in this order

        What one worker has of a growing term and of its constant no run shows: every other draw counts it to either.
        Columns of one name, which differ in their level, are one term.
        """
        coefficients = [self.plainest(drawn, number % 2 == 0) for number, drawn in enumerate((constants, *draws))]
        used = np.flatnonzero(np.any([drawn.columns > 0.0 for drawn in coefficients], axis=0)).tolist()
        # The columns with φ·(nᵖ − 1) for growth, and behind them φ·nᵖ (`plainest`).
        written = [*self.columns, *(self.columns[growth] for growth, _, _ in self.growths)]
        for growth, at_one, _ in self.growths:
            node = call("subtract", written[growth].node, written[at_one].node)
            written[growth] = written[growth]._replace(node=node)
        effects, of_levels = list[Constant](), list[Node]()
        for factor, level in self.levels:
            effect = Constant(unused_name(f"d_{factor.name}[{level}]", columns), "level", -np.inf, np.inf, 0.0)
            effects.append(effect)
            of_levels.append(call("multiply", Name(effect.name), at_level(factor, level)))
        multiplier = [call("exp", chain("add", of_levels))] if of_levels else []
        amounts, terms = list[Constant](), dict[str, list[Node]]()
        for column in (written[place] for place in used):
            taken_names = columns | {amount.name for amount in amounts}
            amounts.append(coefficient(unused_name(f"a_{_identifier(column.name)}", taken_names)))
            phi = [] if column.node == Number(1.0) else [column.node]
            terms.setdefault(column.name, []).append(chain("multiply", [Name(amounts[-1].name), *phi, *multiplier]))
        written_terms = tuple(Term(name, chain("add", nodes)) for name, nodes in terms.items())
        if self.inverse:
            total = chain("add", [term.node for term in written_terms])
            written_terms = (Term(self.label, call("divide", Number(1.0), total)),)
        names_read = {name for place in used for name in names_in(written[place].node)}
        powers_read = [place for place, (name, _) in enumerate(self.powers) if name in names_read]
        powers = [exponent(self.powers[place][0], *POWER_BOUNDS, 1.0) for place in powers_read]
        expression = Expression(self.family or self.kind, written_terms, (*amounts, *effects, *powers))
        values = [np.concatenate([c.columns[used], c.levels, c.powers[powers_read]]) for c in coefficients]
        central, *drawn_values = values
        return expression, len(used), central, np.array(drawn_values or [central])


def means_of(table: Table) -> list[Mean]:
    """Return the means that a table's factors allow, the plainest first."""
    apart = between_sets(table)
    total = _sum("sum", "a sum of products", table)
    server = _sum("server", "divided work" if apart else "a shared server", table)
    if apart and server is not None and not any("falls" in column.ways for column in server.columns):
        # Without a count to divide the work it is the sum again.
        server = None
    means = [_work(table), *(mean for mean in (total, server) if mean is not None), *_physics(table)]
    if total is not None and table.target.either_way:
        means.append(replace(total, label="the reciprocal of a sum", inverse=True))
    return means


def terms_of(table: Table) -> Mean | None:
    """Return the sum that shows what the time is made of: a level multiplies the terms that it changes, none else."""
    return _sum("terms", "terms", table)


def derived(table: Table) -> dict[str, Node]:
    """Return work, devices and bubble as formulas over the columns of a transformer's table; else nothing."""
    panel = table.panel
    if not all(map(panel.has, ("parameters", "global_batch"))):
        return {}
    formulas = {"work": "*".join(filter(panel.has, WORK))}
    if panel.has("workers"):
        formulas |= {"work": f"{formulas['work']}/workers", "workers": "workers"}
    if panel.has("micro_batches") and panel.has("pipeline_parallel"):
        formulas["bubble"] = "1 + (pipeline_parallel - 1)/micro_batches"
    return {name: panel.over_columns(formula) for name, formula in formulas.items()}


def _work(table: Table) -> Mean:
    """Return the work of a device times the pipeline's bubble, where the table knows them; otherwise a constant."""
    nodes = derived(table) if table.target.is_time else {}
    if not nodes:
        return Mean("work", "constant", (SumColumn("constant", Number(1.0)),))
    node = chain("multiply", [nodes[name] for name in ("work", "bubble") if name in nodes])
    return Mean("work", "work", (SumColumn("work", _over_geometric_mean(node, table)),))


def _over_geometric_mean(node: Node, table: Table) -> Node:
    """Return a formula over its geometric mean."""
    values = values_of(node, table.columns)
    good = values[np.isfinite(values) & (values > 0.0)]
    centre = float(f"{np.exp(np.mean(np.log(good))):.3g}") if len(good) else 1.0
    return call("divide", node, Number(centre))


def _sum(kind: str, label: str, table: Table) -> Mean | None:
    """Return a sum of a constant and of products of sizes and of functions of counts; None for the constant alone.

    Sizes have powers, but not where a row varies one factor alone: a product of powers is then as near as a sum. The
    levels multiply the sum. Those of `terms`, whose counts have powers too, multiply each term: it has all columns once
    for all levels and once for each, and None is returned where these are too many.
    """
    factors = [f for f in table.numeric if f.distinct > 1 and f.lower >= 0.0]
    apart = between_sets(table)
    levels = tuple((f, level) for f in table.categorical if f.distinct > 1 for level in f.levels)
    choices = [_factor_functions(f, kind) for f in factors]
    powers, place_of_power = list[tuple[str, Node]](), dict[str, int]()
    for functions, factor in zip(choices, factors, strict=True):
        # The last function, x or n, is raised: to p_x of a size, to q_n of a count.
        raised = functions[-1]
        is_raised = kind == "terms" or (kind == "sum" and not raised.way and not apart)
        if is_raised and factor.distinct >= VALUES_OF_A_POWER:
            power = unused_name(f"{'q' if raised.way else 'p'}_{factor.name}", {f.name for f in table.factors})
            place_of_power[raised.name] = len(powers)
            powers.append((power, raised.node))
            functions[-1] = raised._replace(node=call("power", raised.node, Name(power)))
    products = list(islice(_products(choices), MOST_COLUMNS))
    if kind != "terms" and apart:
        # Other products of two factors would be a share of several forms; the process about a constant multiplies.
        functions_of = zip((table.sets_apart[factor.name] for factor in factors), choices, strict=True)
        sets = {function.name: number for number, functions in functions_of for function in functions}
        products = [chosen for chosen in products if _of_one_form(kind, chosen, sets)]
    # What multiplies each copy of the products: nothing, or 1 where a row has the level.
    copies = [[], *([at_level(*level)] for level in levels)] if kind == "terms" else [[]]
    if len(products) < 2 or len(products) * len(copies) > MOST_COLUMNS:
        return None
    #: The place of each product among the columns, by its copy and its functions.
    columns, place_of = list[SumColumn](), dict[tuple[int, frozenset[str]], int]()
    for copy, level in enumerate(copies):
        for chosen in products:
            place_of[copy, frozenset(function.name for function in chosen)] = len(columns)
            nodes = [function.node for function in chosen] or [Number(1.0)]
            ways = tuple(function.way for function in chosen)
            columns.append(SumColumn(_term_name(chosen), chain("multiply", [*nodes, *level]), ways))
    way_of = {function.name: function.way for functions in choices for function in functions}
    # Columns of one copy that differ in a function alone: φ·(1 − 1/n) beside φ/n and φ, and φ·n beside φ.
    complements, growths = [], []
    for (copy, names), column in place_of.items():
        for name in names:
            constant = copy, names - {name}
            falling = copy, names - {name} | {name.removeprefix("1 - ")}
            if kind == "terms" and way_of[name] == "grows":
                growths.append((column, place_of[constant], place_of_power.get(name, -1)))
            elif way_of[name] == "rises" and falling in place_of:
                complements.append((place_of[falling], column, place_of[constant]))
    mean = Mean(kind, label, tuple(columns), levels=() if kind == "terms" else levels)
    return replace(mean, complements=tuple(complements), powers=tuple(powers), growths=tuple(growths))


def _of_one_form(kind: str, functions: Sequence[FactorFunction], sets: Mapping[str, int]) -> bool:
    """Tell whether a sum for runs that vary sets of factors apart has a product: of one set, or sizes over a count."""
    ways = [function.way for function in functions]
    if kind == "server" and "falls" in ways:
        return len(ways) > 1 and "grows" not in ways
    return len({sets[function.name] for function in functions}) <= 1


def between_sets(table: Table) -> bool:
    """Tell whether no row shows how the effects of some numbers join those of others, as a sum or as a product."""
    sets_of_numbers = {table.sets_apart[f.name] for f in table.numeric if f.name in table.sets_apart}
    return one_at_a_time(table) or len(sets_of_numbers) > 1


def _power(powers: Array, places: int | Index) -> Array:
    """Return the powers at some places, 1 at −1."""
    return np.asarray(np.append(powers, 1.0)[places])


def _factor_functions(factor: Factor, kind: str) -> list[FactorFunction]:
    """Return the functions of a factor beside 1: of a count those of `WAYS`, of a size itself over its centre."""
    name = quote_name(factor.name)
    if factor.role != "extrinsic" or factor.lower < 1.0:
        size = f"{name}/{float(f'{factor.centre:.3g}')}"
        return [FactorFunction(factor.name, parse(size if factor.positive else f"1 + {size}").node, "")]
    ways = {f: way for f, way in WAYS.items() if kind != "server" or way != "rises"}
    return [FactorFunction(f.format(factor.name), parse(f.format(name)).node, way) for f, way in ways.items()]


def _products(choices: Sequence[Sequence[FactorFunction]]) -> Iterator[tuple[FactorFunction, ...]]:
    """Yield products of one function of each of some factors, few factors first; that of none is the constant."""
    for count in range(len(choices) + 1):
        for of_factors in combinations(choices, count):
            for chosen in product(*of_factors):
                ways = [function.way for function in chosen]
                # One count divides, and one adds communication, at most.
                if ways.count("falls") <= 1 and ways.count("grows") + ways.count("rises") <= 1:
                    yield chosen


def _term_name(functions: Sequence[FactorFunction]) -> str:
    """Return the name of a product of functions of factors: `batch × layers / workers`."""
    above = [f"({f.name})" if f.way == "rises" else f.name for f in functions if f.way != "falls"]
    below = [f.name.removeprefix("1/") for f in functions if f.way == "falls"]
    return " / ".join([" × ".join(above) or "1", *below]) if functions else "constant"


def _identifier(name: str) -> str:
    """Return a term's name as one that a formula can hold: `batch_per_workers`."""
    name = name.replace(" × ", "_").replace(" / ", "_per_").replace("(1 - 1/", "rest_")
    return name.replace(")", "").replace(" ", "_")


def _physics(table: Table) -> list[Mean]:
    """Return a transformer's time or memory as a sum of terms, one a coefficient, where the table has its factors."""
    family = MODELS["transformer" if table.target.is_time else "transformer-memory"]
    if family.missing(table.panel):
        return []
    try:
        # The last of the sums has the most terms.
        expression = [e for e in family.expressions(table.panel) if e.is_sum][-1]
    except (ModelError, IndexError):
        return []
    effects = [c.name for c in expression.constants if c.kind == "level"]
    coefficients = [c.name for c in expression.constants if c.kind == "coefficient"]
    terms: list[SumColumn] = []
    first_term: dict[str, str] = {}
    for term in expression.terms:
        of_term = [name for name in coefficients if name in term.names]
        for name in of_term:
            only_this = {other: float(other == name) for other in of_term}
            node = bind_values(term.node, {**only_this, **dict.fromkeys(effects, 0.0)})
            values = values_of(node, table.columns)
            if np.all(np.isfinite(values)) and np.all(values >= 0.0) and values.any():
                # A coefficient of several terms is named by the first.
                named_by = first_term.setdefault(name, term.name)
                label = term.name if named_by == term.name else f"{term.name} of {named_by}"
                terms.append(SumColumn(label, _over_geometric_mean(node, table)))
    if not terms:
        return []
    # An effect is named by its factor and level: `d_zero[3]`.
    switches = {name.partition("[")[0].removeprefix("d_") for name in effects}
    switching = [f for f in table.categorical if f.name in switches and f.distinct > 1]
    levels = tuple((f, level) for f in switching for level in f.levels)
    return [Mean("physics", "a transformer's terms", tuple(terms), levels, family.name)]
