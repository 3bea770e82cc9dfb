"""A paper's claims and what came of them."""

from __future__ import annotations

import json
import re
import textwrap
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

REPRODUCED, NOT_REPRODUCED, NOT_TESTABLE = "reproduced", "not reproduced", "not testable here"
#: Characters of a line of the page, where it can be broken: not in tables.
WIDTH = 160
_CODE, _GLUE = re.compile(r"`[^`]*`"), "\0"
#: What a verdict rests on: our own measurements, measurements that others published, a simulator, nothing.
MEASURED, PUBLISHED, SIMULATED, NOTHING = "measured here", "published", "simulated", "nothing"


@dataclass(frozen=True)
class Claim:
    """One claim."""

    #: What the abstract says, in our words.
    said: str
    #: What is checked, and what would refute it.
    test: str
    verdict: str
    #: The figures.
    found: str
    #: What the verdict rests on: `MEASURED`, `PUBLISHED`, `SIMULATED` or `NOTHING`.
    basis: str
    #: The table below `data/`, or the simulator below `experiments/simulate/`.
    data: str = ""
    #: `head`, `rows`: A table of figures, where there is one.
    head: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    #: Of simulated times: their mean distance to the fitted formula, %. A small one makes the test circular in
    #: effect.
    distance: float | None = None

    @property
    def measured(self) -> bool:
        """Whether the verdict rests on measurements."""
        return self.basis in (MEASURED, PUBLISHED)

    @property
    def heading(self) -> str:
        """The verdict, with what it rests on where that is a simulator alone."""
        if self.basis != SIMULATED:
            return f"**{self.verdict}**"
        near = f": its times are {self.distance:.1f} % from the fitted formula in the mean" if self.distance else ""
        return f"**{self.verdict} on a simulator alone**{near}"


@dataclass(frozen=True)
class Section:
    """One paper."""

    #: Of the module.
    name: str
    #: Authors, year, title, where.
    paper: str
    #: What it became here.
    families: str
    #: `idea`, `derivation`: The paper's idea, and our formula with where it comes from.
    idea: str
    derivation: str
    claims: list[Claim]


def verdict(holds: bool) -> str:
    """Say whether a claim held."""
    return REPRODUCED if holds else NOT_REPRODUCED


def save(section: Section, folder: Path) -> None:
    """Write a section's results, so that one can be run again without the others."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(asdict(section), indent=1, ensure_ascii=False, allow_nan=False)
    (folder / f"{section.name}.json").write_text(text + "\n", encoding="utf-8")


def load(name: str, folder: Path) -> Section | None:
    """Read a section's results; None where it has not been run."""
    path = folder / f"{name}.json"
    if not path.is_file():
        return None
    read: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return Section(**{**read, "claims": [Claim(**c) for c in read["claims"]]})


def markdown(section: Section, changed: str = "") -> str:
    """Write a section as a page's part, with what of its tests was changed after results had been seen."""
    parts = [
        f"## {section.paper}",
        f"Here: {section.families}.",
        f"*The paper's idea.* {section.idea}",
        f"*Our derivation.* {section.derivation}",
        *([f"*Changed after results were seen.* {changed}"] if changed else []),
    ]
    for number, claim in enumerate(section.claims, start=1):
        parts.append(f"**{number}. {claim.said}**: {claim.heading}")
        rests = claim.basis + (f", `{claim.data}`" if claim.data else "")
        parts += [f"Tested: {claim.test}", f"Found: {claim.found}"]
        parts.append(f"Rests on: {rests}. Run: `python -m experiments paper_claims {section.name}`")
        if claim.rows:
            lines = [claim.head, ["---"] * len(claim.head), *claim.rows]
            parts.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
    return "\n\n".join(part if part.startswith(("|", "#")) else wrapped(part) for part in parts)


def wrapped(text: str) -> str:
    """Break a paragraph into lines, formulas left whole: a line that begins with their + would begin a list.

    Examples
    --------
    >>> print(wrapped("word " * 31 + "`a + b`").splitlines()[1])
    `a + b`
    """
    whole = _CODE.sub(lambda code: code.group().replace(" ", _GLUE), text)
    return textwrap.fill(whole, WIDTH, break_long_words=False, break_on_hyphens=False).replace(_GLUE, " ")
