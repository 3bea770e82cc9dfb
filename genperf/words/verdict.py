"""The reasons of a verdict and what a verdict means: each sentence stands here once, and the page gets it as data."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from genperf.words import TEXTS
from genperf.words.numbers import error_text, setting_text

#: Reasons by what they are about; what a verdict means to somebody who decides.
REASONS, TRUST = TEXTS["reasons"], TEXTS["trust"]
#: The verdict of a prediction that is not to be relied on.
BLIND = "extrapolating-blind"
#: A probability of fitting that goes without a word: that of `optimize`.
LIKELY_TO_FIT = 0.95


class Mark(NamedTuple):
    """A reason that some rows have in common, before it is worded."""

    rows: npt.NDArray[np.intp]  #: Their positions.
    about: str  #: A key of `REASONS`.
    level: Any  #: The grade that the reason gives, as a place in the verdicts; one for all these rows or one each.
    #: One value for all these rows, or an array with one for each; a pair of a name and values is a reason by itself.
    values: Mapping[str, Any]


def reasons(marks: Sequence[Mark], rows: int) -> list[str]:
    """Return the reasons of every row, each once, those first that give the worst grade."""
    graded: list[dict[str, int]] = [{} for _ in range(rows)]
    for mark in marks:
        grades = np.broadcast_to(mark.level, mark.rows.shape).tolist()
        for row, text, grade in zip(mark.rows.tolist(), _texts(mark), grades, strict=False):
            graded[row][text] = max(grade, graded[row].get(text, 0))
    return ["; ".join(sorted(texts, key=lambda text: -texts[text])) or REASONS["inside"] for texts in graded]


def _texts(mark: Mark) -> Iterable[str]:
    """Return the text of each row of a mark; each combination of values is worded once."""
    arrays = {name: value.tolist() for name, value in mark.values.items() if isinstance(value, np.ndarray)}
    if not arrays:
        return repeat(_worded(mark.about, mark.values))
    rows = list(zip(*arrays.values(), strict=True))
    texts = dict[tuple[Any, ...], str]()
    for row in dict.fromkeys(rows):
        texts[row] = _worded(mark.about, {**mark.values, **dict(zip(arrays, row, strict=True))})
    return [texts[row] for row in rows]


def _worded(about: str, values: Mapping[str, Any]) -> str:
    """Return a reason with its numbers of doublings, its errors and the reasons inside it in words."""
    inner = {name: _worded(*value) for name, value in values.items() if isinstance(value, tuple)}
    # Errors ln(predicted/measured) in per cent.
    numbers = {n: error_text(100.0 * float(np.expm1(values[n]))) for n in ("error", "last") if n in values}
    if "far" in values:
        # With at most one decimal: `1 doubling`, `2.5 doublings`.
        digits = f"{values['far']:.1f}".removesuffix(".0")
        numbers["far"] = REASONS["doubling" if digits == "1" else "doublings"].format(count=digits)
    settings = {name: setting_text(value) for name, value in values.items() if isinstance(value, int | float)}
    return REASONS[about].format(**{**values, **settings, **numbers, **inner})


def trust_text(verdict: str, why: str = "") -> str:
    """Return what a verdict means, its name, and its reason where one is given."""
    why = why.strip().rstrip(".")
    return f"{TRUST[verdict]} ({verdict}){f': {why}' if why else ''}"


def with_footnotes(verdicts: Iterable[str], reasons: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return verdicts with the marks of their reasons, `ok [1]`, and the reasons behind these, each once."""
    marks = {reason: f"[{k}]" for k, reason in enumerate(filter(None, dict.fromkeys(reasons)), 1)}
    marked = [f"{verdict} {marks.get(reason, '')}".rstrip() for verdict, reason in zip(verdicts, reasons, strict=True)]
    return marked, [f"{mark} {reason}" for reason, mark in marks.items()]


def fits_text(probability: float) -> str:
    """Return that a run may fail, or most likely does; nothing where it is likely to fit."""
    if probability >= LIKELY_TO_FIT:
        return ""
    percent = f"{100 * probability:.0f} %" if probability >= 0.01 else REASONS["less_than_one"]
    how = REASONS["fails" if probability >= 0.5 else "most_likely_fails"]
    return REASONS["fits"].format(how=how, percent=percent)
