"""`optimize`: the best configurations of a grid, exactly, with how sure their order is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from genperf.advice.objective import Problem, read_problem
from genperf.advice.optimum import Optimum
from genperf.advice.search import Found, Positions, Search
from genperf.advice.space import own_formula, read_space
from genperf.errors import GenperfError, Note
from genperf.formula import quote_name
from genperf.result import FitResult

#: Configurations whose intervals are looked at, at most, to keep a deadline.
MOST_BANDS = 20_000
#: Of a longer Pareto front so many are shown, evenly along it.
SHOWN_FRONT = 50


def optimize(
    result: FitResult,
    over: Mapping[str, Any],
    where: str | Sequence[str] = (),
    minimize: str = "time",
    *,
    deadline: float | None = None,
    interval: float = 0.9,
    machines: str | None = None,
    price: float | str = 1.0,
    steps: str | None = None,
    top: int = 10,
) -> Optimum:
    """Find the best configurations for a fitted model.

    Every configuration of the grid is evaluated, so the answer is exact for the model. The model's time is that of
    what was measured, most often one step: least time per step is not least time per sample where the samples of a step
    vary. For those, minimise `time/(workers*batch)`, or give `steps`.

    Parameters
    ----------
    result : FitResult
    over : mapping of str to values
        Values by name, combined each with each: sequences, single values, or text as `1:256` (ends included),
        `0:64:8`, `1:256:*2`, `32,64,128` or `fp16,fp32`. Names that are not the model's may be used where a
        formula reads them, as `samples=1281167`. A factor with one measured value may be left out.
    where : str or sequence of str
        What must hold: comparisons over the configuration and the quantities below, such as
        `workers*batch <= 8192`, `batch % workers == 0`, `replicas*partitions + servers <= 64` or
        `time_1/(workers*time) >= 0.8`.
    minimize : str
        `time` (that of all steps), `cost`, or a formula over the configuration and the quantities: `time`, the
        model's, in seconds; `time_1`, the same on one worker and node; `total`, `time*steps`; `machines`; and `cost`,
        `machines*total*price`. To maximise, put a minus sign before.
    deadline : float, optional
        Seconds within which all steps must be done, kept by the upper end of the interval and not only by the
        central value.
    interval : float
        Nominal coverage of the intervals.
    machines : str, optional
        What counts the machines: by default the nodes, or else the workers, times partitions and plus servers where
        the table has these.
    price : float or str
        Of a machine for a second, a number or a formula over the configuration: `3.06/3600`,
        `where(gpu == 'v100', 3.06, 12.24)/3600`.
    steps : str, optional
        How many steps there are, a formula: `90*1281167/(workers*batch)`. One where omitted.
    top : int
        How many configurations to answer with.

    Returns
    -------
    Optimum
        Ties go to the configuration that comes first in the grid, whose last axis runs fastest. `wins` compares the top
        configurations with each other in every draw of the ensemble.

    Raises
    ------
    GenperfError
        Where no configuration is feasible (naming the constraint that excludes most) or the grid is too large.
    FormulaError
        For a formula that is refused.

    Examples
    --------
    >>> import genperf as gp
    >>> runs = pd.DataFrame({"workers": [1, 2, 4, 8, 16], "seconds": [9.0, 5.1, 3.2, 2.7, 3.4]})
    >>> result = gp.fit(gp.read_table(runs, time="seconds", extrinsic="workers"), model="ernest")
    >>> found = gp.optimize(result, {"workers": "1:64"}, where="workers % 2 == 0")
    >>> found.feasible, found.configuration
    (32, {'workers': 8.0})
    """
    if not 0.0 < interval < 1.0:
        raise GenperfError(f"the interval must lie between 0 and 1, not {interval}", hint="--interval 0.9")
    if top < 1:
        raise GenperfError(f"{top} configurations are asked for", hint="--top 10")
    if deadline is not None and not deadline > 0:
        raise GenperfError(f"a deadline of {deadline:g} s cannot be kept", hint="--deadline SECONDS, above 0")
    conditions = [where] if isinstance(where, str) else list(where)
    *conditions, aim = (own_formula(text, result.schema) for text in (*conditions, minimize))
    machines, steps = (text if text is None else own_formula(text, result.schema) for text in (machines, steps))
    price = own_formula(price, result.schema) if isinstance(price, str) else price
    read = [*conditions, aim, str(price), *(text for text in (machines, steps) if text is not None)]
    space = read_space(over, result.schema, read)
    problem = read_problem(result.named, space.names, space.texts, conditions, aim, machines, price, steps)
    search = Search(result, space, problem, interval, deadline)
    found = search.run()
    if not found.positions.size:
        raise _nothing(search, found)
    positions, best, notes = _best(search, found, top)
    front, told = _front(search, found)
    verdicts = ["verdict", "reason"]
    return Optimum(
        minimize=minimize,
        interval=interval,
        deadline=deadline,
        configurations=space.grid.size,
        feasible=found.feasible,
        best=best.drop(columns=verdicts).assign(wins=search.wins(positions), **{v: best[v] for v in verdicts}),
        front=front,
        excluded=_excluded(problem, found),
        notes=(*_advice(search, minimize, steps), *_blanks(found), *notes, *told),
    )


def _best(search: Search, found: Found, top: int) -> tuple[Positions, pd.DataFrame, list[Note]]:
    """Return the best configurations; with a deadline the best of those whose interval keeps it."""
    order = found.in_order()
    if search.deadline is None:
        return order[:top], search.answers(order[:top]), []
    kept: list[Positions] = []
    frames: list[pd.DataFrame] = []
    looked, size, count = 0, 2 * top, 0
    while count < top and looked < min(len(order), MOST_BANDS):
        some = order[looked : looked + size]
        frame = search.answers(some)
        keeps = search.latest(frame, some) <= search.deadline
        kept.append(some[keeps])
        frames.append(frame[keeps])
        looked, count, size = looked + len(some), count + int(keeps.sum()), min(2 * size, 512)
    if not count:
        raise _late(search, found, looked)
    notes = []
    if count < top and looked < len(order):
        text = f"only the {looked:,} best were looked at for the deadline; {len(order) - looked:,} more may keep it"
        notes.append(Note(text, "not_all_looked_at"))
    return np.concatenate(kept)[:top], pd.concat(frames, ignore_index=True)[:top], notes


def _front(search: Search, found: Found) -> tuple[pd.DataFrame, list[Note]]:
    positions, notes = found.front.positions, []
    if not positions.size:
        return pd.DataFrame(), []
    if positions.size > SHOWN_FRONT:
        text = f"the Pareto front has {positions.size:,} configurations; {SHOWN_FRONT} along it are shown"
        notes.append(Note(text, "front_thinned"))
        positions = positions[np.linspace(0, positions.size - 1, SHOWN_FRONT).round().astype(int)]
    frame = search.answers(positions).drop(columns="objective")
    if search.deadline is not None:
        frame.insert(len(frame.columns) - 2, "keeps_deadline", search.latest(frame, positions) <= search.deadline)
    return frame, notes


def _excluded(problem: Problem, found: Found) -> pd.DataFrame:
    return pd.DataFrame(
        {"constraint": [c.text for c in problem.constraints], "excludes": found.excludes, "alone": found.alone}
    )


def _nothing(search: Search, found: Found) -> GenperfError:
    """Say why no configuration is left: the constraint that excludes most, or the deadline."""
    size = search.space.grid.size
    if found.feasible and found.late:
        return _late(search, found, 0)
    if found.feasible:
        return GenperfError(
            f"none of {found.feasible:,} feasible configurations has a finite time and objective",
            hint="ask nearer to the measured range",
        )
    excluded = _excluded(search.problem, found)
    most = excluded.iloc[int(excluded["excludes"].argmax())]
    easiest = excluded.iloc[int(excluded["alone"].argmax())]
    hint = "relax it" if most["excludes"] < size else "relax it: nothing on this grid satisfies it"
    if easiest["alone"]:
        hint = f"without '{easiest['constraint']}' {easiest['alone']:,} would be left"
    return GenperfError(
        f"none of {size:,} configurations is feasible; '{most['constraint']}' excludes most, {most['excludes']:,}",
        hint=hint,
    )


def _late(search: Search, found: Found, looked: int) -> GenperfError:
    """Say how far the deadline is away."""
    message = f"no feasible configuration is done within {search.deadline:g} s: the fastest takes {found.fastest:.4g} s"
    if not found.positions.size:
        return GenperfError(message, hint="a later --deadline, or more machines")
    share = f"{100 * search.interval:g} %"
    if looked < found.positions.size:
        return GenperfError(
            f"the upper end of the {share} interval is after {search.deadline:g} s for each of the {looked:,} best",
            hint=f"vary fewer values: {found.positions.size:,} have a central time before it",
        )
    return GenperfError(
        f"the upper end of the {share} interval is after {search.deadline:g} s for each of the {looked:,} "
        f"configurations with a central time before it (the fastest: {found.fastest:.4g} s)",
        hint="a later --deadline, a smaller --interval, or measure more: genperf suggest",
    )


def _blanks(found: Found) -> list[Note]:
    if not found.blank:
        return []
    return [Note(f"{found.blank:,} configurations have no finite time or objective and are left out", "not_finite")]


def _advice(search: Search, minimize: str, steps: str | None) -> list[Note]:
    """Say so where least time per step is asked for and the samples of a step vary."""
    if minimize not in ("time", "cost") or steps is not None:
        return []
    varied = {a.name for a in search.space.grid.axes if len(a.values) > 1}
    matched = search.result.named
    batch, workers = matched.find("batch"), matched.find("workers")
    if batch is None or matched.has("samples") or not varied & {f.name for f in (batch, workers) if f is not None}:
        return []
    samples = quote_name(batch.name) + (f"*{quote_name(workers.name)}" if workers is not None else "")
    text = f"the {minimize} is that of a step, and steps of different numbers of samples are compared"
    return [Note(f"{text}; for the {minimize} of N samples: --steps 'N/({samples})'", "per_step")]
