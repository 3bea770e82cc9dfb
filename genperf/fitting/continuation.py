"""A table of many factors, continued along the scale by the series that its rows form.

Rows that differ in the scale alone are a series, whether the columns that part them are groups or factors. What the
series say beyond the largest scale is carried to the other configurations by the same kriging as the measured
residuals: as anchors at two and four times that scale.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from genperf.averaging.effects import metrics_of
from genperf.discrepancy import Discrepancy, Effect, Exponential
from genperf.engine.phases import doing
from genperf.errors import GenperfError, Note
from genperf.estimate import FitOptions
from genperf.growth.fit import fit_series
from genperf.growth.measured import series_of
from genperf.growth.sharing import table_shares
from genperf.models import scale_of
from genperf.prediction import (
    Ensemble,
    Evidence,
    Member,
    Spread,
    central_times,
    distance_beyond,
    mixture_quantiles,
    schema_of,
)
from genperf.prediction.member import forecasts, log_times
from genperf.table import Table
from genperf.table.clean import label
from genperf.table.describe import number_rows

Array = npt.NDArray[np.float64]
Columns = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class ContinuationSettings:
    """Which series continue a table, and how far.

    Attributes
    ----------
    multiples : tuple of float
        Times the largest scale at which a series adds an anchor: predictions are made there. A guess.
    fewest_scales : int
        Scales of a series at least, as a look back needs them.
    most : int
        Series that are fitted, those whose names' order comes first. Each takes about 50 ms. With 24 of the 46 of
        azure_batchai, 16 and 32 devices from 8 err by 14.8 %, with all of them by 7.1 %.
    slack : float
        ε: the noise of what the kriging is led through, over that of a configuration. A guess: a hundredth.
    most_surface : float
        Share of a surface beside the residuals at most, where these are to lead the prediction. A guess.
    size, rate : float
        Of the discrepancy where none was learned: its variance over that of a configuration's noise, and how fast it
        falls with a doubling or with another level. Guesses: it is led through the anchors, and forgets them at once.
    least_misfit : float
        Standard deviation of ln T of that discrepancy at least.
    quantile, normal : float
        End of the interval from which the spread of a series is read, and the standard normal number there. Its tails
        are heavier than normal ones: of 30 tables all bands cover 91 % with 0.9, and 94 % with 0.95 at 1.3 times the
        width (`docs/decisions/factors-go-on-as-series.md`).
    quantile_unseen, normal_unseen : float
        The same where every run lies on one node: the band is that of a network that nobody saw, with a longer tail.
        With 0.9 it holds the second node of sia_aws in 61 %, with 0.95 in 98, and is as wide as that of groups.
    """

    multiples: tuple[float, ...] = (2.0, 4.0)
    fewest_scales: int = 3
    most: int = 64
    slack: float = 0.01
    most_surface: float = 0.9
    size: float = 100.0
    rate: float = 3.0
    least_misfit: float = 0.01
    quantile: float = 0.9
    normal: float = 1.2816
    quantile_unseen: float = 0.95
    normal_unseen: float = 1.6449


CONTINUATION = ContinuationSettings()
#: Columns along which a series may be measured beside its scale.
COUNTS = ("workers", "nodes", "devices_per_node")


@dataclass(frozen=True, eq=False)
class Continued:
    """What the series of a table say beyond its largest scale.

    Attributes
    ----------
    scale : str
        The column.
    columns : dict of str to ndarray of shape (rows,)
        The factors there.
    doublings : ndarray of shape (rows,)
        How far beyond the measured ranges.
    logarithms, below, above : ndarray of shape (rows,)
        ln of the target, and its standard deviation to either side.
    error, last_point : float
        Mean |ln(predicted/measured)| at the largest scale from the smaller ones, of the series and of "it stays".
    held_out, apart : float
        The scale that was predicted for it, and its doublings from the one before.
    leaves_node : bool
        Whether every run lies on one node: the expressions cannot know what a second one costs.
    """

    scale: str
    columns: Columns
    doublings: Array
    logarithms: Array
    below: Array
    above: Array
    error: float
    last_point: float
    held_out: float
    apart: float
    leaves_node: bool
    series: int
    followers: tuple[str, ...]

    def share(self, error: float) -> float:
        """Return the share of a prediction beyond the largest scale that the series have.

        All of it where they predicted the largest scale from the smaller ones no worse than the expressions, and from
        one node; otherwise the squared ratio of the errors.

        Parameters
        ----------
        error : float
            Mean |ln(predicted/measured)| of the expressions at the largest scale from the smaller ones.
        """
        return 1.0 if self.leaves_node or self.error <= error else (error / self.error) ** 2


def continued(table: Table, ensemble: Ensemble, options: FitOptions) -> Ensemble:
    """Condition the ensemble of a table of many factors on what its series say beyond the largest scale.

    The anchors lead the central prediction to theirs, and a doubling beyond the data adds as much spread as they leave
    open. Where they predicted the largest scale from the smaller ones worse than the ensemble did, they lead it part
    of the way (`Continued.share`); from one node alone all of it, since expressions say nothing of a second one.

    Parameters
    ----------
    ensemble : Ensemble
        Of `genperf.averaging`.
    options : FitOptions
        Its mapping names factors.

    Returns
    -------
    Ensemble
        The same one for a table without levels, or whose rows form no series.
    """
    beyond = continuation(table, options) if table.categorical else None
    before = next((e for e in ensemble.evidence if beyond is not None and e.factor == beyond.scale), None)
    if beyond is None or before is None:
        return ensemble
    share = beyond.share(before.error)
    members = _conditioned(table, ensemble, beyond, share)
    error = share * beyond.error + (1.0 - share) * before.error
    after = Evidence(beyond.scale, beyond.held_out, beyond.apart, error, beyond.last_point)
    largest = f"{beyond.scale}={table.factor(beyond.scale).upper:g}"
    text = f"beyond {largest} predictions go on as the {beyond.series} series that the table's rows form"
    return replace(
        ensemble,
        members=members,
        spread=_spread(members, ensemble.spread, beyond),
        evidence=tuple(after if e is before else e for e in ensemble.evidence),
        notes=(*ensemble.notes, Note(text, "continued")),
    )


def _conditioned(table: Table, ensemble: Ensemble, beyond: Continued, share: float) -> tuple[Member, ...]:
    """Return the members with anchors that lead their mean to the series' predictions."""
    known = ensemble.members[0].shared_discrepancy
    weights = np.array([member.weight for member in ensemble.members])
    lacking = share * (beyond.logarithms - weights @ log_times(ensemble.members, beyond.columns) / weights.sum())
    if known is not None and known.surface is not None:
        # The residuals have the rest of a prediction: a surface stays as it is.
        lacking = lacking / (1.0 - np.minimum(known.surface.share(beyond.columns), CONTINUATION.most_surface))
    usable = np.isfinite(lacking)
    anchors = {name: values[usable] for name, values in beyond.columns.items()}
    if known is None:
        discrepancy = _local(table, ensemble.spread.misfit, anchors, lacking[usable])
    else:
        discrepancy = _led(known, anchors, lacking[usable])
    discrepancy = msgspec.structs.replace(discrepancy, followers=beyond.followers)
    return tuple(replace(member, discrepancy=discrepancy) for member in ensemble.members)


def _led(known: Discrepancy, anchors: Columns, lacking: Array) -> Discrepancy:
    """Return a discrepancy whose mean passes through more anchors, and at the measured ones stays as it was.

    r = m + (1 − ε)·ν²·(κ + ε·ν²)⁻¹·m,   whose mean is κ·(κ + ν²)⁻¹·r = κ·(κ + ε·ν²)⁻¹·m
    """
    plain = msgspec.structs.replace(known, surface=None)
    together = {name: np.concatenate([values, anchors[name]]) for name, values in known.anchors.items()}
    kernel = known.kernel
    if isinstance(kernel, Exponential):
        # Residuals are carried on unchanged from the anchors of the largest counts, which are the new ones now.
        farther = {name: max(limit, float(together[name].max())) for name, limit in kernel.carried.items()}
        kernel = msgspec.structs.replace(kernel, carried=farther)
    means = np.concatenate([plain.mean(known.anchors), plain.mean(anchors) + lacking])
    surface = known.surface
    if surface is not None and known.ground is not None:
        # What a process expects already, measured there, changes it nowhere.
        there = np.concatenate([surface.logarithms, known.ground.mean(anchors)])
        surface = msgspec.structs.replace(surface, logarithms=there.astype(np.float32).astype(float))
    noise = CONTINUATION.slack * known.noise**2
    covariance = kernel.covariance(together, together) + noise * np.eye(len(means))
    values = means + (1.0 - CONTINUATION.slack) * known.noise**2 * np.linalg.solve(covariance, means)
    return msgspec.structs.replace(
        known,
        kernel=kernel,
        anchors=together,
        logarithms=values.astype(np.float32).astype(float),
        variances=np.zeros(len(means)),
        surface=surface,
    )


def _local(table: Table, misfit: float, anchors: Columns, residuals: Array) -> Discrepancy:
    """Return a discrepancy that leads through anchors and soon forgets them: no residual was found to carry on."""
    metrics = metrics_of(table)
    effect = Effect(CONTINUATION.size, dict.fromkeys(metrics, CONTINUATION.rate))
    scale = np.array([max(misfit, CONTINUATION.least_misfit) / np.sqrt(CONTINUATION.size)])
    there = {name: anchors[name] for name in metrics}
    return Discrepancy(Exponential(metrics, (effect,)), there, residuals, np.zeros(len(residuals)), 1.0, scale)


def continuation(table: Table, options: FitOptions) -> Continued | None:
    """Fit the series that the rows of a table form, and predict beyond its largest scale; None where there are none."""
    scale = scale_of(table.factors, options.mapping, table.group, kind=table.scaling)
    if scale.column is None or scale.counts_other:
        return None
    counts = {scale.column} | {f.name for f in (scale.factors.find(name) for name in COUNTS) if f is not None}
    keys = [f.name for f in table.factors if f.name not in counts and f.distinct > 1]
    rows = _rows_of_series(table, scale.column, keys)
    if not rows.any():
        return None
    chosen = table.take(rows)
    first = np.unique(number_rows(chosen.frame, keys), return_index=True)[1]
    grouped = _grouped(chosen, keys)
    shared = table_shares(grouped, options.mapping, options.hints)
    answers: list[tuple[Columns, Array, Array, Array, Evidence]] = []
    for row, (key, part) in zip(first.tolist(), grouped.groups(), strict=True):
        doing("fitting the series of the rows", len(answers), len(first))
        further = _further(part, scale.column, table.factor(scale.column).upper)
        if further is None:
            continue
        try:
            series = series_of(part, options.mapping, options.hints)
            if series is None:
                continue
            ensemble = fit_series(part, series, shared.of(key))
        except GenperfError:
            continue
        if ensemble.evidence and ensemble.evidence[0].last_point is not None:
            middle, below, above = _forecast(ensemble.members, further, _on_one_node(table))
            of_key = {name: np.repeat(chosen.columns[name][row : row + 1], len(middle)) for name in keys}
            answers.append(({**further, **of_key}, middle, below, above, ensemble.evidence[0]))
    if not answers:
        return None
    names = [f.name for f in table.factors if f.numeric or f.distinct > 1]
    columns = {name: np.concatenate([answer[0][name] for answer in answers]) for name in names}
    evidence = [answer[4] for answer in answers]
    return Continued(
        scale.column,
        columns,
        distance_beyond(schema_of(table), columns),
        np.concatenate([answer[1] for answer in answers]),
        np.concatenate([answer[2] for answer in answers]),
        np.concatenate([answer[3] for answer in answers]),
        float(np.mean([e.error for e in evidence])),
        float(np.mean([e.last_point for e in evidence if e.last_point is not None])),
        evidence[0].held_out,
        evidence[0].doublings,
        _on_one_node(table),
        len(answers),
        tuple(f.name for f in table.factors if f.name in counts - {scale.column}),
    )


def _rows_of_series(table: Table, scale: str, keys: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Choose the rows of the series that reach the table's largest scale."""
    number, values = number_rows(table.frame, keys), table.columns[scale]
    pairs = np.unique(np.column_stack([number, values]), axis=0)
    scales = np.bincount(pairs[:, 0].astype(int))
    reached = np.zeros(len(scales))
    np.maximum.at(reached, number, values)
    usable = np.flatnonzero((scales >= CONTINUATION.fewest_scales) & (reached == values.max()))
    return np.isin(number, usable[: CONTINUATION.most])


def _grouped(table: Table, keys: Sequence[str]) -> Table:
    """Return a table whose series are groups."""
    factors = tuple(f for f in table.numeric if f.name not in keys)
    frame = table.frame.assign(**{name: table.frame[name].map(label) for name in keys})
    failures = table.failures.iloc[:0]
    return replace(table, frame=frame, factors=factors, group=tuple(keys), failures=failures, further={})


def _further(part: Table, scale: str, largest: float) -> Columns | None:
    """Return a series' factors beyond the table's largest scale; None where nothing says how they go on."""
    medians = part.medians()
    along = np.asarray(medians.columns[scale], float)
    scales = largest * np.array(CONTINUATION.multiples)
    last = np.sort(np.unique(along))[-2:]
    further: Columns = {scale: scales}
    nodes = _nodes(part)
    for factor in part.factors:
        if factor.name == scale:
            continue
        values = np.asarray(medians.columns[factor.name], float)
        ends = [np.unique(values[along == at]) for at in last]
        if any(len(end) != 1 for end in ends):
            return None
        before, there = (float(end[0]) for end in ends)
        if factor.name == nodes and there == 1.0:
            further[factor.name] = scales / last[1]
        elif there == before:
            further[factor.name] = np.full(len(scales), there)
        elif np.isclose(there / before, last[1] / last[0]):
            further[factor.name] = there * scales / last[1]
        else:
            return None
    return further


def _nodes(table: Table) -> str | None:
    """Return the column that counts the nodes."""
    nodes = scale_of(table.factors).factors.find("nodes")
    return None if nodes is None else nodes.name


def _on_one_node(table: Table) -> bool:
    nodes = _nodes(table)
    return nodes is not None and table.factor(nodes).upper <= 1.0


def _forecast(members: Sequence[Member], columns: Mapping[str, Any], unseen: bool) -> tuple[Array, Array, Array]:
    """Return the median of ln T of a series, and its deviation below and above, as the ends of its interval say."""
    at = CONTINUATION
    quantile, normal = (at.quantile_unseen, at.normal_unseen) if unseen else (at.quantile, at.normal)
    parts = forecasts(members, columns)
    shares = np.concatenate([np.full(len(m.draws), m.weight / len(m.draws)) for m in members])
    levels = np.array([1.0 - quantile, 0.5, quantile])
    means, deviations = np.vstack([mean for mean, _ in parts]), np.sqrt(np.vstack([v for _, v in parts]))
    low, _, high = np.log(mixture_quantiles(means, shares, deviations, levels))
    middle = np.log(central_times(members, columns))
    return middle, (middle - low) / normal, (high - middle) / normal


def _spread(members: Sequence[Member], spread: Spread, beyond: Continued) -> Spread:
    """Return the spread with which the bands are as wide as those of the series, at each multiple of the scale."""
    parts = forecasts(members, beyond.columns)
    shares = np.concatenate([np.full(len(m.draws), m.weight / len(m.draws)) for m in members])
    shares = shares / shares.sum()
    means, variances = np.vstack([mean for mean, _ in parts]), np.vstack([v for _, v in parts])
    held = shares @ variances + shares @ (means - shares @ means) ** 2 + spread.misfit**2
    per_doubling, exponent = _growth(beyond, beyond.above**2 - held)
    below, exponent_below = _growth(beyond, beyond.below**2 - held)
    return msgspec.structs.replace(
        spread,
        per_doubling=per_doubling,
        exponent=exponent,
        per_doubling_below=below,
        exponent_below=exponent_below,
    )


def _growth(beyond: Continued, lacking: Array) -> tuple[float, float]:
    """Return what the first doubling adds to the standard deviation, and the exponent of the doublings."""
    scale = beyond.columns[beyond.scale]
    ends = scale == scale.min(), scale == scale.max()
    first, last = (float(np.sqrt(np.mean(np.maximum(lacking[end], 0.0)))) for end in ends)
    near, far = (float(np.median(beyond.doublings[end])) for end in ends)
    if first == 0.0:
        return last / far, 1.0
    exponent = float(np.clip(np.log(max(last / first, 1.0)) / np.log(far / near), 0.0, 1.0))
    return first / near**exponent, exponent
