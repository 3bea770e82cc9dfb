"""What a committee that allocates machine time asks for: speed-up and efficiency, and the node-hours of a plan."""

import re
from base64 import b64encode
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from genperf import __version__
from genperf.asking.ask import Question, work_of
from genperf.attribution import Scaling, scaling
from genperf.errors import GenperfError
from genperf.panel.panel import StepWork
from genperf.prediction.verdict import RULES, VERDICTS
from genperf.reporting.place import (
    EVALUATED_MULTIPLE,
    PROPOSAL_ROWS,
    View,
    command_of,
    judged_of,
    ladder_places,
    ladder_rows,
    ladder_table,
    measured_text,
    place_of,
    with_ends,
)
from genperf.result import FitResult, GroupedResult
from genperf.search.problem import models_of
from genperf.words.growth import turn_sentence, work_in_all
from genperf.words.numbers import capitalised, count_text, error_text, join_values, prose, three_digits, whole_percent
from genperf.words.verdict import LIKELY_TO_FIT

FORMATS = ("html", "tex", "csv")
#: The least efficiency of a count that is asked for. Committees name 0.5 to 0.8; most often three quarters.
LEAST_EFFICIENCY = 0.75


def proposal_page(
    what: FitResult | GroupedResult, view: View | None = None, kind: str = "html", efficiency: float | None = None
) -> str:
    """Return a proposal for machine time as `html`, `tex` or `csv`, at the target or the most that is efficient."""
    view, least = view or View(), LEAST_EFFICIENCY if efficiency is None else efficiency
    if len(what.results) > 1:
        raise GenperfError("a proposal is about one group", hint=f"--only {','.join(next(iter(what.results)))}")
    if not 0.0 < least < 1.0:
        raise GenperfError(f"an efficiency lies between 0 and 1, not {least:g}", hint="--efficiency 0.75")
    ((group, result),), _ = models_of(what, {})
    view = view.priced([(group, result)])
    question = view.about(result, group)
    place = place_of(result, question, view.target, view.along, whole=False)
    if place.scaling is None:
        raise GenperfError(f"no proposal: {place.why_not}")
    # The curve is computed beyond the count from which on every verdict is blind, or to a target that lies farther.
    name, largest_measured = place.scaling.along, place.scaling.steps.along.upper
    target = place.count if place.target_given else None
    largest_shown = max(largest_measured * 2.0**RULES.blind, target or 0.0)
    work, upto = work_of(result, question), EVALUATED_MULTIPLE * largest_shown
    at = place.scaling.at if target is None else place.values
    answer = scaling(result, at, along=name, upto=upto, level=least, interval=view.interval, work=work)
    if answer.refusal:
        raise GenperfError(answer.refusal, hint="--work '32*gpus', --scaling strong, or a column of the batch")
    counts = ladder_places(answer.steps, largest_shown, target or largest_measured, PROPOSAL_ROWS)
    machine, rows = ladder_rows(result, answer, counts, question)
    if kind == "csv":
        return rows.to_csv(index=False, lineterminator="\n")
    is_efficient = (rows["efficiency"] >= least) & (rows["verdict"] != VERDICTS[-1]) & (rows["fits"] >= LIKELY_TO_FIT)
    affordable = rows.loc[is_efficient, name]
    requested = target or float(affordable.max() if len(affordable) else rows[name].min())
    hours, figure = f"{machine}-hours", ""
    if kind == "html":
        from genperf.plots import image, speedup

        figure = b64encode(image(speedup(answer, rows, least), "svg")).decode()
    return filled(
        f"proposal.{kind}",
        title=view.title or f"Scaling of {Path(result.schema.source).name or 'the program'}",
        along=name,
        rows=rows,
        parts=dict(iter(rows.groupby("kind", sort=False))),
        table=ladder_table(rows, hours, view.interval),
        figure=figure,
        findings=_findings(answer, rows, least, requested, question, work, hours),
        definitions=_definitions(answer, "" if question.plan is None else hours),
        measured=_measured(result, answer),
    )


def _findings(
    answer: Scaling, rows: pd.DataFrame, least: float, requested: float, question: Question, work: StepWork, hours: str
) -> tuple[str, ...]:
    """Return the largest measured count, the largest count with the `least` efficiency, and the request."""
    name = answer.along
    measured = rows[rows["kind"] == "measured"]
    efficient = measured[measured["efficiency"] >= least]
    least_text = f"{100 * least:g} %"
    # The reference is measured, and its efficiency is one.
    most = f"{efficient[name].max():g} is the largest with an efficiency of at least {least_text}"
    lines = [f"Measured up to {count_text(float(measured[name].max()), name)}: {most}."]
    lines += [prose(turn_sentence(turn)) for turn in answer.turns if turn.what == "efficiency"]
    row = rows.iloc[int(np.argmin(np.abs(rows[name] - requested)))].to_dict()
    requested_text = f"{count_text(float(row[name]), name)} ({row['kind']}, {judged_of(row)})"
    efficiency = with_ends(row, "efficiency", whole_percent, " %")
    if question.plan is None:
        return (*lines, f"Efficiency at {requested_text}: {efficiency}.")
    work_text = work_in_all(question.plan, "tokens" if question.plan.of_tokens else work.unit, work.whole)
    used, wall = (with_ends(row, f"{of}hours", three_digits) for of in ("machine_", ""))
    request = f"Request: {used} {hours} for {work_text} at {requested_text}, in {wall} hours"
    return (*lines, f"{request}, with an efficiency of {efficiency}.")


def _definitions(answer: Scaling, hours: str) -> tuple[str, ...]:
    """Return what the columns mean."""
    reference, name = answer.reference, answer.along
    kinds = {
        "strong": "Strong scaling: all workers share one amount of work.",
        "weak": "Weak scaling: the work of one worker stays the same; rates of work are compared, not times.",
    }
    return (
        f"Speed-up at {name} = n: the rate of work R(n) over that of the smallest measured count, "
        f"R(n)/R({reference:g}).",
        f"Efficiency: the speed-up times {reference:g}/n.",
        kinds.get(answer.kind, "The work of a step changes with the count; rates of work are compared."),
        *([capitalised(answer.steps.assumption)] if answer.steps.assumption else []),
        f"Intervals cover {100 * answer.interval:g} % nominally: of speed-up and efficiency those of the mean"
        f"{f', of {hours} those of a new run' if hours else ''}.",
        "Verdict: predictions that are ok or caution are trusted; extrapolating-blind ones are not.",
    )


def _measured(result: FitResult, answer: Scaling) -> tuple[str, ...]:
    """Return how it was measured, and how it can be computed again."""
    schema = result.schema
    noise = f"; repeats of one configuration differ by {100 * schema.noise:.1f} %" if schema.noise else ""
    error = result.held_out_error
    held = "" if error is None else f" ({result.held_out_of}: {error_text(error, 1)} off)"
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
            # Letters that its basic fonts lack are left out.
            finalize=lambda value: re.sub(r"[^\x00-\xff]", "?", "".join(_TEX.get(c, c) for c in str(value))),
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
