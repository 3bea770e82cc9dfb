"""experiments/papers.md: its claims agree with the data, and each says what it rests on."""

from dataclasses import replace
from pathlib import Path

import pytest

from experiments.papers import paper_claims
from experiments.papers.claim import MEASURED, NOT_TESTABLE, NOTHING, PUBLISHED
from experiments.shared import ROOT


def test_the_page_and_its_results_agree_with_the_data() -> None:
    """Claims that take seconds are tried again; the others are compared with the page."""
    assert paper_claims.disagreements() == []


def test_every_claim_says_what_it_rests_on() -> None:
    claims = [claim for of_paper in paper_claims.kept().values() for claim in of_paper]
    for claim in claims:
        assert claim.basis in (MEASURED, PUBLISHED, NOTHING), claim.said
        assert (claim.verdict == NOT_TESTABLE) == (claim.basis == NOTHING), claim.said
        if claim.basis != NOTHING:
            assert (ROOT / claim.data).exists(), claim.said
    assert sum(claim.measured for claim in claims) >= 12


def test_a_changed_verdict_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A quick claim that the kept results state otherwise, on a page that was not written again."""
    first, *others = paper_claims.kept()["alqahtani"]
    paper_claims.save("alqahtani", [replace(first, verdict="not reproduced"), *others], tmp_path)
    monkeypatch.setattr(paper_claims, "KEPT", tmp_path)
    page, verdict = paper_claims.disagreements()
    assert page.startswith("papers.md is not the page of")
    assert verdict.startswith(f"alqahtani.json: '{first.said}' is now reproduced: ")
    with pytest.raises(SystemExit) as left:
        paper_claims.run(check=True)
    assert left.value.code == f"{page}\n{verdict}"
