"""What every part of `auto` hands back to the door."""

from __future__ import annotations

from dataclasses import dataclass, field

from genperf.errors import Note
from genperf.prediction import Evidence, Member, Spread


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Fitted members with their weights, and what is known of their errors.

    Attributes
    ----------
    members : tuple of Member
        Weights add up to one.
    spread : Spread
        What the members' own draws, walks and kriging do not hold.
    evidence : tuple of Evidence
        How the whole ensemble, not one member, predicted the largest measured scale from the smaller ones.
    options : dict
        What was chosen, for the model file: texts and finite numbers.
    notes : tuple of Note
    """

    members: tuple[Member, ...]
    spread: Spread
    evidence: tuple[Evidence, ...] = ()
    options: dict[str, str | float | None] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
