"""Pooling between groups: a group measured to a small scale borrows how its neighbours grew beyond it.

For a group measured to n₀ and a larger scale n, the donors are the groups measured at both. Their changes from T(n₀) to
T(n) are counted in three ways (seconds, relative, log); a Gaussian process over what the groups are called and how
large they are says what the change of this one may be. Which columns matter is learned from the donors; how wide the
answers must be, and which way of counting holds, from donors held out as the asking group is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from genperf.errors import Note
from genperf.pooling.changes import CHANGES, Change
from genperf.pooling.curves import Curve, alike_in_work, compare, curves, numeric_scale
from genperf.pooling.likeness import GroupColumns, GroupProcess, fit_process
from genperf.table import Table

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class LoanSettings:
    """How loans are made; figures are in `docs/results/pooling.md`.

    Attributes
    ----------
    power, least_error : float
        A way of counting weighs as its held-out error (geometric mean, `least_error` added) to this power.
    calibration_blocks : int
        The calibration counts as the held-out blocks are against this many.
    level : float
        The quantile of the held-out errors that is matched.
    few_blocks : int
        With fewer blocks that quantile rests on the last two or three, and the quantile of a finite sample,
        (1 + 1/blocks) × level, is taken.
    narrowest : float
        Factor by which the calibration may narrow a standard deviation at most.
    fewest_donors, most_donors : int
        Donors below which nothing is held out, and above which the nearest are taken.
    folds, fewest_folds, fold_work : int
        Held-out refits: at most `folds`, fewer where each takes long (`fold_work` over the donors), but `fewest_folds`.
    least_share : float
        Fewer donors than `fewest_donors` must settle at least this share to be believed.
    usual : int
        Scales at which to borrow: measured by one of this many donors against the most usual scale.
    most_scales : int
        Scales at which to borrow at most.
    points : int
        Equally likely points that stand for the distribution of ln T.
    normal_points : int
        Equally likely points that stand for a normal distribution of changes.
    lowest, highest : float
        A loan lies within these e-folds below and above the time at the base.
    donors_shown : int
        Donors that a result names.
    """

    power: float = -8.0
    least_error: float = 0.005
    calibration_blocks: int = 20
    level: float = 0.9
    few_blocks: int = 30
    narrowest: float = 0.05
    fewest_donors: int = 5
    most_donors: int = 400
    folds: int = 40
    fewest_folds: int = 8
    fold_work: int = 4000
    least_share: float = 0.5
    usual: int = 4
    most_scales: int = 12
    points: int = 31
    normal_points: int = 201
    lowest: float = -3.0
    highest: float = 4.0
    donors_shown: int = 5


LOANS = LoanSettings()
_TAIL = NormalDist().inv_cdf(0.5 + LOANS.level / 2)
_NORMAL = np.array([NormalDist().inv_cdf((i + 0.5) / LOANS.normal_points) for i in range(LOANS.normal_points)])


@dataclass(frozen=True, eq=False)
class Loan:
    """What the pool says of one group at one scale it was not measured at.

    Attributes
    ----------
    columns : dict of str to float
        Every numeric factor there.
    points : ndarray of shape (LOANS.points,)
        Equally likely values of ln T, rising.
    share : float
        Of what was not known of this group's change, the part the donors settled: 0 none, 1 all.
    donors : tuple of tuple of str
        Keys of the groups most like it, the first most.
    among : int
        How many donors there were.
    """

    scale: float
    columns: dict[str, float]
    points: Array
    share: float
    donors: tuple[tuple[str, ...], ...]
    among: int

    @property
    def mean(self) -> float:
        """Of ln T."""
        return float(self.points.mean())

    @property
    def variance(self) -> float:
        """Of ln T."""
        return float(self.points.var())


@dataclass(frozen=True, eq=False)
class Borrowed:
    """What one group borrows.

    Attributes
    ----------
    key : tuple of str
        Of the group.
    along : str
        The column of the scale.
    base : float
        The largest scale of the group.
    loans : tuple of Loan
        One per donors' scale beyond it, rising; none where the group must rely on itself.
    """

    key: tuple[str, ...]
    along: str = ""
    base: float = float("nan")
    loans: tuple[Loan, ...] = ()
    notes: tuple[Note, ...] = field(default=())


def pool(table: Table, mapping: Mapping[str, str] | None = None) -> dict[tuple[str, ...], Borrowed]:
    """Say what every group of a table may borrow from the others.

    Nothing here is random: the same groups in any order give the same answer.

    Parameters
    ----------
    table : Table
        With group columns. Groups may be alike in those, in the categorical factors and in the numeric ones that are
        constant along each group.
    mapping : mapping of str to str, optional
        Canonical factor name → column.

    Returns
    -------
    dict of tuple of str to Borrowed
        For every group.

    Examples
    --------
    >>> import pandas as pd
    >>> from genperf.table import read_table
    >>> runs = pd.DataFrame(
    ...     [(f"net{i}", n, 1 + i + 0.1 * n) for i in range(8) for n in (1, 2, 4, 8) if i < 7 or n < 4],
    ...     columns=["net", "workers", "seconds"],
    ... )
    >>> loans = pool(read_table(runs, time="seconds", extrinsic="workers", group="net"))[("net7",)].loans
    >>> [(loan.scale, float(np.exp(loan.mean).round(2))) for loan in loans]
    [(4.0, 8.4), (8.0, 8.8)]
    """
    groups, left_out = curves(table, mapping)
    out = {key: Borrowed(key, notes=(Note(f"not pooled: {why}", "not_pooled"),)) for key, why in left_out.items()}
    factors = numeric_scale(table, mapping).factors
    work = [factor.name for name in ("batch", "global_batch") if (factor := factors.find(name)) is not None]
    loans: dict[tuple[str, ...], list[Loan]] = {curve.key: [] for curve in groups}
    for base in sorted({curve.largest for curve in groups}):
        at_base = [curve for curve in groups if curve.largest == base]
        for scale in _scales([curve for curve in groups if curve.scale[0] <= base], base):
            spanning = [curve for curve in groups if curve.spans(base, scale)]
            for borrowers, donors in _sets(at_base, spanning, base, work):
                for curve, loan in zip(borrowers, _lend(borrowers, donors, base, scale), strict=True):
                    loans[curve.key].append(loan)
    reach = max((curve.largest for curve in groups), default=0.0)
    for curve in groups:
        taken, notes = _worth(curve, loans[curve.key], reach)
        out[curve.key] = Borrowed(curve.key, curve.along, curve.largest, taken, notes)
    return out


def _scales(measured: Sequence[Curve], base: float) -> list[float]:
    """Return the scales beyond the base at which to borrow: those measured often enough, evenly spread."""
    counts = Counter(n for curve in measured for n in curve.scale.tolist() if n > base)
    most = max(counts.values(), default=0)
    usual = sorted(n for n, count in counts.items() if LOANS.usual * count >= most)
    if not usual:
        return []
    usual = sorted({*usual, *(n for n in counts if n > usual[-1])})
    if len(usual) <= LOANS.most_scales:
        return usual
    goals = np.linspace(np.log(usual[0]), np.log(usual[-1]), LOANS.most_scales)
    return sorted({usual[int(np.abs(np.log(usual) - goal).argmin())] for goal in goals})


def _worth(curve: Curve, loans: Sequence[Loan], reach: float) -> tuple[tuple[Loan, ...], tuple[Note, ...]]:
    """Return the loans that say something, and why not where there is none."""
    taken = tuple(loan for loan in loans if loan.among >= LOANS.fewest_donors or loan.share >= LOANS.least_share)
    if taken or curve.largest >= reach:
        return taken, ()
    at = f"{curve.along}={curve.largest:g}"
    if loans:
        last = loans[-1]
        others = f"the {last.among} group{'s' * (last.among != 1)} measured at {at} and beyond"
        text = f"not pooled: {others} are unlike this one (share {100.0 * last.share:.0f} %)"
    else:
        text = f"not pooled: no group alike in work was measured both at {at} and beyond"
    return (), (Note(text, "not_pooled"),)


def _sets(
    asking: Sequence[Curve], spanning: Sequence[Curve], base: float, work: Sequence[str]
) -> list[tuple[list[Curve], list[Curve]]]:
    """Return the groups that ask, each with its donors, those with the same donors together."""
    sets: dict[tuple[int, ...], list[Curve]] = {}
    for curve in asking:
        alike = tuple(j for j, donor in enumerate(spanning) if alike_in_work(curve, donor, base, work))
        if alike:
            sets.setdefault(alike, []).append(curve)
    return [(curves, [spanning[j] for j in donors]) for donors, curves in sets.items()]


def _lend(borrowers: Sequence[Curve], donors: Sequence[Curve], base: float, scale: float) -> list[Loan]:
    """Return the loans of groups that have the same donors."""
    compared = compare(donors, borrowers, base)
    if len(donors) > LOANS.most_donors:
        near = np.argsort(compared.names_across.mean(axis=0), kind="stable")[: LOANS.most_donors]
        donors = [donors[j] for j in sorted(near.tolist())]
        compared = compare(donors, borrowers, base)
    first = np.array([donor.time(base) for donor in donors])
    last = np.array([donor.time(scale) for donor in donors])
    count = len(donors)
    changes = CHANGES if count >= LOANS.fewest_donors else CHANGES[:1]
    fits = [fit_process(compared.donors, change.of(first, last)) for change in changes]
    predicted = [fit.predict(compared.borrowers) for fit in fits]
    likeness = [fit.likeness(compared.borrowers, compared.donors) for fit in fits]
    loans: dict[int, Loan] = {}
    sibling = compared.names_across.min(axis=1) == 0
    for alone in sorted(set(sibling.tolist())):
        trials = _trials(compared.names_between, alone) if count >= LOANS.fewest_donors else None
        weights, widths = np.ones(len(fits)), np.ones(len(fits))
        if trials is not None:
            tests = [_test(c, f, compared.donors, first, last, trials) for c, f in zip(changes, fits, strict=True)]
            errors, widths = (np.array(column) for column in zip(*tests, strict=True))
            weights = (errors / errors.min()) ** LOANS.power * np.array([change.odds for change in changes])
        weights = weights / weights.sum()
        for i in np.flatnonzero(sibling == alone).tolist():
            before = borrowers[i].time(base)
            points = np.array(
                [
                    _points(c, before, mean[i], sd[i] * w)
                    for c, (mean, sd, _), w in zip(changes, predicted, widths, strict=True)
                ]
            )
            nearest = np.argsort(-(weights @ np.array([part[i] for part in likeness])), kind="stable")
            loans[i] = Loan(
                scale,
                _columns(borrowers[i], donors, base, scale),
                _mixture(points, weights),
                float(weights @ [share[i] for _, _, share in predicted]),
                tuple(donors[j].key for j in nearest[: LOANS.donors_shown]),
                count,
            )
    return [loans[i] for i in range(len(borrowers))]


@dataclass(frozen=True, eq=False)
class _Trials:
    """Which donors are held out together, and which of them count: an imitation of the group that asks."""

    fold: npt.NDArray[np.int64]
    counts: npt.NDArray[np.bool_]
    blocks: int


def _trials(unlike: Array, alone: bool) -> _Trials:
    """Say how to imitate the group that asks."""
    count = len(unlike)
    names = np.array([int(np.flatnonzero(unlike[j] == 0)[0]) for j in range(count)])
    block = np.arange(count) if alone else names
    counts = np.array([np.sum(names == k) > 1 for k in names]) if alone else np.ones(count, bool)
    if counts.sum() < LOANS.fewest_donors:
        counts[:] = True
    blocks = np.unique(block)
    folds = min(LOANS.folds, max(LOANS.fewest_folds, LOANS.fold_work // count))
    # Any fixed order would do; neighbours in the order of keys are alike, and should not all leave at once.
    order = np.random.default_rng(0).permutation(len(blocks))
    fold = dict(zip(blocks[order].tolist(), (np.arange(len(blocks)) % folds).tolist(), strict=True))
    return _Trials(np.array([fold[k] for k in block.tolist()]), counts, len(np.unique(block[counts])))


def _test(
    change: Change, fit: GroupProcess, donors: GroupColumns, first: Array, last: Array, trials: _Trials
) -> tuple[float, float]:
    """Predict the donors that each fold holds out."""
    values = change.of(first, last)
    mean, sd = values.copy(), np.ones(len(values))
    for k in np.unique(trials.fold[trials.counts]).tolist():
        train, held = np.flatnonzero(trials.fold != k), np.flatnonzero(trials.fold == k)
        if not len(train):
            continue
        refit = fit_process(donors.take(train), values[train], fit.logarithms)
        mean[held], sd[held], _ = refit.predict(donors.take(held))
    counts = trials.counts
    errors = np.abs(change.onto(first, mean) / last - 1.0)[counts]
    error = float(np.exp(np.mean(np.log(errors + LOANS.least_error))))
    level = LOANS.level * (1.0 + (1.0 / trials.blocks if trials.blocks < LOANS.few_blocks else 0.0))
    width = float(np.quantile((np.abs(values - mean) / sd)[counts], min(level, 1.0))) / _TAIL
    shrunk = trials.blocks / (trials.blocks + LOANS.calibration_blocks)
    return error, max(width, LOANS.narrowest) ** shrunk


def _points(change: Change, first: float, mean: float, sd: float) -> Array:
    """Return equally likely values of ln T where the change is normal."""
    second = change.onto(np.array(first), mean + sd * _NORMAL)
    lowest, highest = first * np.exp(LOANS.lowest), first * np.exp(LOANS.highest)
    return np.asarray(np.log(np.clip(second, lowest, highest)))


def _mixture(points: Array, weights: Array) -> Array:
    """Return equally likely values of a mixture from equally likely ones of its parts, shape (parts, points)."""
    share = np.repeat(weights, points.shape[1]) / points.shape[1]
    flat = points.ravel()
    order = np.argsort(flat, kind="stable")
    middle = np.cumsum(share[order]) - 0.5 * share[order]
    return np.asarray(np.interp((np.arange(LOANS.points) + 0.5) / LOANS.points, middle, flat[order]))


def _columns(curve: Curve, donors: Sequence[Curve], base: float, scale: float) -> dict[str, float]:
    """Return the numeric factors of a group at a scale, grown from its largest scale as the median donor's grow."""
    out = {}
    for name in curve.columns:
        here = curve.column(name, base)
        grown = [d.column(name, scale) / d.column(name, base) for d in donors if d.column(name, base) > 0]
        out[name] = here * float(np.median(grown)) if grown else here
    out[curve.along] = scale
    return out
