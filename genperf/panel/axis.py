"""The factor that counts the workers: one of the field's names, and from where on there is more than one node.

It is decided here alone; a table without roles is first read by `genperf.panel.reading`, which maps its count as the
workers.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from genperf.arrays import Array, Mask
from genperf.table import Factor
from genperf.vocabulary import section, words_of
from genperf.vocabulary.names import GENERAL, LEVELS, WAYS, canonical_of, column_of

#: What a factor is counted in; the others are numbers.
UNITS = {factor: unit for unit, factors in section("units").items() for factor in factors}
#: Canonical names of amounts: a column of such a name never counts the workers.
AMOUNTS = frozenset({*UNITS, *words_of("columns.amount")})
#: Factors that are divided by or raised to powers: a column with a zero in it (no servers) is not one of them.
COUNTS = frozenset({*WAYS, *words_of("columns.divisor")})

#: The exponent with the count from which on a time falls, or a throughput grows: 13 % less per doubling. Of work
#: of each worker a time does not fall; of work that all share it may fall by as little near the last that helps.
LEAST_GROWTH = 0.2


class Axis(Struct, frozen=True):
    """The factor along which the runs of a table are scaled."""

    #: It counts the workers, or the nodes where no column counts workers. None where neither is there.
    factor: Factor | None
    #: What the factor counts.
    canonical: str = "workers"
    #: Whether the factor counts the workers only because no other extrinsic factor does: neither its name nor the
    #: mapping says so.
    assumed: bool = False

    @property
    def counts_other(self) -> bool:
        """Whether the factor counts servers, threads or devices of a node by its name, and nothing counts workers."""
        return self.assumed and self.factor is not None and canonical_of(self.factor.name) in GENERAL


def several_nodes(nodes: npt.ArrayLike) -> Mask:
    """Return which counts of nodes are more than one node."""
    return np.asarray(np.asarray(nodes, float) > 1.0)


def has_zero(factor: Factor, canonical: str) -> bool:
    """Return whether a factor has a zero in it and what it counts is divided by."""
    return canonical in COUNTS and factor.distinct > 0 and not factor.positive


def factor_of(canonical: str, factors: Sequence[Factor], mapping: Mapping[str, str]) -> Factor | None:
    """Return the numeric factor that the mapping or its name makes the canonical one; None without one.

    A transformer's data-parallel ways count the workers where no column does and no other way splits it.
    """
    by_name = {f.name: f for f in factors if f.numeric and not has_zero(f, canonical)}
    if canonical in mapping:
        return by_name.get(mapping[canonical])
    taken = set(mapping.values())
    name = column_of(canonical, (name for name in by_name if name not in taken))
    if name is not None or canonical != "workers":
        return by_name.get(name or "")
    data, *further_axes = (factor_of(way, factors, mapping) for way in WAYS)
    split = data is not None and data.distinct != 1 and all(way is None or way.distinct == 1 for way in further_axes)
    return data if split else None


def axis_of(factors: Sequence[Factor], mapping: Mapping[str, str] | None = None) -> Axis:
    """Return which factor counts the workers: the first of these that varies.

    1. the workers, by the mapping or by the field's names (`genperf.vocabulary.names`);
    2. the nodes, likewise;
    3. the only extrinsic factor above zero whose name has no other meaning: it counts the workers whatever its name.

    If none of them varies, it is the factor of the workers or of the nodes. Without such a factor, it is the only
    extrinsic factor above zero, which may also count servers, threads or the devices of a node; never an amount (a
    batch, bytes). The only factor is the only one that varies, or else the only one at all; one that is not measured
    yet counts as if it varied. Workers that the mapping names exclude an assumed factor.

    Examples
    --------
    >>> cores = Factor("cores", "extrinsic", 1.0, 8.0, distinct=4, positive=True)
    >>> batch = Factor("batch", "intrinsic", 32.0, 32.0, distinct=1, positive=True)
    >>> axis = axis_of((cores, batch))
    >>> axis.factor.name, axis.canonical, axis.assumed
    ('cores', 'workers', True)
    """
    mapping = mapping or {}
    levels = {f: name for name in LEVELS if (f := factor_of(name, factors, mapping)) is not None}
    above_zero = [f for f in factors if f.role == "extrinsic" and (f.positive or f.distinct == 0)]
    free = [f for f in above_zero if canonical_of(f.name) not in AMOUNTS and f.name not in mapping.values()]
    counts = [] if "workers" in mapping else free
    unnamed = _only([f for f in counts if canonical_of(f.name) not in GENERAL])
    factor = next((f for f in (*levels, unnamed) if f is not None and f.distinct != 1), None)
    factor = factor or next(iter(levels), None) or _only(counts) or unnamed
    if factor is None or factor in levels:
        return Axis(factor, "workers" if factor is None else levels[factor])
    return Axis(factor, assumed=True)


def _only(candidates: Sequence[Factor]) -> Factor | None:
    """Return the only candidate that varies, or else the only one at all; None where there are several."""
    changing = [factor for factor in candidates if factor.distinct != 1]
    return next((choice[0] for choice in (changing, candidates) if len(choice) == 1), None)


def growth_along(counts: Array, values: Array) -> float:
    """Return the exponent by which values grow from the smallest to the median count; NaN of a single count."""
    usable = np.isfinite(counts) & np.isfinite(values) & (counts > 0.0) & (values > 0.0)
    scales = np.unique(counts[usable])
    if len(scales) < 2:
        return float("nan")
    ends = scales[[0, max(1, len(scales) // 2)]]
    before, later = (np.median(values[usable & (counts == n)]) for n in ends)
    return float(np.log(later / before) / np.log(ends[1] / ends[0]))
