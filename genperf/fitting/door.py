"""`fit`: a table, a model and where the fits run → a result."""

import dataclasses
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from msgspec import structs

from genperf.engine import Engine, one_blas_thread
from genperf.errors import FitError, FormulaError, GenperfError, attempted
from genperf.estimate import FitOptions
from genperf.fitting.auto import AUTO, Auto
from genperf.fitting.model import ExpressionModel, FamilyModel, FormulaModel, GenericModel, Model
from genperf.fleet import fit_fleet
from genperf.models import MODELS
from genperf.models.network import network_of, with_devices_per_node
from genperf.panel import Table
from genperf.panel.read import read_table, table_of
from genperf.result import FitResult, GroupedResult, is_model, load_model


def fit(
    table: Table | str | Path | pd.DataFrame,
    model: str = "auto",
    *,
    structure: str = "auto",
    loss: str = "relative",
    penalty: str = "l2",
    lam: float | Literal["cv"] | None = None,
    solver: str = "projected",
    seed: int = 0,
    mapping: Mapping[str, str] | None = None,
    fix: Mapping[str, float] | None = None,
    hints: Mapping[str, str | float] | None = None,
    draws: int | None = None,
    pool: bool = False,
    workers: int = 1,
    engine: str = "local",
    address: str | None = None,
    resume: FitResult | GroupedResult | None = None,
    progress: Callable[[int, int], None] | None = None,
    checkpoint: Callable[[GroupedResult], None] | None = None,
    also_models: Mapping[str, str] | None = None,
    **roles: Any,
) -> FitResult | GroupedResult:
    """Fit a model to a table.

    Parameters
    ----------
    table : Table, path or DataFrame
        From `read_table` or `datasets.load`; or what `read_table` reads, with the roles as keywords. With group
        columns, one model is fitted per group.
    model : str
        `auto`, the ensemble that predicts best; a family's name (`genperf list models`); or a formula of your
        own, whose constants are found by name: `a*batch/workers + b*log2(workers) + c`.
    structure : {"auto", "separable", "per-term", "product", "grown"}
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
    hints : mapping of str to str or number, optional
        What is known of the network between nodes, for `auto`: `{"bandwidth between nodes": "25Gbit/s", "parameters":
        "110M"}`; also `latency between nodes`, `message bytes` (a number or a column), and `devices per node` of a
        table that counts no nodes.
    draws : int, optional
        Bootstrap replicates.
    pool : bool
        Extrapolate a group that is measured to fewer workers than others by how those grew. Groups may be alike in the
        group columns, the categorical factors and what is constant along each group, such as the batch.
    workers : int
        Processes to fit groups with; −1 is one per core.
    engine : {"local", "dask"}
        Where groups are fitted: on this machine, or on a Dask cluster.
    address : str, optional
        Of the cluster; without one it is started on this machine and stopped in the end.
    resume : FitResult or GroupedResult, optional
        Of an earlier run: groups whose rows, model, options and seed are the same are kept as they are.
    progress : callable, optional
        Called with the number of groups done and of all.
    checkpoint : callable, optional
        Called now and then, and when the work is interrupted, with the groups fitted so far.
    also_models : mapping of str to str, optional
        What to fit to further quantities of the table (`read_table(also=…)`), by name: `auto` where not named. They
        are in `FitResult.further`.
    **roles
        Of a path or DataFrame, as `read_table` takes them: `time="seconds", extrinsic="workers"`. Without a measured
        column the roles are recognised.

    Raises
    ------
    ModelError
        For an unknown family, or one whose factors the table lacks.
    FitError
        Where the constants cannot be found from this table.

    Examples
    --------
    >>> runs = pd.DataFrame({"workers": [1, 2, 4, 8], "seconds": [9.0, 5.0, 3.0, 2.0]})
    >>> result = gp.fit(runs, "amdahl", time="seconds", extrinsic="workers")
    >>> result.best.values["a"].__round__(2)
    8.0
    """
    if not isinstance(table, Table):
        table = read_table(table, mapping=mapping, **roles)
    elif roles:
        raise FitError(f"a table has its roles already ({', '.join(roles)})", hint="give them to read_table")
    options = FitOptions(
        structure=structure,
        loss=loss,
        penalty=penalty,
        lam=lam,
        solver=solver,
        fix=dict(fix or {}),
        hints={name: str(value) for name, value in (hints or {}).items()},
        **({} if draws is None else {"draws": draws}),
    )
    table = with_devices_per_node(table.mapped(mapping or {}), options.hints)
    where = Engine(engine, workers, address)
    _ = table.panel  # a mapping must name factors of the table, also where a model reads no factor by name
    with one_blas_thread():
        chosen = model_for(table, model, options, pool, also_models)
        earlier = {} if resume is None else resume.results
        if table.group:
            try:
                return fit_fleet(
                    table,
                    partial(chosen.groups, seed=seed),
                    where,
                    together=chosen.tables_per_task(table),
                    earlier=lambda key, part: chosen.reused(earlier.get(key), part, seed),
                    progress=progress,
                    checkpoint=checkpoint,
                )
            except FitError as error:
                # Why the first group could not be fitted has a place in the formula, or what to try.
                reason = attempted(chosen.one, next(iter(table.groups()))[1], seed)
                if isinstance(reason, FormulaError):
                    raise reason from None
                error.hint = reason.hint if isinstance(reason, GenperfError) else None
                raise
        return chosen.reused(earlier.get(()), table, seed) or chosen.one(table, seed)


def model_of(
    source: FitResult | GroupedResult | Table | str | Path | pd.DataFrame, at: Mapping[str, Any] | None = None
) -> FitResult | GroupedResult:
    """Return a model: as it is, from its file, or `auto` fitted to a table whose columns are recognised.

    The columns that a question `at` names are settings.
    """
    opened = model_or_table(source, at)
    return fit(opened) if isinstance(opened, Table) else opened


def model_or_table(
    source: FitResult | GroupedResult | Table | str | Path | pd.DataFrame, at: Mapping[str, Any] | None = None
) -> FitResult | GroupedResult | Table:
    """Return a model or a table: as it is, from its file, or with the columns recognised."""
    if isinstance(source, FitResult | GroupedResult):
        return source
    return load_model(source) if isinstance(source, str | Path) and is_model(source) else table_of(source, at)


#: The options of `auto` without a hint of the network.
_UNHINTED = FitOptions()


def prepared_auto(table: Table, hints: Mapping[str, str] | None = None) -> tuple[Model, dict[tuple[str, ...], Table]]:
    """Return `auto` prepared for the groups of a table, and these; a table without groups is one, of key ()."""
    options = FitOptions(hints=hints) if hints else _UNHINTED
    table = with_devices_per_node(table, options.hints) if hints else table
    with one_blas_thread():
        return model_for(table, AUTO, options), dict(table.groups())


def fit_prepared(model: Model, table: Table, seed: int) -> FitResult:
    """Fit a model to a group of the table that it was prepared for, with what the others show of the cluster."""
    with one_blas_thread():
        if not table.group:
            return model.one(table, seed)
        (result,) = model.groups([table], seed)
    if isinstance(result, str):
        raise FitError(result, where=table.source)
    return result


def model_named(name: str, options: FitOptions, pool: bool = False) -> Model:
    """Return a model by its name, or for a formula; with `pool` groups of `auto` share how they scale."""
    if name == AUTO:
        return Auto(AUTO, options, pool)
    if options.hints and network_of(options.hints) is not None:
        raise FitError("only auto reads hints of the network", hint="leave --hint out, or --model auto")
    if pool:
        raise FitError("only auto can pool groups", hint="--group A,B with --model auto")
    kind: type[ExpressionModel] = FamilyModel
    if name == "generic":
        kind = GenericModel
    elif name not in MODELS and not name.replace("-", "").isalnum():
        # A plain word is a family, whose error names those that there are.
        kind = FormulaModel
    return kind(name, options)


def model_for(
    table: Table, name: str, options: FitOptions, pool: bool = False, also_models: Mapping[str, str] | None = None
) -> Model:
    """Return a model by its name, prepared for a table, with those of the table's further quantities."""
    also_models = also_models or {}
    for quantity in also_models:
        if quantity not in table.further:
            names = ", ".join(table.further) or "none"
            hint = f"--also {quantity}=COLUMN:UNIT"
            raise FitError(f"'{quantity}' is no further quantity of the table ({names})", hint=hint)
    further = {}
    for quantity, further_table in table.further.items():
        # A hint is about the time of a step.
        further_model, free = also_models.get(quantity, AUTO), structs.replace(options, fix={}, hints={})
        further[quantity] = model_named(further_model, free, pool and further_model == AUTO).prepared(further_table)
    return dataclasses.replace(model_named(name, options, pool).prepared(table), further=further)
