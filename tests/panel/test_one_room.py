"""One room knows what a count means: no other module picks the workers, the nodes, or what one node is."""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator

from helpers import nodes

#: Where it is decided.
DECIDING = re.compile(r"^panel/")
PAIR = {"workers", "nodes"}


def others() -> dict[str, tuple[ast.AST, ...]]:
    """Return the nodes of the modules that decide nothing."""
    return {path: syntax for path, syntax in nodes().items() if not DECIDING.match(path)}


def picked_by_name(syntax: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the calls that look the workers or the nodes up by name."""
    for node in syntax:
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in ("find", "named", "column_of", "factor_of") and node.args[0].value in PAIR:
                yield ast.unparse(node)


def picked_in_turn(syntax: Iterable[ast.AST]) -> Iterator[str]:
    """Yield where the nodes are taken in place of the workers: `x.workers or x.nodes`, or one after the other."""
    for node in syntax:
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
            text = [ast.unparse(value) for value in node.values]
            if any(one.endswith((".workers", "'workers')")) for one in text) and any("nodes" in one for one in text):
                yield ast.unparse(node)
        if isinstance(node, ast.Compare) and isinstance(node.comparators[0], ast.Tuple | ast.Set):
            text = {getattr(one, "value", None) for one in node.comparators[0].elts}
            if text >= PAIR:
                yield ast.unparse(node)
        if isinstance(node, ast.IfExp) and {getattr(one, "value", None) for one in (node.body, node.orelse)} >= PAIR:
            yield ast.unparse(node)
        literal = isinstance(node, ast.comprehension) and isinstance(node.iter, ast.Tuple | ast.List)
        if literal and [getattr(one, "value", None) for one in node.iter.elts] == ["workers", "nodes"]:
            yield ast.unparse(node.iter)


def one_node(syntax: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the comparisons of a count of nodes with one; whether it was measured at one value is another question."""
    for node in syntax:
        if isinstance(node, ast.Compare) and getattr(node.comparators[0], "value", None) == 1:
            text = ast.unparse(node.left)
            if "nodes" in text and not text.startswith("len(") and not text.endswith(".distinct"):
                yield ast.unparse(node)


def test_only_the_panel_picks_the_column_that_counts_the_workers() -> None:
    assert not {
        path: picks
        for path, syntax in others().items()
        if (picks := [*picked_by_name(syntax), *picked_in_turn(syntax)])
    }


def test_only_the_panel_says_what_one_node_is() -> None:
    assert not {path: compared for path, syntax in others().items() if (compared := list(one_node(syntax)))}


def test_the_search_finds_what_it_looks_for() -> None:
    tree = tuple(
        ast.walk(ast.parse("f.find('workers') or f.find('nodes'); a.workers or a.nodes; x.nodes.upper <= 1.0"))
    )
    either = ast.parse("name in ('workers', 'nodes'); 'workers' if one else 'nodes'")
    assert len(list(picked_in_turn(ast.walk(either)))) == 2
    assert len(list(picked_by_name(tree))) == 2
    assert len(list(picked_in_turn(tree))) == 2
    assert len(list(one_node(tree))) == 1


#: Where a panel is made, and what hands its source over: a table, roles of columns not read yet, a model's schema.
MADE, MAKERS = "panel/panel.py", {"panel/table.py", "panel/options.py", "prediction/schema.py"}
#: The public doors that take a user's mapping, beside `read_table` in panel/; `validate` and the page hand it to them.
DOORS = {"fitting/door.py": {"fit"}}


def constructions(name: str) -> dict[str, int]:
    """Return how often a file calls a name."""
    called = [
        (path, getattr(node.func, "attr", getattr(node.func, "id", "")))
        for path, syntax in nodes().items()
        for node in syntax
        if isinstance(node, ast.Call)
    ]
    return Counter(path for path, function in called if function == name)


def test_a_panel_is_made_in_one_place() -> None:
    assert constructions("Panel") == {MADE: 1}
    assert constructions("panel_of") == dict.fromkeys(MAKERS, 1)


def test_only_the_panel_and_the_public_doors_take_a_mapping() -> None:
    taking = {
        path: {
            node.name
            for node in syntax
            if isinstance(node, ast.FunctionDef)
            and "mapping" in {a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
        }
        for path, syntax in others().items()
    }
    assert {path: names for path, names in taking.items() if names} == DOORS
