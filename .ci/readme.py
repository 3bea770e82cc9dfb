"""Run the examples of the pages as written whose tables are bundled: every command must end with status 0.

The site runs its own examples when it is built, and tests/docs reads every command of every page.

They run in a folder of their own.

The two commands that make an environment are not run here: `.ci/run` runs the tests' one, and the demo from the wheel.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/commands.md", "docs/how-to/share-growth.md")
TRACES = ROOT / "tests" / "importers" / "data"


def blocks(language: str) -> list[str]:
    """Return the blocks in a language of the pages."""
    pages = [(ROOT / name).read_text(encoding="utf-8") for name in PAGES]
    return [block for page in pages for block in re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)]


def main() -> None:
    """Run the examples, and stop at the first that fails."""
    here = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{here}{os.pathsep}{os.environ['PATH']}"}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "data").symlink_to(ROOT / "data")
        (Path(folder) / "runs.csv").write_text(blocks("csv")[0], encoding="utf-8")
        traces = Path(folder) / "traces"
        traces.mkdir()
        for workers, name in ((1, "single_workers1"), (2, "ddp_workers2_rank0")):
            (traces / f"trace_{workers}.json").symlink_to(TRACES / f"{name}.pt.trace.json")
        commands = [text for text in blocks("sh") if not text.startswith("python3 -m venv")]
        for text in commands:
            print(text.strip(), flush=True)
            subprocess.run(["bash", "-euc", text], cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
        for text in blocks("python"):
            subprocess.run([sys.executable, "-c", text], cwd=folder, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
