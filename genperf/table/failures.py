"""Runs that failed: they are told by the words in the measured column, or in a column of status."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from genperf.errors import Note, TableError, counted, suggest
from genperf.table.clean import label
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
    """How runs that failed are told from the others.

    Examples
    --------
    >>> rule = rule_of("state", "exit=1,137")
    >>> rule
    FailureRule(status='state', values={'exit': ('1', '137')}, usual_words=True)
    >>> import pandas as pd
    >>> runs = pd.DataFrame({"s": [2.0, 1.0, 3.0, 9.0], "state": ["ok", "OOM", "ok", "ok"], "exit": [0, 1, 0, 137]})
    >>> rule.failed(runs, ["s"], "runs.csv")
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

    @property
    def given(self) -> bool:
        """Whether the user named a column or a word."""
        return bool(self.columns)

    def failed(self, frame: pd.DataFrame, measured: Sequence[str], where: str) -> Truth:
        """Return which runs failed, shape (rows,).

        Parameters
        ----------
        frame : DataFrame
            The cells as they stand in the source.
        measured : sequence of str
            The measured column, or those that it is derived from.
        where : str
            The source, for messages.

        Raises
        ------
        TableError
            For a column that is not there, or a word that no cell of its column holds.
        """
        mask = np.zeros(len(frame), dtype=bool)
        for name in dict.fromkeys([*self.columns, *(measured if self.usual_words else [])]):
            if name not in frame.columns:
                if name in measured and name not in self.columns:
                    continue
                names = [str(c) for c in frame.columns]
                hint = suggest(name, names) or f"one of {', '.join(names)}"
                raise TableError(f"no column '{name}' that says which runs failed", hint=hint, where=where)
            cells = frame[name]
            if cells.dtype.kind in "iufb" and name not in self.values:
                continue
            texts = cells.astype(object).map(label)
            if name in self.values:
                mask |= _equal(name, texts, self.values[name], where)
            else:
                mask |= texts.map({text: says_failed(text) for text in texts.unique()}).to_numpy(dtype=bool)
        return mask


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


def _equal(name: str, texts: pd.Series, words: Sequence[str], where: str) -> Truth:
    """Return which texts are one of some words."""
    small = texts.str.casefold()
    known = dict(zip(small, texts, strict=True))
    for word in words:
        if word.casefold() not in known:
            some = [f"'{text}'" for text in list(known.values())[: FAILURES.max_shown_values]]
            listed = ", ".join(some) + (", …" if len(known) > len(some) else "")
            near = suggest(word, list(known.values()))
            hint = f"{near}; its values are {listed}" if near else f"its values are {listed}"
            raise TableError(
                f"no cell of column '{name}' is '{word}', the word of a failed run", hint=hint, where=where
            )
    return small.isin([word.casefold() for word in words]).to_numpy(dtype=bool)


def rule_of(status: str | None, failed: Mapping[str, Words] | Words | None) -> FailureRule:
    """Return the rule that the options name.

    Parameters
    ----------
    status : str or None
        A column.
    failed : str, sequence of str or mapping
        `COLUMN=VALUE,…`, several of such, or values by column.

    Raises
    ------
    TableError
        For a text of another form.
    """
    if isinstance(failed, Mapping):
        pairs = {str(c).strip(): (v,) if isinstance(v, str) else tuple(map(str, v)) for c, v in failed.items()}
        return FailureRule(_name(status), pairs)
    values: dict[str, tuple[str, ...]] = {}
    for text in [failed] if isinstance(failed, str) else failed or ():
        column, _, listed = text.partition("=")
        words = tuple(word.strip() for word in listed.split(",") if word.strip())
        if not column.strip() or not words or listed.startswith("="):
            raise TableError(f"'{text}' is not of the form COLUMN=VALUE,…", hint='for example "status=OOM,killed"')
        values[column.strip()] = (*values.get(column.strip(), ()), *words)
    return FailureRule(_name(status), values)


def _name(status: str | None) -> str | None:
    return (status or "").strip() or None


def refuse_only_failures(failed: Truth, keep: Truth, where: str) -> None:
    """Refuse a table whose runs all failed.

    Parameters
    ----------
    failed, keep : ndarray of bool, shape (rows,)
        Which runs failed, and which rows the filter keeps.
    where : str
        The source, for messages.

    Raises
    ------
    TableError
    """
    count = int(keep.sum())
    if count and bool(failed[keep].all()):
        what = "the one run" if count == 1 else f"all {count} runs"
        raise TableError(
            f"{what} failed: there is no measured value to fit",
            hint="add runs that succeeded, or name other words with --failed COLUMN=VALUE",
            where=where,
        )


def failure_notes(count: int) -> tuple[Note, ...]:
    """Say how many runs failed."""
    if not count:
        return ()
    whose = "its" if count == 1 else "their"
    text = (
        f"{counted(count, 'run')} failed: {whose} settings are kept as ones that did not fit, without a measured value"
    )
    return (Note(text, "runs_failed"),)


def failures_of(failures: pd.DataFrame, group: Sequence[str], key: Sequence[str]) -> pd.DataFrame:
    """Return the failed runs of one group.

    Parameters
    ----------
    group : sequence of str
        The group columns.
    key : sequence of str
        Their values.
    """
    same = np.ones(len(failures), dtype=bool)
    for name, value in zip(group, key, strict=True):
        same &= np.array([label(cell) == value for cell in failures[name].tolist()], dtype=bool)
    return failures[same].reset_index(drop=True)


def groups_that_only_failed(failures: pd.DataFrame, frame: pd.DataFrame, group: Sequence[str]) -> tuple[Note, ...]:
    """Say which groups have no run that succeeded.

    Parameters
    ----------
    failures, frame : DataFrame
        The runs that failed, and those that were measured.
    group : sequence of str
        The group columns.
    """
    if not group or failures.empty:
        return ()
    measured = set(_keys(frame, group))
    gone = [key for key in dict.fromkeys(_keys(failures, group)) if key not in measured]
    if not gone:
        return ()
    some = "; ".join(", ".join(key) for key in gone[: FAILURES.max_shown_values])
    listed = some + ("; …" if len(gone) > FAILURES.max_shown_values else "")
    return (Note(f"every run failed of {counted(len(gone), 'group')}, left out: {listed}", "groups_failed"),)


def _keys(frame: pd.DataFrame, group: Sequence[str]) -> list[tuple[Any, ...]]:
    return list(zip(*(map(label, frame[name].tolist()) for name in group), strict=True))
