"""The commands of docs/ask-and-compare.md end with status 0, and answer their questions."""

import re
import shlex
from pathlib import Path

import pytest
from helpers import Shell, done

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "ask-and-compare.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def shell(shell: Shell) -> Shell:
    for name, text in zip(("runs.csv", "node.csv"), blocks("csv"), strict=True):
        Path(name).write_text(text)
    Path("data").symlink_to(ROOT / "data")
    return shell


@pytest.mark.parametrize(
    ("task", "answer"),
    [
        (0, r"Expect [\d,]+ images/s at gpus=64"),
        (1, r"that keeps both is 8 gpus\. It takes 4\.7\d d .*1,8\d0 "),
        (2, r"what two nodes cost rests on the hint(?s:.*)Expect [\d,]+ samples/s at gpus=64"),
        # The best configuration with its days and its cost.
        (3, r"(?s)total +cost.*\n +32 +256 .* \d[\d.]* d +[\d,]+ "),
        (4, r"is the best of 7 with a probability of \d+ %"),
        (5, r"gpus=4: 1\.4\d at 2/h for a million samples, in place of 1\.5\d"),
    ],
)
def test_a_task_takes_at_most_two_commands(shell: Shell, task: int, answer: str) -> None:
    commands = blocks("sh")[task].replace("\\\n", " ").strip().splitlines()
    assert len(commands) <= 2
    for command in commands:
        name, *arguments = shlex.split(command)
        assert name == "genperf"
        out = done(shell, *arguments)
    assert re.search(answer, re.sub(r"\bIt is", "is", out), re.IGNORECASE)


def test_the_python_example_runs(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    exec(blocks("python")[0], {})
    assert "Expect " in capsys.readouterr().out
    assert Path("report.html").exists()


def test_the_first_question_of_the_readme(shell: Shell) -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"```csv\n(.*?)```", page, re.DOTALL)
    command = re.findall(r"^genperf runs.csv .*$", page, re.MULTILINE)[0]
    Path("runs.csv").write_text(table)
    out = done(shell, *shlex.split(command)[1:])
    # A better prior may change the numbers, not what is shown.
    names = [re.match(r"[^\d]*", line)[0].split("  ")[0] for line in out.splitlines() if "┤" not in line]
    assert [name for name in names if name not in page] == []
    assert "--repeat run" in out
