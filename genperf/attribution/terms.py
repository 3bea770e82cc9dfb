"""The part of each term in a predicted value, of each member and of all by weight; and what limits a configuration."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from msgspec import Struct
from msgspec.structs import replace

from genperf.arrays import Array, Columns
from genperf.attribution.answers import FORM, HIDDEN
from genperf.attribution.draws import curves_of, interval_about, shares
from genperf.attribution.elasticity import doublings_at
from genperf.facts import Interval, Limit, Part, ends_of
from genperf.formula import values_of
from genperf.models import MODELS
from genperf.prediction import Member, Query, central_times, forecasts, stack_of
from genperf.prediction.bands import MixtureForecast, quantiles
from genperf.prediction.member import by_label, central_of_each
from genperf.result import FitResult
from genperf.vocabulary.names import counts_devices, noun_of
from genperf.words.limit import SAME, SAME_BESIDE, SAME_WITH_COMPUTATION, SAME_WITH_EXCHANGE, sum_of_terms
from genperf.words.numbers import term_column

#: Share of the ensemble below which a member takes no part in crossovers: the tail of a 90 % interval, no end of which
#: it moves by itself.
LEAST_WEIGHT = 0.05
#: Where the data determine only the sum of two terms, they are one share: the interval of the sum is at most so much of
#: each term's. Of the laws of `experiments/accuracy/factors_told.py` that were looked at, the share of the constant is
#: then covered in 88 % under `auto` (apart: 81 %); at 0.6 in 84 %, at 0.9 in 86 %, with twice as many sums.
TOGETHER_WIDTH = 0.75
#: Each interval is at least so much of the value, and of its own share: what is known to a few points stays apart.
WIDE_SHARE, WIDE_RATIO = 0.05, 0.25
#: The share that the other terms have at least: the sum of all terms is known whatever they are.
LEAST_REST = 0.05
#: Tails of the intervals that are compared.
TAILS = (0.05, 0.95)
#: Terms whose ratio varies by less than this share of the largest have one shape: rounding errors.
TERMS_TOLERANCE = 1e-9
#: Models whose terms are named after factors.
PRODUCTS = {"generic", "pmnf"}
#: Factors that are shown where a step has no named parts: they fit in a sentence.
MAX_ATTRIBUTED_FACTORS = 2


def serving(members: Sequence[Member]) -> Sequence[Member]:
    """Return the members whose terms are read: of stacked ones a family's, or the sum that shows the terms."""
    if stack_of(members) is None:
        return members

    def order(member: Member) -> tuple[bool, bool, bool, float]:
        expression = member.expression
        return len(expression.terms) == 1, expression.family not in MODELS, expression.family != "terms", -member.weight

    # Alone it is the whole of what is read, whatever it weighs in the prediction.
    return [replace(min(members, key=order), weight=1.0)]


class TermParts(Struct, frozen=True, eq=False):
    """The parts of the predicted values at some configurations, in the unit of the target."""

    names: tuple[str, ...]  #: The terms of all members, then `HIDDEN` and `FORM` where they are needed.
    #: Shape (members, terms, rows). Of each member's predicted value; zero for a term that the member does not have.
    #: They add up to one over the terms.
    shares: Array
    #: Shape (draws, terms, rows). The parts in every draw of every member; they add up to the draw's value.
    drawn: Array
    of_members: Array  #: Shape (members, rows). The value that each member predicts.
    central: Array  #: Shape (rows,). The predicted value.
    weights: Array  #: Shape (members,). They add up to one.
    draw_shares: Array  #: Shape (draws,). They add up to one.

    @property
    def amounts(self) -> Array:
        """The part of each term, T·Σ w_m·share_m over the members m, shape (terms, rows); they add up to T."""
        return np.asarray(np.einsum("m,mtr->tr", self.weights, self.shares) * self.central)

    def inseparable(self, row: int) -> list[tuple[tuple[str, ...], Array]]:
        """Return groups of terms of which only the sum is known at a configuration, with 1 at each one's place."""
        terms = [j for j, name in enumerate(self.names) if name != FORM]
        shares = self.amounts[:, row] / self.central[row]
        drawn = self.drawn[..., row] / self.central[row]
        groups = together(shares[terms], drawn[:, terms], self.draw_shares)
        members = np.zeros((len(groups), len(self.names)))
        members[:, terms] = groups
        several = [is_member for is_member in members if is_member.sum() > 1.0]
        return [(tuple(np.array(self.names)[is_member > 0.0].tolist()), is_member) for is_member in several]


def term_contributions(
    result: FitResult, columns: Columns, forecast: MixtureForecast | None = None, drawn: bool = True
) -> TermParts:
    """Return how much of each predicted value is each term, hidden by a `max`, or unexplained by them."""
    members = serving(result.members)
    stacked = stack_of(result.members) is not None
    # Of stacked members one serves: the forecasts are the pool's.
    member_forecasts = None
    if not stacked:
        member_forecasts = forecasts(members, columns) if forecast is None else forecast.parts
    central = central_times(result.members, columns, member_forecasts) if forecast is None else forecast.central()
    hides = any(not m.expression.is_sum for m in members)
    departs = stacked or any(m.discrepancy is not None for m in members)
    terms = dict.fromkeys(t.name for m in members for t in m.expression.terms)
    names = (*terms, *([HIDDEN] if hides else []), *([FORM] if departs else []))
    of_members = central[None, :]
    if member_forecasts is not None:
        of_members = central_of_each(members, columns, member_forecasts)
    draw_shares, paths = shares(members), np.empty((0, 0))
    if drawn and departs:
        curves = curves_of(result, columns, None if stacked else members, member_forecasts)
        # Every member of a stack has the pool's curves.
        paths = np.exp(curves.paths[: len(draw_shares)])
    paths_of_members = np.split(paths, np.cumsum([len(m.draws) for m in members])[:-1])
    splits = [
        _split(member, columns, value, path if drawn else None, names)
        for member, value, path in zip(members, of_members, paths_of_members, strict=True)
    ]
    # Of each member the parts in the value that it predicts come first, then those in its draws.
    best = np.array([split[0] for split in splits])
    draws = np.concatenate([split[1:] for split in splits])
    # Members weigh as they do in the central value.
    weights = np.array([m.weight * (1.0 if m.central is None else float(m.central.mean())) for m in members])
    weights = weights / weights.sum()
    return TermParts(names, best / of_members[:, None, :], draws, of_members, central, weights, draw_shares)


def _split(member: Member, columns: Columns, value: Array, path: Array | None, names: Sequence[str]) -> Array:
    """Return the parts in a member's `value`, then in its draws' `path`, where given: (1 + draws, terms, rows)."""
    expression = member.expression
    sets = member.constants[None] if path is None else np.vstack([member.constants[None], member.draws])
    # Each of shape (sets, 1), so that a term is of shape (sets, rows).
    constants = dict(zip(expression.constant_names, sets.T[:, :, None], strict=True))
    terms = expression.term_values(columns, constants)
    total = reduce(np.add, terms.values()) if expression.is_sum else expression.evaluate(columns, constants)
    out = np.zeros((len(total), len(names), len(value)))
    for name, contribution in terms.items():
        out[:, names.index(name)] = contribution
    if not expression.is_sum:
        out[:, names.index(HIDDEN)] = total - out.sum(axis=1)
    if FORM in names:
        predicted = value[None] if path is None else np.vstack([value, path])
        out[:, names.index(FORM)] = predicted - total
    return out


def term_tables(
    result: FitResult, query: Query, varying: Sequence[str], levels: tuple[float, float]
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return tables of the terms, of sums that the draws cannot tell apart, and of each label's terms."""
    members, value = result.members, term_column(result.schema.target)
    factors = [n for n in varying if n not in ("term", value, "share")]

    def table(split: TermParts, **member: Any) -> pd.DataFrame:
        """Return a row per configuration and term; each of `member` is a further column, with one value."""
        rows, amounts = np.repeat(np.arange(query.rows), len(split.names)), split.amounts
        columns = {"term": np.tile(np.array(split.names, dtype=object), query.rows)}
        # The amount and its two ends, each of shape (terms, configurations).
        ends = interval_about(amounts, split.drawn, split.draw_shares, levels)
        is_term = np.array([name != FORM for name in split.names])
        if FORM in split.names and np.ptp(split.drawn[:, is_term], axis=0).max(initial=0.0) == 0.0:
            # The constants of the terms were not drawn: one value is no interval.
            ends[1:, is_term] = np.nan
        for name, values in zip((value, "lower", "upper", "share"), (*ends, amounts / split.central), strict=True):
            columns[name] = values.T.ravel()
        return pd.DataFrame({**member, **{n: query.columns[n][rows] for n in factors}, **columns})

    split = term_contributions(result, query.columns)
    sums, rows = [], range(query.rows)
    if any(member.expression.family == "generic" for member in members):
        # The draws of one generic structure do not contain what another structure would make of a sum.
        rows = range(0)
    for row in rows:
        configuration = {n: query.columns[n][row] for n in factors}
        for terms, is_added in split.inseparable(row):
            amount = is_added @ split.amounts[:, row]
            ends = interval_about(amount, split.drawn[..., row] @ is_added, split.draw_shares, levels, True).tolist()
            sizes = dict(zip((value, "lower", "upper", "share"), (*ends, amount / split.central[row]), strict=True))
            sums.append({**configuration, "term": sum_of_terms(terms), **sizes, "terms": terms})
    labels, of_labels = by_label(members), list[pd.DataFrame]()
    if len(labels) > 1 and stack_of(members) is None:
        for label in labels:
            of_label = dataclasses.replace(result, members=tuple(members[k] for k in label.places))
            contributions = term_contributions(of_label, query.columns)
            of_labels.append(table(contributions, member=label.label, weight=label.weight))
    return table(split), pd.DataFrame(sums), pd.concat(of_labels, ignore_index=True) if of_labels else pd.DataFrame()


def together(shares: Array, drawn: Array, weights: Array) -> Array:
    """Return rows of 0 and 1, (parts, terms), of which each adds up the terms of a part: those known only as a sum.

    Two terms are added whose sum has a far narrower interval over the draws than each by itself, the clearest first.
    """
    rows = np.eye(len(shares))
    while len(rows) > 2:
        value, of_draws = rows @ shares, drawn @ rows.T
        width = np.diff(quantiles(of_draws, weights, TAILS), axis=0)[0]
        # What one term hides behind another is below zero, and no part.
        is_part = np.minimum(value, of_draws.mean(axis=0)) >= 0.0
        wide = np.flatnonzero(is_part & (width > np.maximum(WIDE_SHARE, WIDE_RATIO * value)))
        pairs = [(i, j) for i, j in combinations(wide.tolist(), 2) if value[i] + value[j] <= 1.0 - LEAST_REST]
        if not pairs:
            break
        i, j = np.array(pairs).T
        of_sums = np.diff(quantiles(of_draws[:, i] + of_draws[:, j], weights, TAILS), axis=0)[0]
        # Zero in every draw where these are in the ratio of the values.
        away = of_draws[:, i] * value[j] - of_draws[:, j] * value[i]
        in_one_ratio = np.ptp(away, axis=0) <= TERMS_TOLERANCE * width[i] * value[j]
        ratio = np.where(in_one_ratio & (value[i] > 0.0), 0.0, of_sums / np.minimum(width[i], width[j]))
        best = int(ratio.argmin())
        if ratio[best] > TOGETHER_WIDTH:
            break
        rows[i[best]] += rows[j[best]]
        rows = np.delete(rows, j[best], axis=0)
    return rows


def named(terms: Collection[str], factors: Collection[str]) -> bool:
    """Tell whether all terms have names of the field, as `computation`: products as `batch / workers` have none."""
    return not any(term in factors or "×" in term or " / " in term or term.startswith("term ") for term in terms)


def limit_of(result: FitResult, columns: Columns, interval: float, forecast: MixtureForecast | None = None) -> Limit:
    """Return the terms at one configuration, largest first; of terms without a field's name what doublings do."""
    target = result.schema.target
    count = result.panel.axis.factor
    worker = "workers" if count is None else noun_of(count.name)
    # Devices of which no run had one alone leave no first device, but a node.
    several = count is not None and counts_devices(count.name) and count.lower > 1.0
    counts_nodes = result.panel.has("nodes") or several
    limit = Limit(target.name, target.reported, interval, counts_nodes=counts_nodes, worker=worker)
    # The terms of a law have names of the field, also where a column has the same: `server` of cntk.
    unnamed = [m.expression for m in serving(result.members) if m.expression.family not in MODELS.keys() - PRODUCTS]
    terms = {term.name for expression in unnamed for term in expression.terms}
    # The overheads of a series are parts of a time.
    not_of_time = not target.is_time and any(member.discrepancy is not None for member in result.members)
    if not_of_time or not named(terms, [f.name for f in result.schema.factors]):
        return replace(limit, doublings=doublings_at(result, columns)[:MAX_ATTRIBUTED_FACTORS])
    return replace(limit, parts=_parts_of(result, columns, interval, forecast))


def _parts_of(
    result: FitResult, columns: Columns, interval: float, forecast: MixtureForecast | None
) -> tuple[Part, ...]:
    """Return the parts of a predicted value, largest first, those of which only the sum is known as one."""
    groups, split = _alike_terms(result, columns), term_contributions(result, columns, forecast)
    label_of = {term: label for label, names in groups.items() for term in names}
    labels = [label_of.get(name, name) for name in split.names]
    distinct_labels = [label for label in dict.fromkeys(labels) if label != FORM]
    # Shape (labels, terms): 1 where a term has the label.
    label_sums = np.equal.outer(np.array(distinct_labels), np.array(labels)).astype(float)
    # Of the value, and in each draw of that draw's value: shape (labels,) and (draws, labels).
    share = label_sums @ split.amounts[:, 0] / split.central[0]
    drawn = split.drawn[..., 0] @ label_sums.T / split.drawn[..., 0].sum(axis=1, keepdims=True)
    added_terms = together(share, drawn, split.draw_shares)
    is_sum = added_terms.sum(axis=1) > 1.0
    ends = interval_about(added_terms @ share, drawn @ added_terms.T, split.draw_shares, ends_of(interval), is_sum)
    joined_parts = []
    # Where the terms add up to more than the value, the largest is shown as all of it.
    for is_joined, interval_ends in zip(added_terms, np.minimum(ends, 1.0).T.tolist(), strict=True):
        joined = [label for label, joins in zip(distinct_labels, is_joined, strict=True) if joins]
        terms_of_part = tuple(term for label in joined for term in groups.get(label, (label,)))
        name = joined[0] if len(joined) == 1 else sum_of_terms(joined)
        joined_parts.append(Part(name, terms_of_part, Interval(*interval_ends)))
    return tuple(sorted(joined_parts, key=lambda part: -part.share.value))


#: The overhead that falls as the computation of a share of the work does.
DIVIDED = "divided among all"
#: The overheads of a series that are the same at every run where all runs are beyond the first node.
EXCHANGES = frozenset(("inside nodes", "leaving the node", "between nodes"))


def _alike_terms(result: FitResult, columns: Columns) -> dict[str, tuple[str, ...]]:
    """Return label → terms of a series: terms in one ratio at all runs and rows are not told apart, and share a label.

    {"computation + constant": ("computation", "constant")} of runs whose work is the same at every count.
    """
    # By term, its values at the runs and at the rows where every constant is 1.
    shapes: dict[str, Array] = {}
    runs_and_rows: tuple[Mapping[str, Any], ...] = ()
    for member in (result.members[place] for label in by_label(result.members) for place in label.places):
        if (discrepancy := member.discrepancy) is None:
            return {}
        unit_constants = dict.fromkeys(member.expression.constant_names, 1.0)
        runs_and_rows = discrepancy.anchors, columns
        at_runs, in_rows = (member.expression.term_values(place, unit_constants) for place in runs_and_rows)
        # Members may read a term's work in other ways: those of the heaviest label, which come first, decide.
        shapes = {name: np.concatenate([at_runs[name], in_rows[name]]) for name in at_runs} | shapes
    # A cost that every step has falls with the steps of a job, of which each worker does its part.
    divisors = [result.panel.over_columns(work.divides) for work in result.panel.work_of_worker]
    constants = [1.0 / np.concatenate([values_of(node, place) for place in runs_and_rows]) for node in divisors]
    groups: dict[str, list[str]] = {}
    for name, shape in shapes.items():
        head = next((head for head in groups if _proportional(shapes[head], shape)), name)
        groups.setdefault(head, []).append(name)
    labels = {head: " + ".join(group) for head, group in groups.items()}
    for head, group in groups.items():
        # Work that all divide is no fixed cost.
        has_fixed = len(group) > 1 and not {*group} <= {"computation", DIVIDED}
        if has_fixed and any(_proportional(shapes[head], constant) for constant in constants):
            exchanges = SAME_WITH_COMPUTATION if EXCHANGES.isdisjoint(group) else SAME_WITH_EXCHANGE
            labels[head] = exchanges if "computation" in group else SAME
    if not {SAME_WITH_COMPUTATION, SAME_WITH_EXCHANGE}.isdisjoint(labels.values()):
        labels = {head: SAME_BESIDE if label == SAME else label for head, label in labels.items()}
    return {labels[head]: tuple(group) for head, group in groups.items()}


def _proportional(term: Array, other: Array) -> bool:
    if not (np.all(term > 0.0) and np.all(other > 0.0)):
        return False
    ratios = term / other
    return bool(np.ptp(ratios) <= TERMS_TOLERANCE * ratios.max())
