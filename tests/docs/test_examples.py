"""Every command that a page writes is one that genperf has, with options that it has."""

import re
import shlex
from pathlib import Path

import click
import pytest

from genperf.cli.commands import COMMANDS, command_named, names_a_source

ROOT = Path(__file__).parents[2]
PAGES = [
    path
    for path in (*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "data").rglob("*.md")))
    if "venv" not in path.as_posix()
]
#: A block of code; a command of it, with its continued lines; one that the site runs, and one within a sentence.
FENCE = re.compile(r"^```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^(?:\$ )?genperf ((?:[^\n\\]|\\\n)+)$", re.MULTILINE)
DIRECTIVE = re.compile(r"\{command-output\} genperf ([^\n]+)")
INLINE = re.compile(rf"(?<!`)`(?:genperf ([^`]+)|((?:{'|'.join(COMMANDS)}) (?:[A-Z|]+ )?--[^`]+))`")
#: Stands in for what a reader fills in.
ELLIPSIS = re.compile(r"…|\.\.\.")


def commands(text: str) -> list[list[str]]:
    """Return the words of each command of a page; what is left to the reader, and what follows a pipe, is cut off."""
    found, blocks = [], "\n".join(FENCE.findall(text))
    for line in (*BLOCK.findall(blocks), *DIRECTIVE.findall(text), *map("".join, INLINE.findall(FENCE.sub("", text)))):
        words = shlex.split(line.replace("\\\n", " "), comments=True)
        words = words[: next((k for k, word in enumerate(words) if word in ("|", ">", "&&")), None)]
        if words and not ELLIPSIS.search(line):
            found.append(words)
    return found


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_command_of_a_page_is_understood(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = []
    monkeypatch.chdir(tmp_path)
    page = path.read_text(encoding="utf-8")
    for name, *words in commands(page):
        if name in COMMANDS and words:
            call, arguments = name, words
        elif name not in COMMANDS and names_a_source(name, *words):
            call, arguments = "ask", [name, *words]
        # A recipe runs the command that it adds.
        elif name in COMMANDS or name.startswith("-") or name.isupper() or f"# genperf/cli/{name}.py" in page:
            continue
        else:
            wrong.append(f"{name}: no such command")
            continue
        try:
            command_named(call).make_context(f"genperf {call}", list(arguments))
        except click.exceptions.Exit:
            pass
        except click.UsageError as error:
            # Within a sentence the rest of a command is not repeated, nor the value of an option.
            if not isinstance(error, click.MissingParameter) and "requires an argument" not in error.message:
                wrong.append(f"{call} {shlex.join(arguments)}: {error.format_message()}")
    assert not wrong
