"""What `auto` expects of a series before it sees one: fixed once, for all data.

Sizes are relative to one worker's computation at the largest measured scale. `docs/decisions.md` says which data was
looked at when each was chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """A log-normal prior of one overhead.

    Attributes
    ----------
    median : float
        Relative to the computation.
    spread : float
        Standard deviation of its logarithm.
    load : float
        How much of the common strength of communication it takes part in.
    """

    median: float
    spread: float
    load: float = 0.0


#: One setting of the prior: the overheads by their names in `scaling.OVERHEADS`.
Sizes = Mapping[str, Size]

PLAIN: Sizes = {
    "constant": Size(0.30, 1.5),
    "inside nodes": Size(0.08, 0.6, 1.0),
    "contention": Size(0.015, 2.0),
    "leaving the node": Size(0.06, 1.0, 0.5),
    "between nodes": Size(0.03, 1.0, 1.5),
    "latency": Size(0.03, 1.0, 1.5),
    "one after another": Size(0.03, 1.5),
}
#: The same with a step that may be much larger: what appears with the second node need not grow with the third.
STEPPED: Sizes = {**PLAIN, "leaving the node": Size(0.06, 1.2, 0.5)}


@dataclass(frozen=True)
class Expectations:
    """All of the ensemble's hyper-parameters.

    Attributes
    ----------
    settings : tuple of (float, Sizes)
        Settings of the overheads' priors with their shares: the evidence of a series decides between them.
    strength : float
        Standard deviation of the logarithm of the common strength of communication.
    step, noise, trend : float
        Of the walk (`prediction.Walk`), for s = 1.
    louder, quieter : float
        Standard deviation of ln s above and below zero: a series may wander more, or less.
    step_of_last : float
        The walk's step of "it stays as it was", which has no other way to change.
    last, ideal : float
        Prior shares of "it stays as it was" and of "no overhead at all".
    serial : float
        Share of the families that may grow in proportion to the scale, among those with overheads.
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
    """

    settings: tuple[tuple[float, Sizes], ...] = ((0.5, PLAIN), (0.5, STEPPED))
    strength: float = 0.6
    step: float = 0.03
    noise: float = 0.01
    trend: float = 0.015
    louder: float = 0.5
    quieter: float = 0.7
    step_of_last: float = 0.10
    last: float = 0.03
    ideal: float = 0.10
    serial: float = 0.5
    fewest_for_serial: int = 3
    single: float = 0.3
    shared_work: float = 0.5
    vague: float = 4.0
    vaguer: float = 1.5
    usual_time: float = 0.3
    usual_range: float = 1.5


EXPECTATIONS = Expectations()
