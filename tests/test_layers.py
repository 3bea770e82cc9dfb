"""The imports of the rooms, and what no file may do."""

import ast
import subprocess
import sys
from collections.abc import Collection, Iterable
from pathlib import Path

import pytest
from helpers import nodes

#: Rooms of each layer, from the lowest.
ROOMS = (
    ("arrays", "errors"),
    ("gaussian", "engine", "facts", "losses", "scaling", "metrics", "vocabulary"),
    ("formula", "solver"),
    ("table", "expression", "peaks", "networks"),
    ("panel", "importers"),
    ("words", "datasets", "discrepancy"),
    ("models", "prediction"),
    ("normal", "causes", "result", "growth"),
    ("fleet", "estimate", "attribution"),
    ("process",),
    ("fitting",),
    ("validation", "verification"),
    ("search", "estimator", "plots"),
    ("asking",),
    ("reporting",),
    ("cli",),
)
LAYERS = {room: layer for layer, rooms in enumerate(ROOMS) for room in rooms}


def imports_of(syntax: Iterable[ast.AST], modules: Collection[str]) -> set[str]:
    found = set()
    for node in syntax:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("genperf"):
            assert node.level == 0
            inner = {f"{node.module}.{a.name}" for a in node.names}
            found.update(inner.intersection(modules))
            if not inner.issubset(modules):
                found.add(str(node.module))
        elif isinstance(node, ast.Import):
            found.update(a.name for a in node.names if a.name.startswith("genperf"))
    return found


def room_of(module: str) -> str:
    return [*module.split("."), ""][1]


@pytest.fixture(scope="module")
def modules() -> dict[str, set[str]]:
    """The imports of each module of the package; its doors are no modules."""
    files = {
        ".".join(("genperf", *path.removesuffix(".py").split("/"))).removesuffix(".__init__"): syntax
        for path, syntax in nodes().items()
        if path not in ("__init__.py", "__main__.py")
    }
    return {module: imports_of(syntax, files) for module, syntax in files.items()}


def test_every_room_has_a_layer(modules: dict[str, set[str]]) -> None:
    assert {room_of(m) for m in modules} <= set(LAYERS)


def test_imports_go_down(modules: dict[str, set[str]]) -> None:
    upward = [
        f"{module} imports {target}"
        for module, targets in modules.items()
        for target in targets
        if room_of(target) in LAYERS
        and room_of(target) != room_of(module)
        and LAYERS[room_of(target)] >= LAYERS[room_of(module)]
    ]
    assert not upward


def test_no_circles_inside_a_room(modules: dict[str, set[str]]) -> None:
    inner = {m: {t for t in ts if t in modules and room_of(t) == room_of(m)} for m, ts in modules.items()}

    def reaches(start: str, now: str, seen: set[str]) -> bool:
        return any(target == start or reaches(start, target, seen | {target}) for target in inner[now] - seen)

    assert not [m for m in inner if reaches(m, m, set())]


# --- the package runs nothing that it reads: its syntax trees hold no call that could --------------------------------

FORBIDDEN = {"eval", "exec", "compile", "__import__", "os.system", "os.popen", "pickle.load", "pickle.loads"}


def called(node: ast.Call) -> str:
    return ast.unparse(node.func)


def shell(node: ast.Call) -> bool:
    """Tell whether a call hands text to a shell."""
    return any(k.arg == "shell" and ast.unparse(k.value) != "False" for k in node.keywords)


def executed(syntax: Iterable[ast.AST]) -> list[str]:
    """Return the calls of a module that could run what is read."""
    calls = [node for node in syntax if isinstance(node, ast.Call)]
    return [f"{n.lineno}: {called(n)}" for n in calls if called(n) in FORBIDDEN or shell(n)]


def test_nothing_is_executed() -> None:
    assert not [f"{path}: {call}" for path, syntax in nodes().items() for call in executed(syntax)]


def test_what_could_be_executed_is_recognised() -> None:
    tree = ast.parse("eval('1')\nrun('ls', shell=True)\nrun('ls', shell=False)\nre.compile('a')")
    assert executed(ast.walk(tree)) == ["1: eval", "2: run"]


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


def test_a_name_is_one_class() -> None:
    homes: dict[str, list[str]] = {}
    for path, syntax in nodes().items():
        for node in syntax:
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(path)
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}
