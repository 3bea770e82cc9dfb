"""Every message that a user can be given: refusals as `messages.txt` has them, all of them in plain words.

`GENPERF_GOLDEN=write python -m pytest -n 0 tests/bad_inputs/test_messages.py` writes the refusals anew, to be read.
"""

import ast
import difflib
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import cases
import commands
import pytest
from helpers import PACKAGE

import genperf
from genperf.cli.main import run
from genperf.errors import Note

GOLDEN = Path(__file__).parent / "messages.txt"
#: What a message has of the machine, the numbers of a fault and paths, and lists that grow with genperf.
CHANGING = re.compile(r"\(number \d+\)|/tmp/\S+|(?<=try: one of ).*")
#: A longer line quotes what was given.
LONGEST = 200


@dataclass(frozen=True)
class Answer:
    """What a command printed, and the notes that it made."""

    arguments: tuple[str, ...]
    status: int
    out: str
    errors: str
    notes: tuple[Note, ...]

    def command(self) -> str:
        """Return the command as it is typed, without the columns' options."""
        return " ".join(f"'{a}'" if " " in a or "*" in a else a for a in self.arguments)

    def refusal(self) -> list[str]:
        """Return the status and the messages."""
        cut = (line if len(line) <= LONGEST else f"{line[:LONGEST]}…" for line in self.messages())
        return [f"status {self.status}", *cut]

    def messages(self) -> list[str]:
        """Return the lines of the messages, without what changes from machine to machine."""
        return CHANGING.sub("…", self.errors).rstrip("\n").splitlines()

    def lines(self) -> Iterator[str]:
        """Yield the sentences of the result, the messages, and the notes of a fit that are not printed."""
        if self.out.startswith("{"):
            yield from dict.fromkeys(row["reason"] for row in json.loads(self.out)["predictions"])
        else:
            yield from (line for line in self.out.splitlines() if line.strip() and "  " not in line.strip())
        # A formula is quoted as it was given.
        yield from (line for line in self.messages() if not re.match(" (?! ?try:)", line))
        if self.arguments[0] == "fit":
            yield from (n.text for n in self.notes if n.text not in self.errors and n.text not in self.out)


def answered(arguments: tuple[str, ...], notes: list[Note]) -> Answer:
    """Run a command, as a shell does."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = out, err
    notes.clear()
    try:
        status = run(list(arguments))
        out.flush()
    finally:
        sys.stdout, sys.stderr = before
    return Answer(arguments, status, out.buffer.getvalue().decode(), err.getvalue(), tuple(notes))  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., list[Answer]]]:
    """Yield a function that prepares a folder and runs commands there; the notes that are made are collected."""
    notes: list[Note] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "80")

        class Recorded(Note, frozen=True):
            def __post_init__(self) -> None:
                notes.append(self)

        for module in (import_module(found.name) for found in walk_packages(genperf.__path__, "genperf.")):
            if hasattr(module, "Note"):
                patch.setattr(module, "Note", Recorded)

        def answers(prepare: Callable[[Path], None], listed: list[tuple[str, ...]]) -> list[Answer]:
            folder = tmp_path_factory.mktemp("messages")
            prepare(folder)
            patch.chdir(folder)
            return [answered(arguments, notes) for arguments in listed]

        yield answers


@pytest.fixture(scope="module")
def odd(asking: Callable[..., list[Answer]]) -> dict[str, Answer]:
    """The answers to odd inputs, by the names of their cases."""
    named = cases.cases()
    answers = asking(lambda folder: cases.prepare(folder, run), list(named.values()))
    return dict(zip(named, answers, strict=True))


@pytest.fixture(scope="module")
def typed(asking: Callable[..., list[Answer]]) -> list[Answer]:
    """The answers to what users type."""
    return asking(commands.prepare, commands.commands())


def golden(odd: dict[str, Answer], typed: list[Answer]) -> str:
    """Return the refusals of both."""
    refusals = odd | {f"$ {answer.command()}": answer for answer in typed if answer.status}
    return "".join("\n".join([f"== {name}", *answer.refusal(), ""]) for name, answer in refusals.items())


def test_refusals_are_as_written(odd: dict[str, Answer], typed: list[Answer]) -> None:
    text = golden(odd, typed)
    if os.environ.get("GENPERF_GOLDEN") == "write":
        GOLDEN.write_text(text, encoding="utf-8")
    written = GOLDEN.read_text(encoding="utf-8")
    changes = difflib.unified_diff(written.split("\n"), text.split("\n"), "messages.txt", "answers", lineterm="", n=3)
    assert text == written, listed(list(changes))


def test_odd_input_is_refused(odd: dict[str, Answer]) -> None:
    assert not [name for name, answer in odd.items() if answer.status not in (1, 2) or not answer.errors]


def listed(lines: list[str]) -> str:
    return "\n".join(["", *lines])


@pytest.fixture(scope="module")
def messages(odd: dict[str, Answer], typed: list[Answer]) -> list[str]:
    """All lines that were printed, and the notes of fits that were not."""
    return [line for answer in (*odd.values(), *typed) for line in answer.lines()]


#: What no message may have, and why.
FORBIDDEN = {
    r"Traceback|Error\(": "a fault of the program",
    r"\w \(\d+\)(?=[,;:]| \d|$)": "the number of a prior's setting",
    r"λ|\bln\b|kriging|posterior|\bprior\b": "a word of the method",
    r"(?<![\d.,:=*/^-])\b1 (?:workers|rows|configurations|doublings|groups|nodes|gpus|expressions|files|points|columns"
    r"|values|structures|cells|levels|scales|constants|terms)\b": "one of many",
    r"\s$": "a stray space at the end",
    r"\S  +\S": "two spaces inside a sentence",
    r"(?<!try:) [,;.](?: |$)|,,|(?<!');;": "stray punctuation",
}


#: Messages that break a rule, and what they wait for.
ACCEPTED = {
    r"doublings? beyond the": "verdicts that count the distance once",
    r"the largest term changes from": "names of members without settings",
    r"^error: λ must be": "the name of the option --lambda",
    r"the best erred by": "counts with their nouns",
    r"1 configurations have no finite": "counts with their nouns",
    r"File name too long": "a name that is quoted",
    r"is not in the training part": "levels that are listed once",
    r"did you mean 'amdahl'\?; one of": "models that are listed only where none is near",
}


def broken(lines: list[str]) -> list[str]:
    return [line for line in lines if not any(re.search(pattern, line) for pattern in ACCEPTED)]


def test_no_message_has_what_it_may_not(messages: list[str]) -> None:
    lines = {pattern: broken([line for line in messages if re.search(pattern, line)]) for pattern in FORBIDDEN}
    faults = [f"{FORBIDDEN[pattern]}: {line}" for pattern, of_it in lines.items() for line in of_it]
    assert not faults, listed(faults)


def repeats_itself(line: str) -> bool:
    """Tell whether a clause, or four words in a row, stand twice in a message; items of a list may be alike."""
    if line.startswith("averaged: "):
        return False
    clauses = [clause.strip().lower() for clause in re.split(r"[;.:] ", line)]
    words = re.findall(r"[\w'-]+", line.lower())
    runs = [tuple(words[i : i + 4]) for i in range(len(words) - 3)]
    texts = [run for run in runs if sum(word.isalpha() for word in run) >= 3]
    return len(set(clauses)) < len(clauses) or len(set(texts)) < len(texts)


def test_a_repeated_clause_is_recognised() -> None:
    assert repeats_itself("workers=64 is 2 doublings beyond the measured 1 to 16; 2 doublings beyond the data")
    assert repeats_itself("the interval is wide; the interval is wide")
    assert not repeats_itself("workers=64 is 2 doublings beyond the measured 1 to 16; the interval is wide")


def test_no_message_says_a_thing_twice(messages: list[str]) -> None:
    lines = broken([line for line in messages if repeats_itself(line)])
    assert not lines, listed(lines)


def test_a_message_fits_on_two_lines_of_a_screen(messages: list[str]) -> None:
    lines = broken([line for line in messages if len(line) > LONGEST])
    assert not lines, listed(lines)


#: Notes that need more configurations, or a search that fails: the tests of these rooms make them.
OF_LARGE_TABLES = {"unreached", "anchors", "not_all_looked_at", "pooled"}


def test_every_kind_of_note_is_made(typed: list[Answer]) -> None:
    kinds = set()
    texts = [path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")]
    for text in texts:
        for node in ast.walk(ast.parse(text)) if "Note(" in text else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Note":
                given = [*node.args[1:], *(k.value for k in node.keywords if k.arg == "kind")]
                kinds |= {a.value for a in given if isinstance(a, ast.Constant)} or ({"note"} if not given else set())
    missing = sorted(kinds - {note.kind for answer in typed for note in answer.notes} - OF_LARGE_TABLES)
    assert not missing, listed(missing)
