"""`explain`: the parts of a predicted value and how the factors move it; `compare`: why it differs between two."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from msgspec import Struct
from msgspec.structs import asdict

from genperf.arrays import Array, Columns
from genperf.attribution.answers import FORM, MOST_UNEXPLAINED, Comparison, Explanation
from genperf.attribution.draws import curves_of, interval_about
from genperf.attribution.elasticity import DOUBLING, SLOPE, Sobol, doublings_by_level, elasticity_table, sensitivity
from genperf.attribution.scaling import Knee, scaling
from genperf.attribution.terms import HIDDEN, TermParts, serving, term_contributions, term_tables
from genperf.errors import GenperfError
from genperf.facts import Interval, ends_of
from genperf.formula import Call, Node, calls_in, chain, evaluate, names_in
from genperf.panel.configurations import kept_beside
from genperf.panel.panel import Target
from genperf.panel.quantities import beside
from genperf.prediction import Member, Query
from genperf.prediction.predict import substitution_notes
from genperf.prediction.schema import known_names
from genperf.result import FitResult, answering
from genperf.table.cells import frame_of
from genperf.words.numbers import interval_note, join_values, suited_unit, with_unit

#: Configurations in memory together: 200 rows of 1,000 draws of ten terms are 16 MB.
TERMS_BLOCK_ROWS = 200
#: Pairs of draws of two models, which are independent. The standard error of an end of a 90 % interval, which is
#: √(p(1 − p)/pairs)/f(q) at its quantile q, is then 1.4 % of the width of a normal distribution's.
PAIRED_DRAWS = 2000


def explain(
    result: FitResult,
    at: Mapping[str, Any] | pd.DataFrame | None = None,
    interval: float = 0.9,
    *,
    versus: Mapping[str, Any] | None = None,
    knee: bool | Knee = False,
    sobol: bool | Sobol = False,
) -> Explanation:
    """Return the parts of a predicted value, term by term, and how the factors move it.

    Parameters
    ----------
    at : mapping or DataFrame, optional
        Configurations to explain; factors left out are those of a measured run (`typical_run`). For a level that was
        not measured the measured ones stand (`genperf.result.answering`).
    interval : float
        Nominal coverage of the intervals, which hold the uncertainty of the constants and families.
    versus : mapping, optional
        Factors in which a second configuration differs from `at`: why its predicted value differs, term by term.
    knee : bool or Knee
        Also the efficiency's band, the count at which it falls below a level (0.5), the count beyond which adding
        workers makes a step slower, and the crossovers of the largest term. A `Knee` gives another level, along which
        factor, how far, and which kind of scaling. Where the model does not predict a time, the answer holds the
        predicted values along the count of workers and the crossovers.
    sobol : bool or Sobol
        Also the Sobol indices of the variance of T. A `Sobol` gives ln T in its place, the domain and the samples.

    Returns
    -------
    Explanation
        Shares add up to one: for a total with `max`, the row `hidden by overlap` is negative and makes them do so;
        where the prediction follows the measurements away from the expression, the row `unexplained` does. Terms of
        which the data determine only the sum are one share, in `together` and where it is printed. An elasticity is
        ∂ln T/∂ln x: 1 means that doubling the factor doubles T.

    Raises
    ------
    TableError
        Where a factor is not one of the model's, or a value is not one the model can take.
    GenperfError
        For an interval outside (0, 1), or several configurations where one is needed.

    Examples
    --------
    >>> runs = pd.DataFrame({"workers": [1, 2, 4, 8], "seconds": [9.0, 5.0, 3.0, 2.0]})
    >>> result = gp.fit(gp.read_table(runs, time="seconds", extrinsic="workers"), model="amdahl")
    >>> gp.explain(result, {"workers": 8}).terms[["term", "share"]].round(2)
           term  share
    0  constant    0.5
    1  parallel    0.5
    """
    if not isinstance(result, FitResult):
        raise GenperfError("explain takes one model, and this holds those of several groups", hint="result[GROUP]")
    levels = ends_of(interval)
    at = known_names(at, result.schema) if isinstance(at, Mapping) else at
    result = answering(result, at, versus)
    query = result.query(at)
    varying = tuple(f.name for f in result.schema.factors if f.name in query.given)
    blocks = np.split(np.arange(query.rows), range(TERMS_BLOCK_ROWS, query.rows, TERMS_BLOCK_ROWS))
    tables_of_blocks = [
        (*term_tables(result, block, varying, levels), elasticity_table(result, block, varying, levels))
        for block in map(query.take, blocks)
    ]
    of_each_kind = zip(*tables_of_blocks, strict=True)
    terms, sums, members, elasticities = (pd.concat(tables, ignore_index=True) for tables in of_each_kind)
    point = query.single("a knee and a comparison are those of one configuration") if versus or knee else {}
    given_values = dict(at) if isinstance(at, Mapping) else {name: point[name] for name in query.given if name in point}
    # A count that nobody gave is no point of the curve.
    counts = {f.name for f in result.panel.counts}
    count_given = at is not None and counts & given_values.keys()
    curve_at = point if count_given else {n: v for n, v in point.items() if n not in counts}
    knee_settings = asdict(Knee() if knee is True else knee) if knee else {}
    predicted = result.predict_columns(frame_of(query.columns), interval)
    judged = [*varying, result.schema.target.name, "lower", "upper", "verdict", "reason"]
    ends = [np.asarray(predicted[name], float) for name in (result.schema.target.name, "lower", "upper")]
    beside_those = beside(result.panel, query.columns, ends)
    comparison = None
    if versus:
        changed = kept_beside(result.panel, given_values, point, versus) | known_names(versus, result.schema)
        comparison = compare(result, given_values, changed, interval=interval)
    return Explanation(
        model=result.model,
        quantity=result.schema.target,
        terms=terms,
        elasticities=elasticities,
        together=sums,
        members=members,
        scaling=scaling(result, curve_at, interval=interval, **knee_settings) if knee else None,
        sensitivity=sensitivity(result, None if sobol is True else sobol, interval) if sobol else None,
        comparison=comparison,
        notes=tuple(_notes(result, elasticities)),
        doublings=doublings_by_level(result, at, interval),
        verdicts=pd.DataFrame({name: predicted[name] for name in dict.fromkeys(judged)} | beside_those),
    )


def _notes(result: FitResult, elasticities: pd.DataFrame) -> list[str]:
    """Return what a reader of the elasticities should know."""
    notes = substitution_notes(result.schema, result.members)
    steps = {DOUBLING: "of the step from the value to twice it", SLOPE: "the mean over the doubling about the value"}
    methods = {*elasticities["method"]}
    notes += [f"the elasticities marked '{method}' are {text}" for method, text in steps.items() if method in methods]
    named = set(elasticities.dropna(subset=["elasticity"])["factor"])
    fixed = [f"{f.name} ({f.lower:g})" for f in result.schema.factors if f.distinct == 1 and f.name in named]
    only = "measured at one value only, so that the elasticity is the model's assumption, not the data's"
    return [*notes, *([f"{only}: {', '.join(fixed)}"] if fixed else [])]


def compare(
    result: FitResult,
    a: Mapping[str, Any] | pd.DataFrame,
    b: Mapping[str, Any] | pd.DataFrame,
    *,
    other: FitResult | None = None,
    names: tuple[str, str] | None = None,
    interval: float = 0.9,
) -> Comparison:
    """Tell, term by term, why T differs between A and B: of one model, or of two (`other` is that of B)."""
    models = [answering(result, a, b)] * 2 if other is None else [answering(result, a), answering(other, b)]
    targets = [model.schema.target for model in models]
    if len({(target.name, target.unit) for target in targets}) > 1:
        text = f"two models predict different quantities: {targets[0]} and {targets[1]}"
        raise GenperfError(text, hint="fit both to one quantity")
    queries = [model.query(at) for at, model in zip((a, b), models, strict=True)]
    at_a, at_b = (query.single("one configuration is compared with one other") for query in queries)
    if other is None and at_a == at_b:
        raise GenperfError("both configurations are the same", hint="--versus FACTOR=VALUE, with another value")
    sides, weights, totals = _under_one(models[0], queries) if other is None else _under_two(models, queries)
    terms = list(dict.fromkeys(name for side in sides for name in side.split.names))
    (amounts_a, drawn_a), (amounts_b, drawn_b) = (side.by_term(terms) for side in sides)
    value_a, value_b = (float(side.split.central[side.row]) for side in sides)
    change, drawn_change, difference = amounts_b - amounts_a, drawn_b - drawn_a, value_b - value_a
    drawn = np.column_stack([drawn_change, drawn_change.sum(axis=1) if totals is None else totals])
    # The last one is that of the whole.
    _, lower, upper = interval_about(np.append(change, difference), drawn, weights, ends_of(interval))
    in_all = Interval(difference, float(lower[-1]), float(upper[-1]))
    share = change / difference if difference else np.nan
    columns = {"a": amounts_a, "b": amounts_b, "change": change, "lower": lower[:-1], "upper": upper[:-1]}
    table = pd.DataFrame({"term": terms, **columns, "share": share})
    differing = [name for name in at_a if name in at_b and at_a[name] != at_b[name]]
    differences = [join_values({name: at[name] for name in differing}) for at in (at_a, at_b)]
    name_a, name_b = names or (differences[0] or "A", differences[1] or "B")
    hidden_a, hidden_b = (side.hidden() for side in sides)
    # Where nothing tells the work of a step, its seconds are nobody's.
    unit = suited_unit(max(value_a, value_b), targets[0].unit) if models[0].schema.of_steps else (value_a / 100.0, "%")
    overlaps = [(name, hidden_a.get(name, 0.0), hidden_b.get(name, 0.0)) for name in {**hidden_a, **hidden_b}]
    return Comparison(
        a=at_a,
        b=at_b,
        name_a=name_a,
        name_b=name_b,
        terms=table.sort_values("change", key=lambda size: -size.abs(), kind="stable", ignore_index=True),
        hidden=pd.DataFrame(overlaps, columns=["overlap", "a", "b"]).assign(change=lambda rows: rows["b"] - rows["a"]),
        value_a=value_a,
        value_b=value_b,
        change=difference,
        lower=in_all.lower,
        upper=in_all.upper,
        sentence=_sentence(targets[0], (name_a, name_b), table, in_all, interval, unit),
        quantity=targets[0],
        unit=unit,
    )


class _Side(Struct, frozen=True, eq=False):
    """One of two configurations, under its model."""

    model: FitResult
    query: Query
    #: The terms, with the row that is the configuration's.
    split: TermParts
    row: int
    drawn: Array  #: Shape (pairs, terms). The parts in the draws that are compared with those of the other side.

    def by_term(self, terms: list[str]) -> list[Array]:
        """Return the parts of some terms, (terms,), and in each pair, (pairs, terms); zero where the side lacks one."""
        places = [terms.index(name) for name in self.split.names]
        central, drawn = np.zeros(len(terms)), np.zeros((len(self.drawn), len(terms)))
        central[places] = self.split.amounts[:, self.row]
        drawn[:, places] = self.drawn
        return [central, drawn]

    def hidden(self) -> dict[str, float]:
        """Return the amount, at most zero, that each overlap hides, all members by weight."""
        amounts: dict[str, float] = {}
        of_members = self.split.of_members[:, self.row]
        for member, weight, value in zip(serving(self.model.members), self.split.weights, of_members, strict=True):
            for overlap, hidden in _overlaps(member, self.query.columns):
                share = weight * hidden / float(value)
                amounts[overlap] = amounts.get(overlap, 0.0) + share * float(self.split.central[self.row])
        return amounts


def _under_one(model: FitResult, queries: Sequence[Query]) -> tuple[list[_Side], Array, Array | None]:
    """Return two configurations of one model, the shares of its draws, and the change of the value in each draw."""
    columns = {name: np.concatenate([query.columns[name] for query in queries]) for name in queries[0].columns}
    split = term_contributions(model, columns)
    sides = [_Side(model, query, split, row, split.drawn[..., row]) for row, query in enumerate(queries)]
    totals = None if FORM in split.names else np.diff(np.exp(curves_of(model, columns).paths), axis=1)[:, 0]
    return sides, split.draw_shares, totals


def _under_two(models: Sequence[FitResult], queries: Sequence[Query]) -> tuple[list[_Side], Array, None]:
    """Return a configuration of each of two models with `PAIRED_DRAWS` draws of each, as often as their shares are."""
    sides = []
    # Each draw comes so often as it is hit by evenly spaced points of the cumulative shares.
    levels = (np.arange(PAIRED_DRAWS) + 0.5) / PAIRED_DRAWS
    for seed, (model, query) in enumerate(zip(models, queries, strict=True)):
        split = term_contributions(model, query.columns)
        chosen = np.minimum(np.searchsorted(np.cumsum(split.draw_shares), levels), len(split.draw_shares) - 1)
        sides.append(_Side(model, query, split, 0, split.drawn[np.random.default_rng(seed).permutation(chosen), :, 0]))
    return sides, np.full(PAIRED_DRAWS, 1.0 / PAIRED_DRAWS), None


def _sentence(
    target: Target, names: tuple[str, str], terms: pd.DataFrame, change: Interval, level: float, size: tuple[float, str]
) -> str:
    """Return a comparison in one sentence: `b takes 2 s longer than a; 'computation' changes by +1.5 s`."""
    scale, unit = size
    difference, lower, upper = (amount / scale for amount in change.ends)
    if difference == 0.0:
        return f"{names[1]} takes as long as {names[0]}" if target.is_time else f"{target.name} is the same at both"
    by = with_unit(f"{abs(difference):.3g}", unit)
    if target.is_time:
        text = f"{names[1]} takes {by} {'longer' if difference > 0 else 'less'} than {names[0]}"
    else:
        text = f"{target.name} is {by} {'larger' if difference > 0 else 'smaller'} at {names[1]} than at {names[0]}"
    # The ends are of what is longer, or of what is less.
    low, high = (lower, upper) if difference > 0 else (-upper, -lower)
    text += interval_note(level, f"{low:.3g}", f"{high:.3g}", f"{abs(difference):.3g}", unit)
    if lower <= 0.0 <= upper:
        return f"{text}; which is {'faster' if target.is_time else 'larger'} is not determined"
    changes = terms["change"].to_numpy(float) / scale
    # Of what changes in the direction of the whole the largest term is named, and what no term has where it is larger.
    same_way = np.where(np.sign(changes) == np.sign(difference), np.abs(changes), 0.0)
    is_term = ~terms["term"].isin([FORM, HIDDEN]).to_numpy()
    main = int(np.argmax(np.where(is_term, same_way, -1.0)))
    text += f"; '{terms['term'].iloc[main]}' changes by {with_unit(f'{changes[main]:+.3g}', unit)}"
    for row, what in ((FORM, "what no term explains"), (HIDDEN, "less overlap" if difference > 0 else "more overlap")):
        is_large = same_way > same_way[main]
        is_large |= (row == FORM) & (np.abs(changes) > MOST_UNEXPLAINED * abs(difference))
        beside = np.flatnonzero((terms["term"] == row).to_numpy() & is_large)
        text += "".join(f", and {what} {with_unit(f'{changes[i]:+.3g}', unit)}" for i in beside)
    return text


def _overlaps(member: Member, columns: Columns) -> Iterator[tuple[str, float]]:
    """Yield each `max` in a member's total, called by the terms of its branches, and what it hides: zero at most."""
    total = member.expression.total
    if total is None:
        return
    terms = member.expression.term_values(columns, member.values)
    # A maximum of counts hides no term.
    maxima = [c for c in calls_in(total) if c.function == "max" and not names_in(c).isdisjoint(terms)]
    values = {**columns, **member.values, **terms}
    totals = [evaluate(_without_overlaps(total, maxima[:added]), values) for added in range(len(maxima), -1, -1)]
    for overlap, before, after in zip(reversed(maxima), totals, totals[1:], strict=False):
        branches = (" + ".join(name for name in terms if name in names_in(branch)) for branch in overlap.arguments)
        yield " | ".join(branches), float(np.ravel(after - before)[0])


def _without_overlaps(node: Node, maxima: Sequence[Call]) -> Node:
    """Return a total in which the branches of some maxima are added up, as if they did not overlap."""
    if not isinstance(node, Call):
        return node
    arguments = tuple(_without_overlaps(argument, maxima) for argument in node.arguments)
    is_added = any(node is overlap for overlap in maxima)
    return chain("add", arguments) if is_added else Call(node.function, arguments)
