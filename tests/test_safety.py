"""The package runs nothing that it reads: its syntax trees hold no call that could."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

from helpers import trees

FORBIDDEN = {"eval", "exec", "compile", "__import__", "os.system", "os.popen", "pickle.load", "pickle.loads"}


def called(node: ast.Call) -> str:
    return ast.unparse(node.func)


def shell(node: ast.Call) -> bool:
    """Tell whether a call hands text to a shell."""
    return any(k.arg == "shell" and ast.unparse(k.value) != "False" for k in node.keywords)


def executed(tree: ast.AST) -> list[str]:
    """Return the calls of a module that could run what is read."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [f"{n.lineno}: {called(n)}" for n in calls if called(n) in FORBIDDEN or shell(n)]


def test_nothing_is_executed() -> None:
    assert not [f"{path}: {call}" for path, tree in trees().items() for call in executed(tree)]


def test_what_could_be_executed_is_recognised() -> None:
    assert executed(ast.parse("eval('1')\nrun('ls', shell=True)\nrun('ls', shell=False)\nre.compile('a')")) == [
        "1: eval",
        "2: run",
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
