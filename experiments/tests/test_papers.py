"""experiments/papers.md: its claims agree with the data; what makes a step slower is named where it was planted."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from helpers import shell_of

import genperf as gp
from experiments.papers import paper_claims
from experiments.papers.claim import MEASURED, NOT_TESTABLE, NOTHING, PUBLISHED
from experiments.papers.planted import CLASSES, LARGER, SOUND, seconds_of
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


def test_a_missing_overlap_is_told_from_a_slow_phase() -> None:
    outer, inner = "input + transfer | forward + backward + ring + latency + update", "backward | ring + latency"
    # Half a second more of input, of which the prefetching hides 0.2 s.
    slow = seconds_of({"input": 0.5}, {outer: -0.2, inner: 0.0})
    assert max(slow, key=lambda cause: abs(slow[cause])) == "input"
    # The input as before, which is no longer hidden.
    waits = seconds_of({"input": 0.0, "forward": 0.0}, {outer: 0.1, inner: 0.0})
    assert max(waits, key=lambda cause: abs(waits[cause])) == "no prefetch"
    late = seconds_of({"ring": 0.01}, {outer: 0.0, inner: 0.1})
    assert max(late, key=lambda cause: abs(late[cause])) == "no overlap"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model file with `s-sgd` fitted to each configuration of PyTorch."""
    path = str(tmp_path_factory.mktemp("planted") / "model.json")
    table = gp.datasets.load("causes", where="framework == 'pytorch'", categorical="", group="planted")
    gp.save_model(gp.fit(table, "s-sgd", seed=0, draws=20), path)
    return path


@pytest.mark.parametrize("planted", [name for name in CLASSES if name != LARGER])
def test_the_planted_cause_is_named_on_the_command_line(
    planted: str, model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    at = ("--at", "workers=8", "--at", "batch_per_worker=2")
    asked = ("explain", model, "--group", SOUND, *at, "--versus", f"planted={planted}", "--json")
    status, output, errors = shell_of(capsys)(*asked)
    assert status == 0, errors
    comparison = json.loads(output)["comparison"]
    terms = {row["term"]: row["change"] for row in comparison["terms"]}
    changes = seconds_of(terms, {row["overlap"]: row["change"] for row in comparison["hidden"]})
    assert max(changes, key=lambda cause: abs(changes[cause])) == CLASSES[planted]
    assert comparison["change"] > 0.0


def test_the_claims_of_planted_causes_are_those_of_the_page() -> None:
    """All pairs again, in three frameworks: what the page says of them is what the table says."""
    of_page = {claim.said: claim for claim in paper_claims.kept()["shi"]}
    claims = [paper_claims.tried("shi", name) for name in ("causes", "seconds")]
    assert [of_page.get(claim.said) for claim in claims] == claims
