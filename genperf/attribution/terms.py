"""The part of each term in a predicted value, of each member and of all by weight; and what limits a configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from genperf.arrays import Array
from genperf.attribution.draws import curves_of, ends_of, quantiles, shares
from genperf.attribution.elasticity import doublings
from genperf.errors import GenperfError
from genperf.facts import Doubling, Interval, Limit, Part
from genperf.models import MODELS
from genperf.panel.configurations import following_workers
from genperf.prediction import Member, Query, central_times, forecasts, stack_of
from genperf.result import FitResult
from genperf.table import Target
from genperf.vocabulary.names import noun_of
from genperf.words.limit import SAME, SAME_WITH_COMPUTATION, named
from genperf.words.quantity import term_column, value_name


@dataclass(frozen=True)
class TermSettings:
    """Which members an answer is about, and when the data cannot tell two terms apart."""

    #: Share of the ensemble below which a member takes no part in crossovers and in the search for terms that cannot be
    #: told apart. A guess: at 0.05 it moves no interval of 90 % by itself.
    least_weight: float = 0.05
    #: Draws of two terms whose correlation is below this one trade against each other. A guess: at −0.95 their sum
    #: varies less than a quarter as much as either.
    correlation: float = -0.95
    #: A term whose draws vary by less than this share of its largest value is constant, and terms whose ratio varies by
    #: less have one shape: rounding errors.
    relative_tolerance: float = 1e-9
    #: Factors that are shown where a step has no named parts: they fit in a sentence.
    max_factors: int = 3


TERMS = TermSettings()


@dataclass(frozen=True)
class Labelled:
    """The members with one plain label."""

    label: str
    #: Their share of the ensemble, together.
    weight: float
    #: Where they stand in the ensemble, the heaviest first.
    places: tuple[int, ...]


def by_label(members: Sequence[Member]) -> list[Labelled]:
    """Return the labels of an ensemble, the heaviest first; weights of equal labels are added up.

    Weights need not add up to one; shares do.
    """
    total = sum(m.weight for m in members)
    places: dict[str, list[int]] = {}
    for place in sorted(range(len(members)), key=lambda k: -members[k].weight):
        places.setdefault(members[place].name, []).append(place)
    labels = [Labelled(name, sum(members[k].weight for k in ks) / total, tuple(ks)) for name, ks in places.items()]
    return sorted(labels, key=lambda entry: -entry.weight)


def serving(members: Sequence[Member]) -> Sequence[Member]:
    """Return the members whose terms are read: of stacked ones a family's, else the heaviest that has several terms."""
    if stack_of(members) is None:
        return members
    return sorted(members, key=lambda m: (len(m.expression.terms) == 1, m.expression.family not in MODELS, -m.weight))[
        :1
    ]


#: Row that makes the terms of a `max` total add up: what one term hides behind another.
HIDDEN = "hidden by overlap"
#: Row for what the prediction knows beside the expression: how the measurements depart from its form.
FORM = "unexplained"


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of the predicted values at some configurations, in the unit of the target."""

    #: The terms of all members, then `HIDDEN` and `FORM` where they are needed.
    names: tuple[str, ...]
    #: Shape (members, terms, rows). Of each member's predicted value; zero for a term that the member does not have.
    #: They add up to one over the terms.
    shares: Array
    #: Shape (draws, terms, rows). The parts in every draw of every member; they add up to the draw's value.
    drawn: Array
    #: Shape (members, rows). The value that each member predicts.
    of_members: Array
    #: Shape (rows,). The predicted value.
    central: Array
    #: Shape (members,). They add up to one.
    weights: Array
    #: Shape (draws,). They add up to one.
    draw_shares: Array

    @property
    def amounts(self) -> Array:
        """The part of each term, all members by weight, shape (terms, rows); they add up to the predicted value."""
        return _weighed(self.weights, self.shares, self.central)

    def of_row(self, row: int) -> Parts:
        """Return the parts at one configuration."""
        at = slice(row, row + 1)
        return replace(
            self,
            shares=self.shares[..., at],
            drawn=self.drawn[..., at],
            of_members=self.of_members[:, at],
            central=self.central[at],
        )

    def share_quantiles(self, term: int, interval: float) -> Array:
        """Return the ends of the interval of a term's share of the value, by the draws; shape (2, rows)."""
        share = self.drawn[:, term] / self.drawn.sum(axis=1)
        return quantiles(share, self.draw_shares, ends_of(interval))

    def together(self, groups: Mapping[str, Sequence[str]]) -> Parts:
        """Return the parts with some terms added up.

        Parameters
        ----------
        groups : mapping of str to sequence of str
            The terms of each sum, by its name; a term in none stays as it is.
        """
        label_of = {term: label for label, terms in groups.items() for term in terms}
        labels = [label_of.get(name, name) for name in self.names]
        kept = tuple(dict.fromkeys(labels))
        of_label = [[i for i, label in enumerate(labels) if label == name] for name in kept]
        of_members, drawn = (
            np.stack([parts[:, rows].sum(axis=1) for rows in of_label], axis=1) for parts in (self.shares, self.drawn)
        )
        return replace(self, names=kept, shares=of_members, drawn=drawn)


def parts_of(result: FitResult, columns: Mapping[str, Any]) -> Parts:
    """Return the parts of the predicted values."""
    members = serving(result.members)
    # Of stacked members one serves: their forecasts are the pool's.
    parts = forecasts(members, columns) if members is result.members else None
    central = central_times(result.members, columns, parts)
    names, of_members, best = _best(members, columns, central, parts)
    departs = FORM in names
    rows = best.shape[2]
    paths = np.exp(curves_of(result, columns, members, parts).paths) if departs else None
    drawn = np.zeros((sum(len(m.draws) for m in members), len(names), rows))
    start = 0
    for member in members:
        stop = start + len(member.draws)
        drawn[start:stop] = np.swapaxes(
            _split(member, columns, member.draw_values(), None if paths is None else paths[start:stop], names), 0, 1
        )
        start = stop
    weights = np.array([m.central_weight for m in members])
    return Parts(
        names, best / of_members[:, None, :], drawn, of_members, central, weights / weights.sum(), shares(members)
    )


def amounts_of(result: FitResult, columns: Mapping[str, Any], central: Array) -> tuple[tuple[str, ...], Array]:
    """Return the names of the terms and their parts of the predicted values (terms, rows), without those of draws."""
    members = serving(result.members)
    names, of_members, best = _best(members, columns, central)
    weights = np.array([m.central_weight for m in members])
    return names, _weighed(weights / weights.sum(), best / of_members[:, None, :], central)


def _weighed(weights: Array, shares: Array, central: Array) -> Array:
    """Return the parts of the predicted values, shape (terms, rows)."""
    return np.asarray(np.einsum("m,mtr->tr", weights, shares) * central)


def _best(
    members: Sequence[Member],
    columns: Mapping[str, Any],
    central: Array,
    parts: Sequence[tuple[Array, Array]] | None = None,
) -> tuple[tuple[str, ...], Array, Array]:
    """Return the terms, the members' values (members, rows) and their parts by term (members, terms, rows)."""
    terms = list(dict.fromkeys(t.name for m in members for t in m.expression.terms))
    hides = any(not m.expression.is_sum for m in members)
    stacked = stack_of(members) is not None
    departs = stacked or any(m.discrepancy is not None for m in members)
    names = (*terms, *([HIDDEN] if hides else []), *([FORM] if departs else []))
    if stacked:
        of_members = central[None, :]
    else:
        each = zip(members, forecasts(members, columns) if parts is None else parts, strict=True)
        of_members = np.array([central_times([m], columns, [part]) for m, part in each])
    whole = of_members if departs else [None] * len(members)
    best = [_split(m, columns, m.values, value, names) for m, value in zip(members, whole, strict=True)]
    return names, of_members, np.array(best)


def _split(
    member: Member, columns: Mapping[str, Any], constants: Mapping[str, Any], whole: Array | None, names: Sequence[str]
) -> Array:
    """Return the part of each term."""
    terms = member.expression.term_values(columns, constants)
    total = member.expression.evaluate(columns, constants)
    out = np.zeros((len(names), *total.shape))
    for name, part in terms.items():
        out[names.index(name)] = part
    if not member.expression.is_sum:
        out[names.index(HIDDEN)] = total - out[: len(names)].sum(axis=0)
    if whole is not None:
        out[names.index(FORM)] = whole - total
    return out


@dataclass(frozen=True, eq=False)
class TermTables:
    """How the parts at some configurations are written as tables."""

    parts: Parts
    #: The configurations.
    query: Query
    #: The factors that get a column.
    shown: tuple[str, ...]
    #: The quantiles of the interval's ends.
    levels: tuple[float, float]
    #: The predicted quantity, which names the column of the parts.
    target: Target

    def ensemble(self) -> pd.DataFrame:
        """Return a row per configuration and term: part, interval and share, all members by weight."""
        parts = self.parts
        ends = quantiles(parts.drawn, parts.draw_shares, self.levels)
        return self._table(parts.names, parts.amounts, ends, parts.central)

    def members(self, members: Sequence[Member]) -> pd.DataFrame:
        """Return the same for each label of the members, the heaviest first; empty where there is one label.

        Members with equal labels are one ensemble, by their weights.
        """
        labels = by_label(members)
        if len(labels) == 1 or stack_of(members) is not None:
            return pd.DataFrame()
        parts = self.parts
        starts = np.cumsum([0, *(len(m.draws) for m in members)])
        tables = []
        for entry in labels:
            same = [members[k] for k in entry.places]
            terms = {t.name for m in same for t in m.expression.terms} | {FORM}
            terms |= {HIDDEN} if any(not m.expression.is_sum for m in same) else set()
            columns = [j for j, name in enumerate(parts.names) if name in terms]
            places = list(entry.places)
            weights = parts.weights[places] / parts.weights[places].sum()
            whole = parts.of_members[places[0]] if len(same) == 1 else central_times(same, self.query.columns)
            drawn = np.concatenate([parts.drawn[starts[k] : starts[k + 1]][:, columns] for k in places])
            table = self._table(
                [parts.names[j] for j in columns],
                np.einsum("m,mtr->tr", weights, parts.shares[places])[columns] * whole,
                quantiles(drawn, shares(same), self.levels),
                whole,
            )
            table.insert(0, "member", entry.label)
            table.insert(1, "weight", entry.weight)
            tables.append(table)
        return pd.concat(tables, ignore_index=True)

    def _table(self, names: Sequence[str], amounts: Array, ends: Array, whole: Array) -> pd.DataFrame:
        """Return a row per configuration and term."""
        value = term_column(self.target)
        rows = np.repeat(np.arange(len(whole)), len(names))
        factors = {n: self.query.columns[n][rows] for n in self.shown if n not in ("term", value, "share")}
        columns = {
            "term": np.tile(np.array(names, dtype=object), len(whole)),
            value: amounts.T.ravel(),
            # As in predict, the interval holds the value that stands beside it.
            "lower": np.minimum(ends[0], amounts).T.ravel(),
            "upper": np.maximum(ends[1], amounts).T.ravel(),
            "share": (amounts / whole).T.ravel(),
        }
        return pd.DataFrame({**factors, **columns})


def aliased(result: FitResult, columns: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return the pairs of terms that the data cannot tell apart.

    Their draws trade against each other at every configuration given, in every member of some weight that has both.
    """
    total = sum(m.weight for m in result.members)
    trading: dict[tuple[str, str], bool] = {}
    for member in serving(result.members):
        if stack_of(result.members) is None and member.weight < TERMS.least_weight * total:
            continue
        drawn = member.expression.term_values(columns, member.draw_values())
        names = list(drawn)
        for i, a in enumerate(names):
            for b in names[i + 1 :]:
                pair = (a, b) if (b, a) not in trading else (b, a)
                trading[pair] = trading.get(pair, True) and _trade(drawn[a], drawn[b])
    return tuple(pair for pair, trades in trading.items() if trades)


def _trade(x: Array, y: Array) -> bool:
    """Tell whether two terms, each of shape (draws, rows), trade against each other in every row where both vary."""
    tolerance = TERMS.relative_tolerance
    moving = (x.std(axis=0) > tolerance * np.abs(x).max()) & (y.std(axis=0) > tolerance * np.abs(y).max())
    together = [np.corrcoef(x[:, j], y[:, j])[0, 1] for j in np.flatnonzero(moving)]
    return bool(together) and max(together) < TERMS.correlation


def limit_of(result: FitResult, columns: Mapping[str, Any], interval: float) -> Limit:
    """Return the terms at one configuration, largest first; of terms without a field's name what doublings do."""
    target = result.schema.target
    try:
        worker = noun_of(result.panel.along().name)
    except GenperfError:
        worker = "workers"
    about = Limit(target.name, value_name(target), interval, counts_nodes=result.panel.has("nodes"), worker=worker)
    parts, groups = parts_of(result, columns), _alike_terms(result, columns)
    if not named(parts.names, [f.name for f in result.schema.factors]):
        return replace(about, doublings=_doublings(result, columns))
    together = parts.together(groups)
    whole = float(together.central[0])
    shown = []
    for place, (label, amount) in enumerate(zip(together.names, together.amounts[:, 0], strict=True)):
        if label != FORM:
            # Where the terms add up to more than the value, the largest is shown as all of it.
            share, lower, upper = np.minimum([amount / whole, *together.share_quantiles(place, interval)[:, 0]], 1.0)
            ends = share, min(share, lower), max(share, upper)
            shown.append(Part(label, tuple(groups.get(label, (label,))), Interval(*map(float, ends))))
    return replace(about, parts=tuple(sorted(shown, key=lambda part: -part.share.value)))


def _doublings(result: FitResult, columns: Mapping[str, Any]) -> tuple[Doubling, ...]:
    ratios = doublings(result, {factor: cells[0] for factor, cells in columns.items()})
    workers = result.panel.workers
    moved = following_workers(result.panel, columns)
    return tuple(
        Doubling(factor, moved if workers is not None and factor == workers.name else (), ratio)
        for factor, ratio in list(ratios.items())[: TERMS.max_factors]
    )


def _alike_terms(result: FitResult, columns: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the terms of a series by label, those together that are in one ratio at every run and at some rows.

    Of a series at one batch for each worker, the computation and what stays the same at every scale are such a group:
    only what other clusters showed parts them. Terms of other models are not compared, and none is returned.
    """
    shapes: dict[str, Array] = {}
    for member in result.members:
        discrepancy = member.discrepancy
        if discrepancy is None:
            return {}
        ones = dict.fromkeys(member.expression.constant_names, 1.0)
        there, here = (member.expression.term_values(at, ones) for at in (discrepancy.anchors, columns))
        # Members may read a term's work in other ways: the heaviest, which comes first, decides.
        shapes = {name: np.concatenate([there[name], here[name]]) for name in there} | shapes
    groups: list[list[str]] = []
    for name, shape in shapes.items():
        alike = next((group for group in groups if _proportional(shapes[group[0]], shape)), None)
        if alike is None:
            groups.append([name])
        else:
            alike.append(name)
    return {_label(group, shapes[group[0]]): tuple(group) for group in groups}


def _label(group: list[str], shape: Array) -> str:
    if len(group) == 1:
        return group[0]
    if not _proportional(shape, np.ones(len(shape))):
        return " + ".join(group)
    return SAME_WITH_COMPUTATION if "computation" in group else SAME


def _proportional(one: Array, other: Array) -> bool:
    if not (np.all(one > 0.0) and np.all(other > 0.0)):
        return False
    ratios = one / other
    return bool(np.ptp(ratios) <= TERMS.relative_tolerance * ratios.max())
