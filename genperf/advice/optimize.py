"""`optimize`: the best configurations of a grid, exactly, with how certain their order is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from genperf.advice.goal import Goal
from genperf.advice.groups import best_of_groups, optimum_of
from genperf.advice.objective import Job
from genperf.advice.optimum import Optimum
from genperf.advice.solve import Task, solve
from genperf.errors import GenperfError
from genperf.result import FitResult, GroupedResult


def optimize(
    result: FitResult | GroupedResult,
    over: Mapping[str, Any],
    where: str | Sequence[str] = (),
    minimize: str | None = None,
    *,
    job: Job = Job(),  # noqa: B008 - frozen
    goal: Goal = Goal(),  # noqa: B008 - frozen
    interval: float = 0.9,
    top: int = 10,
) -> Optimum:
    """Find the best configurations for a fitted model.

    Every configuration of the grid is evaluated, so the answer is exact for the model. The model's time is that of
    what was measured, most often one step: least time per step is not least time per sample where the samples of a step
    vary. For those, minimise `time/(workers*batch)`, or give the steps of a `Job`.

    Formulas read the predicted value by the name of its quantity: `time`, or `memory_gb` of a model of a memory.

    Parameters
    ----------
    result : FitResult or GroupedResult
        Of groups the best configurations of all are answered, with the group's values first.
    over : mapping of str to values
        Values by name, combined each with each: sequences, single values, or text as `1:256` (ends included),
        `0:64:8`, `1:256:*2`, `32,64,128` or `fp16,fp32`. Names that are not the model's may be used where a
        formula reads them, as `samples=1281167`. A factor with one measured value may be left out. For a level that
        was not measured the measured ones stand (`genperf.result.answering`).
    where : str or sequence of str
        What must hold: comparisons over the configuration and the quantities below, such as
        `workers*batch <= 8192`, `batch % workers == 0`, `replicas*partitions + servers <= 64` or
        `time_1/(workers*time) >= 0.8`.
    minimize : str, optional
        `time` (that of all steps), `cost`, or a formula over the configuration and the quantities: `time`, the
        model's, in seconds; `time_1`, the same on one worker and node; `total`, `time*steps`; `machines`; and `cost`,
        `machines*total*price`. The predicted quantity where omitted; `Goal(maximize=…)` for one that is to be large.
        `total` and `cost` exist for times only. Where no aim is given and the work of a step is known and varies (or a
        throughput was measured), `throughput` is to be large, the work of a step over its time: the shortest step is
        most often that which does the least.
    job : Job
        Steps, machines and their price, for models of a time.
    goal : Goal
        What else an answer must be: done by a deadline, likely to fit, trusted. What the table has as failed is no
        answer.
    interval : float
        Nominal coverage of the intervals.
    top : int
        How many configurations to answer with.

    Returns
    -------
    Optimum
        Of equal objectives the cheapest is first, then the first in the grid, whose last axis runs fastest. `wins`
        compares the top configurations with each other, and `where` and the deadline, in every draw of the ensemble;
        equal ones win together.

    Raises
    ------
    GenperfError
        Where no configuration is feasible (naming the constraint that excludes most) or the grid is too large.
    FormulaError
        For a formula that is refused.

    Examples
    --------
    >>> import genperf as gp
    >>> import pandas as pd
    >>> runs = pd.DataFrame({"workers": [1, 2, 4, 8, 16], "seconds": [9.0, 5.1, 3.2, 2.7, 3.4]})
    >>> result = gp.fit(gp.read_table(runs, time="seconds", extrinsic="workers"), model="ernest")
    >>> optimum = gp.optimize(result, {"workers": "1:64"}, where="workers % 2 == 0")
    >>> optimum.feasible, optimum.configuration
    (32, {'workers': 8.0})
    """
    if not 0.0 < interval < 1.0:
        raise GenperfError(f"the interval must lie between 0 and 1, not {interval}", hint="--interval 0.9")
    if top < 1:
        raise GenperfError(f"at least one configuration is shown, not {top}", hint="--top 10")
    goal.check()
    if goal.maximize is not None and minimize is not None:
        raise GenperfError("one formula is to be small and another large", hint="--minimize or --maximize")
    constraints = [where] if isinstance(where, str) else list(where)
    task = Task(over, constraints, minimize, job, goal, interval, top)
    if isinstance(result, GroupedResult):
        return best_of_groups(result, task)
    solved = solve(result, task)
    return optimum_of([((), solved)], (), task)
