"""The part of each term in a predicted value, of each member and of all by weight; and what limits a configuration."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from msgspec import Struct
from msgspec.structs import replace

from genperf.arrays import Array, Mask
from genperf.attribution.draws import curves_of, interval_about, shares
from genperf.attribution.elasticity import doublings_at
from genperf.facts import Interval, Limit, Part, ends_of
from genperf.models import MODELS
from genperf.prediction import Member, Query, central_times, forecasts, stack_of
from genperf.prediction.bands import MixtureForecast
from genperf.result import FitResult
from genperf.vocabulary.names import noun_of
from genperf.words.limit import SAME, SAME_WITH_COMPUTATION
from genperf.words.quantity import term_column

# Which members and how many draws an answer is about, and when the data cannot tell two terms apart.
#: Share of the ensemble below which a member takes no part in crossovers and in the search for terms that cannot be
#: told apart: the tail of a 90 % interval, no end of which it moves by itself.
LEAST_WEIGHT = 0.05
#: Draws of two terms whose correlation is below this one trade against each other: at −0.95 the variance inflation
#: factor 1/(1 − ρ²) is 10, the usual sign of collinearity (Marquardt 1970, "Generalized inverses").
TRADING_CORRELATION = -0.95
#: A term whose draws vary by less than this share of its largest value is constant, and terms whose ratio varies by
#: less have one shape: rounding errors.
TERMS_TOLERANCE = 1e-9
#: Factors that are shown where a step has no named parts: they fit in a sentence.
MAX_ATTRIBUTED_FACTORS = 2


class Labelled(Struct, frozen=True):
    """The members with one plain label."""

    label: str
    #: Their share of the ensemble, together.
    weight: float
    #: Where they stand in the ensemble, the heaviest first.
    places: tuple[int, ...]


def by_label(members: Sequence[Member]) -> list[Labelled]:
    """Return the labels of an ensemble, the heaviest first; weights of equal labels are added up."""
    total = sum(m.weight for m in members)
    places: dict[str, list[int]] = {}
    for place in sorted(range(len(members)), key=lambda k: -members[k].weight):
        places.setdefault(members[place].name, []).append(place)
    labels = [Labelled(name, sum(members[k].weight for k in ks) / total, tuple(ks)) for name, ks in places.items()]
    return sorted(labels, key=lambda entry: -entry.weight)


def serving(members: Sequence[Member]) -> Sequence[Member]:
    """Return the members whose terms are read: of stacked ones a family's, or the sum that shows the terms."""
    if stack_of(members) is None:
        return members

    def order(member: Member) -> tuple[bool, bool, bool, float]:
        expression = member.expression
        return len(expression.terms) == 1, expression.family not in MODELS, expression.family != "terms", -member.weight

    # Alone it is the whole of what is read, whatever it weighs in the prediction.
    return [replace(min(members, key=order), weight=1.0)]


#: Row that makes the terms of a `max` total add up: what one term hides behind another.
HIDDEN = "hidden by overlap"
#: Row for what the prediction knows beside the expression: how the measurements depart from its form.
FORM = "unexplained"


class TermParts(Struct, frozen=True, eq=False):
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
        return np.asarray(np.einsum("m,mtr->tr", self.weights, self.shares) * self.central)


def term_contributions(
    result: FitResult, columns: Mapping[str, Any], forecast: MixtureForecast | None = None, drawn: bool = True
) -> TermParts:
    """Return the parts of the predicted values."""
    members, stacked = serving(result.members), stack_of(result.members) is not None
    # Of stacked members one serves: the forecasts are the pool's.
    member_forecasts = None if stacked else forecasts(members, columns) if forecast is None else forecast.parts
    central = central_times(result.members, columns, member_forecasts) if forecast is None else forecast.central()
    hides = any(not m.expression.is_sum for m in members)
    departs = stacked or any(m.discrepancy is not None for m in members)
    terms = dict.fromkeys(t.name for m in members for t in m.expression.terms)
    names = (*terms, *([HIDDEN] if hides else []), *([FORM] if departs else []))
    of_members = central[None, :]
    if member_forecasts is not None:
        of_members = np.array(
            [central_times([m], columns, [one]) for m, one in zip(members, member_forecasts, strict=True)]
        )
    draw_shares, paths = shares(members), np.empty((0, 0))
    if drawn and departs:
        curves = curves_of(result, columns, None if stacked else members, member_forecasts)
        # Every member of a stack has the pool's curves.
        paths = np.exp(curves.parts[0].paths(0)[: len(draw_shares)] if stacked else curves.paths)
    best = [_split(m, columns, m.values, value, names) for m, value in zip(members, of_members, strict=True)]
    draws = np.zeros((0, len(names), best[0].shape[1]))
    if drawn:
        starts = np.cumsum([len(m.draws) for m in members])[:-1]
        member_paths = zip(members, np.split(paths, starts), strict=True)
        draws = np.concatenate([_split(m, columns, m.draw_values(), path, names) for m, path in member_paths], axis=1)
        draws = draws.swapaxes(0, 1)
    weights = np.array([m.central_weight for m in members])
    weights = weights / weights.sum()
    return TermParts(names, np.array(best) / of_members[:, None, :], draws, of_members, central, weights, draw_shares)


def _split(
    member: Member, columns: Mapping[str, Any], constants: Mapping[str, Any], predicted: Array, names: Sequence[str]
) -> Array:
    """Return the part of each term in the predicted value."""
    terms = member.expression.term_values(columns, constants)
    total = member.expression.evaluate(columns, constants)
    out = np.zeros((len(names), *total.shape))
    for name, part in terms.items():
        out[names.index(name)] = part
    if not member.expression.is_sum:
        out[names.index(HIDDEN)] = total - out.sum(axis=0)
    if FORM in names:
        out[names.index(FORM)] = predicted - total
    return out


def term_tables(
    result: FitResult, query: Query, varying: Sequence[str], levels: tuple[float, float]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a row per configuration and term: part, interval and share; of all members, and of each of several labels.

    Labels come with the heaviest first.
    """
    members, value = result.members, term_column(result.schema.target)

    def table(some: Sequence[Member], **member: Any) -> pd.DataFrame:
        split = term_contributions(dataclasses.replace(result, members=tuple(some)), query.columns)
        rows, amounts = np.repeat(np.arange(query.rows), len(split.names)), split.amounts
        columns = {"term": np.tile(np.array(split.names, dtype=object), query.rows)}
        ends = interval_about(amounts, split.drawn, split.draw_shares, levels)
        for name, values in zip((value, "lower", "upper", "share"), (*ends, amounts / split.central), strict=True):
            columns[name] = values.T.ravel()
        factors = {n: query.columns[n][rows] for n in varying if n not in ("term", value, "share")}
        return pd.DataFrame({**member, **factors, **columns})

    labels = by_label(members) if stack_of(members) is None else []
    if len(labels) < 2:
        return table(members), pd.DataFrame()
    of_labels = [table([members[k] for k in one.places], member=one.label, weight=one.weight) for one in labels]
    return table(members), pd.concat(of_labels, ignore_index=True)


def aliased(result: FitResult, columns: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return the pairs of terms whose draws trade against each other, in every member of some weight that has both."""
    total = sum(m.weight for m in result.members)
    trading: dict[tuple[str, str], bool] = {}
    for member in serving(result.members):
        if stack_of(result.members) is None and member.weight < LEAST_WEIGHT * total:
            continue
        drawn = member.expression.term_values(columns, member.draw_values())
        for (a, b), trades in zip(combinations(drawn, 2), _trading(np.array([*drawn.values()])), strict=True):
            pair = (a, b) if (b, a) not in trading else (b, a)
            trading[pair] = trading.get(pair, True) and bool(trades)
    return tuple(pair for pair, trades in trading.items() if trades)


def _trading(drawn: Array) -> Mask:
    """Tell which pairs of terms, of shape (terms, draws, rows), trade against each other wherever both vary."""
    away, deviation = drawn - drawn.mean(axis=1, keepdims=True), drawn.std(axis=1)
    moving = deviation > TERMS_TOLERANCE * np.abs(drawn).max(axis=(1, 2))[:, None]
    scaled = away / np.where(moving, deviation, 1.0)[:, None]
    one, other = np.triu_indices(len(drawn), 1)
    both = moving[one] & moving[other]
    correlations = np.einsum("pdr,pdr->pr", scaled[one], scaled[other]) / drawn.shape[1]
    return np.asarray(both.any(axis=1) & np.all(~both | (correlations < TRADING_CORRELATION), axis=1))


def named(terms: Collection[str], factors: Collection[str]) -> bool:
    """Tell whether the terms of a model have names of the field: products of its factors have none."""
    return not any(term in factors or "×" in term or " / " in term or term.startswith("term ") for term in terms)


def limit_of(
    result: FitResult, columns: Mapping[str, Any], interval: float, forecast: MixtureForecast | None = None
) -> Limit:
    """Return the terms at one configuration, largest first; of terms without a field's name what doublings do."""
    target = result.schema.target
    count = result.panel.axis.factor
    worker = "workers" if count is None else noun_of(count.name)
    about = Limit(target.name, target.reported, interval, counts_nodes=result.panel.has("nodes"), worker=worker)
    terms = {term.name for member in serving(result.members) for term in member.expression.terms}
    # The overheads of a series are parts of a time.
    other = not target.is_time and any(member.discrepancy is not None for member in result.members)
    if other or not named(terms, [f.name for f in result.schema.factors]):
        return replace(about, doublings=doublings_at(result, columns)[:MAX_ATTRIBUTED_FACTORS])
    groups = _alike_terms(result, columns)
    split = term_contributions(result, columns, forecast)
    label_of = {term: label for label, names in groups.items() for term in names}
    labels = [label_of.get(name, name) for name in split.names]
    distinct_labels = list(dict.fromkeys(labels))
    added = np.equal.outer(np.array(distinct_labels), np.array(labels)).astype(float)
    drawn = split.drawn[..., 0] @ added.T
    share = added @ split.amounts[:, 0] / split.central[0]
    ends = interval_about(share, drawn / drawn.sum(axis=1, keepdims=True), split.draw_shares, ends_of(interval))
    # Where the terms add up to more than the value, the largest is shown as all of it.
    shares_of_terms = [
        Part(label, tuple(groups.get(label, (label,))), Interval(*interval_ends))
        for label, interval_ends in zip(distinct_labels, np.minimum(ends, 1.0).T.tolist(), strict=True)
        if label != FORM
    ]
    return replace(about, parts=tuple(sorted(shares_of_terms, key=lambda part: -part.share.value)))


def _alike_terms(result: FitResult, columns: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the terms of a series by label, those together that are in one ratio at every run and at some rows.

    So are, at one batch for each worker, the computation and what stays the same at every scale.
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
    groups: dict[str, list[str]] = {}
    for name, shape in shapes.items():
        alike = next((head for head in groups if _proportional(shapes[head], shape)), name)
        groups.setdefault(alike, []).append(name)
    labels = {head: " + ".join(group) for head, group in groups.items()}
    for head, group in groups.items():
        if len(group) > 1 and _proportional(shapes[head], np.ones(len(shapes[head]))):
            labels[head] = SAME_WITH_COMPUTATION if "computation" in group else SAME
    return {labels[head]: tuple(group) for head, group in groups.items()}


def _proportional(one: Array, other: Array) -> bool:
    if not (np.all(one > 0.0) and np.all(other > 0.0)):
        return False
    ratios = one / other
    return bool(np.ptp(ratios) <= TERMS_TOLERANCE * ratios.max())
