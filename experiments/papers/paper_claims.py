"""Test the claims of the papers that genperf stands on, and write experiments/papers.md.

    python -m experiments paper_claims [NAME ...]

Without names all papers are tried; with names, those, and the page is put together with the kept results of the
others in experiments/results/papers/. With --check the claims that take seconds are tried again, and it fails where the
kept results or the page say otherwise.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
import time
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

from experiments import shared
from experiments.papers.claim import NOT_REPRODUCED, NOT_TESTABLE, NOTHING, REPRODUCED, Claim
from experiments.shared import RESULTS, ROOT, beside

#: The words of each paper's claims, by the names of the functions that try them.
WORDS = beside(__file__, "claims.toml")
PAPERS = tuple(WORDS)
PAGE = ROOT / "experiments" / "papers.md"
KEPT = RESULTS / "papers"
#: Characters of a line of the page, where it can be broken: not in tables.
WIDTH = 160
_CODE, _GLUE = re.compile(r"`[^`]*`"), "\0"


def run(*names: str, check: bool = False) -> None:
    """Test the claims of some papers, or all, and write the page."""
    if check:
        problems = disagreements()
        sys.exit("\n".join(problems) if problems else 0)
    for name in names or PAPERS:
        start = time.perf_counter()
        save(name, [tried(name, claim) for claim in WORDS[name]])
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)
    PAGE.write_text(page(), encoding="utf-8")


def tried(paper: str, name: str) -> Claim:
    """Try a claim of a paper: its words, with the figures of its function and the constants of the paper's module."""
    words = WORDS[paper][name]
    said, test, found = (re.sub(r"\s*\n\s*", " ", words[part]).strip() for part in ("said", "test", "found"))
    if "data" not in words:
        return Claim(said, test, NOT_TESTABLE, found, NOTHING)
    module = import_module(f"experiments.papers.{paper}")
    outcome = getattr(module, name)()
    figures = {**vars(module), **outcome.figures}
    test, found = (text.format(**figures) for text in (test, found))
    verdict, head = REPRODUCED if outcome.holds else NOT_REPRODUCED, words.get("head", outcome.head)
    return Claim(said, test, verdict, found, words["basis"], words["data"], head, outcome.rows)


def save(name: str, claims: list[Claim], folder: Path = KEPT) -> None:
    """Write a paper's results, so that one can be tried again without the others."""
    text = json.dumps([asdict(claim) for claim in claims], indent=1, ensure_ascii=False, allow_nan=False)
    (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def kept() -> dict[str, list[Claim]]:
    paths = (KEPT / f"{name}.json" for name in PAPERS)
    return {p.stem: [Claim(**c) for c in json.loads(p.read_text(encoding="utf-8"))] for p in paths if p.is_file()}


def page() -> str:
    papers = kept()
    claims = [claim for of_paper in papers.values() for claim in of_paper]
    verdicts = [claim.verdict for claim in claims]
    summary = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(verdicts))
    total = f"Of {len(claims)} claims {sum(c.measured for c in claims)} rest on measurements. Verdicts: {summary}."
    texts = {name: markdown(name, papers.get(name, [])) for name in PAPERS}
    return shared.page("papers", total=total, claims=texts)


def disagreements() -> list[str]:
    """Try the quick claims again, and return what the kept results or the page say otherwise."""
    problems = [] if PAGE.read_text(encoding="utf-8") == page() else [f"{PAGE.name} is not the page of {KEPT.name}/"]
    for name, claims in kept().items():
        known = {claim.said: claim for claim in claims}
        again = [tried(name, claim) for claim, words in WORDS[name].items() if words.get("quick")]
        problems += [
            f"{name}.json: '{claim.said}' is now {claim.verdict}: {claim.found}"
            for claim in again
            if known.get(claim.said) != claim
        ]
    return problems


def markdown(name: str, claims: list[Claim]) -> str:
    """Write a paper's claims as a page's part."""
    parts = []
    for number, claim in enumerate(claims, start=1):
        rests = claim.basis + (f", `{claim.data}`" if claim.data else "")
        parts += [
            f"**{number}. {claim.said}**: **{claim.verdict}**",
            f"Tested: {claim.test}",
            f"Found: {claim.found}",
            f"Rests on: {rests}. Run: `python -m experiments paper_claims {name}`",
            *([shared.markdown(claim.head, claim.rows)] if claim.rows else []),
        ]
    return "\n\n".join(part if part.startswith("|") else wrapped(part) for part in parts)


def wrapped(text: str) -> str:
    """Break a paragraph into lines, formulas left whole: a line that begins with their + would begin a list.

    >>> print(wrapped("word " * 31 + "`a + b`").splitlines()[1])
    `a + b`
    """
    whole = _CODE.sub(lambda code: code.group().replace(" ", _GLUE), text)
    return textwrap.fill(whole, WIDTH, break_long_words=False, break_on_hyphens=False).replace(_GLUE, " ")
