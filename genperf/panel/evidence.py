"""What a column is by its cells and by its header: settings are chosen, measurements happen, consequences follow.

A header shows what was measured: the time of a step, a throughput, or another quantity; and which columns are sizes,
count, number the runs, show where they were written down, or how they ended.
"""

import itertools
import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from genperf.arrays import Array, Index, Mask, Objects
from genperf.errors import TableError
from genperf.formula import quote_name
from genperf.formula.amounts import DURATIONS, amount
from genperf.panel.options import says_failed
from genperf.panel.panel import LEAST_GROWTH
from genperf.table.cells import Cells
from genperf.table.clean import MISSING, labels, mostly_numbers, numbers, seconds_of
from genperf.table.facts import CALENDAR
from genperf.vocabulary import any_of, words_of
from genperf.vocabulary.headers import (
    COMPUTED,
    MONEY_IN_NAME,
    STATISTIC,
    STATISTICS,
    STEP_WORDS,
    TIME_UNITS,
    Header,
    bandwidth_of,
    header_of,
    in_multiples,
)
from genperf.vocabulary.names import (
    COUNTED,
    IN_TOKENS,
    LEVELS,
    PHASES,
    WAYS,
    canonical_of,
    column_of,
    is_relative,
    level_with,
    meant_by,
    noun_of,
    plain_name,
    words_in,
)

Texts = Mapping[Any, Objects]
Role = Literal[
    "setting", "kind", "repeat", "label", "constant", "empty",
    "measured", "spread", "ratio", "consequence", "ending", "phase", "made",
]  # fmt: skip

# When cells look chosen, when a column adds to the others, and when arithmetic is no chance. Smaller and larger numbers
# in the place of those with (*) answer as many questions (experiments/results/settings.md).
#: The exponent from which on what grows is no throughput of workers, who do not gain from each other.
MOST_GROWTH = 1.2
#: Different texts per row: a column with more of them numbers or describes the runs. A kind that can be compared
#: has two runs, on average.
MAX_KIND_LEVELS = 0.5
#: Different combinations of kinds per row up to which they may determine another column: half-way between two runs
#: of each, which show it, and one, from which anything follows.
MAX_COMBINATIONS = 0.75
#: Counts of workers in the series of the median run below which the series are rows of one table.
READING_LEAST_COUNTS = 3.0
#: Binary digits of a whole number that is still round: 96 = 11₂·32, 288 = 1001₂·32, 60 = 1111₂·4 (*).
CHOSEN_BITS = 4
#: Significant digits of a number that is chosen, from `HUNDRED_LOG_ODDS` on, and of one that was measured (*).
CHOSEN_DIGITS = 2
HUNDRED_LOG_ODDS = 100.0
MEASURED_DIGITS = 4
#: The share of cells that must be round, equal to another one, or explained by a formula, to be evidence (*).
CELL_SHARE = 0.7
#: Half a unit of the last digit that is written, as a share: what rounding may change. Cells of three digits.
CELL_ROUNDING = 0.006
#: Relative differences of sums of floating-point numbers that are equal.
ROUNDING_OF_SUMS = 1e-9
#: Least change of a column, as a share, that is worth an explanation: times of weak scaling hardly change.
LEAST_CHANGE = 0.1
#: The same of a share by its name, such as MFU. A guess: several times the rounding of cells.
LEAST_CHANGE_OF_RATIO = 0.025
#: Rows beyond the first from which it is no chance that a formula with a free constant holds, or all cells differ (*).
MORE_ROWS = 2
#: Relative difference up to which a number is the level that is requested: 30B for 29.97B. A guess.
SAME_LEVEL = 0.05
#: A time that is less than so much of another one in every run is a part of it. A guess.
SMALL_PART = 0.1
#: Rows and columns that are looked at for arithmetic: more of them take seconds.
ARITHMETIC_ROWS = 64
ARITHMETIC_COLUMNS = 60


class Consequence(Struct, frozen=True):
    """How a column follows from others: a constant times a product of their powers, c·a, c/a, c·a·b, c·a/b, c/(a·b)."""

    factors: Mapping[str, int]

    def __str__(self) -> str:
        above = [name for name, power in self.factors.items() if power > 0]
        below = [name for name, power in self.factors.items() if power < 0]
        over = f"({' × '.join(below)})" if len(below) > 1 else "".join(below)
        return f"{' × '.join(above) or 'a constant'}{f' / {over}' if below else ''}"


class TableColumn(Struct, eq=False):
    """A column of a table: its cells, what its header says, and what it is, which the reading settles."""

    name: str
    texts: Objects
    #: The numbers, NaN where a cell is none; those that are known; and whether all cells are numbers but for a few.
    values: Array
    known: Array
    numeric: bool
    #: The different texts, in order of appearance, and whether there are several.
    levels: tuple[str, ...]
    varies: bool
    header: Header  #: What it says of itself by its name and the unit in its cells.
    #: The field's name for its name, and for its name or the plural of it; None for another name.
    canonical: str | None
    meant: str | None
    lowest: float  #: Its smallest number, and at most one.
    names_kinds: bool  #: Whether it names kinds of runs by texts: several, and not almost one for each row.
    #: Whether it is a statistic of something measured, by its name, and whether it says where or when a run was made:
    #: that may separate series, and is no factor.
    is_statistic: bool
    is_provenance: bool
    #: What it is, and why; the arithmetic by which other columns give it.
    role: Role = "setting"
    reasons: tuple[str, ...] = ()
    follows: Consequence | None = None

    def __str__(self) -> str:
        arithmetic = (f"= {self.follows}",) if self.follows is not None else ()
        return f"{self.role}: {', '.join([*self.reasons, *arithmetic])}"

    def becomes(self, role: Role, *reasons: str) -> None:
        """Settle what the column is."""
        self.role, self.reasons = role, reasons

    @property
    def kind(self) -> Literal["rate", "time", "quantity", ""]:
        """What its header says that it measures."""
        return self.header.kind

    @property
    def is_of_one_day(self) -> bool:
        """Whether its cells are moments of one day, also in seconds since 1970: of what was watched meanwhile."""
        days = {day and day[0] for day in map(_DATE.match, self.levels)}
        in_seconds = self.numeric and bool(min(self.known) > CALENDAR[0] and np.ptp(self.known) < DURATIONS["d"])
        return in_seconds or (len(days) == 1 and None not in days)

    def rows_with(self, text: str, tolerance: float = SAME_LEVEL) -> Mask:
        """Return which rows have a value: a number by the nearest one within a tolerance, relative to it.

        A text is meant by itself or by whole words of one level alone: `h100` is `NVIDIA H100`.
        """
        plain, value = text.strip().lower(), amount(text) if self.numeric else None
        if value is not None:
            with np.errstate(invalid="ignore", divide="ignore"):
                away = np.abs(np.log(self.values / value)) if value > 0.0 else np.abs(self.values - value)
            return np.asarray(np.isfinite(away) & (away <= tolerance) & (away == np.nanmin(away, initial=np.inf)))
        same = np.char.lower(np.char.strip(self.texts.astype(str))) == plain
        level = "" if same.any() or self.numeric else level_with(plain, self.levels)
        return np.asarray(self.texts == level if level else same)

    def score(self) -> tuple[float, list[str]]:
        """Return the log odds that the numbers were chosen rather than measured, by the cells alone, with reasons."""
        sizes = np.abs(self.known[self.known != 0.0])
        if not len(sizes):
            return 0.0, []
        is_whole = bool(np.all(sizes == np.floor(sizes)))
        # The significant digits of each as it is written shortest; its first binary digits, whole if it has no more.
        mantissas = [f"{value:.12g}".partition("e")[0].replace(".", "") for value in sizes]
        digits = np.array([max(1, len(mantissa.strip("0"))) for mantissa in mantissas])
        few = (digits == 1) | ((digits <= CHOSEN_DIGITS) & (sizes >= HUNDRED_LOG_ODDS))
        bits = np.ldexp(np.frexp(sizes)[0], CHOSEN_BITS)
        rounded = few | ((sizes == np.floor(sizes)) & (bits == np.floor(bits)))
        repeated = 1.0 - (len(np.unique(sizes)) - 1) / max(len(sizes) - 1, 1)
        matched: list[tuple[float, str]] = [(1.0, "whole numbers") if is_whole else (-1.0, "fractions")]
        if np.mean(rounded) >= CELL_SHARE:
            matched.append((1.5, "round numbers or powers of two"))
        elif float(np.median(digits)) >= MEASURED_DIGITS:
            matched.append((-1.5, f"{np.median(digits):.0f} significant digits"))
        if len(sizes) > MORE_ROWS:
            if repeated > 1.0 - CELL_SHARE:
                matched.append((1.5, "values that repeat from row to row"))
            elif np.mean(rounded) < CELL_SHARE:
                matched.append((-1.5, "hardly two equal values"))
        return sum(score for score, _ in matched), [reason for _, reason in matched]


def column_from(
    name: str, cells: Cells | Sequence[Any], unit: str = "", names: Collection[str] = (), role: Role = "setting"
) -> TableColumn:
    """Return a column among those of other names, whose unit stood in its cells."""
    texts = labels(seconds_of(cells))
    missing = np.array([text.lower() in MISSING for text in texts.tolist()], dtype=bool)
    # Beside numbers, `none` is an empty cell; beside other words it is a level.
    texts = np.where(missing, "", texts) if mostly_numbers(list(texts[~missing])) else texts
    values, levels = numbers(texts)[0], tuple(dict.fromkeys(text for text in texts.tolist() if text))
    finite_values, plain = values[np.isfinite(values)], plain_name(name)
    *words, last = re.split(r"[_./]", plain)
    # Fractions of many digits that differ by rounding alone, as pi summed in several orders, are one number.
    spread = np.ptp(values) if len(values) else 0.0
    is_one = 0.0 < spread < ROUNDING_OF_SUMS * np.max(np.abs(values)) and bool(np.any(values % 1.0 != 0.0))
    column = TableColumn(
        name,
        texts,
        values=values,
        known=finite_values,
        numeric=(numeric := mostly_numbers(list(texts))),
        levels=levels,
        varies=len(levels) > 1 and not is_one,
        header=described(name, unit, names),
        canonical=canonical_of(name),
        meant=meant_by(name),
        lowest=float(np.min(finite_values, initial=1.0)),
        names_kinds=1 < len(levels) <= max(2.0, MAX_KIND_LEVELS * len(texts)),
        is_statistic=bool(words) and (last in _RANKED or STATISTIC.fullmatch(last) is not None),
        is_provenance=plain in _PROVENANCE
        or (bool(levels) and all(map(_DATE.match, levels)))
        or (not numeric and _are_hosts(levels)),
        role=role,
    )
    if column.canonical in WAYS and column.score()[0] < 0.0:
        # The header of what was measured with such a split: `Data Parallel | Model Parallel`.
        column.canonical = column.meant = None
    return column


def _are_hosts(levels: Sequence[str]) -> bool:
    """Tell whether texts list numbered machines of one name, `gn01` and `gn01-gn04`: they say where a run was made."""
    lists = [_BETWEEN_HOSTS.split(level.lower()) for level in levels]
    names = [re.fullmatch(r"([a-z]*)\d+", name) for of_level in lists for name in of_level]
    prefixes = {name[1] if name else None for name in names} - {""}
    return len(lists) < len(names) and len(prefixes) == 1 and None not in prefixes


def repeated_kinds(columns: Texts, kept: Collection[str] = ()) -> list[str]:
    """Return the columns of kinds that the others determine, such as a name put together from them; none of `kept`."""
    left, names = dict(columns), list(columns)
    # Those of most levels are tried first, and of two alike the last.
    for name in sorted(columns, key=lambda n: (-int(combination_ids([columns[n]]).max()), -names.index(n))):
        further_cells = [cells for n, cells in left.items() if n != name]
        # Where nearly every row is another combination, anything follows from them.
        if not further_cells or name in kept or are_single_runs(dict(enumerate(further_cells))):
            continue
        if combination_ids(further_cells).max() == combination_ids([*further_cells, columns[name]]).max():
            del left[name]
    return [name for name in columns if name not in left]


def are_single_runs(columns: Texts) -> bool:
    """Tell whether nearly every row has another combination of texts, which would be a series of one run."""
    series = combination_ids([*columns.values()])
    return bool(series.max() + 1 > MAX_COMBINATIONS * len(series))


def have_few_counts(columns: Texts, counts: Array, batches: Collection[str] = ()) -> bool:
    """Tell whether most rows are in series of too few different counts, though the table has enough of them.

    Of `batches` that were mostly run with every name, some rows are enough: then the batch is a factor of all names.
    """
    series, (different_counts, place) = combination_ids([*columns.values()]), np.unique(counts, return_inverse=True)
    # One pair for each different count of a series.
    series_of_pairs, _ = np.unique(np.stack([series, place]), axis=1)
    counts_of_series = np.bincount(series_of_pairs)
    least = min(READING_LEAST_COUNTS, len(different_counts))
    by_kind = [[cells for n, cells in columns.items() if (n in batches) is of_batch] for of_batch in (False, True)]
    crossed = all(by_kind) and 2 * len(counts_of_series) > math.prod(
        int(combination_ids(cells).max()) + 1 for cells in by_kind
    )
    of_rows = counts_of_series[series]
    return least > 1 and float(of_rows.min() if crossed else np.median(of_rows)) < least


def combination_ids(columns: Sequence[Objects]) -> Index:
    """Return for each row the number of its combination of texts, sorted; shape (rows,)."""
    codes = [np.unique(cells.astype(str), return_inverse=True)[1] for cells in columns]
    return np.unique(np.stack(codes), axis=1, return_inverse=True)[1].ravel()


def consequences(
    columns: Mapping[str, Array], settings: Sequence[str], series: Index, ratios: Collection[str] = ()
) -> dict[str, Consequence]:
    """Return the columns that are products of powers of others: {"img/s": batch·gpus/step_s}, within their rounding.

    A column that follows explains no other one. Settings are looked at first, and follow from settings alone: so a
    rate follows from a time, and no batch from a rate. `ratios` are efficiencies and speed-ups, which change less.
    """
    usable = {n: v for n, v in columns.items() if np.nanmin(v, initial=1.0) >= 0.0 and np.sum(v > 0.0) > 1}
    names = [n for n in usable if len(np.unique(usable[n][np.isfinite(usable[n])])) > 1][:ARITHMETIC_COLUMNS]
    rows = np.arange(min(ARITHMETIC_ROWS, len(next(iter(columns.values()), []))))
    with np.errstate(divide="ignore"):
        logarithms = {n: np.log(usable[n][rows]) for n in names}
    series_numbers = np.unique(series[rows], return_inverse=True)[1]
    following: dict[str, Consequence] = {}
    for name in sorted(names, key=lambda n: (n in settings, names.index(n)), reverse=True):
        bases = [n for n in names if n != name and n not in following and (n in settings or name not in settings)]
        # Measurements come first: what is proportional to them is so by definition, to a count perhaps only so far.
        bases.sort(key=lambda n: n in settings)
        least = LEAST_CHANGE_OF_RATIO if name in ratios else LEAST_CHANGE
        consequence = _proportional_to(logarithms[name], {n: logarithms[n] for n in bases}, series_numbers, least)
        if consequence is not None:
            following[name] = consequence
    measured = {name: consequence for name, consequence in following.items() if name not in settings}
    chained = [name for name, consequence in measured.items() if not measured.keys().isdisjoint(consequence.factors)]
    return following | {name: _in_terms_of_bases(measured[name], measured) for name in chained}


def _in_terms_of_bases(consequence: Consequence, matched: Mapping[str, Consequence]) -> Consequence:
    """Return a consequence in which what is `matched` itself stands by the powers of what it follows from.

    Efficiency = speed-up¹·n⁻¹ and speed-up = c·time⁻¹ give efficiency = c·time⁻¹·n⁻¹.
    """
    powers: dict[str, int] = {}
    for column, power in consequence.factors.items():
        origins = _in_terms_of_bases(matched[column], matched).factors if column in matched else {column: 1}
        for origin, inner_power in origins.items():
            powers[origin] = powers.get(origin, 0) + power * inner_power
    # What cancels within the rounding is kept as it was found.
    return Consequence({column: power for column, power in powers.items() if power} or consequence.factors)


def _proportional_to(target: Array, others: Mapping[str, Array], series: Index, least: float) -> Consequence | None:
    """Return the simplest product of powers of one or two columns that a column is proportional to, from logarithms.

        ln y = c_s + Σ p_k·ln x_k,   p = (1), (−1), (1, 1), (1, −1) or (−1, −1), in each series s

    It is where their ratio is one constant in each series, in enough cells of a column that varies by `least`.
    """
    names = list(others)
    if not names:
        return None
    matrix = np.stack([others[n] for n in names])
    in_series = np.equal.outer(series, np.arange(series.max() + 1)).astype(float)
    for powers in ((1,), (-1,), (1, 1), (1, -1), (-1, -1)):
        choose = itertools.combinations if len({*powers}) == 1 else itertools.permutations
        choices = np.array([*choose(range(len(names)), len(powers))], dtype=int)
        if not len(choices):
            continue
        # A row for each choice of columns: what it leaves of ln y, and how far that is from its mean in each series.
        with np.errstate(invalid="ignore"):
            residuals = np.asarray(target - sum(power * matrix[choices[:, k]] for k, power in enumerate(powers)))
        finite = np.isfinite(residuals)
        residuals_or_zero, counts = np.where(finite, residuals, 0.0), finite @ in_series
        means = (residuals_or_zero @ in_series) / np.maximum(counts, 1.0)
        farthest = np.where(finite, np.abs(residuals_or_zero - means[:, series]), 0.0).max(axis=1)
        cells, constants = finite.sum(axis=1), (counts > 0.0).sum(axis=1)
        enough = (cells >= constants + MORE_ROWS) & (cells >= CELL_SHARE * np.isfinite(target).sum())
        lowest, highest = np.where(finite, target, np.inf).min(axis=1), np.where(finite, target, -np.inf).max(axis=1)
        # Zeros of one side alone, whose logarithms are infinite, contradict it.
        is_constant = (farthest <= CELL_ROUNDING) & ~np.isinf(residuals).any(axis=1)
        proportional = np.flatnonzero(enough & (highest - lowest >= least) & is_constant)
        if len(proportional):
            return Consequence({names[i]: power for i, power in zip(choices[proportional[0]], powers, strict=True)})
    return None


# --- what a header shows ----------------------------------------------------------------------------------------------

_RESULT = re.compile(rf"(^|.*_){any_of(*COMPUTED)}(_.*)?")
_SPREAD = re.compile(rf"(^|.*[_.]){any_of('columns.spread')}(_.*)?")
_PREDICTED = (*words_of("columns.predicted"), *words_of("columns.expected"), "lower", "upper")
_IDEAL = frozenset(words_of("columns.ideal"))
_COLLECTIVE = re.compile(any_of("columns.collective"))
#: A day, perhaps with its time: `2024-01-31 10:00`, `31.1.2024`.
_DATE = re.compile(r"(\d{4}([-/.])\d\d?\2\d\d?|\d\d?([-/.])\d\d?\3\d{4})(?!\d)")
_NUMBER_OF_A_RUN = re.compile(any_of("columns.number_of_a_run"))
#: In the name of a time: that of all its parts together.
WHOLE = re.compile(rf"(^|_){any_of('headers.whole')}(_|$)")
#: In the name of a time: what most took less than, which no rate follows from.
HIGH_PERCENTILE = re.compile(r"(^|_)p[6-9]\d")
_PHASE = re.compile(rf"(^|_)({'|'.join(word for words in PHASES.values() for word in words)})(_|$)")
#: Why a column is no setting.
MONEY = "its header is that of money"
#: Statistics of one measurement, the better one to fit first; a name without such a word comes before all.
_RANKED = (*STATISTICS, "min")
#: Beside the steps of a training: its warm-up, what compiles it, an evaluation.
_BESIDE_STEPS = re.compile(rf"(?<![^\W_]){any_of('log.test')}(?![^\W_])")
#: The name of the step's time that is derived from steps per second.
_STEP = "step_time_s"
#: What a transformer's throughput counts, and the columns that show how much of it a step has.
_AMOUNTS = ("tokens", "samples", "sequences")
_OF_A_STEP = ("global_batch", "micro_batch", "micro_batches", "sequence", *WAYS)

#: `time` with its `unit`, `throughput`, or `quantity`; and a column that is derived and measured in its place.
Measured = tuple[dict[str, str], dict[str, str]]

#: Factors of how a run is executed; the field's other names are those of the program.
EXTRINSIC = (*(*COUNTED, "partitions", "threads"), *(*WAYS, "expert_parallel", "virtual_stages"))

#: `gn01, gn02`, `gn01-gn04`
_BETWEEN_HOSTS = re.compile(r"\s*[,;+]\s*|\s*(?:-|\.\.)\s*(?=[a-z]*\d)|\s+(?=[a-z]+\d)")
_PROVENANCE = frozenset((*words_of("columns.provenance"), *words_of("columns.machine_names")))
_ENDINGS, _FAILED, _SUCCEEDED = (
    frozenset(words_of(f"columns.{kind}")) for kind in ("ending", "ending_failed", "ending_succeeded")
)
_ON, _OFF = (frozenset(words_of(f"cells.{switch}")) for switch in ("on", "off"))


def role_by_words(name: str, names: Collection[str] = ()) -> tuple[Literal["spread", "label", "ratio"], str] | None:
    """Return the role that the words of a header show, with the reason: a deviation, a number of a run, a result.

    Among `names`, `time_std` is no deviation beside `time_opt` alone: `std` is a variant, of which the time was taken.

    >>> names = ("hMFU", "TFLOPs/GPU", "AllReduce (GB/s)", "link (GB/s)", "zero_stage", "speed up vs 1 GPU")
    >>> [name for name in names if role_by_words(name)]
    ['hMFU', 'TFLOPs/GPU', 'AllReduce (GB/s)', 'speed up vs 1 GPU']
    >>> [role_by_words(name)[0] for name in ("job_id", "_step", "thr_std", "stddev (ms)")], role_by_words("layers")
    (['label', 'label', 'spread', 'spread'], None)
    >>> role_by_words("Throughput mean ± SD"), role_by_words("Scalability")[0]
    (None, 'ratio')
    >>> role_by_words("time_std", ["n", "time_std", "time_opt"]), role_by_words("time_std", ["time_std", "time_avg"])[0]
    (None, 'spread')
    """
    # `Throughput ± SD` is the throughput.
    flat = plain_name(re.split(r"\s*(?:±|\+/-)", name)[0] or name).replace("/", "_").replace("._", "_").rstrip("_.")
    if _SPREAD.fullmatch(flat):
        # The last word may be one of several variants that were measured, and no statistic.
        stem, _, last = flat.rpartition("_")
        pairs = (plain_name(n).rpartition("_") for n in names)
        variants = {word for other, _, word in pairs if other == stem} - {last}
        is_of_one = stem in map(plain_name, names) or not variants.isdisjoint((*_RANKED, "err", "error"))
        if not (stem and variants) or header_of(stem).kind == "" or is_of_one:
            return "spread", "its header is that of a deviation"
    # A linear layer has a time as well.
    ideal, kind = _IDEAL & words_in(name), header_of(name).kind
    is_ideal = bool(ideal) and (is_relative(name) or kind == "rate" or (kind == "time" and "linear" not in ideal))
    is_ideal |= bool(ideal) and words_in(name) <= _IDEAL - {"linear"}
    if flat in _PREDICTED or is_ideal:
        return "spread", "its header is that of an earlier prediction"
    if flat.startswith("_") or _NUMBER_OF_A_RUN.fullmatch(flat):
        return "label", "it numbers the runs"
    if MONEY_IN_NAME.fullmatch(name.lower()):
        return "ratio", MONEY
    if _RESULT.fullmatch(flat) or (_COLLECTIVE.search(flat) and bandwidth_of(name)):
        return "ratio", "its header is that of a result that is computed from others"
    return None


def ranked(measured: Sequence[TableColumn], names: Sequence[str]) -> list[str]:
    """Return measured columns, the likeliest to be what a question means first, by the key below.

    Times and rates stand before other quantities, wholes before their phases, medians before percentiles. Of a time
    and a rate the time comes first where it is the only one and the `names` of the table hold a batch.
    """
    batched = any(column_of(name, names) for name in ("batch", "global_batch", "micro_batch"))
    times = {c.name: plain_name(c.name) for c in measured if c.kind == "time"}
    of_stated = {c.name for c in measured if c.kind == "time" and c.header.of}
    whole_times = of_stated | {n for n, plain in times.items() if WHOLE.search(plain) and not _PHASE.search(plain)}
    has_phases = sum(bool(_PHASE.search(plain)) and not WHOLE.search(plain) for plain in times.values()) > 1
    # Device-hours are those of all devices together.
    in_units = [c for c in measured if c.name in times and c.header.unit in TIME_UNITS and not c.header.shared]
    seconds = {c.name: c.values * np.divide(*TIME_UNITS[c.header.unit]) for c in in_units}
    small = {n for n, of_runs in seconds.items() if np.all(of_runs < SMALL_PART * np.fmax.reduce([*seconds.values()]))}
    prefers_time = batched and bool(of_stated) and 1 in (len(times), len(of_stated))
    kinds = ("time", "rate", "", "quantity") if prefers_time else ("rate", "time", "", "quantity")

    def key(column: TableColumn) -> tuple[float, ...]:
        """Return the order of a column: what is least likely to be meant has the largest numbers."""
        header, name = column.header, column.name
        words = plain_name(re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", " ", name)).split("_")
        statistic = next((k for k, word in enumerate(_RANKED, 1) if word in words), 0)
        is_percentile = any(re.match(r"p\d\d", word) for word in words)
        is_beside = _BESIDE_STEPS.search(name.lower()) is not None
        counts_steps = header.kind == "rate" and header.counted in STEP_WORDS
        of_a_part = header.kind == "time" and name not in whole_times
        # The time of a sample, `s/image`, is a speed as well.
        is_speed = header.kind in ("time", "rate") or header.unit.partition("/")[0] in TIME_UNITS
        kind = (not is_speed, is_beside, of_a_part and (has_phases or name in small), kinds.index(header.kind))
        empty_cells = len(column.texts) - len(column.known)
        return (is_percentile, *kind, counts_steps, header.shared, of_a_part, not header.of, statistic, empty_cells)

    return [column.name for column in sorted(measured, key=key)]


def described(name: str, unit: str, names: Collection[str] = ()) -> Header:
    """Return what a column says of itself, among the names of others: its header, and the unit in its cells."""
    # Behind a dot stands the statistic of a record, and no minutes; nor are `total_min` beside `total_max`.
    stem = re.sub(r"[\W_]min$", "", name, flags=re.IGNORECASE)
    others = (f"{name[:-3]}max".lower(), f"{name[:-3]}avg".lower())
    is_least = stem != name and any(n.lower() in others for n in names)
    header = header_of(stem if is_least else re.sub(rf"\.({'|'.join(_RANKED)}|p\d\d?)$", "", name))
    if plain_name(name) == "value" and MONEY_IN_NAME.fullmatch(unit):
        return replace(header, kind="quantity", unit=unit)  # `1 GPU | 2 GPUs` above `$0.40 | $0.52`
    # As if the unit stood in the header, behind a word of no meaning.
    in_cells = header_of(f"x{unit}" if unit.startswith("/") else f"x ({unit})") if unit else header
    # `128 MB` below `Size` is an amount that was given, as below `Size (MB)`.
    if not in_cells.kind or (in_cells.kind == "quantity" and not header_of(f"{name} ({unit})").kind):
        return header
    # A unit such as `/s` names nothing that is counted.
    counted = header.counted if unit.startswith("/") or not in_cells.counted else in_cells.counted
    shared, of = header.shared or in_cells.shared, in_cells.of or header.of
    return replace(header, kind=in_cells.kind, unit=in_cells.unit, counted=counted, shared=shared, of=of)


def measurement_of_column(
    name: str,
    names: Sequence[str],
    counted: str | None,
    growth: float = 0.0,
    header: Header | None = None,
    mapping: Mapping[str, str] | None = None,
) -> Measured:
    """Return the roles of a measured column for `read_table`, and what is derived from it and measured in its place.

    >>> measurement_of_column("Time per epoch (min)", [], "gpus")[0]
    {'time': 'Time per epoch (min)', 'unit': 'min'}
    >>> measurement_of_column("GPU-hours", [], "gpus")
    ({'time': 'job_time_h', 'unit': 'h'}, {'job_time_h': '`GPU-hours`/(gpus)'})
    >>> measurement_of_column("time for 100 steps (ms)", [], "gpus")[1]
    {'step_time_ms': '`time for 100 steps (ms)`/100'}
    >>> measurement_of_column("tokens/sec/GPU", [], "gpus")[1], measurement_of_column("it/ms", [], "gpus")[1]
    ({'tokens per second': '`tokens/sec/GPU`*gpus'}, {'step_time_s': '0.001/`it/ms`'})
    >>> measurement_of_column("tokens/sec/GPU", ["nodes", "gpus_per_node"], "nodes")[1]
    {'tokens per second': '`tokens/sec/GPU`*nodes*gpus_per_node'}
    >>> measurement_of_column("resnet50", [], "gpus", 0.95)[0]
    {'throughput': 'resnet50'}
    """
    header = header or header_of(name)
    if not header.kind:
        is_rate = LEAST_GROWTH < growth < MOST_GROWTH
        # A colon would part a unit.
        return {"throughput": name} if is_rate else {"quantity": f"{name}:" if ":" in name else name}, {}
    # The time of one sample is that of all workers if it falls.
    if header.kind == "quantity" and (not header.counted or (" " not in header.counted and growth >= -LEAST_GROWTH)):
        return {"quantity": f"{name}:{header.unit}" if header.unit or ":" in name else name}, {}
    # How many devices or nodes share the number, as a formula; empty where it is that of all.
    of_all = _units_of_rate(name, header, names, counted, mapping or {}) if header.shared else ""
    if header.kind == "quantity":
        # `hours per 1B tokens` are a rate of tokens.
        multiple, plain = in_multiples(header.counted)
        above, below = TIME_UNITS[header.unit.partition("/")[0]]
        quantity, of_one = f"{plain} per second", f"{multiple * below / above!r}"
        return {"throughput": quantity}, {quantity: "*".join(filter(None, (of_one, of_all))) + f"/{quote_name(name)}"}
    if header.kind == "time":
        # `GPU-hours` are over the GPUs, the time of 100 steps over 100.
        unit = {} if header.unit == "s" else {"unit": header.unit}
        made = f"{'job' if of_all else 'step'}_time_{header.unit}"
        if not of_all and header.steps == 1:
            return {"time": name, **unit}, {}
        together = f"({of_all})" if of_all else f"{header.steps}"
        return {"time": made, **unit}, {made: f"{quote_name(name)}/{together}"}
    if of_layout := _step_of_layout(name, header, names, of_all):
        return {"time": _STEP}, {_STEP: of_layout}
    is_of_steps = header.counted in STEP_WORDS and not header.shared and growth <= LEAST_GROWTH
    return _measurement_of_rate(name, header, of_all, is_of_steps)


def _measurement_of_rate(name: str, header: Header, of_all: str, is_of_steps: bool) -> Measured:
    """Return the throughput per second that a rate is, or the time of a step of a rate that is of steps.

    A rate of each device is multiplied by the devices, `of_all`, and one per day or per hour is divided by its seconds.
    """
    quoted, seconds = quote_name(name), 100.0 if header.unit == "%" else float(np.divide(*TIME_UNITS[header.unit]))
    if is_of_steps:
        return {"time": _STEP}, {_STEP: f"{seconds:g}/{quoted}"}
    # Billions a day are millions a second, and `10k samples/s` are samples.
    in_full = seconds != 1.0 or header.counted[:1].isdecimal()
    multiple, plain = in_multiples(header.counted) if in_full else (1.0, header.counted)
    factors = (quoted, of_all, f"{multiple:g}" if multiple != 1.0 else "")
    formula = "*".join(filter(None, factors)) + (f"/{seconds:g}" if seconds != 1.0 else "")
    quantity = name if formula == quoted else f"{plain or 'throughput'} per second"
    return {"throughput": quantity}, {} if formula == quoted else {quantity: formula}


def _units_of_rate(
    name: str, header: Header, names: Sequence[str], scale: str | None, mapping: Mapping[str, str]
) -> str:
    """Return what a rate of one device or node is multiplied by, as a formula: `gpus`, `nodes*gpus_per_node`; or empty.

    It is the scale where the rate names that, `img/s/rank` of ranks, or no level of the cluster is counted.
    """
    scale = None if scale is not None and is_size(scale) else scale
    candidates = [n for n in names if n != name and n not in mapping.values()]
    named = {c: column_of(c, candidates) for c in (*LEVELS, "devices_per_node", *WAYS)} | {**mapping}
    columns = {c: quote_name(n) for c, n in named.items() if n is not None}
    is_other = meant_by(scale or "") not in (*LEVELS, *WAYS) and columns.keys().isdisjoint(LEVELS)
    if scale is not None and (is_other or noun_of(scale).lower().removesuffix("s") in words_in(name)):
        return quote_name(scale)
    ways = [columns[way] for way in WAYS if way in columns]
    nodes, per_node = columns.get("nodes"), columns.get("devices_per_node")
    # Each a formula; empty where nothing counts them.
    devices = columns.get("workers") or (f"{nodes}*{per_node}" if nodes and per_node else "*".join(ways))
    if header.level == "workers":
        formula, lacks, hint = devices, "how many devices a node has", "gpus_per_node"
    else:
        filled_nodes = f"ceil({devices}/{per_node})" if devices and per_node else ""
        formula, lacks, hint = nodes or filled_nodes, "how many nodes there are", "nodes"
    if not formula and (devices or nodes):
        what = f"'{name}' is the rate of one {'device' if header.level == 'workers' else 'node'}"
        hint = f"a column such as {hint}, or --let {hint}=8"
        raise TableError(f"{what}, and nothing shows {lacks}", hint=hint)
    return formula or (quote_name(scale) if scale is not None else "")


def _step_of_layout(name: str, header: Header, names: Sequence[str], of_all: str) -> str:
    """Return the formula of a step's time: tokens or samples of a transformer's layout over a rate of them; else ""."""
    candidates = [n for n in names if n != name]
    columns = {c: quote_name(n) for c in _OF_A_STEP if (n := column_of(c, candidates)) is not None}
    tokens = header.counted == "tokens"
    batch = ["global_batch"] if "global_batch" in columns else ["data_parallel", "micro_batch", "micro_batches"]
    in_tokens = IN_TOKENS.search(columns.get("global_batch", "")) is not None
    factors = [*batch, "sequence"] if tokens and not in_tokens else batch
    of_seconds = header.counted in _AMOUNTS and TIME_UNITS[header.unit] == (1.0, 1.0)
    # Beside the batch of a device, which is the setting, that of all follows.
    is_work = "global_batch" in columns and (not tokens or column_of("batch", candidates) is not None)
    if not of_seconds or is_work or not {"data_parallel", *factors} <= {*columns}:
        return ""
    rate = f"{quote_name(name)}*{of_all}" if of_all else ""
    return f"{'*'.join(columns[f] for f in factors)}/{f'({rate})' if rate else quote_name(name)}"


def is_size(name: str) -> bool:
    """Tell whether a column is a number of the program, as its batch or its atoms: no count that a run is scaled by."""
    canonical = canonical_of(name)
    if canonical is None:
        words = words_in(name)
        # `row_count` as well as `rows`.
        before_unit = re.split(r"[(\[]", name)[0]
        is_message = before_unit != name and plain_name(before_unit) in words_of("headers.message")
        sized = is_message or not words.union(f"{w}s" for w in words).isdisjoint(words_of("headers.size"))
        return meant_by(name) is None and sized
    return canonical not in EXTRINSIC


def ending_column(columns: Mapping[str, Cells | Sequence[Any]]) -> dict[str, str]:
    """Return the option of `read_table` for failed runs: {"failed": "ok=no"} or {"status": "state"}; {} without one."""
    for name, cells in columns.items():
        plain = plain_name(name)
        if plain not in _ENDINGS | _FAILED | _SUCCEEDED:
            continue
        values = sorted({*labels(cells).tolist()} - {""})
        for failing, words in ((_FAILED, _ON), (_SUCCEEDED, _OFF)):
            if plain in failing and {v.lower() for v in values} <= _ON | _OFF:
                failed = [v for v in values if v.lower() in words]
                if failed and len(values) > 1:
                    return {"failed": f"{name}={','.join(failed)}"}
        if plain in _ENDINGS | _FAILED and any(map(says_failed, values)):
            return {"status": name}
    return {}
