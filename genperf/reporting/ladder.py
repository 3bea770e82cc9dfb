"""The ladder of counts: what was measured, then doublings beyond it, each with speed-up, efficiency and cost."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from genperf.arrays import Index
from genperf.asking.ask import Question
from genperf.attribution import Scaling
from genperf.errors import GenperfError, counted
from genperf.formula import call
from genperf.panel.panel import StepWork
from genperf.panel.quantities import QUANTITIES, REPORTED_BESIDE, beside, paid_for, quantities_of
from genperf.result import FitResult
from genperf.table.cells import frame_of
from genperf.words.numbers import singular, three_digits


def ladder_table(rows: pd.DataFrame, hours: str, interval: float) -> tuple[list[str], list[list[str]]]:
    """Return the rows as text under a head: the count, its runs or the verdict of its forecast, and the rest."""
    name, rate, ends = rows.columns[0], rows.columns[3], f"({100 * interval:g} %)"
    counted_rows = rows.to_dict("records")
    cells = {
        name: [f"{row[name]:g}" for row in counted_rows],
        "based on": [
            counted(int(row["runs"]), "run") if row["runs"] else f"forecast: {row['verdict']}" for row in counted_rows
        ],
        rate: [three_digits(row[rate]) for row in counted_rows],
        "speed-up": [f"{row['speedup']:.3g}" for row in counted_rows],
        f"efficiency {ends}": [with_ends(row, "efficiency", percent, " %") for row in counted_rows],
    }
    labels = {name: QUANTITIES[name].label for name in REPORTED_BESIDE} | {"machine_hours": hours}
    for column in (name for name in labels if name in rows):
        cells[f"{labels[column]} {ends}"] = [with_ends(row, column, three_digits) for row in counted_rows]
    return [*cells], [[*row] for row in zip(*cells.values(), strict=True)]


def with_ends(row: Mapping[Any, Any], name: str, written: Callable[[float], str], unit: str = "") -> str:
    """Return a value with the ends of its interval."""
    middle, low, high = (written(float(row[f"{name}{end}"])) for end in ("", "_lower", "_upper"))
    return f"{middle}{unit}" + ("" if low == middle == high else f" ({low} to {high})")


def ladder_rows(
    result: FitResult, answer: Scaling, places: Index, work: StepWork, question: Question
) -> tuple[str, pd.DataFrame]:
    """Return what a machine is called, and the table."""
    steps, target = answer.steps, answer.quantity
    columns = {name: cells[places] for name, cells in steps.columns.items()}
    counts, curve = steps.counts[places], answer.curve.iloc[places].reset_index(drop=True)
    predicted = result.predict(frame_of(columns), question.interval)
    value, lower, upper = (predicted[name].to_numpy(float) for name in (target.name, "lower", "upper"))
    runs = {m.values: m for m in result.schema.medians}
    measured_runs = [*map(runs.get, zip(*(columns[f.name].tolist() for f in result.schema.factors), strict=True))]
    seconds = np.array([v if run is None else run.value for run, v in zip(measured_runs, value, strict=True)])
    assert steps.work is not None
    # The measured speed-up where it was measured, against the measured reference.
    efficiency = steps.work[places] * seconds[0] / seconds
    frame = pd.DataFrame({
        answer.along: counts,
        "kind": ["extrapolated" if run is None else "measured" for run in measured_runs],
        "runs": [0 if run is None else run.repeats for run in measured_runs],
    })  # fmt: skip
    samples = work.at(columns)
    if target.throughput and samples is not None:
        answer_columns = {f"{work.unit}/s": samples / seconds, "lower": samples / upper, "upper": samples / lower}
    else:
        answer_columns = {f"{target.name} ({target.unit})": seconds, "lower": lower, "upper": upper}
    frame = frame.assign(**answer_columns)
    for what, factor in (("speedup", counts / counts[0]), ("efficiency", 1.0)):
        frame[what] = efficiency * factor
        for end, bound in (("lower", np.minimum), ("upper", np.maximum)):
            frame[f"{what}_{end}"] = bound(curve[f"efficiency_{end}"].to_numpy(float), efficiency) * factor
    frame["verdict"] = predicted["verdict"].to_numpy()
    per = question.per or ("nodes" if result.panel.nodes is not None else None)
    if question.plan is not None:
        if work.total is None:
            raise GenperfError("a plan needs the work of a step", hint="--work '32*gpus', or a column of the batch")
        planned = {"steps": call("divide", question.plan.samples, work.total)}
        hours = quantities_of(result.panel, planned, per=per).intervals(
            ["total", "machine_hours"], columns, [value, lower, upper]
        )
        frame = frame.assign(**{
            name.replace("total", "hours"): v / 3600.0 if name.startswith("total") else v for name, v in hours.items()
        })  # fmt: skip
    frame = frame.assign(**beside(result.panel, columns, [seconds, lower, upper]))
    return singular(paid_for(result.panel, per)[0]), frame


def percent(share: float) -> str:
    """Return a share in per cent, without its sign."""
    return f"{100 * share:.0f}"
