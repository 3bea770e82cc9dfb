"""The columns of a source: checked when they are first read, derived by formulas, filtered."""

import shlex
from collections.abc import Collection, Iterable
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from genperf.errors import FormulaError, TableError, listed, suggest
from genperf.formula import Formula, parse, parse_number
from genperf.table.cells import Source
from genperf.table.clean import Reasons, Rejection, label, labels, mostly_numbers, numbers, seconds_of

_DURATION_HINT = "a measured time is written in seconds, or as hh:mm:ss"
#: What to do where no cell of a column is a number, by a word of the reason.
_HINTS = {
    "unit": "write plain numbers; --unit ms says what --time is in",
    "thousands": "write 1204.5, neither 1,204.5 nor 1204,5",
}


class Columns:
    """Checked columns of one source, each read once.

    Parameters
    ----------
    source : Source
        The cells.
    texts : collection of str
        Columns that are text in formulas whatever they hold (categorical ones: their levels are text). Of the
        others a column is text if fewer than half of its cells are numbers.

    Notes
    -----
    A cell that cannot be used is not an error yet: a filter may leave its row out. Its value is NaN, its row is marked
    in `unusable[column]`, and a derived column inherits the marks of those it is made from, so that each fault is
    reported once, where it stands in the file.
    """

    def __init__(self, source: Source, texts: Collection[str] = ()) -> None:
        self.source = source
        self.texts = set(texts)
        self.derived: dict[str, str] = {}
        self.made_from: dict[str, frozenset[str]] = {}
        self.reasons: dict[str, Reasons] = {}
        self.unusable: dict[str, npt.NDArray[np.bool_]] = {}
        self._numbers: dict[str, npt.NDArray[np.float64]] = {}
        self._labels: dict[str, npt.NDArray[np.object_]] = {}

    @property
    def names(self) -> list[str]:
        """All columns: the source's, then the derived ones."""
        return [*(c for c in {**self.source.cells, **self.source.read} if c not in self.derived), *self.derived]

    def number(self, name: str, durations: bool = False) -> npt.NDArray[np.float64]:
        """Return a column as numbers, NaN where a cell is none; with `durations` hours and minutes become seconds."""
        if name not in self._numbers:
            cells = self.source.read.get(name, self.cells(name))
            values, reasons = numbers(seconds_of(cells) if durations else cells)
            if reasons and len(reasons) == len(values):
                self._refuse(name, self.cells(name), reasons, durations)
            self._numbers[name] = values
            self.reject(name, reasons)
        return self._numbers[name]

    def label(self, name: str) -> npt.NDArray[np.object_]:
        """Return a column as texts, none of which may be empty."""
        values = self._text(name)
        if name not in self.derived:
            self.reject(name, {int(i): "is empty" for i in np.flatnonzero(values == "")})
        return values

    def reject(self, name: str, reasons: Reasons) -> None:
        """Mark rows that cannot be used because of this column; the first reason of a cell stays."""
        mask = self.unusable.setdefault(name, np.zeros(len(self.source), dtype=bool))
        mask[list(reasons)] = True
        self.reasons[name] = {**reasons, **self.reasons.get(name, {})}

    def derive(self, name: str, text: str) -> npt.NDArray[np.float64]:
        """Add a column computed from others and return it; a value that is not finite is a reason."""
        self.parse(text)
        formula = parse_number(text, self.names, self.texts)
        values = self._evaluate(formula).astype(float)
        inherited = ~self.usable(formula.names - self.texts)
        self.derived[name] = text
        self.made_from[name] = formula.names
        self._numbers[name] = values
        self.unusable[name] = inherited.copy()
        bad = np.flatnonzero(~np.isfinite(values) & ~inherited)
        self.reject(name, {int(i): f"is not finite ({name} = {text})" for i in bad})
        return values

    def filter(self, text: str | None) -> tuple[npt.NDArray[np.bool_], frozenset[str]]:
        """Return which rows a comparison keeps, and the columns it depends on.

        A row on which the comparison cannot be decided is kept, to be reported.
        """
        if text is None:
            return np.ones(len(self.source), dtype=bool), frozenset()
        formula = self.parse(text)
        if not formula.logical:
            raise FormulaError("a filter is a comparison", text=text, column=0, width=len(text), hint="workers > 1")
        kept = self._evaluate(formula).astype(bool) | ~self.usable(formula.names - self.texts)
        return kept, self.origins(formula.names)

    def origins(self, names: Iterable[str]) -> frozenset[str]:
        """Return the columns, with all those they are made from."""
        origins: set[str] = set()
        for name in names:
            origins |= {name} | self.origins(self.made_from.get(name, ()))
        return frozenset(origins)

    def rejections(self, keep: npt.NDArray[np.bool_]) -> list[Rejection]:
        """Return the faults of the columns read so far in the rows kept, in the order of the file."""
        ordered = enumerate(self.reasons.items())
        placed = sorted((row, place, name) for place, (name, why) in ordered for row in why if keep[row])
        return [
            self.source.rejection(row, name, self.cells(name)[row], self.reasons[name][row]) for row, _, name in placed
        ]

    def missing(self, name: str, role: str) -> TableError:
        """Return the error for a column that is not there, with the column that may have been meant."""
        known = self.names
        shown = listed([f'"{n}"' if "," in n else n for n in known])
        near = suggest(name, known)
        hint = f"{near}; the columns are {shown}" if near else f"one of {shown}"
        before, _, unit = name.rpartition(":")
        if role == "time" and before in known:
            hint = f"--time COLUMN --unit {unit}: the unit of a time is another option"
        elif len(known) == 1:
            hint = f"the header line was read as one column, '{shown}': --delimiter CHAR says what separates columns"
        elif not numbers(known)[1]:
            hint = f"the first line holds the numbers {shown}: put a header line with names above it"
        return TableError(f"no column '{name}' (named as {role})", hint=hint, where=self.source.name)

    def usable(self, names: Iterable[str] | None = None) -> npt.NDArray[np.bool_]:
        """Return which rows have no fault in some columns; in any column that was read where none are named."""
        mask = np.ones(len(self.source), dtype=bool)
        for name in self.unusable if names is None else set(names) & set(self.unusable):
            mask &= ~self.unusable[name]
        return mask

    def excuse(self, failed: npt.NDArray[np.bool_], settings: Iterable[str]) -> None:
        """Report no fault of a failed run outside its settings, its factors and groups: it has no measured value."""
        for name in set(self.reasons) - self.origins(settings):
            self.reasons[name] = {row: why for row, why in self.reasons[name].items() if not failed[row]}

    def _text(self, name: str) -> npt.NDArray[np.object_]:
        """Return a column as texts; in a formula an empty one can be compared."""
        if name not in self._labels:
            self._labels[name] = labels(self.cells(name).tolist())
        return self._labels[name]

    def cells(self, name: str) -> npt.NDArray[Any]:
        """Return a column as it is written in the source; the numbers of a derived one."""
        return next(part[name] for part in (self.source.cells, self.source.read, self._numbers) if name in part)

    def parse(self, text: str) -> Formula:
        """Read a formula over the columns."""
        # Whether a column is text is decided only where a formula may read it.
        named = {n for n in self.names if n in text} - set(self._numbers)
        self.texts |= {n for n in named - self.texts if not mostly_numbers(self.cells(n).tolist())}
        with_units = named & self.texts & set(self.source.read) & set(self.source.cells)
        try:
            return parse(text, self.names, self.texts)
        except FormulaError:
            if not with_units:
                raise
            # '16GB' is a text where it is compared with one, and a number in a sum.
            self.texts -= with_units
            return parse(text, self.names, self.texts)

    def _evaluate(self, formula: Formula) -> npt.NDArray[Any]:
        columns = {n: self._text(n) if n in self.texts else self.number(n) for n in formula.names}
        return np.broadcast_to(formula.evaluate(columns), (len(self.source),))

    def _refuse(self, name: str, cells: Any, reasons: Reasons, durations: bool) -> NoReturn:
        """Refuse a column that holds no number at all: leaving rows out would not help."""
        first = next((i for i, cell in enumerate(cells) if label(cell)), None)
        if first is None:
            raise TableError(f"column '{name}' is empty", where=self.source.name)
        fault = self.source.rejection(first, name, cells[first], reasons[first])
        shown = fault.value if len(fault.value) <= 40 else f"{fault.value[:37]}…"
        other = f"name another column, or --categorical {shlex.quote(name)} if it names kinds of runs"
        hints = {**_HINTS, "time of day": _DURATION_HINT} if durations else _HINTS
        raise TableError(
            f"no cell of the column is a number; the first, '{shown}', {fault.reason}",
            hint=next((text for word, text in hints.items() if word in fault.reason), other),
            where=f"{self.source.name}: {fault.place}",
        )
