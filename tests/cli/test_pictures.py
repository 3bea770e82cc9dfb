"""`genperf report` and `--plot`: what is written, and what is said where it cannot be."""

import json
from pathlib import Path

import pytest
from helpers import Shell, shell_of

pytest.importorskip("matplotlib", reason='matplotlib is missing: pip install "genperf[plots]"')

ROLES = ["--time", "seconds", "--extrinsic", "workers"]


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Run a command in a folder with a table, and a model of each of its two groups; return status, output, errors."""
    monkeypatch.chdir(tmp_path)
    lines = [f"{net},{n},{t * (1 + 8 / n)}" for net, t in (("a", 1), ("b", 2)) for n in (1, 2, 4, 8, 16)]
    Path("runs.csv").write_text("\n".join(["net,workers,seconds", *lines]))
    Path("one.csv").write_text("\n".join(["net,workers,seconds", *lines[:5]]))

    call = shell_of(capsys)
    assert call("fit", "runs.csv", *ROLES, "--group", "net", "--model", "amdahl", "-o", "groups.json", "-q")[0] == 0
    assert call("fit", "one.csv", *ROLES, "--model", "amdahl", "-o", "one.json", "-q")[0] == 0
    return call


FIGURES = [
    ["predict", "one.json", "--at", "workers=32,64"],
    ["predict", "groups.json", "--at", "net=b", "--at", "workers=32"],
    ["explain", "one.json"],
    ["explain", "one.json", "--knee", "--scaling", "strong"],
    ["explain", "one.json", "--at", "workers=16", "--versus", "workers=2"],
    ["validate", "one.csv", *ROLES, "--models", "amdahl,last-point", "--scheme", "extrapolate:workers"],
]


@pytest.mark.parametrize("arguments", FIGURES)
def test_plot_writes_a_figure(shell: Shell, arguments: list[str]) -> None:
    status, _, err = shell(*arguments, "--plot", "figure.svg")
    assert status == 0, err
    assert "wrote figure.svg" in err
    assert Path("figure.svg").read_text().startswith("<?xml")


def test_plot_of_several_groups_says_how_to_choose_one(shell: Shell) -> None:
    status, _, err = shell("predict", "groups.json", "--at", "workers=32", "--plot", "figure.png")
    assert status == 1
    assert "--at net=a" in err


def test_plot_with_another_ending_is_wrong_usage(shell: Shell) -> None:
    status, _, err = shell("predict", "one.json", "--at", "workers=32", "--plot", "figure.txt")
    assert status == 2
    assert "'figure.txt' ends in none of .png, .svg, .pdf" in err
    assert not Path("figure.txt").exists()


def test_report_of_a_model(shell: Shell) -> None:
    status, out, err = shell("report", "groups.json", "--title", "Ours", "--target", "workers=64", "--json")
    assert status == 0
    assert json.loads(out) == {"report": "report.html", "bytes": Path("report.html").stat().st_size}
    assert "open it in a browser (file://" in err
    assert "<title>Ours</title>" in Path("report.html").read_text()


def test_report_of_one_group(shell: Shell) -> None:
    assert shell("report", "groups.json", "--only", "b", "-o", "b.html", "-q") == (0, "", "")
    assert 'id="group"' not in Path("b.html").read_text()


def test_report_of_a_table(shell: Shell) -> None:
    status, _, err = shell("report", "one.csv", *ROLES, "--model", "amdahl", "-o", "t.html", "-q")
    assert status == 0, err
    assert "extrapolate:workers:8" in Path("t.html").read_text()


WRONG = [
    (["report", "none.json"], 1, "no such file"),
    (["report", "groups.json", "--only", "c"], 1, "there is no group c"),
    (["report", "one.json", "--target", "wrkers=3"], 1, "did you mean 'workers'?"),
    (["report", "one.json", "--target", "workers"], 2, "NAME=VALUE"),
    (["report", "one.json", "--along", "wrkers"], 1, "did you mean 'workers'?"),
    (["report", "one.json", "--interval", "1"], 1, "between 0 and 1"),
    (["report", "one.json", "-o", "no/such/folder.html"], 1, "no such folder"),
]


@pytest.mark.parametrize(("arguments", "status", "said"), WRONG)
def test_what_cannot_be_is_said_in_words(shell: Shell, arguments: list[str], status: int, said: str) -> None:
    found, _, err = shell(*arguments)
    assert found == status
    assert said in err
    assert not Path("report.html").exists()
