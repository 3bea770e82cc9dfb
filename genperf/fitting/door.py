"""`fit`: a table, a model and where the fits run → a result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from genperf.engine import Engine, one_blas_thread
from genperf.errors import GenperfError
from genperf.estimate import FitOptions
from genperf.fitting.models import Model, model_named
from genperf.fleet import fit_fleet
from genperf.models import Factors
from genperf.result import FitResult, GroupedResult
from genperf.table import Table

Before = FitResult | GroupedResult | None


def fit(
    table: Table,
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
    # A mapping must name factors of the table, also where a model reads no factor by name: the result keeps it.
    Factors(table.factors, options.mapping)
    with one_blas_thread():
        chosen = model_named(model, options, pool).prepared(table)
        if table.group:
            task = Task(chosen, seed)
            return fit_fleet(
                table,
                task,
                where,
                together=chosen.tables_per_task(table),
                kept=lambda key, part: reusable(resume, key, part, task),
                progress=progress,
                checkpoint=checkpoint,
            )
        return reusable(resume, (), table, Task(chosen, seed)) or fit_one(chosen, table, seed)


class Task:
    """What a worker does: fits a model to each of some tables, and says why where that fails."""

    def __init__(self, model: Model, seed: int) -> None:
        self.model, self.seed = model, seed

    def __call__(self, tables: Sequence[Table]) -> list[FitResult | str]:
        """Return a result, or the reason why there is none, for each table."""
        results = self.model.fit(tables, self.seed)
        return [result.message if isinstance(result, GenperfError) else result for result in results]


def fit_one(model: Model, table: Table, seed: int) -> FitResult:
    """Fit a model to a whole table.

    Parameters
    ----------
    model : Model
    table : Table
    seed : int

    Raises
    ------
    ModelError, FitError
        Where that fails.
    """
    (result,) = model.fit([table], seed)
    if isinstance(result, GenperfError):
        raise result
    return result


def reusable(before: Before, key: tuple[str, ...], table: Table, task: Task) -> FitResult | None:
    """Return an earlier result for the same rows, model, options and seed, or None.

    Parameters
    ----------
    before : FitResult, GroupedResult or None
    key : tuple of str
        Of the group.
    table : Table
        The group's rows.
    task : Task
    """
    result = before.results.get(key) if isinstance(before, GroupedResult) else before
    request = task.model.request(table)
    if result is None or request is None or result.options.get("pooled_share") is not None:
        return None
    same = (result.model, result.seed, result.options.get("request")) == (task.model.name, task.seed, request)
    return result if same and result.schema.sha256 == table.sha256 else None
