"""Imports go to strictly lower layers; inside one room, no circles."""

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "genperf"
LAYERS = {
    "errors": 0,
    "losses": 0,
    "metrics": 0,
    "formula": 1,
    "solver": 1,
    "table": 2,
    "expression": 2,
    "models": 3,
    "datasets": 3,
    "prediction": 3,
    "result": 4,
    "estimate": 5,
    "ensemble": 6,
    "fitting": 7,
    "validation": 8,
    "attribution": 8,
    "advice": 9,
    "estimator": 9,
    "plots": 9,
    "report": 10,
    "cli": 11,
}


def imports_of(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("genperf"):
            assert node.level == 0
            found.update([node.module] if node.module != "genperf" else [f"genperf.{a.name}" for a in node.names])
        elif isinstance(node, ast.Import):
            found.update(a.name for a in node.names if a.name.startswith("genperf"))
    return found


def room_of(module: str) -> str:
    return (module.split(".") + [""])[1]


MODULES = {
    ".".join(("genperf", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): imports_of(path)
    for path in sorted(PACKAGE.rglob("*.py"))
    if path.parent != PACKAGE or path.name not in ("__init__.py", "__main__.py")
}


def test_every_room_has_a_layer() -> None:
    assert {room_of(m) for m in MODULES} <= set(LAYERS)


def test_imports_go_down() -> None:
    upward = [
        f"{module} imports {target}"
        for module, targets in MODULES.items()
        for target in targets
        if room_of(target) in LAYERS
        and room_of(target) != room_of(module)
        and LAYERS[room_of(target)] >= LAYERS[room_of(module)]
    ]
    assert not upward


def test_no_circles_inside_a_room() -> None:
    inner = {m: {t for t in ts if t in MODULES and room_of(t) == room_of(m)} for m, ts in MODULES.items()}

    def reaches(start: str, now: str, seen: set[str]) -> bool:
        for target in inner[now] - seen:
            if target == start or reaches(start, target, seen | {target}):
                return True
        return False

    assert not [m for m in inner if reaches(m, m, set())]
