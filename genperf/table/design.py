"""What the rows of a table leave unknown: effects that no fit can separate, and repeats that are hardly some."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pandas as pd

from genperf.errors import Note, listed
from genperf.table.table import Table, number_rows
from genperf.vocabulary.names import counted_by


@dataclass(frozen=True)
class DesignSettings:
    """When a note is worth reading, and when rows with equal factors are hardly repeats."""

    #: Of the logarithms of two factors, from which on they count as one. A guess: at 0.999 the part of one that the
    #: other does not tell has a twentieth of its standard deviation.
    correlation: float = 0.999
    #: Levels and pairs that are named at most.
    shown: int = 3
    #: A column in no role with more values than this is taken for a measurement, and not for a setting of the run that
    #: was forgotten. A guess: settings have few values, measurements as many as rows.
    max_setting_values: int = 20
    #: Columns that a note lists. A guess: they fit on a line.
    max_shown_columns: int = 6
    #: The largest of a configuration's values over the smallest, in the median of the configurations, from which on
    #: something else than noise parts them. A guess.
    apart: float = 2.0


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
    return [Note(text, "design") for part in (_once, _at_one_level, _together) for text in part(medians)]


def _once(medians: Table) -> Iterator[str]:
    """Name the levels that one configuration has."""
    for factor in medians.categorical:
        levels, counts = np.unique(medians.columns[factor.name].astype(str), return_counts=True)
        once = levels[counts == 1].tolist()
        if factor.distinct > 1 and len(once) == len(medians):
            yield f"'{factor.name}' has another level in each configuration: it tells nothing of the next one"
        elif factor.distinct > 1 and once:
            named = f"measured in one configuration each, of '{factor.name}': {listed(once, DESIGN.shown)}"
            yield f"{named}; what is particular to such a level cannot be separated from noise"


def _at_one_level(medians: Table) -> Iterator[str]:
    """Name the numbers that vary at a single level of a categorical factor."""
    for number in medians.numeric:
        for text in medians.categorical:
            by_level = pd.Series(medians.columns[number.name]).groupby(medians.columns[text.name].astype(str))
            varies = [level for level, values in by_level if np.ptp(values) > 0.0]
            if len(varies) == 1 and len(text.levels) > 1:
                only = f"'{number.name}' varies only where {text.name} = {varies[0]}"
                yield f"{only}: its effect there is taken for that at the other levels"


def _together(medians: Table) -> Iterator[str]:
    """Name pairs of numbers whose logarithms are correlated nearly fully; workers and the nodes they fill are none."""
    values = {f.name: medians.columns[f.name] for f in medians.numeric if f.distinct > 1}
    columns = {name: np.log(column) if medians.factor(name).positive else column for name, column in values.items()}
    pairs = [pair for pair in combinations(columns, 2) if {*map(counted_by, pair)} != {"workers", "nodes"}]
    correlations = [float(np.corrcoef(columns[one], columns[other])[0, 1]) for one, other in pairs]
    tied = [pair for pair in zip(pairs, correlations, strict=True) if abs(pair[1]) >= DESIGN.correlation]
    for (one, other), correlation in tied[: DESIGN.shown]:
        way = "rise together" if correlation > 0.0 else "are tied, one falls as the other rises"
        separated = "their effects cannot be separated; leave one out"
        yield f"'{one}' and '{other}' {way} (correlation {correlation:.3f}): {separated}"


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
    notes, mixed = [], []
    for name in table.unused:
        codes, values = pd.factorize(table.frame[name], use_na_sentinel=False)
        setting = name not in table.phases.values() and len(values) <= DESIGN.max_setting_values
        if setting and (codes != codes[first][configuration]).any():
            mixed.append(f"'{name}'")
    if mixed:
        differ = f"rows with equal factors, taken for repeats, differ in {listed(mixed, DESIGN.max_shown_columns)}"
        repeat = "" if table.repeat is not None else ", or the number of the run as --repeat"
        notes.append(Note(f"{differ}: name what matters as a factor or --group{repeat}", "configuration_mixed"))
    measured = table.frame[table.target.column].groupby(configuration)
    ratio = float((measured.max() / measured.min())[measured.size() > 1].median())
    if ratio >= DESIGN.apart:
        apart = f"repeats of a configuration differ by a factor of {ratio:.2g} in the median"
        several = "if the table holds runs of two clusters or programs"
        hint = "name the column that tells them apart (--group), or add one"
        notes.append(Note(f"{apart}: {several}, {hint}", "repeats_apart"))
    return replace(table, notes=(*table.notes, *notes))


def parting_notes(table: Table, scale: str) -> list[Note]:
    """Name the columns in no role that change once along a scale: its smaller counts may be of other machines."""
    notes, counts = [], table.columns[scale].astype(float)
    order = np.argsort(counts, kind="stable")
    # A summarised table names the columns in no role, and does not keep them.
    for name, cells in ((name, table.frame[name].to_numpy()) for name in table.unused if name in table.frame):
        smallest, largest = cells[order[0]], cells[order[-1]]
        if {type(cell) for cell in cells} != {str} or {*cells} != {smallest, largest} or smallest == largest:
            continue
        first, last = cells == smallest, cells == largest
        ends, begins = np.unique(counts[first]), np.unique(counts[last])
        if ends[-1] < begins[0] and min(len(ends), len(begins)) > 1:
            change = f"'{name}' is {smallest} up to {scale}={ends[-1]:g} then {largest} from {begins[0]:g}"
            hint = f"if they are different machines, --group {shlex.quote(name)} parts them"
            notes.append(Note(f"{change}: {hint}", "mixture"))
    return notes
