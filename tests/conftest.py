"""The command line in a folder of its own, which most tests of commands need."""

from pathlib import Path

import pytest
from helpers import Shell, done, shell_of


@pytest.fixture
def shell(
    request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Shell:
    """Return a function that runs a command in a new folder, and returns its status, its output and its errors.

    The files that the test's module names in `FOLDER` lie there, and the commands of `BEFORE` have run.
    """
    monkeypatch.chdir(tmp_path)
    for name, text in getattr(request.module, "FOLDER", {}).items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")
    call = shell_of(capsys)
    for command in getattr(request.module, "BEFORE", ()):
        done(call, *command)
    return call
