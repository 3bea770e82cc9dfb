"""What could be changed of a configuration: some of its factors, or the network between its nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.attribution.terms import parts_of
from genperf.errors import GenperfError
from genperf.models import MODELS
from genperf.models.network import BANDWIDTH, HINTS
from genperf.peaks import link_rate
from genperf.result import FitResult
from genperf.words.numbers import join_values

Array = npt.NDArray[np.float64]
#: The column that names an alternative, and the alternative that changes nothing.
CHANGE, NOTHING = "change", "as it is"


@dataclass(frozen=True, eq=False)
class Changes:
    """A configuration as it is, and with each of some changes."""

    names: list[str]
    #: A row per alternative: its factors.
    frame: pd.DataFrame
    #: Shape (rows,). The rate of its network over that of the runs.
    rates: Array

    def of_network(self, result: FitResult, columns: Mapping[str, Any], draws: int, seed: int) -> Array:
        """Return ln of what another network multiplies the time by, shape (draws, rows).

            T'/T = 1 − s·(1 − r^−e),   s the share of what arises between nodes, r the ratio of rates, e in [0, 1]

        How much of it follows the rate is not known, so e is uniform: latency and waiting do not, a large message does.

        Parameters
        ----------
        columns : mapping of str to ndarray of shape (rows,)
            The factors of the alternatives.

        Raises
        ------
        GenperfError
            Where no term of the model arises between nodes at such a configuration.
        """
        generator = np.random.default_rng((result.seed, seed))
        other = self.rates != 1.0
        if not other.any():
            return np.zeros((draws, len(other)))
        parts = parts_of(result, columns)
        between = [j for j, name in enumerate(parts.names) if name in BETWEEN or "between nodes" in name]
        share = parts.drawn[:, between].sum(axis=1) / parts.drawn.sum(axis=1)
        if np.any(share[:, other].max(axis=0, initial=0.0) <= 0.0):
            raise GenperfError(
                "the model has nothing between nodes at this configuration, which another network would change",
                hint="runs on several nodes, with a column of nodes; before: genperf ask --hint bandwidth=100Gbit/s",
            )
        chosen = generator.choice(len(parts.draw_shares), draws, p=parts.draw_shares)
        exponent = generator.uniform(size=(draws, 1))
        return np.asarray(np.log1p(np.clip(share[chosen], 0.0, 1.0) * (self.rates**-exponent - 1.0)))


#: The terms of a series that arise between nodes.
BETWEEN = frozenset(o.name for family in MODELS.values() for o in family.overheads if o.place == "between")


def changes_of(result: FitResult, at: Mapping[str, Any], changes: Sequence[Mapping[str, Any]]) -> Changes:
    """Return a configuration and its changes.

    Parameters
    ----------
    at : mapping
        The configuration; a bandwidth that is no factor of the model is that of the network of the runs.
    changes : sequence of mapping
        What differs: factors, and `bandwidth` (`100Gbit/s`, `HDR`).

    Raises
    ------
    GenperfError
        For a bandwidth where that of the runs is not given.
    """
    present = _bandwidth(result, at)
    rows, rates = [], []
    for change in ({}, *changes):
        other = _bandwidth(result, change)
        if other and not present:
            raise GenperfError(
                "another network is compared with that of the runs, which is not given",
                hint="--at bandwidth=25Gbit/s beside --or bandwidth=100Gbit/s",
            )
        frame = result.completed({n: v for n, v in {**at, **change}.items() if n not in {**present, **other}})
        if len(frame) != 1:
            raise GenperfError("alternatives are compared at one configuration", hint="one value for each factor")
        rows.append(frame)
        speeds = [link_rate(str(next(iter(one.values())))) for one in (other, present) if one]
        rates.append(speeds[0] / speeds[-1] if speeds else 1.0)
    names = [NOTHING, *(join_values(change) for change in changes)]
    return Changes(names, pd.concat(rows, ignore_index=True), np.array(rates))


def _bandwidth(result: FitResult, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the bandwidth of a network, by the name it is given; nothing where a factor has that name."""
    factors = {f.name for f in result.schema.factors}
    words = (BANDWIDTH, *HINTS[BANDWIDTH])
    return {n: v for n, v in given.items() if n in words and result.schema.column(n) not in factors}
