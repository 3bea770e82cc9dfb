"""The prior of each series of a table: what the other series show of the cluster they share."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from genperf.errors import GenperfError, Note
from genperf.estimate import FitOptions
from genperf.models import scale_of
from genperf.series.empirical_bayes import Counts, counts_of, informed
from genperf.series.measured import Series, nodes_of, on_one_node, series_of
from genperf.series.prior import PRIOR, Prior
from genperf.table import Table
from genperf.table.describe import number_rows

Key = tuple[str, ...]


@dataclass(frozen=True)
class TableSettings:
    """Of which series a table's prior is made.

    Attributes
    ----------
    most : int
        Series that are sampled for it, those of the largest scales first. Each takes about 10 ms before the groups are
        fitted; of 15 and more, `UpdateSettings.most` counts no more.
    """

    most: int = 24


TABLES = TableSettings()


@dataclass(frozen=True, eq=False)
class TablePrior:
    """What the series of a table show of their cluster.

    Attributes
    ----------
    prior : Prior
        Without them.
    counts : mapping of tuple of str to Counts
        Of the groups that were sampled.
    beyond : frozenset of tuple of str
        Those of them that were measured on several nodes, some of which hold several workers.
    """

    prior: Prior = PRIOR
    counts: Mapping[Key, Counts] = field(default_factory=dict)
    beyond: frozenset[Key] = frozenset()

    def of(self, key: Key) -> Prior:
        """Return the prior of a group: the other groups of its table move it."""
        if not self.counts:
            return self.prior
        counts = self._total.plus(self.counts[key], -1.0) if key in self.counts else self._total
        return informed(self.prior, counts)

    def notes(self, key: Key, series: Series) -> tuple[Note, ...]:
        """Say whose network is in the band of a group that never left its node.

        Parameters
        ----------
        series : Series
            The group's.
        """
        others = len(self.beyond - {key})
        if not others or not on_one_node(series):
            return ()
        text = (
            f"{', '.join(key)}: no run goes beyond one node; what {others} other group{'s' * (others != 1)} "
            "of the table showed there is part of the interval"
        )
        return (Note(text, "table_prior"),)

    @property
    def fingerprint(self) -> str:
        """A hash of what was counted: other counts, other fits. Empty without any."""
        if not self.counts:
            return ""
        digest = hashlib.sha256()
        for key, counts in self.counts.items():
            digest.update(repr(key).encode())
            digest.update(np.concatenate([counts.sizes.ravel(), counts.loudness]).round(6).tobytes())
        return digest.hexdigest()[:12]

    @cached_property
    def _total(self) -> Counts:
        first, *more = self.counts.values()
        for counts in more:
            first = first.plus(counts)
        return first


def table_prior(table: Table, options: FitOptions, prior: Prior = PRIOR) -> TablePrior:
    """Return what the series of a table show of their cluster.

    Parameters
    ----------
    table : Table
        With groups; without any, nothing is shared.
    prior : Prior
        Learned from other clusters.

    Examples
    --------
    Three programs leave the node for a twentieth of their time; the fourth never left it:

    >>> import pandas as pd
    >>> from genperf.table import read_table
    >>> rows = [(p, n, max(1, n // 4), 1.0 + 0.05 * (n > 4)) for p in "abcd" for n in (1, 2, 4, 8, 16)]
    >>> runs = pd.DataFrame(rows, columns=["program", "gpus", "nodes", "seconds"])
    >>> runs = runs[(runs.program != "d") | (runs.nodes == 1)]
    >>> table = read_table(runs, time="seconds", extrinsic="gpus,nodes", group="program")
    >>> shared = table_prior(table, FitOptions())
    >>> len(shared.beyond), shared.of(("d",)).settings[1].share < PRIOR.settings[1].share
    (3, True)
    """
    if not table.group:
        return TablePrior(prior)
    try:
        chosen = table.take(_sampled_rows(table, options))
    except GenperfError:
        return TablePrior(prior)
    parts = list(chosen.groups())
    if len(parts) < 2:
        return TablePrior(prior)
    counts, beyond = {}, set()
    for key, part in parts:
        try:
            series = series_of(part, options)
        except GenperfError:
            continue
        if series is not None:
            counts[key] = counts_of(series, prior)
            if nodes_of(series) is not None and not on_one_node(series):
                beyond.add(key)
    return TablePrior(prior, counts if len(counts) > 1 else {}, frozenset(beyond))


def _sampled_rows(table: Table, options: FitOptions) -> npt.NDArray[np.bool_]:
    """Choose the rows of the groups that are sampled: those that reach the largest scales."""
    number = number_rows(table.frame, table.group)
    count = int(number.max()) + 1
    if count <= TABLES.most:
        return np.ones(len(number), bool)
    column = scale_of(table.factors, options.mapping, table.group, kind=table.scaling).column
    largest = np.zeros(count)
    if column is not None:
        np.maximum.at(largest, number, table.columns[column].astype(float))
    first = np.unique(number, return_index=True)[1]
    names = table.frame[list(table.group)].iloc[first].astype(str).agg("|".join, axis=1)
    # Neighbours in a table are alike: the order of hashes takes groups from all over it.
    hashes = np.array([hashlib.sha256(name.encode()).hexdigest() for name in names])
    chosen = np.lexsort((hashes, -largest))[: TABLES.most]
    return np.asarray(np.isin(number, chosen))
