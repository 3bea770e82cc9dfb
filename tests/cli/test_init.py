"""`genperf init` writes a file that every command reads, as it is and with its comments taken away."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from helpers import Shell, refusal

from genperf.cli.commands import COMMANDS, commented


def test_the_file_is_read_and_never_overwritten(shell: Shell) -> None:
    assert shell("init")[0] == 0
    written = Path("genperf.toml").read_bytes()
    assert shell("models")[0] == 0
    assert "is there already" in refusal(shell, "init")
    assert Path("genperf.toml").read_bytes() == written


def test_every_option_stands_there_with_a_value_of_its_kind() -> None:
    text = commented()
    assert tomllib.loads(text) == {name: {} for name in COMMANDS}
    filled = tomllib.loads(re.sub(r"(?m)^# (\w+ = )", r"\1", text))
    assert filled["fit"]["model"] == "auto"
    assert filled["predict"]["interval"] == 0.9
    assert filled["fit"]["quiet"] is False
