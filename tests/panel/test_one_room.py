"""One room knows what a count means: no other module picks the workers, the nodes, or what one node is."""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator

import pandas as pd
import pytest
from helpers import nodes

import genperf as gp
from genperf.errors import TableError

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


# --- runs of weak and of strong scaling in one table: the work of a configuration goes on as in runs like it ---------

COUNTS = (1, 2, 4, 8)
RUNS = pd.DataFrame(
    [
        (mode, net, n, batch, seconds * (0.2 + batch / 80.0 + 0.01 * n))
        for net, seconds in (("small", 1.0), ("large", 2.0))
        for n in COUNTS
        for mode, batch in (("strong", 64 // n), ("weak", 64))
    ],
    columns=["mode", "net", "gpus", "batch_per_gpu", "step_s"],
)


def test_a_batch_halves_where_the_like_runs_shared_their_work_and_stays_where_each_had_its_own() -> None:
    fitted = gp.fit(gp.read_table(RUNS), seed=0)
    strong, weak = (fitted.predict(mode=mode, net="small", gpus=16)["time"][0] for mode in ("strong", "weak"))
    assert strong == pytest.approx(0.2 + 4.0 / 80.0 + 0.16, rel=0.25)
    assert weak == pytest.approx(0.2 + 64.0 / 80.0 + 0.16, rel=0.25)
    configuration = gp.ask(fitted, gpus=16, net="large", mode="strong").facts.at
    assert configuration["batch_per_gpu"] == 4.0
    # What is missing is named as `ask` takes it.
    with pytest.raises(TableError, match="--at mode=strong,net=large, as ask takes them"):
        fitted.predict(pd.DataFrame({"gpus": [16]}))


def test_titles_of_tables_say_how_their_runs_were_scaled() -> None:
    """Two titles name one kind, so that efficiencies are those of workers that keep their work."""
    tables = [f"Weak scaling, {net}" for net in ("A", "B") for _ in COUNTS]
    runs = pd.DataFrame({"table": tables, "nodes": COUNTS * 2, "seconds": [1.0, 1.01, 1.03, 1.05] * 2})
    assert gp.ask(runs, nodes=16).to_dict()["efficiency"] == pytest.approx(0.94, abs=0.03)
