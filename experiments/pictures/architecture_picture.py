"""Draw the rooms of genperf by layer, with what each imports: docs/images/architecture.svg.

The rooms and their imports are read from the files of `genperf/`, the layers from the table `ROOMS` in
`tests/test_layers.py`. An arrow leads from a room to a room that it imports. Arrows that others imply are left out; a
pointer over a room shows all of its imports. The same files give the same bytes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from itertools import pairwise
from pathlib import Path

from experiments.shared import IMAGES, ROOT

PACKAGE = ROOT / "genperf"
LAYERS_FILE = ROOT / "tests" / "test_layers.py"
OUT = IMAGES / "architecture.svg"
#: Rooms that each room imports.
Imports = Mapping[str, frozenset[str]]
#: A room in its layer, or the place where the arrow between two rooms passes a layer.
Node = str | tuple[str, str, int]


#: Of a room's box: the width of a letter, what is added at both sides together, its height.
LETTER, PADDING, HEIGHT = 7.8, 20.0, 28.0
#: Between two boxes of a layer, the width of an arrow that passes it, from one layer to the next, around the picture.
GAP, PASSAGE, FLOOR, MARGIN = 30.0, 6.0, 74.0, 48.0
#: Sweeps down and up that put the nodes of a layer in order: with 24 rooms, 8 to 200 sweeps gave the same picture.
SWEEPS = 12
STYLE = Path(__file__).with_suffix(".css").read_text(encoding="utf-8")


def layers_of(text: str) -> dict[str, int]:
    """Return the layer of each room by the table `ROOMS` of a module's text.

    >>> layers_of("ROOMS = (('errors',), ('table', 'panel'))")
    {'errors': 0, 'table': 1, 'panel': 1}
    """
    table = re.search(r"(?ms)^ROOMS = (\(.*?\))$", text)
    if table is None:
        raise LookupError(f"no table ROOMS in {LAYERS_FILE}")
    return {room: layer for layer, rooms in enumerate(ast.literal_eval(table[1])) for room in rooms}


def imports_of(package: Path, rooms: Sequence[str]) -> Imports:
    """Return the rooms that the modules of each room import, the room itself left out."""
    imports: dict[str, set[str]] = {room: set() for room in rooms}
    for path in sorted(package.rglob("*.py")):
        room = path.relative_to(package).with_suffix("").parts[0]
        if room not in imports:  # `__init__` and `__main__` only hand on.
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names: list[str] = []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            parts = [name.split(".") for name in names]
            imports[room].update(p[1] for p in parts if p[0] == package.name and len(p) > 1 and p[1] in imports)
    return {room: frozenset(targets - {room}) for room, targets in imports.items()}


def reduced(imports: Imports) -> Imports:
    """Leave out the imports that others imply: a → c where a → b → c.

    >>> {k: sorted(v) for k, v in reduced({"a": frozenset("bc"), "b": frozenset("c"), "c": frozenset()}).items()}
    {'a': ['b'], 'b': ['c'], 'c': []}
    """

    @cache
    def below(room: str) -> frozenset[str]:
        return imports[room].union(*(below(target) for target in imports[room]))

    return {
        room: frozenset(t for t in targets if not any(t in below(other) for other in targets - {t}))
        for room, targets in imports.items()
    }


def chains(edges: Imports, layers: Mapping[str, int]) -> list[list[Node]]:
    """Return each arrow as the nodes it passes, from the upper room to the lower one."""
    return [
        [room, *((room, target, layer) for layer in range(layers[room] - 1, layers[target], -1)), target]
        for room in layers
        for target in sorted(edges[room])
    ]


def ordered(rows: list[list[Node]], arrows: list[list[Node]]) -> list[list[Node]]:
    """Put the nodes of each layer in an order with few crossings: by the mean place of their neighbours, by turns."""
    neighbours: dict[Node, list[Node]] = {node: [] for row in rows for node in row}
    for arrow in arrows:
        for upper, lower in pairwise(arrow):
            neighbours[upper].append(lower)
            neighbours[lower].append(upper)
    best, fewest = rows, crossings(rows, arrows)
    for sweep in range(SWEEPS):
        rows = [list(row) for row in rows]
        order = range(len(rows)) if sweep % 2 else range(len(rows) - 1, -1, -1)
        for i in order:
            place = {n: (k + 0.5) / len(row) for row in rows for k, n in enumerate(row)}
            beside = {n for j in (i - 1, i + 1) if 0 <= j < len(rows) for n in rows[j]}

            def mean(node: Node, place: dict[Node, float] = place, beside: set[Node] = beside) -> float:
                at = [place[n] for n in neighbours[node] if n in beside]
                return sum(at) / len(at) if at else place[node]

            rows[i].sort(key=mean)
        count = crossings(rows, arrows)
        if count < fewest:
            best, fewest = [list(row) for row in rows], count
    return best


def crossings(rows: list[list[Node]], arrows: list[list[Node]]) -> int:
    """Count the pairs of arrows that cross between two layers."""
    place = {node: k for row in rows for k, node in enumerate(row)}
    level = {node: i for i, row in enumerate(rows) for node in row}
    pairs = [(level[a], place[a], place[b]) for arrow in arrows for a, b in pairwise(arrow)]
    return sum(1 for i, p in enumerate(pairs) for q in pairs[:i] if p[0] == q[0] and (p[1] - q[1]) * (p[2] - q[2]) < 0)


def width_of(node: Node) -> float:
    """Return the width of a node: a room by its name, a passing arrow."""
    return LETTER * len(node) + PADDING if isinstance(node, str) else PASSAGE


def places(rows: list[list[Node]]) -> tuple[dict[Node, tuple[float, float]], float, float]:
    """Return the centre of every node, and the width and the height of the picture; each row is centred."""
    widths = [sum(width_of(n) for n in row) + GAP * (len(row) - 1) for row in rows]
    width = max(widths) + 2 * MARGIN
    at: dict[Node, tuple[float, float]] = {}
    for i, row in enumerate(rows):
        # Rows of few nodes are spread over half of the room they leave, so that arrows stand less steep.
        gap = GAP + (max(widths) - widths[i]) / 2 / max(len(row), 1)
        x = (width - widths[i] - (gap - GAP) * (len(row) - 1)) / 2
        for node in row:
            at[node] = (x + width_of(node) / 2, MARGIN + i * FLOOR)
            x += width_of(node) + gap
    return at, width, 2 * MARGIN + (len(rows) - 1) * FLOOR


def curve(points: list[tuple[float, float]]) -> str:
    """Return the path of an arrow: straight down through each layer it passes, curved between the layers."""
    half = HEIGHT / 2
    steps = [f"M{points[0][0]:.1f} {points[0][1] + half:.1f}"]
    for (x0, y0), (x1, y1) in pairwise(points):
        top, bottom = y0 + half, y1 - half
        middle = (top + bottom) / 2
        steps.append(f"C{x0:.1f} {middle:.1f} {x1:.1f} {middle:.1f} {x1:.1f} {bottom:.1f}")
        if (x1, y1) != points[-1]:
            steps.append(f"V{y1 + half:.1f}")
    return "".join(steps)


def picture(imports: Imports, layers: Mapping[str, int]) -> str:
    arrows = chains(reduced(imports), layers)
    floors = sorted(set(layers.values()), reverse=True)
    passing = {node for arrow in arrows for node in arrow if not isinstance(node, str)}
    rows: list[list[Node]] = [
        [*sorted(r for r in layers if layers[r] == floor), *sorted(n for n in passing if n[2] == floor)]
        for floor in floors
    ]
    at, width, height = places(ordered(rows, arrows))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" aria-label="The rooms of genperf by layer, with their imports">',
        f"<style>\n{STYLE}</style>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8Z"/></marker></defs>',
        f'<rect class="ground" width="{width:.0f}" height="{height:.0f}"/>',
    ]
    lines += [
        f'<text class="layer" x="{MARGIN / 2:.1f}" y="{MARGIN + i * FLOOR + 4.5:.1f}">{floor}</text>'
        for i, floor in enumerate(floors)
    ]
    lines += [f'<path d="{curve([at[n] for n in a])}" marker-end="url(#tip)"/>' for a in arrows]
    for room in sorted(layers):
        x, y = at[room]
        box = width_of(room)
        listed = ", ".join(sorted(imports[room])) or "nothing of genperf"
        lines.append(
            f"<g><title>{escape(room)} imports {escape(listed)}</title>"
            f'<rect x="{x - box / 2:.1f}" y="{y - HEIGHT / 2:.1f}" '
            f'width="{box:.1f}" height="{HEIGHT:.1f}"/>'
            f'<text x="{x:.1f}" y="{y + 4.5:.1f}">{escape(room)}</text></g>'
        )
    return "\n".join([*lines, "</svg>"]) + "\n"


def drawn() -> str:
    """Return the picture of the files as they are."""
    layers = layers_of(LAYERS_FILE.read_text(encoding="utf-8"))
    return picture(imports_of(PACKAGE, list(layers)), layers)


def run() -> None:
    OUT.write_text(drawn(), encoding="utf-8")
