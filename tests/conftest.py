"""The command line in an empty folder, which most tests of commands need."""

from pathlib import Path

import pytest
from helpers import Shell, shell_of


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Return a function that runs a command in an empty folder, and returns its status, its output and its errors."""
    monkeypatch.chdir(tmp_path)
    return shell_of(capsys)
