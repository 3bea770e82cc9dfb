"""Runs that failed: recognised by the words in the measured column, or in a column of status."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from genperf.errors import Note, TableError, counted, listed, suggest
from genperf.table.clean import labels
from genperf.vocabulary import any_of, words_of

if TYPE_CHECKING:
    import pandas as pd

Truth = npt.NDArray[np.bool_]
Words = str | Sequence[str]


@dataclass(frozen=True)
class FailureSettings:
    """What a message shows of the words of failed runs."""

    #: Values of a column that a message lists. A guess: they fit on a line.
    max_shown_values: int = 6


FAILURES = FailureSettings()
_FAILED = re.compile(
    "".join(rf"(?<!\b{word} )" for word in words_of("cells.denial")) + rf"\b{any_of('cells.failed')}\b"
)


@dataclass(frozen=True)
class FailureRule:
    """By which columns and words a run failed.

    Examples
    --------
    >>> rule = rule_of("state", "exit=1,137")
    >>> rule
    FailureRule(status='state', values={'exit': ('1', '137')}, usual_words=True)
    >>> cells = {"s": [2.0, 1.0, 3.0, 9.0], "state": ["ok", "OOM", "ok", "ok"], "exit": [0, 1, 0, 137]}
    >>> rule.failed({name: np.array(column) for name, column in cells.items()}, 4, ["s"], "runs.csv")
    array([False,  True, False,  True])
    """

    #: A column that says how each run ended.
    status: str | None = None
    #: Columns with the values of runs that failed, in place of the usual words.
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Whether the measured column is read for the usual words.
    usual_words: bool = True

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the user named."""
        return (*self.values, *([self.status] if self.status else []))

    def failed(self, cells: Mapping[str, npt.NDArray[Any]], rows: int, measured: Sequence[str], where: str) -> Truth:
        """Return which runs failed, shape (rows,), by the cells as they stand in the source.

        Parameters
        ----------
        measured : sequence of str
            The measured column, or those that it is derived from.
        where : str
            The source, for messages.
        """
        mask = np.zeros(rows, dtype=bool)
        for name in dict.fromkeys([*self.columns, *(measured if self.usual_words else [])]):
            if name not in cells and name in self.columns:
                raise no_failure_column(name, list(cells), where)
            if name in self.values:
                mask |= _equal(name, labels(cells[name]), self.values[name], where)
            elif name in cells and cells[name].dtype.kind not in "iufb":
                texts = labels(cells[name]).tolist()
                failing = {text for text in {*texts} if says_failed(text)}
                mask |= np.array([text in failing for text in texts], dtype=bool)
        return mask


def no_failure_column(name: str, names: Sequence[str], where: str) -> TableError:
    """Return the error of a column of endings that is not there."""
    hint = suggest(name, names) or f"one of {', '.join(names)}"
    return TableError(f"no column '{name}' that says which runs failed", hint=hint, where=where)


def says_failed(text: str) -> bool:
    """Tell whether a text says that a run failed.

    Examples
    --------
    >>> says_failed("RuntimeError: CUDA out of memory."), says_failed("OOM")
    (True, True)
    >>> says_failed("no error"), says_failed("nan")
    (False, False)
    """
    return bool(_FAILED.search(re.sub(r"[\s_-]+", " ", text.lower())))


def _equal(name: str, texts: npt.NDArray[np.object_], words: Sequence[str], where: str) -> Truth:
    """Return which texts are one of some words."""
    known = {text.casefold(): text for text in texts}
    for word in words:
        if word.casefold() not in known:
            levels = list(known.values())
            near, values = suggest(word, levels), listed([f"'{text}'" for text in levels], FAILURES.max_shown_values)
            raise TableError(
                f"no cell of column '{name}' is '{word}', the word of a failed run",
                hint=f"{f'{near}; ' if near else ''}its values are {values}",
                where=where,
            )
    failing = {word.casefold() for word in words}
    return np.array([text.casefold() in failing for text in texts], dtype=bool)


def rule_of(status: str | None, failed: Mapping[str, Words] | Words | None) -> FailureRule:
    """Return the rule of a column of endings, and of `COLUMN=VALUE,…`, several of such, or values by column."""
    name = (status or "").strip() or None
    if isinstance(failed, Mapping):
        pairs = {str(c).strip(): (v,) if isinstance(v, str) else tuple(map(str, v)) for c, v in failed.items()}
        return FailureRule(name, pairs)
    values: dict[str, tuple[str, ...]] = {}
    for text in [failed] if isinstance(failed, str) else failed or ():
        column, _, named = text.partition("=")
        words = tuple(word.strip() for word in named.split(",") if word.strip())
        if not column.strip() or not words or named.startswith("="):
            raise TableError(f"'{text}' is not of the form COLUMN=VALUE,…", hint='for example "status=OOM,killed"')
        values[column.strip()] = (*values.get(column.strip(), ()), *words)
    return FailureRule(name, values)


def refuse_only_failures(failed: Truth, keep: Truth, where: str) -> None:
    """Refuse a table whose runs all failed, of those that the filter keeps."""
    count = int(keep.sum())
    if count and bool(failed[keep].all()):
        what = "the one run" if count == 1 else f"all {count} runs"
        hint = "add runs that succeeded, or name other words with --failed COLUMN=VALUE"
        raise TableError(f"{what} failed: there is no measured value to fit", hint=hint, where=where)


def failure_notes(count: int) -> tuple[Note, ...]:
    """Say how many runs failed."""
    if not count:
        return ()
    kept = f"{'its' if count == 1 else 'their'} settings are kept as ones that did not fit, without a measured value"
    return (Note(f"{counted(count, 'run')} failed: {kept}", "runs_failed"),)


def groups_that_only_failed(failures: pd.DataFrame, frame: pd.DataFrame, group: Sequence[str]) -> tuple[Note, ...]:
    """Say which groups have runs that failed, and none that was measured."""
    measured = {*group_keys(frame, group)} if len(failures) else set()
    gone = [key for key in dict.fromkeys(group_keys(failures, group)) if key not in measured]
    if not gone:
        return ()
    shown = listed([", ".join(key) for key in gone], FAILURES.max_shown_values)
    return (Note(f"every run failed of {counted(len(gone), 'group')}, left out: {shown}", "groups_failed"),)


def group_keys(frame: pd.DataFrame, group: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the values of the group columns in each row, as texts; nothing without group columns."""
    return list(zip(*(labels(frame[name].tolist()) for name in group), strict=True)) if len(frame) else []
