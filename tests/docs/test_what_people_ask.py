"""docs/what-people-ask.md: each command prints the lines that stand below it.

`GENPERF_GOLDEN=write` puts in their place the lines of today that begin in the same way.
"""

import os
import re
import shlex
from difflib import get_close_matches
from pathlib import Path

import pytest
from helpers import Shell, done

PAGE = Path(__file__).parents[2] / "docs" / "what-people-ask.md"
QUESTIONS = re.split(r"^(?=## )", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]


def block(question: str, language: str) -> str:
    """The text between the fences; empty without one."""
    return "".join(re.findall(rf"```{language}\n(.*?)```", question, re.DOTALL))


def title(question: str) -> str:
    return question.partition("\n")[0].removeprefix("## ")


@pytest.mark.parametrize("question", QUESTIONS, ids=title)
def test_a_question_is_answered_as_the_page_shows(question: str, shell: Shell) -> None:
    table = block(question, "csv")
    assert len(table.splitlines()) <= 6
    if table:
        Path("runs.csv").write_text(table, encoding="utf-8")
    out = done(shell, *shlex.split(block(question, "sh"))[1:])
    lines, printed = block(question, "text").splitlines(), out.splitlines()
    if os.environ.get("GENPERF_GOLDEN") == "write":
        today = [get_close_matches(line, printed, 1, 0.0)[0] for line in lines]
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(text.replace(question, question.replace("\n".join(lines), "\n".join(today))), encoding="utf-8")
    else:
        assert lines
        assert [line for line in lines if line not in printed] == []


def test_there_are_ten_questions() -> None:
    assert len(QUESTIONS) >= 10
