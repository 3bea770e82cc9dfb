"""The templates of pages: each is filled by one experiment, with the figures that it asks for."""

import ast
from pathlib import Path

import pytest
from jinja2 import Environment, meta

from experiments.shared import RESULTS, ROOT, page, rows_of_page

PAGES = sorted((ROOT / "experiments" / "pages").glob("*.md.j2"))


def filled() -> dict[str, set[str]]:
    """Return the figures by page that experiments give, and their constants; `**` where some are not named."""
    found: dict[str, set[str]] = {}
    for path in (ROOT / "experiments").rglob("*.py"):
        nodes = [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
        constants = {node.id for node in nodes if isinstance(node, ast.Name)}
        for node in nodes:
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("page", "shared.page") and node.args:
                name = ast.literal_eval(node.args[0]) if isinstance(node.args[0], ast.Constant) else ""
                of_page = found.setdefault(name, set())
                of_page.update(keyword.arg or "**" for keyword in node.keywords)
                of_page.update(filter(str.isupper, constants) if len(node.args) > 1 else ())
    return found


@pytest.mark.parametrize("template", PAGES, ids=lambda path: path.stem)
def test_a_page_asks_for_the_figures_that_its_experiment_gives(template: Path) -> None:
    name = template.name.removesuffix(".md.j2")
    environment = Environment()
    environment.filters |= {"f": format, "table": format, "cell": format}
    asked = meta.find_undeclared_variables(environment.parse(template.read_text(encoding="utf-8")))
    given = filled()[name]
    figures = {figure for figure in given if not figure.isupper()}
    assert figures - {"**"} <= asked
    assert "**" in given or figures | {"command"} <= asked | {"command"} <= given | {"command"}
    assert name == "papers" or (RESULTS / f"{name}.md").exists()


def test_rows_of_a_page_are_those_of_its_first_table() -> None:
    rows = rows_of_page("why-slow")
    assert list(rows[0]) == ["settings", "runs", "cases", "named first, %", "among the first two, %"]
    assert len(rows) == 4
    assert rows_of_page("none") == []


def test_a_figure_that_a_page_lacks_is_an_error() -> None:
    with pytest.raises(Exception, match="'table' is undefined"):
        page("solvers", command="x")
