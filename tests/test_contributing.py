"""What CONTRIBUTING says of adding things works, in a copy of the package."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

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


def printed(package: Path, folder: Path, command: str) -> tuple[int, str]:
    arguments = shlex.split(command)[1:]
    environment = {**os.environ, "PYTHONPATH": str(package)}
    run = [sys.executable, "-m", "genperf", *arguments]
    done = subprocess.run(run, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a copy of the package, to which one recipe is added after the other."""
    tmp_path = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "genperf", tmp_path / "genperf", ignore=shutil.ignore_patterns("__pycache__", "_data"))
    shutil.copytree(ROOT / "data", tmp_path / "data")
    (tmp_path / "work").mkdir()
    for name, text in FILES.items():
        (tmp_path / "work" / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("title", "before", "after"),
    [
        ("A family of expressions", "unknown family 'square-root'", r"square-root"),
        ("An importer", "there is no format 'stopwatch'", r"wrote log.csv|2 rows"),
        ("A shape of table", "--map workers=wafers", r"--extrinsic wafers"),
        ("An overhead of a series", r"(?s)\A(?!.*incast)", r"\nincast +[0-9.e-]+ +[0-9.e-]+ +[0-9.e-]+ "),
        ("A part of the kernel", r"(?s)\A(?!.*octave)", r'"octave":'),
    ],
)
def test_what_is_to_be_added_works(package: Path, title: str, before: str, after: str) -> None:
    recipe = RECIPES[title]
    (command,) = blocks(recipe, "sh")
    assert re.search(before, printed(package, package / "work", command)[1])
    for text in blocks(recipe, "python"):
        name = text.partition("\n")[0].removeprefix("# ")
        (package / name).write_text(text, encoding="utf-8")
    for diff in blocks(recipe, "diff"):
        add(package, diff)
    status, out = printed(package, package / "work", command)
    assert status == 0, out
    assert not re.search(before, out)
    assert re.search(after, out), out
