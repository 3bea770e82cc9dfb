"""The commands of pages end well, and print what their page shows.

`GENPERF_GOLDEN=write` puts in the place of the lines of README.md, docs/any-table.md and docs/what-people-ask.md
those of today that are like them, to be read.
"""

import os
import re
import shlex
from difflib import get_close_matches
from pathlib import Path

import pytest
from helpers import Shell, cases_in_text

from genperf.table.cells import as_csv
from genperf.table.opened import understood

ROOT = Path(__file__).parents[2]


def page_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def printed(shell: Shell, commands: str) -> str:
    """Return what the last of some commands prints, with its notes."""
    for command in commands.replace("\\\n", " ").strip().splitlines():
        name, *arguments = shlex.split(command)
        status, out, errors = shell(*arguments)
        assert (name, status) == ("genperf", 0), errors
    return out + errors


def assert_shown(name: str, shown: str, text: str) -> None:
    """Each line that a page shows is one of those that its command printed."""
    lines, of_today = shown.splitlines(), text.splitlines()
    assert lines
    if os.environ.get("GENPERF_GOLDEN") == "write":
        today = "\n".join(get_close_matches(line, of_today, 1, 0.0)[0] for line in lines)
        (ROOT / name).write_text(page_of(name).replace("\n".join(lines), today, 1), encoding="utf-8")
    else:
        assert [line for line in lines if line not in of_today] == []


# --- README.md, docs/any-table.md and docs/what-people-ask.md: a table, a command, and lines of what it prints ----

README = page_of("README.md")
QUESTIONS = [
    pytest.param(name, section, id=section.partition("\n")[0])
    for name, few in (("docs/any-table.md", 12), ("docs/what-people-ask.md", 10))
    if len(sections := re.split(r"^## ", page_of(name), flags=re.MULTILINE)[1:]) >= few
    for section in sections
]


@pytest.mark.usefixtures("all_draws")
@pytest.mark.parametrize(("name", "section"), QUESTIONS)
def test_a_command_prints_what_the_page_shows(name: str, section: str, shell: Shell) -> None:
    for language in ("csv", "json"):
        for text in blocks(section, language):
            Path(f"runs.{language}").write_text(text, encoding="utf-8")
    shown = [text for language, text in re.findall(r"```(\w+)\n(.*?)```", section, re.DOTALL) if language != "sh"]
    assert_shown(name, shown[-1], printed(shell, blocks(section, "sh")[0]))


def test_the_pages_have_their_questions() -> None:
    assert {parameter.values[0] for parameter in QUESTIONS} == {"docs/any-table.md", "docs/what-people-ask.md"}


@pytest.mark.usefixtures("all_draws")
def test_the_readme_shows_the_card_of_its_question(shell: Shell) -> None:
    Path("runs.csv").write_text(blocks(README, "csv")[0])
    (command,) = re.findall(r"^genperf runs.csv .*$", README, re.MULTILINE)
    assert_shown("README.md", blocks(README, "text")[0], printed(shell, command))


# --- docs/tables.md: each table is read as the page shows it, with the lines that it shows ---------------------------

SECTIONS = page_of("docs/tables.md").split("\n## ")[1:]
PAIRS = [
    pytest.param(*texts, re.findall(r"^- (.*)$", section, re.MULTILINE), id=section.partition("\n")[0])
    for section in SECTIONS
    for texts in re.findall(r"```text\n(.*?)```\n\n```csv\n(.*?)```", section, re.DOTALL)
]


def test_the_page_has_a_pair_in_each_section() -> None:
    assert len(PAIRS) == len(SECTIONS) == 16


@pytest.mark.parametrize(("before", "after", "steps"), PAIRS)
def test_a_table_is_read_as_the_page_shows(tmp_path: Path, before: str, after: str, steps: list[str]) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(before, encoding="utf-8")
    source = understood(path)
    assert as_csv(source) == after
    assert [str(step) for step in source.steps] == steps


# --- docs/optimize.md, docs/transformers.md and docs/ask-and-compare.md: worked examples -----------------------------


@pytest.mark.usefixtures("all_draws")
def test_a_deadline_and_a_budget_in_whole_nodes(shell: Shell) -> None:
    page = page_of("docs/optimize.md")
    (table,), (commands,), (text,) = (blocks(page, language) for language in ("csv", "sh", "text"))
    Path("runs.csv").write_text(table)
    *earlier, last = commands.replace("\\\n", " ").splitlines()
    printed(shell, "\n".join(earlier))
    status, out, errors = shell(*shlex.split(last)[1:])
    assert (status, "at 10 per node-hour" in errors) == (0, True), errors
    assert re.sub(r"[\d.,]+ ?", "# ", out).split() == re.sub(r"[\d.,]+ ?", "# ", text).split()
    shown = [[float(n) for n in re.findall(r"\d[\d,.]*\b", t.replace(",", ""))] for t in (out, text)]
    assert shown[0] == pytest.approx(shown[1], rel=0.15, abs=10)
    # The cheapest of those whose interval ends before the deadline, in whole nodes and within the budget.
    gpus, _, least, _, _, cost = map(float, re.findall(r"[\d.]+", out.splitlines()[2].replace(",", ""))[:6])
    assert gpus % 4 == 0
    assert 1e8 / least <= 8 * 3600
    assert cost <= 550


def test_every_command_of_a_transformer_answers(shell: Shell) -> None:
    page = page_of("docs/transformers.md")
    Path("runs.csv").write_text(blocks(page, "csv")[0])
    answers = [
        r"(?s)held-out error .*memory: auto",
        r"(?s)inside a node of 8 devices|least time of [\d,]+ feasible",
        r"wrote gpt.html",
        r"(?s)tokens_per_s .*days .*training_cost .*mfu",
        r"(?s)10B tokens take .* and cost [\d,]+; MFU is \d+ %.*What takes the time at",
        r"'[\w ]+' changes by|which is faster is not determined",
    ]
    for command, answer in zip(blocks(page, "sh"), answers, strict=True):
        assert re.search(answer, printed(shell, command))


ASK_AND_COMPARE = page_of("docs/ask-and-compare.md")


@pytest.fixture
def asking(shell: Shell) -> Shell:
    for name, text in zip(("runs.csv", "nodes.csv", "node.csv"), blocks(ASK_AND_COMPARE, "csv"), strict=True):
        Path(name).write_text(text)
    Path("data").symlink_to(ROOT / "data")
    return shell


@cases_in_text("task, answer")
def test_a_task_takes_at_most_two_commands(asking: Shell, task: int, answer: str) -> None:
    commands = blocks(ASK_AND_COMPARE, "sh")[task]
    assert len(commands.replace("\\\n", " ").strip().splitlines()) <= 2
    assert re.search(answer, re.sub(r"\bIt is", "is", printed(asking, commands)), re.IGNORECASE)


def test_the_python_example_runs(asking: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    exec(blocks(ASK_AND_COMPARE, "python")[0], {})
    assert "Expect " in capsys.readouterr().out
    assert Path("report.html").exists()
