"""`genperf init` writes a file that every command reads, as it is and with its comments taken away."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from genperf.cli.main import COMMANDS, command_named
from genperf.cli.settings import commented

GENPERF = [sys.executable, "-m", "genperf"]


def test_the_file_is_read_and_never_overwritten(tmp_path: Path) -> None:
    subprocess.run([*GENPERF, "init"], cwd=tmp_path, check=True)
    written = (tmp_path / "genperf.toml").read_bytes()
    subprocess.run([*GENPERF, "models"], cwd=tmp_path, check=True, capture_output=True)
    again = subprocess.run([*GENPERF, "init"], cwd=tmp_path, capture_output=True, text=True)
    assert again.returncode == 1
    assert "is there already" in again.stderr
    assert (tmp_path / "genperf.toml").read_bytes() == written


def test_every_option_stands_there_with_a_value_of_its_kind() -> None:
    text = commented(command_named, list(COMMANDS))
    assert tomllib.loads(text) == {name: {} for name in COMMANDS}
    filled = tomllib.loads(re.sub(r"(?m)^# (\w+ = )", r"\1", text))
    assert filled["fit"]["model"] == "auto"
    assert filled["predict"]["interval"] == 0.9
    assert filled["fit"]["quiet"] is False
