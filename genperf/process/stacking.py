"""Stacking: members weighed by how their pool predicts held-out rows, folds inside the range, look-backs beyond it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from scipy.linalg import cho_solve, cholesky, solve_triangular

from genperf.arrays import AnyArray, Array, Index, Mask
from genperf.discrepancy import Beyond
from genperf.discrepancy.sizes import Fit
from genperf.discrepancy.stack import NORMAL, TOGETHER, pool
from genperf.estimate.outcome import last_point_error
from genperf.formula import parse, quote_name, render, values_of
from genperf.gaussian import STUDENT_FREEDOM
from genperf.growth.measured import Anchors
from genperf.panel import Table
from genperf.panel.panel import several_nodes
from genperf.panel.table import number_rows
from genperf.prediction import Evidence
from genperf.process.growth import FactorSeries
from genperf.process.means import Coefficients, Mean, SumBasis, derived
from genperf.solver import descended

#: Of the rows inside the range, and how often they are dealt: with one deal, luck moved what GPT's largest count erred
#: by from 13 to 18 %.
STACK_FOLDS, DEALS = 5, 4
#: Look-backs along each factor: from the rows up to each of its largest values but the last.
STACK_CUTS = 3
#: Times the cut up to which a look-back predicts.
LOOK_BACK_REACH = 4.0
#: Rows of a look-back's training part.
FEWEST_ROWS = 8
#: Factors that are looked back along.
MOST_LOOKED_ALONG = 5
#: Quantile of |z| of look-backs that becomes the width of the 90 % interval.
BEYOND_QUANTILE = 0.9
#: Width and number of the pseudo-look-backs it is shrunk to.
USUAL_BEYOND, PSEUDO_LOOK_BACKS = 1.5, 3.0
#: Of any width: a table without noise shows none.
STACK_LEAST_WIDTH = 0.5
#: Series that are forecast for a look-back, which only weighs the forecasts.
MOST_LOOKED_BACK = 12

#: The rows of a training part, and those that are predicted from it.
Split = tuple[Index, Index]


class StackCandidate(Struct, frozen=True, eq=False):
    """A mean with its process, fitted to all rows."""

    mean: Mean
    basis: SumBasis
    constants: Coefficients
    #: Shape (rows,). ln T.
    y: Array
    fit: Fit
    x: list[AnyArray]  #: Of each axis, the coordinates of the rows, shape (rows,).
    anchors: Anchors | None = None  #: What the bank forecasts of the series of a table, as further rows.
    form: int = 0  #: The number of its form. Rows do not tell which form holds: effects multiply, or add up.

    def residuals(self, rows: Index, constants: Coefficients, anchors: Anchors | None) -> tuple[float, Array, Array]:
        """Return the level, the mean of ln T − ln m at some rows, m being the mean of the process with these constants.

        Beside it are the residuals ln T − ln m − level of the rows, then of the anchors, and their noise variances.
        """
        residual = self.y[rows] - self.basis.take(rows).log_sum(constants)
        level = float(residual.mean())
        variance = self.fit.noise**2 * self.fit.factors[rows]
        if anchors is not None:
            ahead = anchors.centre - self.mean.basis(anchors.columns).log_sum(constants)
            residual, variance = np.append(residual, ahead), np.append(variance, anchors.variance)
        return level, residual - level, variance

    def held_out(self, split: Split, anchors: Anchors | None) -> tuple[Array, Array]:
        """Return the mean and standard deviation of ln T of new runs at test rows, the sizes of the process kept.

            mean = f(x) + θ + kᵀ·C⁻¹·r,   sd² = k(x, x) − kᵀ·C⁻¹·k + (sᵀ·C⁻¹·k)² + noise²,   C = K + diag(variance)

        with f + θ the mean fitted to the training rows, r the residuals about it, there and at the anchors, and s the
        standard deviation of what anchors have in common.
        """
        train, test = split
        kernel = self.fit.kernel
        constants = self.basis.take(train).fitted(self.y[train], self.constants)
        level, residual, variance = self.residuals(train, constants, anchors)
        if anchors is None:
            K, k = (self.fit.covariance[np.ix_(train, rows)] for rows in split)
        else:
            ahead = [axis.coordinates(anchors.columns) for axis in kernel.axes]
            points = [np.concatenate([x[train], z]) for x, z in zip(self.x, ahead, strict=True)]
            K = kernel.between([(z, z) for z in points])
            k = kernel.between([(z, x[test]) for z, x in zip(points, self.x, strict=True)])
        # With the Cholesky factor L of C, kᵀ·C⁻¹·r = (L⁻¹k)ᵀ·(L⁻¹r): L⁻¹r is the first column of `solved`, then L⁻¹k.
        lower = cholesky(K + np.diag(variance), lower=True, check_finite=False)
        solved = solve_triangular(lower, np.column_stack([residual, k]), lower=True, check_finite=False)
        mean = self.basis.take(test).log_sum(constants) + level + solved[:, 0] @ solved[:, 1:]
        remaining = np.diag(self.fit.covariance)[test] - np.sum(solved[:, 1:] ** 2, axis=0)
        s = np.where(np.arange(len(variance)) < len(train), 0.0, np.sqrt(TOGETHER * variance))
        shared = cho_solve((lower, True), s, check_finite=False) @ k
        return mean, np.sqrt(np.maximum(remaining, 0.0) + shared**2 + self.fit.noise**2)


class HeldOut(Struct, frozen=True, eq=False):
    """What the members predicted of held-out rows."""

    rows: Index  #: Shape (held out,).
    y: Array  #: Shape (held out,). ln T.
    #: Shape (held out, members). Of ln T of a new run.
    mean: Array
    sd: Array
    part: Index  #: Shape (held out,). Number of the fold or look-back.
    forms: Index  #: Shape (members,). Number of the form of each: the rows do not tell which form holds.

    def kept(self, rows: Mask) -> HeldOut:
        """Return the predictions of some of the rows."""
        return replace(self, **{name: getattr(self, name)[rows] for name in ("rows", "y", "mean", "sd", "part")})

    def of_members(self, members: Mask) -> HeldOut:
        """Return the predictions of some of the members."""
        return replace(self, mean=self.mean[:, members], sd=self.sd[:, members], forms=self.forms[members])

    def errors(self, weights: Array) -> tuple[Array, Array]:
        """Return by how much the pool is above ln T, and the pool's standard deviation, each of shape (held out,)."""
        share, centre, away = pool(weights[:, None], self.mean.T, self.sd.T, self.forms)
        return centre - self.y, np.sqrt(np.sum(share * (self.sd.T**2 + away**2), axis=0))

    def width(self, weights: Array, quantile: float) -> float:
        """Return a quantile of the pool's |z|."""
        error, sd = self.errors(weights)
        return max(float(np.quantile(np.abs(error) / sd, quantile)), STACK_LEAST_WIDTH)


def predict_held_out(
    candidates: Sequence[StackCandidate], splits: Sequence[Split], growth: FactorSeries | None = None
) -> HeldOut:
    """Predict the test rows of splits by every member, fitted to the training rows and to what `growth` forecasts."""
    means, sds = list[Array](), list[Array]()
    for train, test in splits:
        anchors = None if growth is None else growth.anchors(train, MOST_LOOKED_BACK)
        answers = [c.held_out((train, test), None if c.anchors is None else anchors) for c in candidates]
        means.append(np.column_stack([mean for mean, _ in answers]))
        sds.append(np.column_stack([sd for _, sd in answers]))
    rows = np.concatenate([test for _, test in splits])
    split_rows = np.repeat(np.arange(len(splits)), [len(test) for _, test in splits])
    forms = np.array([candidate.form for candidate in candidates])
    return HeldOut(rows, candidates[0].y[rows], np.vstack(means), np.vstack(sds), split_rows, forms)


def weights_of(held_out: Sequence[HeldOut], part_weights: Sequence[float], prior: Array) -> Array:
    """Return the weights by which the pool predicts held-out rows best, each part's rows with a weight ω.

        maximise Σ ω·ln p(y) + Σ_k π_k·ln w_k,   p Student's about the pool's centre m with its variance q

    Written by θ = ln w, its gradient has ∂m/∂θ_k = a_k·δ_k and ∂q/∂θ_k = a_k·(sd_k² + δ_k² − q), a and δ of `pool`.
    The prior π has pseudo-rows of each member; −ln p = ½·ln q + ½·(v + 1)·ln(1 + error²/(v·q)).
    """
    y, mean, sd = (np.concatenate([getattr(part, name) for part in held_out]) for name in ("y", "mean", "sd"))
    omega = np.repeat(part_weights, [len(part.y) for part in held_out])
    v = STUDENT_FREEDOM

    def loss(theta: Array) -> tuple[float, Array]:
        """Return the negative objective at θ = ln w, and its gradient."""
        logarithms = theta - np.logaddexp.reduce(theta)
        share, centre, away = pool(np.exp(logarithms)[:, None], mean.T, sd.T, np.zeros(len(mean.T), int))
        spread = sd.T**2 + away**2
        q, error = np.sum(share * spread, axis=0), centre - y
        value = omega @ (0.5 * np.log(q) + 0.5 * (v + 1.0) * np.log1p(error**2 / (v * q)))
        by_error = (v + 1.0) * error / (v * q + error**2)
        by_q = 0.5 * (1.0 - by_error * error) / q
        gradient = (share * (by_q * (spread - q) + by_error * away)) @ omega
        return float(value - prior @ logarithms), gradient - prior + prior.sum() * np.exp(logarithms)

    theta, _ = descended(loss, np.log(prior / prior.sum()))
    return np.asarray(np.exp(theta - np.logaddexp.reduce(theta)))


def stacked(held_out: Sequence[HeldOut], part_weights: Sequence[float], prior: Array) -> Array:
    """Return the weights of all members: of each form by `weights_of` it, and of all forms the same in all."""
    weights, forms = np.zeros(len(prior)), held_out[0].forms
    for form in np.unique(forms):
        of_form = forms == form
        weights[of_form] = weights_of([part.of_members(of_form) for part in held_out], part_weights, prior[of_form])
    return weights / len(np.unique(forms))


def folds_of(count: int, rng: np.random.Generator) -> list[Split]:
    """Deal rows into folds, several times, and return the others and the rows of each fold."""
    splits = list[Split]()
    for _ in range(DEALS):
        folds = np.empty(count, np.intp)
        folds[rng.permutation(count)] = np.arange(count) % min(STACK_FOLDS, count)
        splits += [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(int(folds.max()) + 1)]
    return splits


def cuts_of(values: Array) -> Iterator[Split]:
    """Yield the rows up to each of the largest values but the last, and those within reach beyond it, last first."""
    levels = np.unique(values)
    # The largest value but one comes first.
    for cut, next_level in zip(levels[-2::-1][:STACK_CUTS], levels[:0:-1], strict=False):
        train = np.flatnonzero(values <= cut)
        test = np.flatnonzero((values > cut) & (values <= max(cut * LOOK_BACK_REACH, next_level)))
        if len(train) >= FEWEST_ROWS and len(np.unique(values[train])) > 1:
            yield train, test


def within_measured_nodes(back: HeldOut, cuts: Sequence[Split], several: Mask) -> HeldOut:
    """Return look-backs without the rows on several nodes that were predicted from one node alone.

    Where the table has several nodes, no question takes that step again. All are kept where nothing else is.
    """
    second_node = np.array([not several[train].any() for train, _ in cuts])[back.part] & several[back.rows]
    return back if second_node.all() else back.kept(~second_node)


def common_error(back: HeldOut, weights: Array, table: Table, noise: float) -> float:
    """Return the correlation of look-backs' errors between rows that differ in their levels alone, from 0 to 1.

        r = 2·Σ z_i·z_j / Σ (z_i² − v_i + z_j² − v_j)   over pairs of one look-back

    z are the errors over their standard deviations, and v the share of the noise in the variance: of the mean, to which
    r applies, it is no error. `PSEUDO_LOOK_BACKS` pairs of the mean z² are added, which have half an error in common.
    """
    error, sd = back.errors(weights)
    z, v = error / sd, (noise / sd) ** 2
    levels = number_rows(table.frame, [f.name for f in table.categorical])[back.rows]
    settings = number_rows(table.frame, [f.name for f in table.numeric])[back.rows]
    # Each pair once, the smaller number of its levels first.
    same = (back.part[:, None] == back.part) & (settings[:, None] == settings) & (levels[:, None] < levels)
    i, j = np.nonzero(same)
    least = PSEUDO_LOOK_BACKS * float(np.mean(z**2))
    squares = max(float(np.sum(z[i] ** 2 - v[i] + z[j] ** 2 - v[j])), 0.0)
    return float(np.clip((2.0 * z[i] @ z[j] + least) / (squares + 2.0 * least), 0.0, 1.0))


class Members(Struct, frozen=True, eq=False):
    """The means with their processes, and how they predict held-out rows inside the range."""

    #: A row for each configuration.
    table: Table
    candidates: list[StackCandidate]
    #: Of the last candidate, where it has forecasts.
    growth: FactorSeries | None
    folds: HeldOut
    pseudo: Array  #: Pseudo-rows of each candidate.
    #: `weights`, `width`: inside the range, the width in standard deviations.
    weights: Array
    width: float
    order: list[int]  #: Places of the candidates, the heaviest first.
    apart: bool  #: Whether no row varies two factors together: the weights are then those of the prior.


def looked_back(fitted: Members) -> Iterator[tuple[Beyond, Evidence | None]]:
    """Look back along each factor: weigh the members beyond it, and show how the pool predicts its largest count."""
    table, nodes = fitted.table, fitted.table.panel.nodes
    over_nodes = np.zeros(len(table), bool) if nodes is None else several_nodes(table.columns[nodes.name])
    for factor, values in _look_back_axes(table).items():
        cuts = list(cuts_of(values))
        if not cuts:
            continue
        grows = fitted.growth is not None and fitted.growth.along(parse(factor).names)
        back = predict_held_out(fitted.candidates, cuts, fitted.growth if grows else None)
        comparable = within_measured_nodes(back, cuts, over_nodes)
        # All look-backs count as the rows of one, and the rows of the folds together as much again.
        look_backs = len(np.unique(comparable.part))
        omega = [1.0 / look_backs, len(comparable.rows) / look_backs / len(fitted.folds.rows)]
        weights = fitted.weights if fitted.apart else stacked([comparable, fitted.folds], omega, fitted.pseudo)
        widths = comparable.width(weights, BEYOND_QUANTILE), USUAL_BEYOND
        # Look-backs move one factor alone there: how the effects of two join, none shows.
        least = NORMAL if fitted.apart else 0.0
        width = max(least, float(np.average(widths, weights=[len(cuts), PSEUDO_LOOK_BACKS])))
        common = common_error(back, weights, table, fitted.candidates[0].fit.noise)
        ordered_weights = tuple(weights[fitted.order].tolist())
        counts = [f.name for f in table.numeric if quote_name(f.name) == factor and f.role == "extrinsic"]
        evidence = _extrapolation_evidence(back, weights, table, counts[0]) if counts else None
        yield Beyond(factor, float(values.max()), ordered_weights, width, common), evidence


def _look_back_axes(table: Table) -> dict[str, Array]:
    """Return what members look back along, by its formula: a transformer's devices, then counts, then sizes."""
    numeric = [f for f in table.numeric if f.distinct > 2]
    numeric.sort(key=lambda f: f.role != "extrinsic")
    along = {quote_name(f.name): np.asarray(table.columns[f.name], float) for f in numeric[:MOST_LOOKED_ALONG]}
    devices = derived(table).get("workers")
    if devices is None or render(devices) in along:
        return along
    return {render(devices): values_of(devices, table.columns), **along}


def _extrapolation_evidence(back: HeldOut, weights: Array, table: Table, factor: str) -> Evidence:
    """Return how the pool predicted the largest value of a factor from those before it."""
    values = np.asarray(table.columns[factor], float)
    before, largest = np.unique(values)[-2:]
    # The first look-back is from all values but the largest; where none is beyond it in reach, all of its rows count.
    last = back.kept(back.part == 0)
    there = values[last.rows] == largest
    error = np.abs(last.errors(weights)[0])[there if there.any() else slice(None)]
    reference, doublings = last_point_error(table, factor, values == largest), float(np.log2(largest / before))
    return Evidence(factor, float(largest), doublings, float(np.mean(error)), reference)
