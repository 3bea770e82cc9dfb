"""What `auto` expects of a series before it sees one: fixed once, for all data.

Sizes are relative to one worker's computation at the largest measured scale.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

#: A cost per doubling of the workers; the step to the second node, and its prior where it stands beside that cost.
DOUBLING, STEP, STEP_BESIDE_DOUBLING = "per doubling", "leaving the node", "leaving the node beside doublings"
#: The overheads (`genperf.models.Overhead`) that a prior is learned for, in the order of a setting's medians and roots.
NAMES = (
    "constant",
    "inside nodes",
    "contention",
    STEP,
    "between nodes",
    "latency",
    "one after another",
    DOUBLING,
    STEP_BESIDE_DOUBLING,
)


@dataclass(frozen=True)
class Setting:
    """A kind of cluster: one normal distribution of the logarithms of the overheads' sizes.

    Attributes
    ----------
    share : float
        Prior probability.
    medians : tuple of float
        Sizes relative to the computation, in the order of `NAMES`.
    root : tuple of tuple of float
        Rows of the lower-triangular Cholesky factor of the logarithms' covariance.
    """

    share: float
    medians: tuple[float, ...]
    root: tuple[tuple[float, ...], ...]


def setting_of(
    share: float, medians: Sequence[float], spreads: Sequence[float], loads: Sequence[float], strength: float
) -> Setting:
    """Return a setting in which some overheads share a common strength of communication.

    Parameters
    ----------
    medians, spreads, loads : sequence of float
        In the order of `NAMES`: median, standard deviation of the logarithm, and how much of the common strength an
        overhead takes part in.
    strength : float
        Standard deviation of the logarithm of the common strength.
    """
    covariance = np.diag(np.square(spreads)) + strength**2 * np.outer(loads, loads)
    root = np.linalg.cholesky(covariance)
    return Setting(share, tuple(medians), tuple(tuple(row) for row in root.tolist()))


@cache
def by_hand() -> tuple[Setting, ...]:
    """Return the settings that were set by hand on DLPerf: the baseline of `experiments/corpus.py`."""
    medians = (0.30, 0.08, 0.015, 0.06, 0.03, 0.03, 0.03, 0.03, 0.06)
    spreads = (1.5, 0.6, 2.0, 1.0, 1.0, 1.0, 1.5, 1.0, 1.0)
    wider = (1.5, 0.6, 2.0, 1.2, 1.0, 1.0, 1.5, 1.0, 1.0)
    loads = (0.0, 1.0, 0.0, 0.5, 1.5, 1.5, 0.0, 0.0, 0.0)
    return tuple(setting_of(0.5, medians, given, loads, 0.6) for given in (spreads, wider))


@dataclass(frozen=True)
class Prior:
    """All of the hyper-parameters of `auto` on a series.

    Attributes
    ----------
    settings : tuple of Setting
        The evidence of a series decides between them.
    step, trend : float
        Of the walk (`genperf.discrepancy`), for s = 1.
    noises : tuple of (float, float)
        Noise of a configuration, for s = 1, and its share: the evidence decides between steady and erratic series.
    louder, quieter : float
        Standard deviation of ln s above and below zero: a series may wander more, or less.
    step_of_last : float
        The walk's step of "it stays as it was", which has no other way to change.
    last, ideal : float
        Prior shares of "it stays as it was" and of "no overhead at all".
    doubling : float
        Prior share of a cost per doubling of the workers, inside a node and beyond, beside a step.
    serial : float
        Share of the families that may grow in proportion to the scale, among those with overheads.
    unlearned : float
        Prior share of the registered families whose overheads no prior was learned for, where there are some. A guess:
        as much as a family of many has by its learned share.
    unlearned_median, unlearned_spread : float
        Of such an overhead's size: in the middle of the learned ones, and as wide as the widest of them.
    single : float
        Share of the families with one overhead only, among those with overheads, where one worker's work changes: there
        the computation falls away, and a single overhead that is left would hardly be found among many.
    fewest_for_serial : int
        Distinct scales without which no growth in proportion is considered.
    shared_work : float
        Prior share of strong scaling, where the table does not tell how one worker's work changes.
    vague, vaguer : float
        Overheads between nodes are larger by this factor, and their spread by this one, where the nodes are not known
        or one worker's work changes.
    usual_time, usual_range : float
        Overheads between nodes are about constant in seconds, thus relatively smaller for steps longer than the usual
        time; far from it, in units of ln, the time is not that of a step and nothing is concluded.
    seconds : float
        How much of that holds: 1 for overheads constant in seconds, 0 for overheads in proportion to the step.
    """

    settings: tuple[Setting, ...] = field(default_factory=by_hand)
    step: float = 0.03
    noises: tuple[tuple[float, float], ...] = ((0.01, 1.0),)
    trend: float = 0.015
    louder: float = 0.5
    quieter: float = 0.7
    step_of_last: float = 0.10
    last: float = 0.03
    ideal: float = 0.10
    doubling: float = 0.0
    serial: float = 0.5
    unlearned: float = 0.1
    unlearned_median: float = 0.05
    unlearned_spread: float = 1.5
    fewest_for_serial: int = 3
    single: float = 0.3
    shared_work: float = 0.5
    vague: float = 4.0
    vaguer: float = 1.5
    usual_time: float = 0.3
    usual_range: float = 1.5
    seconds: float = 1.0

    def moments(self, names: tuple[str, ...], wider: tuple[bool, ...]) -> tuple[Array, Array]:
        """Return the mean of the overheads' logarithms and the Cholesky factor of their covariance, in each setting.

        Parameters
        ----------
        names : tuple of str
            Of the overheads.
        wider : tuple of bool
            Which of them are larger and less certain, by `vague` and `vaguer`.

        Returns
        -------
        means : ndarray of shape (settings, overheads)
        roots : ndarray of shape (settings, overheads, overheads)
        """
        known = self._moments.get((names, wider))
        if known is None:
            between = np.array(wider, bool)
            new = np.array([name not in NAMES for name in names], bool)
            at = [NAMES.index(name) if name in NAMES else 0 for name in names]
            medians = np.log([setting.medians for setting in self.settings])[:, at]
            medians = np.where(new, np.log(self.unlearned_median), medians) + between * np.log(self.vague)
            rows = np.array([setting.root for setting in self.settings])[:, at]
            rows = np.where(new[:, None], 0.0, rows) * np.where(between, self.vaguer, 1.0)[:, None]
            spreads = np.where(new, self.unlearned_spread, 0.0) * np.where(between, self.vaguer, 1.0)
            covariance = rows @ np.swapaxes(rows, 1, 2) + np.diag(spreads**2)
            known = medians, np.linalg.cholesky(covariance)
            self._moments[names, wider] = known
        return known

    @cached_property
    def _moments(self) -> dict[tuple[tuple[str, ...], tuple[bool, ...]], tuple[Array, Array]]:
        return {}

    def dump(self) -> dict[str, Any]:
        """Return the prior as plain values."""
        return asdict(self)


def read_prior(path: Path) -> Prior:
    """Read a prior from a file that `experiments/learn_prior.py` wrote."""
    return prior_of(json.loads(path.read_text(encoding="utf-8"))["prior"])


def prior_of(plain: Mapping[str, Any]) -> Prior:
    """Return the prior that plain values describe."""
    settings = tuple(
        Setting(s["share"], tuple(s["medians"]), tuple(tuple(row) for row in s["root"])) for s in plain["settings"]
    )
    noises = tuple((float(noise), float(share)) for noise, share in plain["noises"])
    return replace(Prior(), **{**plain, "settings": settings, "noises": noises})


#: The prior that is shipped: learned by `experiments/learn_prior.py` from all sources of the corpus and DLPerf.
PRIOR = read_prior(Path(__file__).parent / "prior.json")
