"""`report`: a model, or a table, as one HTML file that needs nothing else."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from genperf import __version__
from genperf.attribution.terms import FORM, HIDDEN
from genperf.errors import GenperfError
from genperf.fitting import fit
from genperf.formula import JAVASCRIPT_PRELUDE
from genperf.prediction import discrepancies_of
from genperf.reporting.answers import BAND, BOTTLENECK, KNEE, NEXT
from genperf.reporting.engine import Formulas, engine, judging, rules
from genperf.reporting.held_out import held_out
from genperf.reporting.held_out import shown as shown_validation
from genperf.reporting.provenance import command_of, versions
from genperf.reporting.sheet import place_of, sheet
from genperf.result import FitResult, GroupedResult
from genperf.table import Table
from genperf.validation import Validation

#: Bytes of draws and anchors in a page; with more groups than that holds, sliders stop at predictions that are written
#: down.
MOST_DRAWS = 3_000_000
#: Groups whose answers a page without JavaScript shows, and rejected rows that are listed.
PLAIN_GROUPS, MOST_REJECTED = 40, 50
_SCRIPTS = ("charts.js", "kernels.js", "discrepancy.js", "engine.js", "figures.js", "page.js")


def report(
    what: FitResult | GroupedResult | Table,
    path: str | Path,
    *,
    table: Table | None = None,
    validation: Validation | str | None = None,
    model: str = "auto",
    target: Mapping[str, Any] | None = None,
    along: str | None = None,
    interval: float = 0.9,
    title: str | None = None,
    seed: int = 0,
    workers: int = 1,
) -> Path:
    """Write a report page.

    One HTML file with everything in it: the efficiency band, the knee, the bottleneck and what to measure next, in
    sentences; figures with sliders that predict in the page what `predict` does; errors, constants, data, and how to
    fit it again. It makes no request and works from a file path. The same input gives the same bytes.

    Parameters
    ----------
    what : FitResult, GroupedResult or Table
        A table is fitted, and the model compared with baselines on held-out configurations.
    path : str or Path
    table : Table, optional
        What a model was fitted to, where that is at hand: its rejected rows are then listed.
    validation : Validation or str, optional
        From `genperf.validate`, to show; or a scheme by which a table is validated.
    model : str
        For a table: what to fit.
    target : mapping, optional
        The configuration that the answers are about; twice the largest measured count of workers where omitted.
    along : str, optional
        The factor that counts the workers; found by the field's names where omitted.
    interval : float
        Nominal coverage of all intervals.
    title : str, optional
    seed, workers : int
        For a table: of the fits.

    Returns
    -------
    Path
        Where it was written.

    Raises
    ------
    GenperfError
        Where the table cannot be fitted, or the target cannot be asked.

    Examples
    --------
    >>> import genperf as gp
    >>> import pandas as pd, tempfile
    >>> runs = pd.DataFrame({"workers": [1, 2, 4, 8, 16], "seconds": [9.0, 5.0, 3.0, 2.0, 1.5]})
    >>> result = gp.fit(gp.read_table(runs, time="seconds", extrinsic="workers"), model="amdahl")
    >>> written = report(result, Path(tempfile.mkdtemp()) / "report.html")
    >>> "What takes the time?" in written.read_text()
    True
    """
    place = Path(path)
    text = page(
        what, table=table, validation=validation, model=model, target=target, along=along, interval=interval,
        title=title, seed=seed, workers=workers,
    )  # fmt: skip
    place.write_text(text, encoding="utf-8")
    return place


def page(
    what: FitResult | GroupedResult | Table,
    *,
    table: Table | None = None,
    validation: Validation | str | None = None,
    model: str = "auto",
    target: Mapping[str, Any] | None = None,
    along: str | None = None,
    interval: float = 0.9,
    title: str | None = None,
    seed: int = 0,
    workers: int = 1,
) -> str:
    """Return the page's text; the parameters are those of `report`."""
    if not 0.0 < interval < 1.0:
        raise GenperfError(f"the interval must lie between 0 and 1, not {interval}", hint="--interval 0.9")
    found: Validation | str | None = validation
    if isinstance(what, Table):
        table = what
        scheme = validation if isinstance(validation, str) else None
        if not isinstance(validation, Validation):
            found = held_out(table, model, scheme=scheme, along=along, seed=seed, workers=workers)
        what = fit(table, model, seed=seed, workers=workers)
    whole = what if isinstance(what, GroupedResult) else GroupedResult((), {(): what})
    formulas = Formulas()
    groups = _groups(whole, target, along, interval, formulas)
    first = next(iter(whole.results.values()))
    data = {
        "rules": rules(),
        "interval": interval,
        "beside": [HIDDEN, FORM],
        "questions": [BAND, KNEE, BOTTLENECK, NEXT],
        "groups": groups,
        "validation": shown_validation(found) if isinstance(found, Validation) else {"why": found} if found else None,
    }
    return _rendered(whole, first, table, data, formulas, title)


def _groups(
    whole: GroupedResult, target: Mapping[str, Any] | None, along: str | None, interval: float, formulas: Formulas
) -> list[dict[str, Any]]:
    """Return the groups in the table's order, those that could not be fitted last."""
    live = sum(map(_bytes, whole.results.values())) <= MOST_DRAWS
    out: list[dict[str, Any]] = []
    failed = dict(whole.failures)
    for key, result in whole.results.items():
        try:
            where = place_of(result, target, along, interval)
            held = engine(result, formulas, interval) if live else None
            shown = sheet(result, where, interval, judging(result, formulas), held)
        except GenperfError as error:
            # One group that cannot be asked is named on the page; the only one is an error.
            if len(whole) == 1:
                raise
            failed[key] = error.message
        else:
            out.append({"key": list(key), "sheet": shown})
    if not out:
        key, why = next(iter(failed.items()))
        raise GenperfError(f"none of {len(failed)} groups can be shown; {', '.join(key)}: {why}")
    return [*out, *({"key": list(key), "failed": why} for key, why in failed.items())]


def _bytes(result: FitResult) -> int:
    """Return about how many bytes of a page are a model's draws and anchors."""
    drawn = sum(m.draws.size * 6 for m in result.members)
    return drawn + sum(len(d.logarithms) * (len(d.anchors) + 1) * 11 for d in discrepancies_of(result.members))


def _rendered(
    whole: GroupedResult,
    first: FitResult,
    table: Table | None,
    data: dict[str, Any],
    formulas: Formulas,
    title: str | None,
) -> str:
    from jinja2 import Environment, StrictUndefined

    several = len(data["groups"]) > 1
    style = _file("page.css")
    script = "\n".join(['"use strict";', JAVASCRIPT_PRELUDE, formulas.script(), *(_file(name) for name in _SCRIPTS)])
    rejected = [str(r) for r in table.rejected] if table is not None else []
    template = Environment(autoescape=True, undefined=StrictUndefined).from_string(_file("page.html"))
    return template.render(
        policy=_policy(style, script),
        version=__version__,
        title=title or f"How {Path(first.schema.source).name or 'this table'} scales",
        lead=_lead(whole, first),
        style=style,
        script=script,
        data=_in_script(data),
        several=several,
        group_columns=", ".join(whole.group),
        plain_groups=[
            {"name": " · ".join(g["key"]), "answers": g["sheet"]["answers"]}
            for g in data["groups"][:PLAIN_GROUPS]
            if "sheet" in g
        ],
        validated=data["validation"] is not None,
        rejected=rejected[:MOST_REJECTED],
        rejected_more=max(0, len(rejected) - MOST_REJECTED),
        command=command_of(first, pooled=any("pooled_share" in r.options for r in whole.results.values())),
        versions=", ".join(f"{name} {number}" for name, number in versions().items()),
    )


def _lead(whole: GroupedResult, first: FitResult) -> str:
    rows = sum(r.schema.rows for r in whole.results.values())
    configurations = sum(r.schema.configurations for r in whole.results.values())
    groups = f" in {len(whole)} groups ({', '.join(whole.group)})" if whole.group else ""
    return (
        f"What {rows:,} measured runs of {configurations:,} configurations{groups} say about the time of a step, "
        f"fitted by the model '{first.model}'."
    )


def _file(name: str) -> str:
    return files("genperf.reporting").joinpath("assets", name).read_text(encoding="utf-8")


def _in_script(data: Any) -> str:
    """Return JSON that may stand in a script: nothing in it can end the script or begin a comment."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return (
        text.replace("&", "\\u0026")
        .replace("<", "\\u003c")
        .replace(">", "\\u003e")
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029")
    )


def _policy(style: str, script: str) -> str:
    """Return a content security policy: this style and this script, and nothing from anywhere."""

    def hashed(text: str) -> str:
        return "'sha256-" + b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"

    parts = ["default-src 'none'", f"style-src {hashed(style)}", f"script-src {hashed(script)}", "img-src data:"]
    return "; ".join([*parts, "base-uri 'none'", "form-action 'none'"])
