"""The commands of docs/any-table.md print what the page shows, but for the digits of what is predicted."""

import re
import shlex
from pathlib import Path

import pytest
from helpers import Shell

PAGE = (Path(__file__).parents[2] / "docs" / "any-table.md").read_text(encoding="utf-8")
SECTIONS = re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]


def masked(text: str) -> str:
    """Return a line without its numbers, which a better prior may change."""
    return re.sub(r"[\d.,]+", "#", text)


@pytest.mark.parametrize("section", SECTIONS, ids=[section.partition("\n")[0] for section in SECTIONS])
def test_a_command_prints_what_the_page_shows(section: str, shell: Shell) -> None:
    blocks = re.findall(r"```(\w+)\n(.*?)```", section, re.DOTALL)
    for language, text in blocks:
        if language in ("csv", "json"):
            Path(f"runs.{language}").write_text(text, encoding="utf-8")
    command = next(text for language, text in blocks if language == "sh")
    program, *arguments = shlex.split(command)
    status, out, errors = shell(*arguments)
    assert (program, status) == ("genperf", 0), errors
    after = blocks[-1][1].splitlines()
    printed = [masked(line) for line in out.splitlines()]
    # How the table was read is exact; of the prediction the quantity and its unit are.
    assert after[0] == out.splitlines()[0]
    expected = [masked(line).partition(":")[0] for line in after if line.startswith("Expect")]
    assert expected
    assert all(any(line.startswith(start) for line in printed) for start in expected)


def test_the_page_has_twelve_pairs() -> None:
    assert len(SECTIONS) == 12
