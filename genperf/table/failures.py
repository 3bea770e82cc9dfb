"""Runs that failed: recognised by the words in the measured column, or in a column of status."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
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
    FailureRule(status='state', values={'exit': ('1', '137')})
    >>> cells = {"s": [2.0, 1.0, 3.0, 9.0], "state": ["ok", "OOM", "ok", "ok"], "exit": [0, 1, 0, 137]}
    >>> rule.failed({name: np.array(column) for name, column in cells.items()}, 4, ["s"], "runs.csv")
    array([False,  True, False,  True])
    """

    #: A column that says how each run ended.
    status: str | None = None
    #: Columns with the values of runs that failed, in place of the usual words.
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the user named."""
        return (*self.values, *([self.status] if self.status else []))

    def columns_of(self, names: Collection[str], measured: Sequence[str], where: str) -> list[str]:
        """Return the columns that say how runs ended: those that the user named, and the measured ones."""
        gone = next((name for name in self.columns if name not in names), None)
        if gone is not None:
            hint = suggest(gone, [*names]) or f"one of {', '.join(names)}"
            raise TableError(f"no column '{gone}' that says which runs failed", hint=hint, where=where)
        return list(dict.fromkeys([*self.columns, *(name for name in measured if name in names)]))

    def says(self, name: str, texts: Sequence[str] | npt.NDArray[np.object_], where: str) -> Truth:
        """Return which texts of a column say that a run failed: those that the user gave, or by the usual words."""
        known = {text.casefold(): text for text in texts}
        failing = {small for small in known if says_failed(small)}
        if name in self.values:
            failing = {word.casefold() for word in self.values[name]}
            for word in self.values[name]:
                if word.casefold() not in known:
                    near, levels = suggest(word, [*known.values()]), [f"'{text}'" for text in known.values()]
                    raise TableError(
                        f"no cell of column '{name}' is '{word}', the word of a failed run",
                        hint=f"{f'{near}; ' if near else ''}its values are {listed(levels)}",
                        where=where,
                    )
        return np.array([text.casefold() in failing for text in texts], dtype=bool)

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
        for name in self.columns_of(cells, measured, where):
            if name in self.values or cells[name].dtype.kind not in "iufb":
                mask |= self.says(name, labels(cells[name]), where)
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


def rule_of(status: str | None, failed: Mapping[str, Words] | Words | None) -> FailureRule:
    """Return the rule of a column of endings, and of `COLUMN=VALUE,…`, several of such, or values by column."""
    name = (status or "").strip() or None
    if isinstance(failed, Mapping):
        pairs = {str(c).strip(): (v,) if isinstance(v, str) else tuple(map(str, v)) for c, v in failed.items()}
        return FailureRule(name, pairs)
    values: dict[str, tuple[str, ...]] = {}
    for column, words in pairs_of(failed, "COLUMN=VALUE,…", "status=OOM,killed"):
        values[column] = (*values.get(column, ()), *(word.strip() for word in words.split(",") if word.strip()))
    return FailureRule(name, values)


def pairs_of(texts: Words | None, form: str, example: str) -> list[tuple[str, str]]:
    """Return names with what is given for each, from `name=text` or several of such; form and example for messages."""
    pairs = []
    for item in [texts] if isinstance(texts, str) else texts or ():
        name, _, text = item.partition("=")
        # "a==b" is a comparison that somebody forgot to name.
        if not name.strip() or not text.strip(" ,") or text.startswith("="):
            raise TableError(f"'{item}' is not of the form {form}", hint=f'for example "{example}"')
        pairs.append((name.strip(), text.strip()))
    return pairs


def refuse_only_failures(failed: Truth, where: str) -> None:
    """Refuse runs that all failed."""
    if len(failed) and failed.all():
        what = "the one run" if len(failed) == 1 else f"all {len(failed)} runs"
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
    shown = listed([", ".join(key) for key in gone])
    return (Note(f"every run failed of {counted(len(gone), 'group')}, left out: {shown}", "groups_failed"),)


def group_keys(frame: pd.DataFrame, group: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the values of the group columns in each row, as texts; nothing without group columns."""
    return list(zip(*(labels(frame[name].tolist()) for name in group), strict=True)) if len(frame) else []
