"""What `genperf fit` prints of a model: its held-out error, how far it may be trusted, its formula and constants."""

import math

import pandas as pd

from genperf.attribution import written_lines
from genperf.attribution.elasticity import doublings_at
from genperf.attribution.equation import level_exponents
from genperf.errors import LISTED, GenperfError, counted
from genperf.models import MODELS
from genperf.result import FitResult, GroupedResult
from genperf.result.fit_result import UNTESTED
from genperf.words.numbers import heading

#: Kinds of notes on how groups relate.
GROUP_NOTES = ("similarity", "not_pooled", "table_prior")
#: Least share of an average that is named; smaller ones are counted.
SHARE_SHOWN = 0.05


def fitted_lines(result: FitResult, verbose: bool = False) -> list[str]:
    """Return what to print of a model: its held-out error, the verdict far out, what doubling each factor does."""
    table = f"{result.schema.source}, {counted(result.schema.configurations, 'configuration')}"
    measured = f"{result.tested} ({result.held_out_of})" if result.held_out_of else UNTESTED
    lines = [f"{_model_text(result)}: {table}; {measured}"]
    name, changes = result.schema.target.reported, doublings_at(result, result.query().columns)
    lines += trust_lines(result)
    lines += [f"doubling {change.factor}: {name} x {change.ratio:.2f}" for change in changes[:LISTED]]
    if len(changes) > LISTED:
        lines.append(f"and {counted(len(changes) - LISTED, 'factor')} more: genperf explain MODEL")
    for name, fit in result.further.items():
        tested = fit.tested if fit.held_out_of else UNTESTED
        lines.append(f"{name}: {_model_text(fit)}; {counted(fit.schema.configurations, 'configuration')}; {tested}")
    if not verbose:
        return lines
    if result.is_formula:
        lines += formula_lines(result)
        # The level of each categorical factor that its other levels are relative to.
        meanings = [constant.meaning for constant in result.best.expression.constants if constant.meaning is not None]
        other_levels = {(meaning.categorical, meaning.level) for meaning in meanings}
        categorical = [f for f in result.schema.factors if any(name == f.name for name, _ in other_levels)]
        levels = [(f.name, level) for f in categorical for level in f.levels]
        reference = [" ".join(level) for level in levels if level not in other_levels]
        lines += [f"reference levels: {', '.join(reference)}"] if reference else []
        lines += level_exponents(result)
        lines.append(f"error on the configurations it was fitted to: {result.metrics.get('mape', float('nan')):.1f} %")
        lines += search_lines(result)
    else:
        lines.append(members_line(result))
    return lines


def search_lines(result: FitResult) -> list[str]:
    """Return how the constants were searched: by what, with which λ and seed, and how many searches agree."""
    status, options = result.best.status, result.options
    tried = f"{counted(status.evaluations, 'set')} of constants tried, cost {status.cost:.4g}, seed {result.seed}"
    agreed = f"{status.agreed} of {status.restarts}"
    if status.mutation is not None and status.crossover is not None:
        low, high = status.mutation
        kind = f"differential evolution, {status.restarts} searches of {counted(status.population, 'member')}"
        lines = [f"search: {kind}, mutation {low:g} to {high:g}, crossover {status.crossover:g}"]
        lines.append(f"{agreed} searches reached the least cost; {tried}")
    else:
        lines = [f"search: {status.solver}, {agreed} reached the least cost; {tried}"]
    if "lambda_by" in options:
        lines.append(f"λ = {options['lambda']:.3g}, from {options['lambda_by']}")
    return lines


def constants_shown(result: FitResult) -> pd.DataFrame:
    """Return the constants of the terms that are not zero: 90 % intervals, bounds, and a level's as a factor."""
    table = result.constants().drop(columns="member").rename(columns={"lower": "90 % lower", "upper": "90 % upper"})
    constants = {c.name: c for c in result.best.expression.without_zeros(result.best.values).constants}
    table = table[table["constant"].isin(list(constants))].reset_index(drop=True)
    table.insert(4, "bounds", [f"{c.lower:g} to {c.upper:g}" for c in constants.values()])
    values = zip(constants.values(), table["value"], strict=True)
    factors = [f"x {math.exp(value):.3g}" if constant.kind == "level" else "" for constant, value in values]
    if any(factors):
        table.insert(2, "as factor", factors)
    return table


def trust_lines(result: FitResult) -> list[str]:
    """Return the verdict at twice the largest measured scale, the other factors at those of a measured run."""
    try:
        count = result.panel.along()
    except GenperfError:
        return []
    place = f"at twice the largest scale ({count.name}={2.0 * count.upper:g})"
    try:
        predicted = result.predict({count.name: 2.0 * count.upper}).iloc[0]
    except GenperfError as error:
        return [f"{place}: {error.message}"]
    reason = f": {predicted['reason']}" if predicted["reason"] else ""
    return [f"{place}: {predicted['verdict']}{reason}"]


def formula_lines(result: FitResult) -> list[str]:
    """Return the heaviest member's formula, headed by the target's name and unit; a generic one a term a line."""
    plain = f"{heading(result.schema.target)} = {result.best.expression.text(result.best.values)}"
    return written_lines(result) or [plain]


def members_line(result: FitResult) -> str:
    """Return the name of an expression, or the heaviest of an average with their shares; the others are counted."""
    if len(result.members) == 1:
        return f"expression: {result.best.name}"
    shares = [(name, share) for name, share in result.shares() if share > 0.0]
    if len(shares) == 1:
        return f"averaged: {counted(len(result.members), 'expression')}, {shares[0][0]}"
    named = [f"{100 * share:.0f} % {name}" for name, share in shares if share >= SHARE_SHOWN][:LISTED]
    return "averaged: " + "; ".join(named) + (f"; {len(shares) - len(named)} more" if len(shares) > len(named) else "")


def group_notes(result: GroupedResult) -> list[str]:
    """Return the different notes on how groups relate; one that several groups share counts them."""
    alike: dict[str, list[str]] = {}
    for key, fitted in result.results.items():
        for text in (str(note) for note in fitted.notes if note.kind in GROUP_NOTES):
            alike.setdefault(text.removeprefix(f"{', '.join(key)}: "), []).append(text)
    lines = [
        texts[0] if len({*texts}) == 1 else f"{counted(len(texts), 'group')}: {text}" for text, texts in alike.items()
    ]
    return lines[:LISTED]


def _model_text(result: FitResult) -> str:
    """Return what a model is: `auto, 12 expressions averaged`, the name of a family, or `your formula`."""
    if result.model == "auto":
        # An expression may be there twice, as it is and flat beyond the largest count.
        count = len({m.expression.constant_names + tuple(m.constants) for m in result.members})
        return f"auto, {count} expressions averaged" if count > 1 else "auto"
    return result.model if result.model in MODELS else "your formula"
