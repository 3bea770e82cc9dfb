"""`genperf explain` and `genperf suggest` as a user types them."""

import json
from pathlib import Path

import pytest
from helpers import Shell, csv_of, done, refusal, reply, shell_of

from genperf.cli.main import run

RUNS = "net,gpus,batch,seconds\n" + "".join(
    f"{net},{n},{b},{scale * (0.1 * b + 0.4 * (n - 1)) + 0.2}\n"
    for net, scale in (("small", 1), ("large", 2))
    for n in (1, 2, 4, 8, 16)
    for b in (8, 32)
)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explain")
    (folder / "runs.csv").write_text(RUNS)
    roles = ["--time", "seconds", "--intrinsic", "batch", "--extrinsic", "gpus", "--quiet"]
    formula = ["--model", "a*batch + b*(gpus - 1) + c"]
    table = str(folder / "runs.csv")
    small = ["--where", "net == 'small'"]
    assert run(["fit", table, *roles, *formula, *small, "-o", str(folder / "one.json")]) == 0
    assert run(["fit", table, *roles, *formula, "--group", "net", "-o", str(folder / "two.json")]) == 0
    (folder / "small.csv").write_text("\n".join(r for r in RUNS.splitlines() if not r.startswith("large")))
    return folder


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str], models: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.chdir(models)
    return shell_of(capsys)


def test_a_group_may_have_a_comma_in_its_name(shell: Shell) -> None:
    rows = ((f'"Cluster A, {net}"', n, k * (1 + 0.1 * n)) for net, k in (("x", 1), ("y", 2)) for n in (1, 2, 4))
    Path("named.csv").write_text(csv_of("table,gpus,seconds", rows))
    for group in ([], ["--group", "Cluster A, y"]):
        assert "averaged: " in done(shell, "explain", "named.csv", *group)


def test_by_default_terms_and_elasticities(shell: Shell) -> None:
    out = done(shell, "explain", "one.json", "--at", "gpus=5", "--at", "batch=16")
    assert "seconds and share of each term" in out
    assert "elasticity" in out
    assert "scaling" not in out
    # The configuration stands once, above both tables, and every share has one digit behind the point.
    assert out.count("batch=16") == out.count("gpus=5") == 1
    shares = [line.split()[-2] for line in out.splitlines() if line.endswith(" %")]
    assert sum(map(float, shares)) == pytest.approx(100.0, abs=0.2)


def test_all_of_it_as_json(shell: Shell) -> None:
    # At 5 workers of 16 samples: 1.6 + 1.6 + 0.2 s; at 9 workers 1.6 s more.
    at = ["--at", "gpus=5", "--at", "batch=16"]
    more = ["--knee", "--sobol", "--versus", "gpus=9", "--importance", "small.csv", "--json"]
    out = done(shell, "explain", "one.json", *at, *more)
    found = json.loads(out)
    assert sum(t["share"] for t in found["terms"]) == pytest.approx(1.0)
    assert found["comparison"]["change"] == pytest.approx(1.6, rel=0.01)
    assert {p["what"] for p in found["scaling"]["points"]} >= {"efficiency", "slower"}
    assert found["scaling"]["kind"] == "weak"
    assert {i["factor"] for i in found["sensitivity"]["indices"]} == {"gpus", "batch"}
    assert {s["factor"] for s in found["importance"]["scores"]} == {"gpus", "batch"}


def test_all_of_it_in_words(shell: Shell) -> None:
    # T = 1.8 + 0.4·(n − 1) s falls below half of T(1)'s efficiency where it is above 3.6 s: beyond 5.5 workers.
    asked = ["--at", "batch=16", "--knee", "0.5", "--up-to", "64", "--sobol", "log", "--within", "gpus=1,4"]
    out = done(shell, "explain", "one.json", *asked)
    assert "efficiency, 100 % at 1 gpu, falls below 50 % at 6 gpus" in out
    assert "the logarithm of the time (Sobol indices)" in out
    assert "1 to 4" in out


def test_one_group_against_another(shell: Shell) -> None:
    # The same configuration takes 1.6 + 1.6 s longer on the large network.
    at = ["--at", "gpus=5", "--at", "batch=16"]
    found = reply(shell, "explain", "two.json", "--group", "small", *at, "--versus", "net=large")["comparison"]
    assert (found["a"]["name"], found["b"]["name"]) == ("small", "large")
    assert found["change"] == pytest.approx(3.2, rel=0.02)
    for level, other in (("large", "small"), ("small", "large")):
        assert reply(shell, "explain", "two.json", *at, "--versus", f"net={level}")["comparison"]["a"]["name"] == other
    assert "compared with itself" in refusal(shell, "explain", "two.json", "--group", "small", "--versus", "net=small")


def test_suggest_among_candidates(shell: Shell, models: Path) -> None:
    (models / "could.csv").write_text("gpus,batch\n32,16\n64,16\n")
    asked = ["--target", "gpus=128", "--candidates", "could.csv", "--cost", "gpus*time", "--json"]
    out = done(shell, "suggest", "one.json", *asked)
    found = json.loads(out)
    assert {c["gpus"] for c in found["candidates"]} == {32, 64}
    for row in found["candidates"]:
        assert row["cost"] == pytest.approx(row["gpus"] * row["time"])
    status, _, err = shell("suggest", "one.json", "--target", "gpus=128", "--within", "a little")
    assert status == 2
    assert "is not a number" in err


def test_tokens_of_a_step_that_nothing_counts_leave_the_shares(shell: Shell) -> None:
    rows = [f"{n},{b},{n * b * 500 / (1 + 0.01 * n) / (1 + 0.02 * b):.0f}" for b in (8, 16) for n in (1, 2, 4, 8)]
    Path("runs.csv").write_text("\n".join(("gpus,batch,tokens_per_s", *rows)) + "\n")
    roles = ("--throughput", "tokens_per_s", "--extrinsic", "gpus", "--intrinsic", "batch")
    done(shell, "fit", "runs.csv", *roles, "-o", "m.json")
    status, out, errors = shell("explain", "m.json", "--at", "gpus=8")
    assert (status, errors) == (0, "")
    assert "no seconds: tokens_per_s counts tokens" in out
    assert "\nshare of each term\n" in out


def test_the_time_of_a_throughput_is_told_as_what_it_is(shell: Shell) -> None:
    Path("rates.csv").write_text(csv_of("gpus,img/s", [(n, 400.0 * n / (1.0 + 0.05 * n)) for n in (1, 2, 4, 8)]))
    assert "\ntime: gpus / `img/s`\n" in done(shell, "explain", "rates.csv")
    assert "time: " not in done(shell, "explain", "one.json", "--at", "gpus=5", "--at", "batch=16")


def test_what_cannot_be_shown_is_told_in_a_line(shell: Shell) -> None:
    # A group of two columns has a comma in its name.
    Path("all.csv").write_text(RUNS)
    roles = ("--time", "seconds", "--extrinsic", "gpus")
    done(shell, "fit", "all.csv", *roles, "--group", "net,batch", "-o", "g.json", "-q")
    groups = "the groups are large, 8; large, 32; small, 8; small, 32"
    assert groups in refusal(shell, "explain", "g.json", "--group", "no")
    # Ways that no column counts together have no axis, but the one that is named.
    rows = ((d, t, 8 / (d * t) + 0.1 * t) for d in (1, 2, 4, 8) for t in (1, 2, 4))
    Path("ways.csv").write_text(csv_of("dp,tp,seconds", rows))
    split = ("--time", "seconds", "--extrinsic", "dp,tp", "--model", "a/(dp*tp) + b*tp")
    done(shell, "fit", "ways.csv", *split, "-o", "ways.json", "-q")
    assert "--along COLUMN, one of dp, tp" in refusal(shell, "explain", "ways.json", "--plot", "terms.svg")
    done(shell, "explain", "ways.json", "--along", "dp", "--plot", "terms.svg")
    # An error of thousands of millions of per cent has no digits that tell anything.
    Path("strong.csv").write_text(csv_of("gpus,seconds", ((n, 0.1 + 3 / n) for n in (1, 2, 4, 8, 16))))
    out = done(shell, "fit", "strong.csv", *roles, "--model", "amdahl", "--lambda", "1e9", "-o", "m.json")
    assert "held-out error more than 1,000 %" in out
