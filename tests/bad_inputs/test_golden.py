"""Every odd input of `cases.py` is answered as `messages.txt` says: one message, never a traceback or a fault.

`GENPERF_GOLDEN=write python -m pytest -n 0 tests/bad_inputs/test_golden.py` writes the messages anew, to be read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from cases import cases, prepare
from helpers import Shell, shell_of

CASES = cases()
GOLDEN = Path(__file__).parent / "messages.txt"
WRITE = os.environ.get("GENPERF_GOLDEN") == "write"
#: What a message has of the machine, the numbers of a fault and paths, and lists that grow with genperf.
_CHANGING = re.compile(r"\(number \d+\)|/tmp/\S+|(?<=try: one of ).*")


def read_golden() -> dict[str, str]:
    """Return the messages by the names of their cases."""
    if not GOLDEN.exists():
        return {}
    parts = re.split(r"^== (.*)\n", GOLDEN.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {name: text.rstrip("\n") for name, text in zip(parts[::2], parts[1::2], strict=True)}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from genperf.cli.main import run

    folder = tmp_path_factory.mktemp("golden")
    prepare(folder, run)
    return folder


@pytest.fixture(scope="module")
def answers() -> Iterator[dict[str, str]]:
    """The answers of this run; written where that is wanted."""
    collected: dict[str, str] = {}
    yield collected
    if WRITE:
        text = "".join(f"== {name}\n{answer}\n" for name, answer in collected.items())
        GOLDEN.write_text(text, encoding="utf-8")


@pytest.fixture
def shell(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    monkeypatch.chdir(place)
    monkeypatch.setenv("COLUMNS", "80")
    return shell_of(capsys)


@pytest.mark.parametrize("name", CASES)
def test_message(shell: Shell, name: str, answers: dict[str, str]) -> None:
    status, _, errors = shell(*CASES[name])
    # A message quotes what was given, also where that is no text.
    shown = _CHANGING.sub("…", errors).rstrip("\n")
    lines = [line if len(line) <= 200 else f"{line[:200]}…" for line in shown.splitlines()]
    answers[name] = "\n".join([f"status {status}", *lines])
    assert status in (1, 2)
    assert "Traceback" not in errors
    if not WRITE:
        assert answers[name] == read_golden()[name]


def test_no_message_is_left_over() -> None:
    assert WRITE or set(read_golden()) == set(CASES)
