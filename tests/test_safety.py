"""The package runs nothing that it reads: its syntax trees hold no call that could."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "genperf"
FORBIDDEN = {"eval", "exec", "compile", "__import__", "os.system", "os.popen", "pickle.load", "pickle.loads"}
FILES = sorted(PACKAGE.rglob("*.py"))


def called(node: ast.Call) -> str:
    return ast.unparse(node.func)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_nothing_is_executed(path: Path) -> None:
    calls = [n for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.Call)]
    assert not [f"{n.lineno}: {called(n)}" for n in calls if called(n) in FORBIDDEN]
    assert not [
        n.lineno for n in calls if any(k.arg == "shell" and ast.unparse(k.value) != "False" for k in n.keywords)
    ]


def test_no_network_is_used(tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text("workers,seconds\n1,9\n2,5\n4,3\n8,2\n16,1.5\n")
    script = (
        "import socket, sys\n"
        "def refuse(*a, **k): raise SystemExit('network')\n"
        "socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse\n"
        "from genperf.cli.main import run\n"
        "table = ['--time', 'seconds', '--extrinsic', 'workers']\n"
        "status = run(['fit', 'runs.csv', *table, '--model', 'amdahl', '-o', 'm.json'])\n"
        "status += run(['predict', 'm.json', '--at', 'workers=64']) + run(['report', 'm.json', '-o', 'r.html'])\n"
        "sys.exit(status)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
