"""What CONTRIBUTING says of adding things works, in a copy of the package."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from helpers import Shell

ROOT = Path(__file__).parents[1]
RECIPES = {
    part.partition("\n")[0]: part
    for part in re.split(r"^### ", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
}
FILES = {
    "runs.csv": "gpus,step_s\n1,3.0\n4,4.0\n9,5.0\n16,6.0\n",
    "log.txt": "1 gpus: 0.5 s\n2 gpus: 0.3 s\n",
    "grid.csv": "gpus,layers,step_s\n"
    + "".join(f"{n},{b},{b / 8 + n**0.5}\n" for n in (1, 2, 4, 8) for b in (8, 16, 32)),
    "power.csv": "gpus,watts,step_s\n"
    + "".join(f"{n},{w},{0.1 + 0.02 * n**0.5 + 5 / w}\n" for n in (1, 2, 4, 8) for w in (200, 250, 300)),
    "wafers.csv": "wafers,images_per_s\n1,100\n2,190\n4,360\n",
}


def blocks(recipe: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", recipe, re.DOTALL)


def add(package: Path, diff: str) -> None:
    """Put each new line below the one that stands before it."""
    head, *lines = diff.splitlines()
    path = package / head.removeprefix("# ")
    text = path.read_text(encoding="utf-8")
    for above, line in pairwise(lines):
        if line.startswith("+"):
            known = above[1:] + "\n"
            assert text.count(known) == 1, (path, above)
            kept = "" if above.startswith("-") else known
            text = text.replace(known, kept + line[1:] + "\n")
    path.write_text(text, encoding="utf-8")


#: Runs commands with the package in the folder that is given, and prints their statuses and all that they printed.
COMMANDS = """
import contextlib, io, json, sys
sys.path.insert(0, sys.argv[1])
from genperf.cli.main import run
answers = []
for arguments in json.loads(sys.argv[2]):
    out = io.TextIOWrapper(io.BytesIO(), "utf-8")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        status = run(arguments)
    out.flush()
    answers.append([status, out.buffer.getvalue().decode()])
print(json.dumps(answers))
"""


def printed(package: Path, folder: Path, commands: list[str]) -> list[tuple[int, str]]:
    given = json.dumps([shlex.split(command)[1:] for command in commands])
    run = [sys.executable, "-c", COMMANDS, str(package), given]
    done = subprocess.run(run, cwd=folder, capture_output=True, text=True, check=True)
    return [(status, out) for status, out in json.loads(done.stdout)]


#: A recipe, what its command prints before it is followed, and what afterwards.
ADDED = [
    ("A family of expressions", "unknown family 'square-root'", r"square-root"),
    ("An importer", "there is no format 'stopwatch'", r"wrote log.csv|2 rows"),
    ("A quantity that follows from a prediction", r"(?s)\A(?!.*Energy)", r"Energy [\d,.]+ J \([\d,.]+ to [\d,.]+\)"),
    ("A sentence of an answer", r"(?s)\A(?!.*rests on 4)", r"The prediction rests on 4 runs\."),
    ("A command", "No such command 'reach'", r"measured to gpus=16"),
    ("A shape of table", "--map workers=wafers", r"--extrinsic wafers"),
    ("An overhead of a series", r"(?s)\A(?!.*incast)", r"\nincast +[0-9.e-]+ +[0-9.e-]+ +[0-9.e-]+ "),
    ("A part of the kernel", r"(?s)\A(?!.*octave)", r'"octave":'),
]


def command_of(title: str) -> str:
    (command,) = blocks(RECIPES[title], "sh")
    return command


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str]]:
    """Follow all recipes in a copy of the package, and return what their commands print."""
    package = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "genperf", package / "genperf", ignore=shutil.ignore_patterns("_data"))
    shutil.copytree(ROOT / "data", package / "data")
    work = package / "work"
    work.mkdir()
    for name, text in FILES.items():
        (work / name).write_text(text, encoding="utf-8")
    titles = [title for title, _, _ in ADDED]
    for title in titles:
        for text in blocks(RECIPES[title], "python"):
            name = text.partition("\n")[0].removeprefix("# ")
            (package / name).write_text(text, encoding="utf-8")
        for diff in blocks(RECIPES[title], "diff"):
            add(package, diff)
    return dict(zip(titles, printed(package, work, [command_of(title) for title in titles]), strict=True))


@pytest.mark.parametrize(("title", "before", "after"), ADDED)
def test_what_is_to_be_added_works(
    title: str, before: str, after: str, answers: dict[str, tuple[int, str]], shell: Shell
) -> None:
    for name, text in FILES.items():
        Path(name).write_text(text, encoding="utf-8")
    assert re.search(before, "".join(shell(*shlex.split(command_of(title))[1:])[1:]))
    status, out = answers[title]
    assert status == 0, out
    assert not re.search(before, out)
    assert re.search(after, out), out
