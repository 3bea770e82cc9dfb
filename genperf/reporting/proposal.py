"""What a committee that allocates machine time asks for: speed-up and efficiency, and the node-hours of a plan."""

import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from genperf import __version__
from genperf.arrays import Index
from genperf.asking.question import Question
from genperf.attribution import Scaling, scaling
from genperf.attribution.derived import Work
from genperf.errors import GenperfError
from genperf.formula import call
from genperf.panel.quantities import QUANTITIES, REPORTED_BESIDE, beside, paid_for, quantities_of
from genperf.prediction.verdict import RULES, VERDICTS
from genperf.reporting.place import EVALUATED_MULTIPLE, LEAST_EFFICIENCY, PROPOSAL_ROWS, View, place_of, question_of
from genperf.reporting.provenance import command_of, measured_text
from genperf.result import FitResult, GroupedResult
from genperf.table.cells import frame_of
from genperf.words.numbers import count_text, join_values, range_text, singular, three_digits

FORMATS = ("html", "tex", "csv")


def proposal_page(
    what: FitResult | GroupedResult, view: View | None = None, kind: str = "html", efficiency: float | None = None
) -> str:
    """Return a proposal for machine time as `html` on two pages, `tex` or `csv`; `efficiency` is the least requested.

    It requests the target's count; without a target, the largest one that keeps the efficiency and whose verdict is not
    blind. Machine-hours count the nodes where there are such, else the workers.

    Raises
    ------
    GenperfError
        For several groups, and where the efficiency is not known.
    """
    view, limit = view or View(), LEAST_EFFICIENCY if efficiency is None else efficiency
    if len(what.results) > 1:
        raise GenperfError("a proposal is about one group", hint=f"--only {','.join(next(iter(what.results)))}")
    if not 0.0 < limit < 1.0:
        raise GenperfError(f"an efficiency lies between 0 and 1, not {limit:g}", hint="--efficiency 0.75")
    (key, result), *_ = what.results.items()
    question = question_of(result, what.group, key, view)
    place = place_of(result, question, view.target, view.along)
    if place.scaling is None:
        raise GenperfError(f"no proposal: {place.why_not}")
    name, largest = place.scaling.along, place.scaling.steps.along.upper
    target = place.count if place.target_given else None
    # Beyond it every verdict is blind.
    upto = max(largest * 2.0**RULES.blind, target or 0.0)
    at = place.scaling.at if target is None else place.values
    far, formula = EVALUATED_MULTIPLE * upto, place.work.formula
    answer = scaling(result, at, along=name, upto=far, level=limit, interval=view.interval, work=formula)
    if answer.refusal:
        raise GenperfError(answer.refusal, hint="--work '32*gpus', --scaling strong, or a column of the batch")
    machine, rows = _rows(result, answer, _shown_places(answer, upto, target or largest), place.work, question)
    if kind == "csv":
        return rows.to_csv(index=False, lineterminator="\n")
    if target is None:
        kept = rows.loc[(rows["efficiency"] >= limit) & (rows["verdict"] != VERDICTS[-1]), name]
        target = float(kept.max() if len(kept) else rows[name].min())
    hours, figure = f"{machine}-hours", ""
    if kind == "html":
        from genperf.plots import image, speedup

        figure = b64encode(image(speedup(answer, rows, limit), "svg")).decode()
    return filled(
        f"proposal.{kind}",
        title=view.title or f"Scaling of {Path(result.schema.source).name or 'the program'}",
        along=name,
        rows=rows,
        parts=dict(iter(rows.groupby("kind", sort=False))),
        tables=_tables(rows, hours, f"({100 * view.interval:g} %)"),
        figure=figure,
        findings=_findings(answer, rows, limit, target, question, place.work, hours),
        definitions=_definitions(answer, hours),
        measured=_measured(result, answer),
    )


def _tables(rows: pd.DataFrame, hours: str, ends: str) -> list[tuple[str, list[str], list[tuple[str, ...]]]]:
    """Return the measured and the extrapolated rows: a title, a head and cells of text each."""
    name, rate, out = rows.columns[0], rows.columns[3], []
    for kind, part in rows.groupby("kind", sort=False):
        second, each = "runs" if kind == "measured" else "verdict", part.to_dict("records")
        cells = {
            name: [f"{row[name]:g}" for row in each],
            second: [str(row[second]) for row in each],
            rate: [three_digits(row[rate]) for row in each],
            "speed-up": [f"{row['speedup']:.3g}" for row in each],
            f"efficiency {ends}": [_with_ends(row, "efficiency", _percent, " %") for row in each],
        }
        for label in (name for name in REPORTED_BESIDE if name in rows):
            cells[f"{QUANTITIES[label].label} {ends}"] = [_with_ends(row, label, three_digits) for row in each]
        if "machine_hours" in rows:
            cells[f"{hours} {ends}"] = [_with_ends(row, "machine_hours", three_digits) for row in each]
        out.append((str(kind).capitalize(), [*cells], [*zip(*cells.values(), strict=True)]))
    return out


def _with_ends(row: Mapping[Any, Any], name: str, written: Callable[[float], str], unit: str = "") -> str:
    """Return a value with the ends of its interval."""
    middle, low, high = (written(float(row[f"{name}{end}"])) for end in ("", "_lower", "_upper"))
    return f"{middle}{unit}" + ("" if low == middle == high else f" ({low} to {high})")


def _shown_places(answer: Scaling, upto: float, further: float) -> Index:
    """Return the steps of the measured counts, of doublings beyond them, and of the count that is asked for."""
    counts, largest = answer.steps.counts, answer.steps.along.upper
    beyond = largest * 2.0 ** np.arange(1.0, np.floor(np.log2(upto / largest) + 1e-9) + 1.0)
    near = [int(np.argmin(np.abs(counts - count))) for count in (counts[0], *beyond, further)]
    places = np.unique([*answer.steps.measured[0], *near])
    if len(places) > PROPOSAL_ROWS:
        places = places[np.unique(np.linspace(0, len(places) - 1, PROPOSAL_ROWS).round().astype(int))]
    return np.asarray(places, dtype=np.int64)


def _rows(
    result: FitResult, answer: Scaling, places: Index, work: Work, question: Question
) -> tuple[str, pd.DataFrame]:
    """Return what a machine is called, and the table."""
    steps, target = answer.steps, answer.quantity
    columns = {name: cells[places] for name, cells in steps.columns.items()}
    counts, curve = steps.counts[places], answer.curve.iloc[places].reset_index(drop=True)
    predicted = result.predict(frame_of(columns), question.interval)
    value, lower, upper = (predicted[name].to_numpy(float) for name in (target.name, "lower", "upper"))
    runs = {m.values: m for m in result.schema.medians}
    known = [*map(runs.get, zip(*(columns[f.name].tolist() for f in result.schema.factors), strict=True))]
    seconds = np.array([v if run is None else run.value for run, v in zip(known, value, strict=True)])
    assert steps.work is not None
    # The measured speed-up where it was measured, against the measured reference.
    efficiency = steps.work[places] * seconds[0] / seconds
    frame = pd.DataFrame({
        answer.along: counts,
        "kind": ["extrapolated" if run is None else "measured" for run in known],
        "runs": [0 if run is None else run.repeats for run in known],
    })  # fmt: skip
    samples = work.at(columns)
    if target.throughput and samples is not None:
        shown = {f"{work.sample}/s": samples / seconds, "lower": samples / upper, "upper": samples / lower}
    else:
        shown = {f"{target.name} ({target.unit})": seconds, "lower": lower, "upper": upper}
    frame = frame.assign(**shown)
    for what, factor in (("speedup", counts / counts[0]), ("efficiency", 1.0)):
        frame[what] = efficiency * factor
        for end, bound in (("lower", np.minimum), ("upper", np.maximum)):
            frame[f"{what}_{end}"] = bound(curve[f"efficiency_{end}"].to_numpy(float), efficiency) * factor
    frame["verdict"] = predicted["verdict"].to_numpy()
    per = question.per or ("nodes" if result.panel.nodes is not None else None)
    if question.plan is not None:
        if work.node is None:
            raise GenperfError("a plan needs the work of a step", hint="--work '32*gpus', or a column of the batch")
        given = {"steps": call("divide", question.plan.samples, work.node)}
        hours = quantities_of(result.panel, given, per=per).intervals(
            ["total", "machine_hours"], columns, [value, lower, upper]
        )
        frame = frame.assign(**{
            name.replace("total", "hours"): v / 3600.0 if name.startswith("total") else v for name, v in hours.items()
        })  # fmt: skip
    frame = frame.assign(**beside(result.panel, columns, [seconds, lower, upper]))
    return singular(paid_for(result.panel, per)[0]), frame


def _findings(
    answer: Scaling, rows: pd.DataFrame, limit: float, requested: float, question: Question, work: Work, hours: str
) -> tuple[str, ...]:
    """Return the largest measured count, the largest count that keeps the efficiency, and the request."""
    name, last = answer.along, float(answer.steps.counts[-1])
    measured = rows[rows["kind"] == "measured"]
    kept = measured[measured["efficiency"] >= limit]
    percent, covered = f"{100 * limit:g} %", f"{100 * answer.interval:g} %"
    # The reference is measured, and its efficiency is one.
    most = f"{kept[name].max():g} is the largest with an efficiency of at least {percent}"
    lines = [f"Measured up to {count_text(float(measured[name].max()), name)}: {most}."]
    point = answer.points[answer.points["what"] == "efficiency"].iloc[0]
    if np.isfinite(point["count"]):
        ends = range_text(float(point["lower"]), float(point["upper"]), last)
        falls = f"falls below {percent} at {count_text(float(point['count']), name)} ({covered}: {ends})"
    else:
        falls = f"does not fall below {percent} up to {count_text(last, name)}"
    lines.append(f"By the model it {falls}.")
    row = rows.iloc[int(np.argmin(np.abs(rows[name] - requested)))].to_dict()
    there = f"{count_text(float(row[name]), name)} ({row['kind']}, {row['verdict']})"
    efficiency = _with_ends(row, "efficiency", _percent, " %")
    if question.plan is None:
        return (*lines, f"Efficiency at {there}: {efficiency}.")
    many = f"{three_digits(question.plan.samples)} {work.sample}{'s' if work.whole else ''}"
    used, wall = (_with_ends(row, f"{what}hours", three_digits) for what in ("machine_", ""))
    request = f"Request: {used} {hours} for {many} at {there}, in {wall} hours, with an efficiency of {efficiency}."
    return (*lines, request)


def _percent(share: float) -> str:
    return f"{100 * share:.0f}"


def _definitions(answer: Scaling, hours: str) -> tuple[str, ...]:
    """Return what the columns mean."""
    first, name = answer.reference, answer.along
    kinds = {
        "strong": "Strong scaling: all workers share one amount of work.",
        "weak": "Weak scaling: the work of one worker stays the same; rates of work are compared, not times.",
    }
    return (
        f"Speed-up at {name} = n: the rate of work R(n) over that of the smallest measured count, R(n)/R({first:g}).",
        f"Efficiency: the speed-up times {first:g}/n.",
        kinds.get(answer.kind, "The work of a step changes with the count; rates of work are compared."),
        f"Intervals cover {100 * answer.interval:g} % nominally: of speed-up and efficiency those of the mean, "
        f"of {hours} those of a new run.",
        "Verdict: predictions that are ok or caution are trusted; extrapolating-blind ones are not.",
    )


def _measured(result: FitResult, answer: Scaling) -> tuple[str, ...]:
    """Return how it was measured, and how it can be computed again."""
    schema = result.schema
    noise = f"; repeats of one configuration differ by {100 * schema.noise:.1f} %" if schema.noise else ""
    held = f" ({result.held_out_of}: {result.held_out_error:.1f} % off)" if result.held_out_error is not None else ""
    data = f"Data: {schema.source or 'a table'}"
    runs = f"{schema.rows} runs of {schema.configurations} configurations"
    return (
        f"{runs}, {measured_text(schema)}; medians of repeats{noise}.",
        *([f"Other settings: {join_values(answer.at)}."] if answer.at else []),
        f"Fitted and extrapolated by genperf {__version__}, model {result.model}{held}.",
        f"{data}, SHA-256 {schema.sha256}." if schema.sha256 else f"{data}.",
        f"Again: {command_of(result)}",
    )


def filled(name: str, **values: Any) -> str:
    """Return a file of the assets with its values: in HTML as text, never markup, in LaTeX as it prints them."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined)
    if name.endswith(".tex"):
        # In LaTeX braces and per cent are its own.
        environment = Environment(
            block_start_string="<%",
            block_end_string="%>",
            variable_start_string="<<",
            variable_end_string=">>",
            finalize=_tex,
            undefined=StrictUndefined,
            keep_trailing_newline=True,
        )
    return environment.from_string(asset(name)).render(version=__version__, **values)


def asset(name: str) -> str:
    """Return the text of a file of the assets."""
    return files("genperf.reporting").joinpath("assets", name).read_text(encoding="utf-8")


#: Letters that LaTeX reads otherwise → what it prints them by.
_TEX = {c: rf"\{c}" for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "·": r"$\cdot$", "≥": r"$\geq$", "₀": r"$_0$", "±": r"$\pm$", "−": "-",
}  # fmt: skip


def _tex(value: object) -> str:
    """Return text as LaTeX prints it; letters that its basic fonts lack are left out."""
    return re.sub(r"[^\x00-\xff]", "?", "".join(_TEX.get(letter, letter) for letter in str(value)))
