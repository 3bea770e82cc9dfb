"""Fitted members with what is known of their errors: the answer of every way to fit."""

from __future__ import annotations

from dataclasses import dataclass, field

from genperf.errors import Note
from genperf.prediction.member import Member, Spread
from genperf.prediction.verdict import Evidence


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Fitted members with their weights, and what is known of their errors."""

    #: Weights add up to one.
    members: tuple[Member, ...]
    #: What the members' draws and discrepancies do not hold.
    spread: Spread
    #: How the whole ensemble, not one member, predicted the largest measured scale from the smaller ones.
    evidence: tuple[Evidence, ...] = ()
    #: What was chosen, for the model file: texts and finite numbers.
    options: dict[str, str | float | None] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
