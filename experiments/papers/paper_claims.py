"""Test the claims of the papers that genperf stands on, and write experiments/papers.md.

    python -m experiments paper_claims [NAME ...]
    python -m experiments paper_claims --page-only
    python -m experiments paper_claims --check

Without names all sections are run; with names, those, and the page is put together with the kept results of the
others in experiments/results/papers/. With --page-only none is run. With --check the claims that take seconds are tried
again, and it fails where the kept results or the page say otherwise. Everything is seeded: the same code gives the
same page.
"""

from __future__ import annotations

import sys
import time
from importlib import import_module

from experiments.papers.claim import SIMULATED, Claim, Section, load, markdown, save
from experiments.shared import RESULTS, ROOT

SECTIONS = ("kavarakuntla", "hashemi", "yan", "alqahtani", "shi")
PAGE = ROOT / "experiments" / "papers.md"
KEPT = RESULTS / "papers"
HEAD = """# The papers, claim by claim

Written by `python -m experiments paper_claims`; do not edit. Each claim of a paper's abstract, in our words, is stated
as something that can fail and then tried: on the measured and published tables in `data/`, or, where there is none, on
tables from a discrete-event simulation (`experiments/simulate/`), in which workers compute, messages queue at ports,
and servers and storage serve one request after another. No simulated time is computed from a formula that is then
fitted, but a simulator built on the same idea comes close to it. So a verdict that rests on a simulator alone says so
in its heading, with the mean distance of the simulated times to the fitted formula. A small distance makes the test
circular in effect: it shows that the fit works, not that the world is so.

What is cited is the idea. The formulas are our derivations from what the abstracts describe and the standard cost
models of the field, so no equation numbers are given. "Reproduced" means that our model, on our tables, shows what the
abstract says; it says nothing on the authors' own systems, of which no measurements were at hand.

Where a test was changed after its results had been seen, the section says so.
"""


def run(*names: str, check: bool = False, page_only: bool = False) -> None:
    """Test the claims of some papers, or all, and write the page."""
    if check:
        problems = disagreements()
        sys.exit("\n".join(problems) if problems else 0)
    for name in () if page_only else names or SECTIONS:
        start = time.perf_counter()
        save(import_module(f"experiments.papers.{name}").section(), KEPT)
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)
    PAGE.write_text(page(), encoding="utf-8")


def kept() -> list[Section]:
    """Return the sections whose results are kept."""
    return [section for name in SECTIONS if (section := load(name, KEPT)) is not None]


def page() -> str:
    """Return the page of the kept results."""
    sections = kept()
    claims = [claim for section in sections for claim in section.claims]
    outcomes = [_outcome(claim) for claim in claims]
    counts = {outcome: outcomes.count(outcome) for outcome in sorted(set(outcomes), key=outcomes.index)}
    summary = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    resting = sum(claim.measured for claim in claims)
    total = f"Of {len(claims)} claims {resting} rest on measurements. Verdicts: {summary}."
    return "\n\n".join([HEAD.strip(), total, *map(_part, sections)]) + "\n"


def disagreements() -> list[str]:
    """Try the quick claims again, and return what the kept results or the page say otherwise."""
    problems = [] if PAGE.read_text(encoding="utf-8") == page() else [f"{PAGE.name} is not the page of {KEPT.name}/"]
    for section in kept():
        known = {claim.said: claim for claim in section.claims}
        again = [test() for test in getattr(import_module(f"experiments.papers.{section.name}"), "QUICK", ())]
        problems += [
            f"{section.name}.json: '{claim.said}' is now {claim.verdict}: {claim.found}"
            for claim in again
            if known.get(claim.said) != claim
        ]
    return problems


def _outcome(claim: Claim) -> str:
    return f"{claim.verdict} on a simulator alone" if claim.basis == SIMULATED else claim.verdict


def _part(section: Section) -> str:
    return markdown(section, getattr(import_module(f"experiments.papers.{section.name}"), "CHANGED", ""))
