"""Measure what each setting that nothing derives changes: halve it, double it, and compare every answer.

    python -m experiments settings --tables FOLDER
    python -m experiments settings --only solver

A setting is a number in `genperf/` with a comment `#:` that calls it a guess, or that names the page which this script
writes. A share above one half keeps its distance to 1 halved and doubled, a range its width. Settings of rooms that
read tables are judged by how the bundled tables, and those of the folder, are read, and, where these are read
differently, by the questions in the folder's `cases.json` that are answered within a fifth of the truth; settings of
fits by the predictions of `bundled_cases.py`, and, where these move, by held-out errors; settings of answers by what
the commands report of fitted models. Each is tried in a process of its own. A setting that no answer has read has no
figures.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import gc
import json
import math
import re
import sys
import tempfile
import textwrap
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import force_setattr

import genperf as gp
from experiments.accuracy.bundled_cases import CASES, Case, listed, queries
from experiments.shared import RESULTS, ROOT, command_line, page
from genperf.expression import Constant

PAGE = RESULTS / "settings.md"
NAMED = re.compile(r"[Gg]uess|results/settings\.md")
#: What a room's settings can change.
READ, FIT, AUTO, ANSWER, VALIDATE = "read", "fit", "auto", "answer", "validate"
PARTS = {
    **dict.fromkeys(("table", "panel", "vocabulary", "importers"), (READ,)),
    **dict.fromkeys(("models", "solver", "estimate", "losses"), (FIT,)),
    **dict.fromkeys(("growth", "process", "discrepancy"), (AUTO, ANSWER)),
    "validation": (VALIDATE,),
}
FAMILIES, ANSWERED = listed("families"), listed("answered")
COMMANDS = (("ask",), ("explain",), ("suggest",), ("optimize",), ("ask", "--why"))
#: Tables whose fits take seconds, and that show no more than the others.
SLOW = ("dlperf_insightface", "dlperf_widedeep")
#: Tables on which held-out errors are measured, each in cross-validation and beyond its counts.
JUDGED = tuple(case for case in CASES if case.model == "generic" and case.table not in {*SLOW, "partitioned", "rubick"})
#: Changes of a prediction, in %, that are none: nobody acts on them.
NOTHING = 1.0

Answers = dict[str, float | str]


@dataclass(frozen=True)
class Setting:
    """A number of the package, and the values that are tried."""

    module: str
    name: str
    value: Any

    @property
    def room(self) -> str:
        """The folder, or the file, that it belongs to."""
        return self.module.split(".")[1]

    @property
    def text(self) -> str:
        return f"{self.module.removeprefix('genperf.')}: {self.name}"

    def tried(self) -> dict[str, Any]:
        """Return the halved and the doubled value."""
        return {"half": _scaled(self.value, 0.5), "double": _scaled(self.value, 2.0)}


def _scaled(value: Any, by: float) -> Any:
    """Return a number halved or doubled, a share near one by its distance to it, a range by its width."""
    if isinstance(value, tuple):
        lower, upper = value
        if lower > 0.0 and isinstance(lower, float):
            middle, width = math.sqrt(lower * upper), math.sqrt(upper / lower) ** by
            return middle / width, middle * width
        middle, width = (lower + upper) / 2.0, by * (upper - lower) / 2.0
        return type(lower)(middle - width), type(lower)(middle + width)
    if isinstance(value, Constant):
        return {"lower": by * value.lower, "upper": by * value.upper}
    if isinstance(value, int):
        return max(1, round(by * value)) if value != 1 or by > 1.0 else 0
    if 0.5 < abs(value) < 1.0:
        return math.copysign(1.0 - (1.0 - abs(value)) / by, value)
    return by * value


def settings() -> Iterator[Setting]:
    """Find the settings whose comment calls them a guess, or names the page of this script."""
    for path in sorted((ROOT / "genperf").rglob("*.py")):
        text = path.read_text()
        if not NAMED.search(text):
            continue
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        lines = text.splitlines()
        for node in ast.parse(text).body:
            target = node.target if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [None])[0]
            if not isinstance(target, ast.Name) or not NAMED.search(_comment(lines, node.lineno)):
                continue
            value = getattr(import_module(module), target.id, None)
            if isinstance(value, int | float | tuple | Constant) and not isinstance(value, bool):
                yield Setting(module, target.id, value)


def _comment(lines: list[str], line: int) -> str:
    """Return the block `#:` right above a line."""
    first = line - 1
    while first > 0 and lines[first - 1].strip().startswith("#:"):
        first -= 1
    return " ".join(text.strip().removeprefix("#:").strip() for text in lines[first : line - 1])


def set_to(setting: Setting, value: Any) -> None:
    """Change a setting everywhere in this process."""
    if isinstance(setting.value, Constant):
        for name, bound in value.items():
            force_setattr(setting.value, name, bound)
    else:
        for name, module in [*sys.modules.items()]:
            if name.startswith("genperf") and getattr(module, setting.name, None) is setting.value:
                setattr(module, setting.name, value)
    for one in gc.get_objects():
        if isinstance(one, functools._lru_cache_wrapper):
            one.cache_clear()


def answers(parts: tuple[str, ...], given: Given) -> Answers:
    """Return all answers of some parts, by what they answer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {f"{part} {name}": value for part in parts for name, value in _PARTS[part](given)}


@dataclass(frozen=True)
class Given:
    """The tables that are read, and the files of fitted models."""

    tables: tuple[Path, ...]
    models: tuple[Path, ...]
    questions: Path | None


def _read(given: Given) -> Iterator[tuple[str, float | str]]:
    from genperf.panel.read import recognised
    from genperf.table.opened import open_files

    for path in given.tables:
        try:
            opened = recognised(open_files([str(path)]))
            yield f"{path.name} line", opened.line
            table = opened.table()
            yield f"{path.name} rows", f"{table.frame.to_csv()} {[str(f) for f in table.factors]} {table.notes}"
        except gp.GenperfError as problem:
            yield f"{path.name} refused", str(problem)


def _predicted(cases: list[Case]) -> Iterator[tuple[str, float | str]]:
    for case in cases:
        table = gp.datasets.load(case.table, **case.roles)
        try:
            result = gp.fit(table, case.model, **case.options)
        except gp.GenperfError as problem:
            yield case.name, str(problem)
            continue
        for place, rows in enumerate(queries(table)):
            try:
                predicted = result.predict(rows)
            except gp.GenperfError as problem:
                yield f"{case.name} {place}", str(problem)
                continue
            for name in predicted.columns.difference(rows.columns):
                for row, value in enumerate(predicted[name]):
                    yield f"{case.name} {place} {row} {name}", value if isinstance(value, float) else str(value)


def _answer(given: Given) -> Iterator[tuple[str, float | str]]:
    for path in given.models:
        for words in COMMANDS:
            status, reply = printed(words[0], str(path), *words[1:])
            about = f"{path.stem} {' '.join(words)}"
            yield f"{about} status", str(status)
            yield from _leaves(about, reply) if reply is not None else ()


def printed(*words: str) -> tuple[int, Any]:
    """Run a command, and return its status and what it prints as JSON; None where it prints nothing."""
    status, out, _ = command_line(*words, "--json")
    return status, json.loads(out) if out.strip() else None


def _leaves(name: str, value: Any) -> Iterator[tuple[str, float | str]]:
    if isinstance(value, Mapping):
        for key, one in value.items():
            if "seconds" not in str(key):
                yield from _leaves(f"{name}.{key}", one)
    elif isinstance(value, list):
        for place, one in enumerate(value):
            yield from _leaves(f"{name}[{place}]", one)
    else:
        yield name, float(value) if isinstance(value, float) else str(value)


def _validate(_: Given) -> Iterator[tuple[str, float | str]]:
    learners = ["random-forest", "svr", "gaussian-process", "ernest"]
    for name in ("pytorch_cpu", "server_knee"):
        for score in gp.validate(gp.datasets.load(name), learners, scheme="kfold:5").models:
            yield f"{name} {score.model}", float("nan") if score.mape is None else score.mape


_PARTS: dict[str, Callable[[Given], Iterator[tuple[str, float | str]]]] = {
    READ: _read,
    FIT: lambda _: _predicted(
        [*(case for case in CASES if case.model != "auto" and case.table not in SLOW), *FAMILIES]
    ),
    AUTO: lambda _: _predicted([case for case in CASES if case.model == "auto"][::2]),
    ANSWER: _answer,
    VALIDATE: _validate,
}


def held_out(model: str) -> dict[str, float]:
    """Return the held-out errors of a model, in %, by table and scheme."""
    errors: dict[str, float] = {}
    for case in JUDGED:
        table = gp.datasets.load(case.table, **case.roles)
        scales = [f.name for f in table.factors if f.role == "extrinsic" and f.distinct > 2]
        for scheme in ["kfold:3", *(f"extrapolate:{name}" for name in scales[:1])]:
            with warnings.catch_warnings(), contextlib.suppress(gp.GenperfError):
                warnings.simplefilter("ignore")
                score = gp.validate(table, [model], scheme=scheme).models[0]
                if score.mape is not None:
                    errors[f"{case.name} {scheme}"] = score.mape
    return errors


def questions_right(path: Path) -> int:
    """Return how many questions on tables of a folder are answered within a fifth of the truth."""
    right = 0
    for question in json.loads(path.read_text()):
        at = [part for name, value in question["question"].items() for part in ("--at", f"{name}={value}")]
        truth = question["truth"]
        _, reply = printed("ask", str(path.parent / question["file"]), "--want", truth["quantity"], *at)
        right += reply is not None and abs(reply["answers"][0]["value"] / truth["value"] - 1.0) <= 0.2
    return right


def apart(work: Callable[..., Any], *arguments: Any, setting: Setting | None = None, value: Any = None) -> Any:
    """Return what a function returns in a process of its own, perhaps where a setting has another value."""
    first = set_to if setting else None
    with ProcessPoolExecutor(1, get_context("fork"), first, (setting, value) if setting else ()) as pool:
        return pool.submit(work, *arguments).result()


#: What a function returns with the settings of today.
today = functools.cache(apart)


@dataclass(frozen=True)
class Change:
    """How far answers are from those of today, or what asking for them failed with."""

    centre: float = 0.0
    ends: float = 0.0
    words: int = 0
    of: int = 0
    failure: str = ""

    @property
    def nothing(self) -> bool:
        """Whether nobody would act in another way."""
        return not self.failure and self.words == 0 and self.centre < NOTHING and self.ends < 3.0 * NOTHING

    def __str__(self) -> str:
        moved = f"{self.words} of {self.of} texts; centre {self.centre:.2g} %, ends {self.ends:.2g} %"
        return self.failure or ("none" if self.nothing else moved)


def change(before: Answers, after: Answers) -> Change:
    """Compare answers: the largest change of a number, in %, and how many texts differ."""
    centre = ends = 0.0
    words = len(before.keys() ^ after.keys())
    for name in before.keys() & after.keys():
        a, b = before[name], after[name]
        if isinstance(a, str) or isinstance(b, str):
            words += a != b
            continue
        if a == b or (a != a and b != b):
            continue
        far = 100.0 * abs(a - b) / max(abs(a), abs(b)) if np.isfinite(a) and np.isfinite(b) else np.inf
        if re.search(r"lower|upper|low|high|\[[01]\]$", name):
            ends = max(ends, far)
        else:
            centre = max(centre, far)
    return Change(centre, ends, words, len(before))


def run(only: str = "", tables: Path | None = None) -> str:
    """Try the settings whose text contains `only`; the page keeps the rows of the others."""
    found = list(settings())
    kept = PAGE.read_text() if PAGE.exists() else ""
    chosen = [s for s in found if only in s.text]
    further = sorted(tables.glob("*.csv")) if tables else []
    questions = tables / "cases.json" if tables else None
    with tempfile.TemporaryDirectory() as folder:
        given = Given(
            (*sorted((ROOT / "data").glob("*.csv")), *further),
            _models(Path(folder)),
            questions if questions is not None and questions.exists() else None,
        )
        rows = measured(chosen, given)
    shown = _with_kept(rows, kept, found)
    without = [s.text for s in found if not any(row.startswith(f"| {s.text} |") for row in shown)]
    return page(
        "settings",
        globals(),
        rows="\n".join(shown),
        further=len(further),
        without=textwrap.fill("; ".join(without) or "none", 120, break_on_hyphens=False),
    )


def _with_kept(rows: list[str], kept: str, found: list[Setting]) -> list[str]:
    """Return the rows of all settings: those measured now, and of the others those that the page has."""
    by_text = {row.split(" | ")[0]: row for row in [*kept.splitlines(), *rows] if row.startswith("| ")}
    return [by_text[f"| {s.text}"] for s in found if f"| {s.text}" in by_text]


def _models(folder: Path) -> tuple[Path, ...]:
    """Fit the models whose answers are compared, and write them."""
    paths = []
    for place, case in enumerate(ANSWERED):
        paths.append(folder / f"{place}_{case.table}.json")
        gp.save_model(gp.fit(gp.datasets.load(case.table, **case.roles), case.model), paths[-1])
    return tuple(paths)


def measured(chosen: list[Setting], given: Given) -> list[str]:
    """Return a row of the page for each setting."""
    parts = {s: PARTS.get(s.room, (ANSWER,)) for s in chosen}
    before = apart(answers, tuple(dict.fromkeys(chain.from_iterable(parts.values()))), given)
    rows = []
    for setting, of in parts.items():
        known = {name: one for name, one in before.items() if name.split()[0] in of}
        value = setting.value
        # A setting is read where answers differ, or fail, without it; a fitted constant is held at its start.
        held = {"lower": value.start, "upper": value.start} if isinstance(value, Constant) else None
        cells = ["no answer reads it", "", ""]
        if not _changed(setting, held, of, given, known).nothing:
            changes = [_changed(setting, tried, of, given, known) for tried in setting.tried().values()]
            judged = "" if all(one.nothing for one in changes) else _judged(setting, of, given)
            cells = [*map(str, changes), judged]
        rows.append(_row(setting, *cells))
        print(rows[-1], file=sys.stderr, flush=True)
    return rows


def _changed(setting: Setting, value: Any, of: tuple[str, ...], given: Given, known: Answers) -> Change:
    """Return how far the answers are from those of today where a setting has another value."""
    after = _attempted(answers, of, given, setting=setting, value=value)
    if isinstance(after, BaseException):
        return Change(failure=f"{type(after).__name__}: {str(after)[:60]}")
    return change(known, after)


def _attempted(work: Callable[..., Any], *arguments: Any, setting: Setting, value: Any) -> Any:
    """Return what a function returns where a setting has another value, or what it fails with."""
    try:
        return apart(work, *arguments, setting=setting, value=value)
    except (Exception, SystemExit) as problem:
        return problem


def _judged(setting: Setting, of: tuple[str, ...], given: Given) -> str:
    """Return held-out errors over those of today, halved and doubled, or the questions that are answered rightly."""
    if {FIT, AUTO} & {*of}:
        work: tuple[Callable[..., Any], Any] = held_out, "generic" if FIT in of else "auto"
    elif READ in of and given.questions is not None:
        work = questions_right, given.questions
    else:
        return ""
    usual = today(*work)
    halved, doubled = (_attempted(*work, setting=setting, value=value) for value in setting.tried().values())
    if isinstance(usual, int):
        return f"{halved}, {usual}, {doubled} questions"
    return ", ".join(_ratio(errors, usual) for errors in (halved, doubled))


def _ratio(errors: Any, today: dict[str, float]) -> str:
    """Return the geometric mean of errors over those of today."""
    if isinstance(errors, BaseException):
        return "fails"
    both = sorted(errors.keys() & today.keys())
    return f"{np.exp(np.mean([np.log(errors[k] / today[k]) for k in both])):.3f}"


def _row(setting: Setting, *cells: str) -> str:
    value = setting.value
    if isinstance(value, Constant):
        value = (value.lower, value.upper)
    return f"| {setting.text} | {value} | {' | '.join(cells)} |"
