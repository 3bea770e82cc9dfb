"""What the rows of a table leave unknown: effects that no fit can separate, and repeats that are hardly some."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.errors import Note
from genperf.table.factor import Factor
from genperf.table.table import Table, number_rows
from genperf.vocabulary.names import counted_by


@dataclass(frozen=True)
class DesignSettings:
    """When a note is worth reading."""

    #: Of the logarithms of two factors, from which on they count as one. A guess: at 0.999 the part of one that the
    #: other does not tell has a twentieth of its standard deviation.
    correlation: float = 0.999
    #: Levels and pairs that are named at most.
    shown: int = 3


DESIGN = DesignSettings()


def design_notes(table: Table) -> list[Note]:
    """Name levels that were measured once, factors that vary at one level only, and pairs that rise together.

    Examples
    --------
    >>> import pandas as pd
    >>> from genperf.table import read_table
    >>> runs = pd.DataFrame({"batch": [8, 16, 32, 64], "bytes": [32, 64, 128, 256], "t": [1.0, 1.1, 1.3, 1.7]})
    >>> for note in design_notes(read_table(runs, time="t", intrinsic="batch,bytes")):
    ...     print(note)
    'batch' and 'bytes' rise together (correlation 1.000): their effects cannot be separated; leave one out
    """
    medians = table.medians()
    varying = [f for f in medians.factors if f.distinct > 1]
    texts = [f for f in varying if not f.numeric]
    numbers = [f for f in varying if f.numeric]
    notes = [*_once(medians, texts), *_at_one_level(medians, numbers, texts), *_together(medians, numbers)]
    return [Note(text, "design") for text in notes]


def _once(medians: Table, texts: Sequence[Factor]) -> Iterator[str]:
    """Name the levels that one configuration has."""
    for factor in texts:
        levels, counts = np.unique(medians.columns[factor.name].astype(str), return_counts=True)
        once = levels[counts == 1].tolist()
        if len(once) == len(medians):
            yield f"'{factor.name}' has another level in each configuration: it tells nothing of the next one"
        elif once:
            more = f" and {len(once) - DESIGN.shown} more" if len(once) > DESIGN.shown else ""
            named = ", ".join(once[: DESIGN.shown]) + more
            yield (
                f"measured in one configuration each, of '{factor.name}': {named}; what is particular to such a level "
                "cannot be separated from noise"
            )


def _at_one_level(medians: Table, numbers: Sequence[Factor], texts: Sequence[Factor]) -> Iterator[str]:
    """Name the numbers that vary at a single level of a categorical factor."""
    for number in numbers:
        for text in texts:
            labels = medians.columns[text.name].astype(str)
            values = medians.columns[number.name]
            varies = [level for level in np.unique(labels).tolist() if np.ptp(values[labels == level]) > 0.0]
            if len(varies) == 1 and len(text.levels) > 1:
                yield (
                    f"'{number.name}' varies only where {text.name} = {varies[0]}: its effect there is taken for that "
                    "at the other levels"
                )


def _together(medians: Table, numbers: Sequence[Factor]) -> Iterator[str]:
    """Name pairs of numbers whose logarithms are correlated nearly fully; workers and the nodes they fill are none."""
    columns = {f.name: _scaled(medians.columns[f.name], f) for f in numbers}
    pairs = []
    for one, other in combinations(columns, 2):
        if {counted_by(one), counted_by(other)} == {"workers", "nodes"}:
            continue
        correlation = float(np.corrcoef(columns[one], columns[other])[0, 1])
        if abs(correlation) >= DESIGN.correlation:
            pairs.append((one, other, correlation))
    for one, other, correlation in pairs[: DESIGN.shown]:
        way = "rise together" if correlation > 0.0 else "are tied, one falls as the other rises"
        yield (
            f"'{one}' and '{other}' {way} (correlation {correlation:.3f}): their effects cannot be separated; "
            "leave one out"
        )


def _scaled(values: npt.NDArray[np.float64], factor: Factor) -> npt.NDArray[np.float64]:
    return np.log(values) if factor.positive else values


@dataclass(frozen=True)
class RepeatSettings:
    """When rows with equal factors are hardly repeats."""

    #: A column in no role with more values than this is taken for a measurement, and not for a setting of the run that
    #: was forgotten. A guess: settings have few values, measurements as many as rows.
    max_setting_values: int = 20
    #: Columns that a note lists. A guess: they fit on a line.
    max_shown_columns: int = 6
    #: The largest of a configuration's values over the smallest, in the median of the configurations, from which on
    #: something else than noise parts them. A guess.
    apart: float = 2.0


REPEATS = RepeatSettings()


def with_repeat_notes(table: Table) -> Table:
    """Say where rows that count as repeats differ in a setting that is in no role, or by more than noise.

    Examples
    --------
    >>> from genperf.table import read_table
    >>> runs = pd.DataFrame({"gpus": [1, 1, 2, 2], "s": [1.0, 3.1, 1.1, 3.3]})
    >>> [note.kind for note in read_table(runs, time="s", extrinsic="gpus").notes]
    ['repeats_apart']
    """
    names = [*(f.name for f in table.factors), *table.group, *([table.repeat] if table.repeat else [])]
    _, first, configuration = np.unique(number_rows(table.frame, names), return_index=True, return_inverse=True)
    if len(first) == len(table.frame):
        return table
    notes = (*_mixture_note(table, first, configuration), *_spread_note(table, configuration))
    return replace(table, notes=(*table.notes, *notes))


def _mixture_note(table: Table, first: npt.NDArray[np.intp], configuration: npt.NDArray[np.intp]) -> tuple[Note, ...]:
    """Name the columns in no role in which repeats of a configuration differ."""
    mixed = []
    for name in table.unused:
        if name not in table.phases.values():
            codes, values = pd.factorize(table.frame[name], use_na_sentinel=False)
            differs = codes != codes[first][configuration]
            if len(values) <= REPEATS.max_setting_values and differs.any():
                mixed.append(name)
    if not mixed:
        return ()
    shown = ", ".join(f"'{c}'" for c in mixed[: REPEATS.max_shown_columns])
    shown += ", …" if len(mixed) > REPEATS.max_shown_columns else ""
    text = (
        f"rows with equal factors, taken for repeats, differ in {shown}: name what matters as a factor or --group"
        + ("" if table.repeat is not None else ", or the number of the run as --repeat")
    )
    return (Note(text, "configuration_mixed"),)


def _spread_note(table: Table, configuration: npt.NDArray[np.intp]) -> tuple[Note, ...]:
    """Say that repeats differ by far more than noise."""
    values = table.frame[table.target.column].groupby(configuration)
    ratio = float((values.max() / values.min())[values.size() > 1].median())
    if ratio < REPEATS.apart:
        return ()
    text = (
        f"repeats of a configuration differ by a factor of {ratio:.2g} in the median: if the table holds runs of two "
        "clusters or programs, name the column that tells them apart (--group), or add one"
    )
    return (Note(text, "repeats_apart"),)


def parting_notes(table: Table, scale: str) -> list[Note]:
    """Name the columns in no role that change once along a scale: its smaller counts may be of other machines."""
    # A summarised table names the columns in no role, and does not keep them.
    return [note for name in table.unused if name in table.frame for note in _parted(table, scale, name)]


def _parted(table: Table, scale: str, name: str) -> list[Note]:
    """Say that a column changes once along the scale."""
    counts, cells = table.columns[scale].astype(float), table.frame[name].to_numpy()
    if not all(isinstance(cell, str) for cell in cells):
        return []
    smallest, largest = (cells[np.argsort(counts, kind="stable")[end]] for end in (0, -1))
    first, last = cells == smallest, cells == largest
    ends, begins = counts[first], counts[last]
    parted = bool(np.all(first | last)) and smallest != largest and float(ends.max()) < float(begins.min())
    if not parted or min(len(np.unique(ends)), len(np.unique(begins))) < 2:
        return []
    text = (
        f"'{name}' is {smallest} up to {scale}={ends.max():g} then {largest} from {begins.min():g}: "
        f"if they are different machines, --group {shlex.quote(name)} parts them"
    )
    return [Note(text, "mixture")]
