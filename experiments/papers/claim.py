"""A claim of a paper, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

REPRODUCED, NOT_REPRODUCED, NOT_TESTABLE = "reproduced", "not reproduced", "not testable here"
#: What a verdict rests on: our own measurements, measurements that others published, nothing.
MEASURED, PUBLISHED, NOTHING = "measured here", "published", "nothing"


@dataclass(frozen=True)
class Claim:
    #: What the abstract says, in our words.
    said: str
    #: What is checked, and what would refute it.
    test: str
    verdict: str
    #: The figures.
    found: str
    #: `MEASURED`, `PUBLISHED` or `NOTHING`.
    basis: str
    #: The table below `data/`.
    data: str = ""
    #: `head`, `rows`: A table of figures, where there is one.
    head: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)

    @property
    def measured(self) -> bool:
        """Whether the verdict rests on measurements."""
        return self.basis in (MEASURED, PUBLISHED)


@dataclass(frozen=True)
class Outcome:
    """What a test found: whether the claim holds, the figures of its words by name, and its table."""

    holds: bool
    figures: dict[str, Any]
    rows: list[list[str]]
    #: Where the claim's words have none.
    head: list[str]


def outcome(holds: bool, rows: Sequence[list[str]] = (), head: Sequence[str] = (), **figures: Any) -> Outcome:
    return Outcome(bool(holds), figures, [*rows], [*head])


def of_cases(right: Sequence[bool], rows: Sequence[list[str]] = (), head: Sequence[str] = (), **more: Any) -> Outcome:
    """Return the outcome of a claim that holds where it does in every case; `right` of `of` is its figure."""
    return outcome(all(right), rows, head, right=sum(right), of=len(right), **more)
