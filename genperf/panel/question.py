"""Which rows a question is about: the series that its settings select, along what it goes beyond."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from genperf.errors import TableError
from genperf.formula.amounts import amount
from genperf.panel.evidence import Evidence
from genperf.panel.reading import Reading
from genperf.vocabulary.names import canonical_of

Array = npt.NDArray[np.float64]
Truth = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class QuestionSettings:
    """When a row is one that the question means."""

    #: Relative difference up to which a number is the requested one: 30B for 29.97B parameters. A guess.
    same: float = 0.05
    #: Relative difference up to which a setting follows the scale as in the rows: a rounded batch. A guess.
    follows: float = 0.03
    #: Levels that a message lists, and other series whose answers are shown.
    max_levels: int = 6


QUESTION = QuestionSettings()


@dataclass(frozen=True, eq=False)
class Selection:
    """The rows of one series, and what else the question says."""

    #: Which rows of the table.
    rows: Truth
    #: Kinds and settings that are constant in them, with their text.
    held: dict[str, str]
    #: Kinds and settings that the question leaves open, with what is taken.
    taken: dict[str, str]
    #: Settings that no row has, or none together with the others: they need a model of several factors.
    open: tuple[str, ...] = ()
    #: Settings whose requested value follows from the scale as in the rows.
    following: tuple[str, ...] = ()
    #: The levels of what is taken that other series have.
    others: tuple[dict[str, str], ...] = ()


def select(reading: Reading, at: Mapping[str, str]) -> Selection:
    """Return the rows that a question is about.

    A setting of the question selects its rows. One that no row has either follows the scale as it does in the rows (a
    global batch, the watts of all devices), or needs a model of several factors.
    """
    scale = reading.scale
    rows = np.ones(len(next(iter(reading.evidence.values())).texts), dtype=bool)
    held: dict[str, str] = {}
    missing: dict[str, float] = {}
    apart: list[str] = []
    for name, text in at.items():
        evidence, value = reading.evidence[name], amount(text)
        if name == scale and (value or 0.0) <= 0.0:
            raise _no_level(name, text, evidence)
        if name == scale or (canonical_of(name) in ("workers", "nodes", "devices_per_node") and evidence.varies):
            continue
        matched = _rows_with(evidence, text)
        if (rows & matched).any():
            rows &= matched
            held[name] = text
        elif matched.any():
            apart.append(name)
        elif value is not None and evidence.numeric:
            missing[name] = value
        else:
            raise _no_level(name, text, evidence)
    value = amount(at[scale]) if scale is not None and scale in at else None
    counts = reading.evidence[scale].values if scale else np.full(len(rows), np.nan)
    cells = {n: reading.evidence[n].values[rows] for n in missing}
    following = [n for n, v in missing.items() if value and _follows(cells[n], counts[rows], v, value)]
    still_open = (*apart, *(n for n in missing if n not in following))
    taken: dict[str, str] = {}
    others: list[dict[str, str]] = []
    if scale is not None and not still_open:
        for name in _design(reading, rows, {*at, *following}):
            levels = reading.evidence[name].texts
            present = [str(level) for level in np.unique(levels[rows].astype(str))]
            scales = {level: counts[rows & (levels == level)] for level in present}
            reach = {level: (len(np.unique(known)), float(np.max(known))) for level, known in scales.items()}
            best = max(reach, key=lambda lv: reach[lv])
            others += [{**taken, name: lv} for lv in reach if lv != best]
            taken[name] = best
            rows = rows & (levels == best)
    return Selection(rows, held, taken, still_open, tuple(following), tuple(others[: QUESTION.max_levels]))


def _design(reading: Reading, rows: Truth, given: set[str]) -> list[str]:
    """Return the kinds and settings that the question leaves open and that part the rows into series."""
    counts = reading.evidence[reading.scale].texts if reading.scale else None
    names = []
    for name in reading.of("kind", "setting"):
        evidence = reading.evidence[name]
        if name == reading.scale or name in given or counts is None:
            continue
        if canonical_of(name) in ("workers", "nodes", "devices_per_node", "global_batch"):
            continue
        levels = [lv for lv in dict.fromkeys(evidence.texts[rows].tolist()) if lv]
        each = [len({*counts[rows & (evidence.texts == lv)].tolist()}) for lv in levels]
        # Each level at several counts, or a count at several levels: else it follows the scale.
        if len(levels) > 1 and max(each) > 1 and sum(each) > len({*counts[rows].tolist()}):
            names.append(name)
    return names


def _rows_with(evidence: Evidence, text: str) -> Truth:
    """Return which rows have a level: by its text, else the number that it stands for, nearest first."""
    texts = evidence.texts.astype(str)
    same = np.char.lower(np.char.strip(texts)) == text.strip().lower()
    value = amount(text)
    if same.any() or value is None or not evidence.numeric:
        return np.asarray(same)
    with np.errstate(invalid="ignore", divide="ignore"):
        away = np.abs(np.log(evidence.values / value)) if value > 0.0 else np.abs(evidence.values - value)
    nearest = np.nanmin(away, initial=np.inf)
    return np.asarray((away <= QUESTION.same) & (away == nearest) & np.isfinite(away))


def _follows(values: Array, counts: Array, wanted: float, count: float) -> bool:
    """Tell whether the requested value of a setting is where the rows lead it: a·nᵇ, with b = 1 or -1 for few rows."""
    known = np.isfinite(values) & np.isfinite(counts) & (values > 0.0) & (counts > 0.0)
    if not known.any() or wanted <= 0.0:
        return False
    x, y = np.log(counts[known]), np.log(values[known])
    exponents = [1.0, -1.0, *([float(np.polyfit(x, y, 1)[0])] if len(np.unique(x)) > 2 else [])]
    for exponent in exponents:
        level = y - exponent * x
        away = abs(np.log(wanted) - np.median(level) - exponent * np.log(count))
        if np.ptp(level) <= QUESTION.follows and away <= QUESTION.follows:
            return True
    return False


def _no_level(name: str, text: str, evidence: Evidence) -> TableError:
    """Return the error of a level that no run has, with the nearest ones; a count may be any above zero."""
    levels = list(evidence.levels)
    if evidence.numeric and amount(text) is not None:
        largest = 2.0 * float(np.max(evidence.known))
        return TableError(f"{name} is a count above zero, and not {text}", hint=f"--at {name}={largest:g}")
    near = difflib.get_close_matches(text, levels, QUESTION.max_levels, 0.4) or levels[: QUESTION.max_levels]
    return TableError(f"no run has {name}={text}", hint=f"one of {', '.join(near)}")
