"""`report`: a model, or a table, as one HTML file that needs nothing else."""

import hashlib
import re
from base64 import b64encode
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from genperf.attribution.answers import FORM
from genperf.attribution.terms import HIDDEN
from genperf.discrepancy import kernel_script
from genperf.engine import Engine, Lost, doing, listening, run
from genperf.errors import GenperfError, counted
from genperf.facts import check_interval
from genperf.fitting import fit
from genperf.formula import JAVASCRIPT
from genperf.panel import Table
from genperf.prediction import discrepancies_of
from genperf.reporting.engine import rules, with_formulas
from genperf.reporting.place import (
    BYTES_PER_ANCHOR,
    BYTES_PER_DRAW,
    LEAST_SCALES,
    MAX_DRAW_BYTES,
    MAX_REJECTED,
    PAGE_FOLDS,
    PLAIN_GROUPS,
    View,
    place_of,
    question_of,
    short,
)
from genperf.reporting.proposal import asset, filled
from genperf.reporting.provenance import command_of, measured_text, versions
from genperf.reporting.sheet import capacity_of, quantity_of, sheet
from genperf.result import FitResult, GroupedResult
from genperf.validation import Validation, validate
from genperf.validation.splits import split
from genperf.words.answer import first_of_groups
from genperf.words.verdict import LIKELY_TO_FIT

#: The scripts of a page, in the order in which they define what later ones use.
_SCRIPTS = (
    *("data", "charts", "kernels", "discrepancy", "combinations", "feasibility", "engine", "measures", "further"),
    *("splits", "pictures", "figures", "beside", "groups", "address", "page"),
)
#: What a model is shown beside.
BASELINES = ("last-point", "linear", "random-forest")
#: Characters that end a script or begin a comment, written otherwise.
_ENDS = re.compile("[&<>\u2028\u2029]")


def report(
    what: FitResult | GroupedResult | Table,
    path: str | Path,
    view: View | None = None,
    *,
    table: Table | None = None,
    validation: Validation | str | None = None,
    model: str = "auto",
    seed: int = 0,
    workers: int = 1,
) -> Path:
    """Write a report page: one HTML file that makes no request and works from a file path; same input, same bytes.

    It answers in sentences how well it scales, where the knee is, what is the largest part and what to measure next,
    with figures and sliders that predict in the page what `predict` does, and says how to fit it again.

    Parameters
    ----------
    what : FitResult, GroupedResult or Table
        A table is fitted by `model`, with `seed` and so many processes as `workers`, and compared with baselines on
        held-out configurations.
    table : Table, optional
        What a model was fitted to, where that is at hand: its rejected rows are then listed.
    validation : Validation or str, optional
        From `genperf.validate`, to show; or a scheme by which a table is validated.

    Examples
    --------
    >>> import genperf as gp
    >>> import pandas as pd, tempfile
    >>> runs = pd.DataFrame({"workers": [1, 2, 4, 8, 16], "seconds": [9.0, 5.0, 3.0, 2.0, 1.5]})
    >>> result = gp.fit(gp.read_table(runs, time="seconds", extrinsic="workers"), model="amdahl")
    >>> written = report(result, Path(tempfile.mkdtemp()) / "report.html", View({"workers": 64}))
    >>> "What takes the time?" in written.read_text()
    True
    """
    if isinstance(what, Table):
        table, scheme, view = what, validation if isinstance(validation, str) else None, view or View()
        if not isinstance(validation, Validation):
            validation = held_out(table, model, scheme=scheme, along=view.along, seed=seed, workers=workers)
        what = fit(table, model, seed=seed, workers=workers)
    place = Path(path)
    place.write_text(page(what, view, table=table, validation=validation, workers=workers), encoding="utf-8")
    return place


def page(
    what: FitResult | GroupedResult,
    view: View | None = None,
    *,
    table: Table | None = None,
    validation: Validation | str | None = None,
    workers: int = 1,
) -> str:
    """Return the page's text."""
    view = view or View()
    check_interval(view.interval)
    result, groups = what.first, _groups(what, view, workers)
    data = {
        "rules": rules(),
        "interval": view.interval,
        "beside": [HIDDEN, FORM],
        "quantity": quantity_of(result),
        "job": view.job.shown(),
        "currency": view.job.currency,
        "capacity": capacity_of(result, view.capacity),
        "likelyToFit": LIKELY_TO_FIT,
        "groups": groups,
        "groupColumns": list(what.group),
        "validation": _shown(validation),
    }
    try:
        text, formulas = with_formulas(data)
    except ValueError:
        raise GenperfError(
            "the model gives values that are not finite: no page can show them", hint="fit it again"
        ) from None
    style, made = asset("page.css"), ['"use strict";', JAVASCRIPT.prelude, formulas, kernel_script()]
    script = "\n".join([*made, *(asset(f"{name}.js") for name in _SCRIPTS)])
    rejected = [str(r) for r in table.rejected] if table is not None else []
    return filled(
        "page.html",
        policy=_policy(style, script),
        title=view.title or _title(result, groups, what.group),
        look=_first_look(groups),
        lead=_lead(what),
        quantity=data["quantity"],
        style=style,
        script=script,
        # Nothing in it can end the script or begin a comment.
        data=_ENDS.sub(lambda end: f"\\u{ord(end[0]):04x}", text),
        several=len(groups) > 1,
        group_columns=", ".join(what.group),
        plain_groups=[
            {"name": " · ".join(g["key"]), **{name: g["sheet"][name] for name in ("answers", "glance")}}
            for g in groups[:PLAIN_GROUPS]
            if "sheet" in g
        ],
        validated=data["validation"] is not None,
        rejected=rejected[:MAX_REJECTED],
        rejected_more=max(0, len(rejected) - MAX_REJECTED),
        command=command_of(result, pooled=any("pooled_share" in r.options for r in what.results.values())),
        versions=", ".join(f"{name} {number}" for name, number in versions().items()),
    )


def _groups(whole: FitResult | GroupedResult, view: View, workers: int) -> list[dict[str, Any]]:
    """Return the groups, that of the target or the least efficient first, and those without a page last."""
    live = sum(map(_bytes, whole.results.values())) <= MAX_DRAW_BYTES
    contents: dict[int, dict[str, Any]] = {}
    doing("answering for groups", 0, len(whole.results))
    work = partial(_group, names=whole.group, view=view, live=live, alone=len(whole.results) == 1)
    for number, outcome in run(work, whole.results.items(), Engine(workers=workers)):
        contents[number] = {"failed": outcome.reason} if isinstance(outcome, Lost) else outcome
        doing("answering for groups", len(contents), len(whole.results))
    groups: dict[tuple[str, ...], dict[str, Any]] = {key: {"failed": why} for key, why in whole.failures.items()}
    groups |= {key: contents[number] for number, key in enumerate(whole.results)}
    summaries = {key: group["sheet"]["summary"] for key, group in groups.items() if "sheet" in group}
    if not summaries:
        key, group = next(iter(groups.items()))
        raise GenperfError(f"none of {len(groups)} groups can be shown; {', '.join(key)}: {group['failed']}")

    target = view.target or {}
    named = {place: str(target[name]) for place, name in enumerate(whole.group) if name in target}

    def place(key: tuple[str, ...]) -> tuple[bool, bool, float]:
        """Order groups by efficiency, those of the target first; those without one follow, the most measured first."""
        efficiency, another_group = summaries[key]["efficiency"], any(key[n] != level for n, level in named.items())
        last = -whole.results[key].schema.configurations if efficiency is None else efficiency
        return another_group, efficiency is None, last

    order = [*sorted(summaries, key=place), *(key for key in groups if key not in summaries)]
    return [{"key": list(key), **groups[key]} for key in order]


def _group(
    group: tuple[tuple[str, ...], FitResult], names: tuple[str, ...], view: View, live: bool, alone: bool
) -> dict[str, Any]:
    """Return the contents of the page for one group; a group without an answer is named, the only one is an error."""
    key, result = group
    try:
        # What one group takes is not reported: it is a small part of the whole.
        with listening(None):
            place = place_of(result, question_of(result, names, key, view), view.target, view.along)
            return {"sheet": sheet(place, live, dict(zip(names, key, strict=True)), view.job)}
    except GenperfError as error:
        if alone:
            raise
        return {"failed": error.message}


def _bytes(result: FitResult) -> int:
    """Return about how many bytes of a page are a model's draws and anchors, and those of its further quantities."""
    drawn = sum(m.draws.size * BYTES_PER_DRAW for m in result.members)
    anchors = sum(len(d.logarithms) * (len(d.anchors) + 1) for d in discrepancies_of(result.members))
    return drawn + anchors * BYTES_PER_ANCHOR + sum(map(_bytes, result.further.values()))


def _lead(whole: FitResult | GroupedResult) -> str:
    """Return what the page rests on: the runs, what was measured, and the model."""
    schemas = [result.schema for result in whole.results.values()]
    rows, configurations = sum(s.rows for s in schemas), sum(s.configurations for s in schemas)
    runs = f"{counted(rows, 'run')} of {counted(configurations, 'configuration')}"
    groups = f" in {counted(len(whole.results), 'group')} ({', '.join(whole.group)})" if whole.group else ""
    return f"From {runs}{groups}: {measured_text(schemas[0])}, fitted by the model '{whole.first.model}'."


def _title(first: FitResult, groups: list[dict[str, Any]], names: Sequence[str]) -> str:
    """Return the title: the table's name, and the question."""
    of = "" if first.schema.target.is_time else f"{first.schema.target.name} of "
    source = Path(first.schema.source).name
    table = source if source not in ("", "-", "DataFrame") else "these runs"
    configurations = {group["sheet"]["summary"]["at"] for group in groups if "sheet" in group}
    at = f" at {configurations.pop()}" if len(configurations) == 1 else ""
    if len(groups) > 1:
        return f"Which {' and '.join(names)} of {table} needs a look{at}?"
    return f"{of}{table}{at}: what to expect"


def _first_look(groups: list[dict[str, Any]]) -> str:
    """Return which group to look at first; nothing for one group, or without efficiencies."""
    looks = {
        " · ".join(group["key"]): group["sheet"]["summary"]
        for group in groups
        if "sheet" in group and group["sheet"]["summary"]["efficiency"] is not None
    }
    if len(looks) < 2:
        return ""
    names = ("efficiency", "efficiencyUpper", "at")
    return first_of_groups({name: tuple(look[n] for n in names) for name, look in looks.items()})


def _policy(style: str, script: str) -> str:
    """Return a content security policy: this style and this script, and nothing from anywhere."""
    hashed = (b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script))
    sources = "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; img-src data:".format(*hashed)
    return f"{sources}; base-uri 'none'; form-action 'none'"


def scheme_of(table: Table, along: str | None = None) -> str:
    """Choose how to hold configurations out: the largest scale where there are enough of them, else folds."""
    panel = table.panel
    named = [f for f in table.numeric if along and f.name in (along, panel.mapping.get(along))]
    for factor in named or panel.counts:
        scales = np.unique(table.columns[factor.name])
        if len(scales) >= LEAST_SCALES:
            return f"extrapolate:{factor.name}:{scales[-2]:g}"
    return f"kfold:{min(PAGE_FOLDS, len(table.medians()))}"


def held_out(
    table: Table,
    model: str,
    *,
    scheme: str | None = None,
    along: str | None = None,
    seed: int = 0,
    workers: int = 1,
    **options: Any,
) -> Validation | str:
    """Return the errors of a model beside those of the baselines; or why there are none."""
    table = table.mapped(options.pop("mapping", None) or {})
    if scheme is not None:
        split(table, scheme, seed)
    chosen = scheme or scheme_of(table, along)
    try:
        return validate(table, [model, *BASELINES], chosen, seed=seed, workers=workers, **options)
    except GenperfError as error:
        return error.message


def _shown(validation: Validation | str | None) -> dict[str, Any] | None:
    """Return a validation as the page shows it, a row per model with errors in %; or why there is none."""
    if not isinstance(validation, Validation):
        return {"why": validation} if validation else None
    rows = [
        [
            *(m.model, *(None if v is None else short(v, 4) for v in (m.median_ape, m.mape, m.coverage, m.width))),
            *(m.predicted, m.failed or ""),
        ]
        for m in validation.models
    ]
    return {
        "scheme": validation.scheme,
        "interval": validation.interval,
        "configurations": max((len(m.predictions) for m in validation.models), default=0),
        "rows": rows,
        "notes": [str(n) for n in validation.notes],
    }
