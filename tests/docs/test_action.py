"""action.yml: its step's shell lines run as they are, with a virtual environment that installs nothing."""

import os
import re
import subprocess
import sys
from pathlib import Path

from helpers import Shell

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "action.yml").read_text(encoding="utf-8")
#: In the place of `python3 -m venv DIRECTORY`: a pip that installs nothing, and a genperf.
PYTHON = """#!/usr/bin/env bash
mkdir -p "$3/bin"
printf '#!/bin/sh\\necho "$@" >> "$RUNNER_TEMP/pip.txt"\\n' > "$3/bin/pip"
printf '#!/bin/sh\\n%s\\n' '{genperf}' > "$3/bin/genperf"
chmod +x "$3/bin/pip" "$3/bin/genperf"
"""
THIS = f'exec {sys.executable} -m genperf "$@"'
#: A genperf that writes down how it is called.
RECORDED = 'for word in "$@"; do echo "$word"; done > "$RUNNER_TEMP/words.txt"; exit 7'


def step(temporary: Path, runs: str, genperf: str = THIS, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the step's lines as GitHub does, with the inputs in the variables that the action names."""
    _, script = TEXT.split("      run: |\n")
    lines = "\n".join(line.removeprefix("        ") for line in script.splitlines())
    named = dict(re.findall(r"(\w+): \$\{\{ inputs\.(\w+) \}\}", TEXT))
    defaults = dict(re.findall(r"^  (\w+):\n    description: .*\n    default: \"?([^\"\n]*)", TEXT, re.MULTILINE))
    given = {**defaults, "history": "nightly.csv", "runs": runs, **inputs}
    shims = temporary / "shims"
    shims.mkdir(exist_ok=True)
    (shims / "python3").write_text(PYTHON.replace("{genperf}", genperf))
    (shims / "python3").chmod(0o755)
    environment = {**os.environ, **{name: given[of] for name, of in named.items()}, "RUNNER_TEMP": str(temporary)}
    environment |= {"PATH": f"{shims}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "GITHUB_ACTION_PATH": "/action"}
    for name in ("nightly.csv", "tonight.csv"):
        (temporary / name).write_text((ROOT / "docs" / "examples" / name).read_text())
    command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", lines]
    return subprocess.run(command, cwd=temporary, env=environment, capture_output=True, text=True, check=False)


def test_the_step_fails_where_runs_are_slower(tmp_path: Path) -> None:
    done = step(tmp_path, "tonight.csv")
    assert done.returncode == 1, done.stderr
    assert "::error file=tonight.csv,title=genperf verify::slower than predicted" in done.stdout
    assert (tmp_path / "genperf.xml").read_text().startswith("<testsuite")
    assert (tmp_path / "pip.txt").read_text() == "install --quiet /action\n"


def test_the_step_takes_several_files_and_an_alarm(tmp_path: Path, shell: Shell) -> None:
    head, *rows = (ROOT / "docs" / "examples" / "nightly.csv").read_text().splitlines()
    for number, name in enumerate(("one.csv", "two.csv")):
        (tmp_path / name).write_text("\n".join([head, *rows[3 * number : 3 * number + 3]]) + "\n")
    for alarm, status, words in (
        ("0.01", 0, "not shown to be slower"),
        ("3", 1, "the alarm is a rate of false alarms"),
    ):
        done = step(tmp_path, "one.csv two.csv", RECORDED, alarm=alarm, version="genperf==0.1")
        assert done.returncode == 7, done.stderr
        ended, out, errors = shell(*(tmp_path / "words.txt").read_text().splitlines())
        assert (ended, words in out + errors) == (status, True), errors
    assert (tmp_path / "pip.txt").read_text() == "install --quiet genperf==0.1\n" * 2
