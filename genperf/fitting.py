"""The door to every fit: names, groups and workers → a result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from genperf import metrics
from genperf.engine import Engine
from genperf.ensemble import Ensemble, fit_factors, fit_series, refuse_one_scale, series_of, with_pool
from genperf.errors import FitError, GenperfError, Note
from genperf.estimate import (
    Estimate,
    FitOptions,
    affordable,
    at_once,
    estimate,
    estimate_alike,
    estimate_phases,
    fewer_factors,
)
from genperf.expression import Expression
from genperf.fleet import fit_fleet
from genperf.models import MODELS, Factors, family_named
from genperf.models.generic import generic, structure_named, structures
from genperf.models.user import user_expression
from genperf.prediction import central_times, schema_of
from genperf.result import FitResult, GroupedResult
from genperf.table import Factor, Table

_Written = tuple[Sequence[Expression], list[Note]]
#: The default model: an ensemble, chosen by what varies in the table.
AUTO = "auto"
#: Series handed to a worker at once.
CHUNK = 200


def fit(
    table: Table,
    model: str = AUTO,
    *,
    structure: str = "auto",
    loss: str = "relative",
    penalty: str = "l2",
    lam: float | Literal["cv"] | None = None,
    solver: str = "projected",
    seed: int = 0,
    mapping: Mapping[str, str] | None = None,
    fix: Mapping[str, float] | None = None,
    draws: int | None = None,
    pool: bool = False,
    workers: int = 1,
    engine: str = "local",
    address: str | None = None,
    resume: FitResult | GroupedResult | None = None,
    progress: Callable[[int, int], None] | None = None,
    checkpoint: Callable[[GroupedResult], None] | None = None,
) -> FitResult | GroupedResult:
    """Fit a model to a table.

    Parameters
    ----------
    table : Table
        From `read_table` or `datasets.load`. With group columns, one model is fitted per group.
    model : str
        `auto`, the ensemble that predicts best; a family's name (`genperf models` lists them); or a formula of your
        own, whose constants are found by name: `a*batch/workers + b*log2(workers) + c`.
    structure : {"auto", "separable", "per-term", "product"}
        Of the generic expression; `auto` chooses by cross-validation inside the table.
    loss : {"relative", "log", "absolute", "squared", "huber"}
    penalty : {"l2", "l1", "elastic-net"}
    lam : float, "cv" or None
        λ, the strength of the penalty. None takes the cross-validated one where the structure is chosen too, and 1e-4
        otherwise.
    solver : {"projected", "de"}
        `de` searches every constant by `scipy.optimize.differential_evolution`; `projected` only the non-linear ones,
        and solves the coefficients inside.
    seed : int
        Same table and seed, same result, whatever the engine and the number of workers.
    mapping : mapping of str to str, optional
        Canonical factor name → column, where a family does not find it by name.
    fix : mapping of str to float, optional
        Constants held at a value.
    draws : int, optional
        Bootstrap replicates.
    pool : bool
        Let a group that is measured to fewer workers than others borrow how those grew. Groups may be alike in the
        group columns, the categorical factors and what is constant along each group, such as the batch.
    workers : int
        Processes to fit groups with; −1 is one per core.
    engine : {"local", "dask", "ray"}
        Where groups are fitted: on this machine, or on a Dask or Ray cluster.
    address : str, optional
        Of the cluster; without one it is started on this machine and stopped in the end.
    resume : FitResult or GroupedResult, optional
        Of an earlier run: groups whose rows, model, options and seed are the same are kept as they are.
    progress : callable, optional
        Called with the number of groups done and of all.
    checkpoint : callable, optional
        Called now and then, and when the work is interrupted, with the groups fitted so far.

    Returns
    -------
    FitResult, or GroupedResult for a table with group columns

    Raises
    ------
    ModelError
        For an unknown family, or one whose factors the table lacks.
    FitError
        Where the constants cannot be found from this table.

    Examples
    --------
    >>> import genperf as gp
    >>> import pandas as pd
    >>> runs = pd.DataFrame({"workers": [1, 2, 4, 8], "seconds": [9.0, 5.0, 3.0, 2.0]})
    >>> result = gp.fit(gp.read_table(runs, time="seconds", extrinsic="workers"), model="amdahl")
    >>> result.best.values["a"].__round__(2)
    8.0
    """
    options = FitOptions(
        structure=structure,
        loss=loss,
        penalty=penalty,
        lam=lam,
        solver=solver,
        mapping=dict(mapping or {}),
        fix=dict(fix or {}),
        **({} if draws is None else {"draws": draws}),
    )
    where = Engine(engine, workers, address)
    # Also a model that reads no factor by name keeps the mapping: it must be one.
    Factors(table.factors, options.mapping)
    if pool and (model != AUTO or not table.group):
        what = "pooling is between groups, and the table has none" if model == AUTO else "only auto can pool groups"
        raise FitError(what, hint="--group A,B with --model auto")
    if not table.group:
        return _kept((), table, resume, model, options, seed) or fit_one(table, model, options, seed)
    found = _fit_groups(table, model, options, seed, where, resume, progress, checkpoint)
    return with_pool(table, found, options, seed) if pool else found


def phases_of(table: Table, model: str) -> dict[str, str]:
    """Return the columns that a model fits each on its own, by the phase they measure."""
    phases = MODELS[model].phases if model in MODELS else {}
    return {phase: column for phase, column in table.phases.items() if phase in phases}


def fit_one(table: Table, model: str, options: FitOptions, seed: int) -> FitResult:
    """Fit one model to the whole table, whatever its groups."""
    return _asked(_fit_one(table, model, options, seed), options)


def _asked(result: FitResult, options: FitOptions) -> FitResult:
    """Note how a fit was asked for, so that a later run knows whether it may keep it, and what names stand for."""
    schema = replace(result.schema, mapping=dict(options.mapping))
    return replace(result, schema=schema, options={**result.options, "asked": options.asked})


def _fit_one(table: Table, model: str, options: FitOptions, seed: int) -> FitResult:
    if model == AUTO:
        return _auto(table, options, seed)
    if phases_of(table, model):
        _refuse_one_value(table)
        found, notes = estimate_phases(family_named(model), table, options, seed), _left_out(table, model, options)
    else:
        expressions, notes = _expressions(table, model, options)
        found = estimate(expressions, table, options, seed)
    return _result(table, model, options, seed, found, notes)


def _fit_groups(
    table: Table,
    model: str,
    options: FitOptions,
    seed: int,
    engine: Engine,
    resume: FitResult | GroupedResult | None,
    progress: Callable[[int, int], None] | None,
    checkpoint: Callable[[GroupedResult], None] | None,
) -> GroupedResult:
    return fit_fleet(
        table,
        partial(fit_many, model=model, options=options, seed=seed),
        engine,
        together=_together(table, model, options),
        kept=partial(_kept, before=resume, model=model, options=options, seed=seed),
        progress=progress,
        checkpoint=checkpoint,
    )


def _together(table: Table, model: str, options: FitOptions) -> int:
    """Return how many groups a worker is handed at once: many where they are solved together."""
    if model in (AUTO, "generic") or phases_of(table, model):
        return 1
    try:
        expressions, _ = _expressions(table, model, options)
    except GenperfError:
        return 1
    return CHUNK if len(expressions) == 1 and at_once(expressions[0], options) else 1


def _kept(
    key: tuple[str, ...],
    table: Table,
    before: FitResult | GroupedResult | None,
    model: str,
    options: FitOptions,
    seed: int,
) -> FitResult | None:
    """Return what was fitted before to the same rows, asked for in the same way."""
    found = before.results.get(key) if isinstance(before, GroupedResult) else before
    if found is None:
        return None
    asked = (found.model, found.seed, found.options.get("asked")) == (model, seed, options.asked)
    # What borrowed from other groups depends on their rows too.
    alone = found.options.get("pooled_share") is None
    return found if asked and alone and found.schema.sha256 == table.sha256 else None


def fit_many(tables: Sequence[Table], model: str, options: FitOptions, seed: int) -> list[FitResult | str]:
    """Fit one model to each of some tables; where that fails, say why.

    Tables for which the model is one and the same linear expression, over equally many configurations, are solved
    together: the results are those that each alone would have.
    """
    outcomes: list[FitResult | str | None] = [None] * len(tables)
    written: dict[tuple[Factor, ...], _Written] = {}
    alike: dict[tuple[Expression, int], list[int]] = {}
    said: dict[int, list[Note]] = {}
    for i, table in enumerate(tables):
        try:
            if model == AUTO or phases_of(table, model):
                outcomes[i] = fit_one(table, model, options, seed)
                continue
            # A family's expression follows from the factors alone, and series are often measured at the same values.
            known = written.get(table.factors) if model != "generic" else None
            expressions, said[i] = known or _expressions(table, model, options)
            written[table.factors] = expressions, said[i]
            if len(expressions) == 1 and at_once(expressions[0], options):
                affordable(expressions, len(table.medians()))
                alike.setdefault((expressions[0], len(table.medians())), []).append(i)
            else:
                outcomes[i] = fit_one(table, model, options, seed)
        except GenperfError as error:
            outcomes[i] = error.message
    for (expression, _), at in alike.items():
        together = [tables[i] for i in at]
        for i, found in zip(at, estimate_alike(expression, together, options, seed), strict=True):
            if isinstance(found, Estimate):
                outcomes[i] = _asked(_result(tables[i], model, options, seed, found, said[i]), options)
            else:
                outcomes[i] = found.message
    return [outcome for outcome in outcomes if outcome is not None]


def _auto(table: Table, options: FitOptions, seed: int) -> FitResult:
    """Fit the ensemble for a series, or the one for a table of many factors."""
    refuse_one_scale(table)
    if options.fix:
        hint = "--model with one of `genperf models`, or a formula"
        raise FitError("auto chooses its own constants: none can be held", hint=hint)
    series = series_of(table, options)
    found = fit_factors(table, options, seed) if series is None else fit_series(table, series, seed)
    return _assembled(table, AUTO, found, found.options, seed, ())


def _expressions(table: Table, model: str, options: FitOptions) -> _Written:
    factors = table.factors
    _refuse_one_value(table)
    if model == "generic":
        return fewer_factors(table, lambda kept: _generic(kept, options))
    if model not in MODELS and not model.replace("-", "").isalnum():
        return [user_expression(model, factors, mapping=options.mapping, fix=options.fix)], []
    family = family_named(model)
    expressions = [e.with_fixed(options.fix) for e in family.expressions(factors, options.mapping)]
    return expressions, _left_out(table, model, options)


def _refuse_one_value(table: Table) -> None:
    if all(f.distinct <= 1 for f in table.factors):
        raise FitError(
            "every factor has one value, so nothing can be said of any other",
            where=table.source,
            hint="measure at least one more value of a factor",
        )


def _left_out(table: Table, model: str, options: FitOptions) -> list[Note]:
    """Say which factors a family could use and does without."""
    left_out = family_named(model).left_out(table.factors, options.mapping)
    text = f"'{model}' goes without {', '.join(left_out)}, which the table lacks"
    return [Note(text, "left_out")] if left_out else []


def _generic(factors: Sequence[Factor], options: FitOptions) -> list[Expression]:
    worth_trying = structures(factors)
    if options.structure != "auto":
        worth_trying = [s for s in worth_trying if s.name == options.structure] or [structure_named(options.structure)]
    return [generic(factors, s).with_fixed(options.fix) for s in worth_trying]


def _result(
    table: Table, model: str, options: FitOptions, seed: int, found: Estimate, notes: Sequence[Note]
) -> FitResult:
    used: dict[str, Any] = {
        "loss": options.loss,
        "penalty": options.penalty,
        "lambda": found.strength,
        "solver": options.solver,
        "draws": options.draws,
    }
    whole = Ensemble((found.member,), found.spread, found.evidence, notes=found.notes)
    return _assembled(table, model, whole, used, seed, notes)


def _assembled(
    table: Table, model: str, found: Ensemble, used: dict[str, Any], seed: int, notes: Sequence[Note]
) -> FitResult:
    medians = table.medians()
    predicted = central_times(found.members, medians.columns)
    measured = medians.measured
    return FitResult(
        model=model,
        schema=schema_of(table),
        members=found.members,
        spread=found.spread,
        evidence=found.evidence,
        options=used,
        seed=seed,
        metrics={
            "mape": metrics.mape(predicted, measured),
            "median_ape": metrics.median_ape(predicted, measured),
            "rmse": metrics.rmse(predicted, measured),
            "r2": metrics.r2(predicted, measured),
        },
        notes=(*table.notes, *notes, *found.notes),
    )
