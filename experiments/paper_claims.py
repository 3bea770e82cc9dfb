"""Test the claims of the papers that genperf stands on, and write docs/papers.md.

    python experiments/paper_claims.py [NAME ...]
    python experiments/paper_claims.py --page

Without names all sections are run; with names, those, and the page is put together with the kept results of the
others in docs/results/papers/. With --page none is run. Everything is seeded: the same code gives the same page.
"""

from __future__ import annotations

import sys
import time
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from claims.claim import Section, load, markdown, save  # noqa: E402

SECTIONS = ("kavarakuntla", "hashemi", "yan", "alqahtani", "shi")
PAGE = HERE.parent / "docs" / "papers.md"
KEPT = PAGE.parent / "results" / "papers"
HEAD = """# The papers, claim by claim

Written by `python experiments/paper_claims.py`; do not edit. Each claim of a paper's abstract, in our words, is stated
as something that can fail and then tried: on the measured tables in `data/`, or, where there is none, on tables from a
discrete-event simulation (`experiments/simulate/`), in which workers compute, messages queue at ports, and servers and
storage serve one request after another. No simulated time is computed from a formula that is then fitted.

What is cited is the idea. The formulas are our derivations from what the abstracts describe and the standard cost
models of the field, so no equation numbers are given. "Reproduced" means that our model, on our tables, shows what the
abstract says; it says nothing on the authors' own systems, of which no measurements were at hand.

Where a test was changed after its results had been seen, the section says so.
"""


def main(names: list[str]) -> None:
    for name in [] if names == ["--page"] else names or SECTIONS:
        start = time.perf_counter()
        save(import_module(f"claims.{name}").section(), KEPT)
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)
    found = [section for name in SECTIONS if (section := load(name, KEPT)) is not None]
    claims = [claim for section in found for claim in section.claims]
    counts = {v: sum(c.verdict == v for c in claims) for v in dict.fromkeys(c.verdict for c in claims)}
    summary = ", ".join(f"{count} {said}" for said, count in counts.items())
    PAGE.write_text(
        "\n\n".join([HEAD.strip(), f"Of {len(claims)} claims: {summary}.", *map(_part, found)]) + "\n",
        encoding="utf-8",
    )


def _part(section: Section) -> str:
    return markdown(section, getattr(import_module(f"claims.{section.name}"), "CHANGED", ""))


if __name__ == "__main__":
    main(sys.argv[1:])
