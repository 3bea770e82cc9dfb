"""Imports go to strictly lower layers; inside one room, no circles."""

import ast
from collections.abc import Collection

import pytest
from helpers import trees

LAYERS = {
    "arrays": 0,
    "sobol": 1,
    "errors": 0,
    "engine": 1,
    "facts": 1,
    "losses": 1,
    "scaling": 1,
    "metrics": 1,
    "vocabulary": 1,
    "formula": 2,
    "solver": 2,
    "table": 3,
    "panel": 4,
    "expression": 3,
    "peaks": 3,
    "models": 6,
    "words": 5,
    "datasets": 5,
    "importers": 4,
    "discrepancy": 5,
    "prediction": 6,
    "normal": 7,
    "causes": 7,
    "result": 7,
    "one_run": 8,
    "fleet": 8,
    "estimate": 8,
    "attribution": 8,
    "process": 9,
    "growth": 7,
    "fitting": 10,
    "validation": 11,
    "verification": 11,
    "search": 12,
    "asking": 13,
    "estimator": 12,
    "plots": 12,
    "reporting": 14,
    "cli": 15,
}


def imports_of(tree: ast.Module, modules: Collection[str]) -> set[str]:
    found = set()
    for node in ast.walk(tree):
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
        ".".join(("genperf", *path.removesuffix(".py").split("/"))).removesuffix(".__init__"): tree
        for path, tree in trees().items()
        if path not in ("__init__.py", "__main__.py")
    }
    return {module: imports_of(tree, files) for module, tree in files.items()}


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
