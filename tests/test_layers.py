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
    "models": 5,
    "words": 4,
    "datasets": 4,
    "importers": 4,
    "discrepancy": 4,
    "prediction": 5,
    "normal": 6,
    "causes": 6,
    "result": 6,
    "fleet": 7,
    "estimate": 7,
    "attribution": 7,
    "process": 8,
    "growth": 6,
    "fitting": 9,
    "validation": 10,
    "search": 11,
    "asking": 12,
    "estimator": 11,
    "plots": 11,
    "reporting": 13,
    "cli": 14,
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
