"""A claim of a paper, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field

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


def verdict(holds: bool) -> str:
    """Say whether a claim held."""
    return REPRODUCED if holds else NOT_REPRODUCED


def untested(said: str, why: str, instead: str) -> Claim:
    """Return a claim that nothing here can test."""
    return Claim(said, why, NOT_TESTABLE, instead, NOTHING)
