"""The members of an ensemble as a reader sees them: one line per plain label."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from genperf.prediction import Member

#: The settings of a fit: the number of a prior in `growing overheads (2), shared work`, the strength of a penalty.
_SETTING = re.compile(r" \(\d+\)|,? λ [\d.e+-]+")


@dataclass(frozen=True)
class MemberSettings:
    """Which members an answer is about.

    Attributes
    ----------
    least_weight : float
        Share of the ensemble below which a member takes no part in crossovers and in the search for terms that
        cannot be told apart. A guess: at 0.05 it moves no interval of 90 % by itself.
    """

    least_weight: float = 0.05


MEMBERS = MemberSettings()


@dataclass(frozen=True)
class Labelled:
    """The members with one plain label.

    Attributes
    ----------
    label : str
    weight : float
        Their share of the ensemble, together.
    places : tuple of int
        Where they stand in the ensemble, the heaviest first.
    """

    label: str
    weight: float
    places: tuple[int, ...]


def plain_label(name: str) -> str:
    """Return a member's name without the settings of its fit: the number of a prior, the strength of a penalty.

    Examples
    --------
    >>> plain_label("overheads (3), shared work"), plain_label("generic, 1 term, λ 0.0001"), plain_label("amdahl")
    ('overheads, shared work', 'generic, 1 term', 'amdahl')
    """
    return _SETTING.sub("", name)


def by_label(members: Sequence[Member]) -> list[Labelled]:
    """Return the labels of an ensemble, the heaviest first; weights of equal labels are added up.

    Weights need not add up to one; shares do.
    """
    total = sum(m.weight for m in members)
    places: dict[str, list[int]] = {}
    for place in sorted(range(len(members)), key=lambda k: -members[k].weight):
        places.setdefault(plain_label(members[place].name), []).append(place)
    labels = [Labelled(name, sum(members[k].weight for k in ks) / total, tuple(ks)) for name, ks in places.items()]
    return sorted(labels, key=lambda entry: -entry.weight)
