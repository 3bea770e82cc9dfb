"""The members of an ensemble as a reader sees them: one line per plain label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from genperf.models import MODELS
from genperf.prediction import Member, stack_of


@dataclass(frozen=True)
class MemberSettings:
    """Which members an answer is about."""

    #: Share of the ensemble below which a member takes no part in crossovers and in the search for terms that cannot be
    #: told apart. A guess: at 0.05 it moves no interval of 90 % by itself.
    least_weight: float = 0.05


MEMBERS = MemberSettings()


@dataclass(frozen=True)
class Labelled:
    """The members with one plain label."""

    label: str
    #: Their share of the ensemble, together.
    weight: float
    #: Where they stand in the ensemble, the heaviest first.
    places: tuple[int, ...]


def by_label(members: Sequence[Member]) -> list[Labelled]:
    """Return the labels of an ensemble, the heaviest first; weights of equal labels are added up.

    Weights need not add up to one; shares do.
    """
    total = sum(m.weight for m in members)
    places: dict[str, list[int]] = {}
    for place in sorted(range(len(members)), key=lambda k: -members[k].weight):
        places.setdefault(members[place].name, []).append(place)
    labels = [Labelled(name, sum(members[k].weight for k in ks) / total, tuple(ks)) for name, ks in places.items()]
    return sorted(labels, key=lambda entry: -entry.weight)


def serving(members: Sequence[Member]) -> Sequence[Member]:
    """Return the members whose terms are read: of stacked ones a family's, else the heaviest that has several terms."""
    if stack_of(members) is None:
        return members
    return sorted(members, key=lambda m: (len(m.expression.terms) == 1, m.expression.family not in MODELS, -m.weight))[
        :1
    ]
