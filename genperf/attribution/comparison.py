"""Why the predicted value differs between two configurations: term by term, and what each overlap hides."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from genperf.arrays import Array, Integers
from genperf.attribution.answers import Comparison
from genperf.attribution.draws import curves_of, interval_about
from genperf.attribution.terms import FORM, HIDDEN, PAIRED_DRAWS, TermParts, serving, term_contributions
from genperf.errors import GenperfError
from genperf.facts import ends_of
from genperf.formula import Call, Node, calls_in, chain, evaluate, names_in
from genperf.panel.target import Target
from genperf.prediction import Query
from genperf.result import FitResult, answering
from genperf.words.numbers import interval_note, join_values, with_unit


def compare(
    result: FitResult,
    a: Mapping[str, Any] | pd.DataFrame,
    b: Mapping[str, Any] | pd.DataFrame,
    *,
    other: FitResult | None = None,
    names: tuple[str, str] | None = None,
    interval: float = 0.9,
) -> Comparison:
    """Tell why T differs between configurations A and B: `change = T(B) − T(A)`, term by term.

    Two configurations of one model are compared, such as 64 workers with 8, or one framework with another on the same
    network; or one configuration under two models, such as two groups of a fit.

    Parameters
    ----------
    result : FitResult
        The model of A.
    a, b : mapping or DataFrame
        One configuration each; factors left out are those of a measured run (`typical_run`).
    other : FitResult, optional
        The model of B; the same where omitted. It predicts the same quantity.
    names : tuple of str, optional
        What to call the two; what differs where omitted.
    interval : float
        Nominal coverage of the intervals of the changes. Under one model, the A of a draw is compared with its B;
        under two, draws are paired at random in a fixed order.

    Raises
    ------
    GenperfError
        Where more than one configuration is given, both are the same, or two models predict different quantities.

    Examples
    --------
    >>> import genperf as gp
    >>> runs = pd.DataFrame({"workers": [1, 2, 4, 8], "seconds": [9.0, 5.0, 3.0, 2.0]})
    >>> result = gp.fit(gp.read_table(runs, time="seconds", extrinsic="workers"), model="amdahl")
    >>> compare(result, {"workers": 2}, {"workers": 8}).terms[["term", "a", "b", "change"]].round(2)
           term    a    b  change
    0  parallel  4.0  1.0    -3.0
    1  constant  1.0  1.0     0.0
    """
    models = (answering(result, a, b),) * 2 if other is None else (answering(result, a), answering(other, b))
    targets = [model.schema.target for model in models]
    if len({(target.name, target.unit) for target in targets}) > 1:
        text = f"two models predict different quantities: {targets[0]} and {targets[1]}"
        raise GenperfError(text, hint="fit both to one quantity")
    queries = [model.query(at) for at, model in zip((a, b), models, strict=True)]
    at_a, at_b = (single(query, "one configuration is compared with one other") for query in queries)
    if other is None:
        if at_a == at_b:
            raise GenperfError("both configurations are the same", hint="--versus FACTOR=VALUE, with another value")
        columns = {k: np.concatenate([query.columns[k] for query in queries]) for k in at_a}
        both = term_contributions(models[0], columns)
        sides = [(both, 0), (both, 1)]
        drawn, weights = [both.drawn[..., row] for row in (0, 1)], both.draw_shares
        # With what no term has: the form's error, and the distance from the data.
        curves = None if FORM in both.names else np.exp(curves_of(models[0], columns).paths)
    else:
        sides = [(term_contributions(model, query.columns), 0) for model, query in zip(models, queries, strict=True)]
        drawn = [split.drawn[_spread(split, seed), :, 0] for seed, (split, _) in enumerate(sides)]
        weights = np.full(PAIRED_DRAWS, 1.0 / PAIRED_DRAWS)
        curves = None
    terms = list(dict.fromkeys(name for split, _ in sides for name in split.names))
    amounts = [_aligned(split.amounts[:, row], split, terms) for split, row in sides]
    values = [float(split.central[row]) for split, row in sides]
    by_draw = [_aligned(side, split, terms) for side, (split, _) in zip(drawn, sides, strict=True)]
    changes, change, difference = by_draw[1] - by_draw[0], amounts[1] - amounts[0], values[1] - values[0]
    totals = changes.sum(axis=1) if curves is None else curves[:, 1] - curves[:, 0]
    drawn_changes = np.column_stack([changes, totals])
    _, lower, upper = interval_about(np.append(change, difference), drawn_changes, weights, ends_of(interval))
    share = change / difference if difference else np.nan
    columns_of_terms = {"a": amounts[0], "b": amounts[1], "change": change, "lower": lower[:-1], "upper": upper[:-1]}
    table = pd.DataFrame({"term": terms, **columns_of_terms, "share": share})
    name_a, name_b = names or _differences(at_a, at_b)
    hidden = [_hidden(model, *side, query) for model, side, query in zip(models, sides, queries, strict=True)]
    overlaps = [(name, *(side.get(name, 0.0) for side in hidden)) for name in {**hidden[0], **hidden[1]}]
    return Comparison(
        a=at_a,
        b=at_b,
        name_a=name_a,
        name_b=name_b,
        terms=table.sort_values("change", key=lambda size: -size.abs(), kind="stable", ignore_index=True),
        hidden=pd.DataFrame(overlaps, columns=["overlap", "a", "b"]).assign(change=lambda rows: rows["b"] - rows["a"]),
        value_a=values[0],
        value_b=values[1],
        change=difference,
        lower=float(lower[-1]),
        upper=float(upper[-1]),
        sentence=_sentence(targets[0], (name_a, name_b), table, (difference, lower[-1], upper[-1]), interval),
        quantity=targets[0],
    )


def single(query: Query, what: str) -> dict[str, Any]:
    """Return the factors of a query's one configuration; `what` needs one."""
    if query.rows != 1:
        raise GenperfError(f"{what}, not {query.rows}", hint="one value for each factor")
    return {name: cells[0] for name, cells in query.columns.items()}


def _sentence(
    target: Target, names: tuple[str, str], terms: pd.DataFrame, change: tuple[float, float, float], interval: float
) -> str:
    """Return a comparison in one sentence."""
    difference, lower, upper = change
    if difference == 0.0:
        return f"{names[1]} takes as long as {names[0]}" if target.is_time else f"{target.name} is the same at both"
    size = with_unit(f"{abs(difference):.3g}", target.unit)
    if target.is_time:
        text = f"{names[1]} takes {size} {'longer' if difference > 0 else 'less'} than {names[0]}"
    else:
        text = f"{target.name} is {size} {'larger' if difference > 0 else 'smaller'} at {names[1]} than at {names[0]}"
    text += interval_note(interval, f"{lower:+.3g}", f"{upper:+.3g}", f"{difference:+.3g}", target.unit)
    changes = terms["change"].to_numpy(float)
    same_way = np.where(np.sign(changes) == np.sign(difference), np.abs(changes), 0.0)
    is_term = ~terms["term"].isin([FORM, HIDDEN]).to_numpy()
    main = int(np.argmax(np.where(is_term, same_way, -1.0)))
    text += f"; '{terms['term'].iloc[main]}' makes {with_unit(f'{changes[main]:+.3g}', target.unit)} of it"
    for row, what in ((FORM, "what no term explains"), (HIDDEN, "less overlap" if difference > 0 else "more overlap")):
        beside = np.flatnonzero((terms["term"] == row).to_numpy() & (same_way > same_way[main]))
        text += "".join(f", and {what} {with_unit(f'{changes[i]:+.3g}', target.unit)}" for i in beside)
    return text


def _differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> tuple[str, str]:
    """Return what differs, as text."""
    differing = [name for name in a if name in b and a[name] != b[name]]
    texts = [join_values({name: at[name] for name in differing}) for at in (a, b)]
    return (texts[0] or "A", texts[1] or "B")


def _aligned(values: Array, split: TermParts, terms: list[str]) -> Array:
    """Return values by term, zero for terms that a split lacks."""
    out = np.zeros((*values.shape[:-1], len(terms)))
    out[..., [terms.index(name) for name in split.names]] = values
    return out


def _spread(split: TermParts, seed: int) -> Integers:
    """Return draws by their shares, in an order that is independent of that of another model's."""
    places = (np.arange(PAIRED_DRAWS) + 0.5) / PAIRED_DRAWS
    chosen = np.searchsorted(np.cumsum(split.draw_shares), places)
    return np.random.default_rng(seed).permutation(np.minimum(chosen, len(split.draw_shares) - 1))


def _hidden(result: FitResult, split: TermParts, row: int, query: Query) -> dict[str, float]:
    """Return what each overlap hides, all members by weight, by the branches of its `max`: amounts of at most zero."""
    amounts: dict[str, float] = {}
    for member, weight, value in zip(serving(result.members), split.weights, split.of_members[:, row], strict=True):
        if (total := member.expression.total) is None:
            continue
        terms = member.expression.term_values(query.columns, member.values)
        values = {**query.columns, **member.values, **terms}
        # A maximum of counts hides no term.
        maxima = [c for c in calls_in(total) if c.function == "max" and not names_in(c).isdisjoint(terms)]
        # From the innermost on: what is hidden there is not there to be hidden again.
        for place in reversed(range(len(maxima))):
            before, after = (evaluate(_added(total, maxima[:most]), values) for most in (place + 1, place))
            used = [names_in(branch) for branch in maxima[place].arguments]
            label = " | ".join(" + ".join(name for name in terms if name in names) for names in used)
            share = weight * float(np.ravel(after - before)[0]) / float(value)
            amounts[label] = amounts.get(label, 0.0) + share * float(split.central[row])
    return amounts


def _added(node: Node, maxima: Sequence[Call]) -> Node:
    """Return a total in which the branches of some maxima are added up, as if they did not overlap."""
    if not isinstance(node, Call):
        return node
    arguments = tuple(_added(argument, maxima) for argument in node.arguments)
    if any(node is one for one in maxima):
        return chain("add", arguments)
    return Call(node.function, arguments)
