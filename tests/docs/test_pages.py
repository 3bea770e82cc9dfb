"""The pages: no section twice, no dead link, no page too long, and no figure that its page of results does not have."""

import doctest
import re
from pathlib import Path

import pytest
from helpers import cases_in_text

from experiments import results_page
from experiments.results_page import LONGEST_LINE, LONGEST_PAGE, RESULTS, SUMMARY, figure

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
DECISIONS = ROOT / "experiments" / "decisions"
PAGES = {
    path.relative_to(ROOT).as_posix(): path
    for path in (ROOT / "README.md", *sorted(DOCS.rglob("*.md")), *sorted((ROOT / "experiments").rglob("*.md")))
    # Templates hold references in the place of figures.
    if not re.search(r"reference/(bundled-tables|published-series|families/)|results_\w+\.md", path.as_posix())
}
LINKED = PAGES | {name: ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "data/README.md")}
#: Pages that the build of the site writes.
BUILT = re.compile(r"(bundled-tables|published-series|families/[\w-]+)\.md$")
#: The README is read in two minutes.
LONGEST_README = 100
#: A shorter text may stand in two sections, such as the line that names an experiment.
SECTION = 200
LONGEST_DECISION = 40
#: The README's rows as the page of the corpus has them.
MODELS = {
    "**genperf** (`auto`)": "auto",
    "last point: the time stays as at the largest scale": "last point",
    "1 + log n": "1 + log n",
    "Ernest": "Ernest",
    "random forest": "random forest",
    "Extra-P, default": "Extra-P",
}
#: The columns, after the first, of the page's table of all sources.
ALL_SOURCES = "corpus > How well # all sources, median (mean) error, %"
PROTOCOLS = ("near (833)", "far (423)", "node (425)")


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def sections(text: str) -> list[tuple[str, str]]:
    """Return the headings of a page with the text below each, up to the next heading; code blocks are text."""
    parts = [("", "")]
    inside_code = False
    for line in text.splitlines():
        inside_code ^= line.startswith("```")
        if line.startswith("#") and not inside_code:
            parts.append((line, ""))
        else:
            heading, body = parts[-1]
            parts[-1] = heading, f"{body}\n{line}"
    return [(heading, " ".join(body.split())) for heading, body in parts]


def repeated(pages: dict[str, str]) -> list[str]:
    """Return the sections that stand twice: a heading in one page, or a text in any."""
    places: dict[str, list[str]] = {}
    for name, text in pages.items():
        for heading, body in sections(text):
            if heading:
                places.setdefault(f"{name} {heading}", []).append(name)
            if len(body) >= SECTION:
                places.setdefault(body, []).append(f"{name} {heading}")
    return [f"{', '.join(where)}: {what[:60]}" for what, where in places.items() if len(where) > 1]


def anchor(heading: str) -> str:
    """Return the name by which a heading is linked to: small letters and hyphens, without punctuation."""
    return re.sub(r"[^\w\- ]", "", heading.lstrip("# ").lower()).replace(" ", "-")


def dead_links(path: Path) -> list[str]:
    """Return the relative links of a page to a file or heading that is not there."""
    dead = []
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"(?s)```.*?```|`[^`\n]*`", "", text_of(path))):
        file, _, place = target.partition("#")
        if re.match(r"[a-z]+:", target) or BUILT.search(file):
            continue
        page = (path.parent / file) if file else path
        if not page.exists() or (place and place not in {anchor(h) for h, _ in sections(text_of(page))}):
            dead.append(target)
    return dead


def test_no_section_stands_twice() -> None:
    assert not repeated({name: text_of(path) for name, path in PAGES.items()})


def test_a_repeated_section_is_reported() -> None:
    body = "The knee of a parameter server, from the steps of all counts. " * 4
    assert repeated({"a.md": f"# A\n{body}", "b.md": f"# B\n{body}"})
    assert repeated({"a.md": "# A\n## Knee\none\n## Knee\ntwo"})
    assert not repeated({"a.md": f"# A\n{body}", "b.md": "# A\nshort"})


def test_every_relative_link_leads_somewhere() -> None:
    assert not [f"{name}: {target}" for name, path in LINKED.items() for target in dead_links(path)]


def test_a_dead_link_is_reported(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Two words\n[a](#two-words) [b](#three) [c](none.md) [d](https://example.org) `[e](none.md)`\n")
    assert dead_links(page) == ["#three", "none.md"]


def test_the_pages_of_results_pass_their_own_check() -> None:
    assert not results_page.check()
    assert len(text_of(SUMMARY).splitlines()) < LONGEST_PAGE
    assert not [line for line in text_of(SUMMARY).splitlines() if len(line) > LONGEST_LINE and not line.startswith("|")]


def test_the_summary_is_that_of_the_pages() -> None:
    assert text_of(SUMMARY) == results_page.summary()
    assert text_of(RESULTS / "gates.md") == results_page.gates()


def test_the_examples_of_the_script_hold() -> None:
    outcome = doctest.testmod(results_page)
    assert outcome.attempted > 0
    assert outcome.failed == 0


@cases_in_text("reference, message")
def test_a_figure_that_no_page_has_is_refused(reference: str, message: str) -> None:
    with pytest.raises(LookupError, match=message):
        figure(reference)


def readme_rows() -> list[list[str]]:
    """Return the rows of the README's first table without emphasis, its first cells as written."""
    table = next(iter(results_page.tables(text_of(ROOT / "README.md"))))
    return [[row[0], *(cell.replace("*", "") for cell in row[1:])] for row in table.rows]


def test_the_table_of_the_readme_is_that_of_the_results() -> None:
    expected = []
    for name, row in MODELS.items():
        cells = [f"{ALL_SOURCES} > {row} > {protocol}" for protocol in PROTOCOLS]
        expected.append([name, *(f"{figure(f'{c}; median')} % ({figure(f'{c}; mean')} %)" for c in cells)])
    assert readme_rows() == expected


def test_the_readme_is_short() -> None:
    assert len(text_of(ROOT / "README.md").splitlines()) <= LONGEST_README


def test_coverage_and_width_in_the_readme_are_those_of_the_results() -> None:
    text = " ".join(text_of(ROOT / "README.md").split())
    pairs = [figure(f"{ALL_SOURCES} > auto covers, width, % > {protocol}").split(", ") for protocol in PROTOCOLS]
    (near, far, node), widths = zip(*pairs, strict=True)
    assert f"covered {near}, {far} and {node} % of the times" in text
    assert f"median widths of {widths[0]}, {widths[1]} and {widths[2]} %" in text


def test_a_decision_has_its_four_parts_and_a_place_in_the_index() -> None:
    index = text_of(DECISIONS.with_suffix(".md"))
    pages = sorted(DECISIONS.glob("*.md"))
    assert pages
    for path in pages:
        title, *rest = text_of(path).splitlines()
        assert len(rest) < LONGEST_DECISION, path
        parts = re.findall(r"(?m)^\*\*(\w+)\.\*\*", "\n".join(rest))
        assert parts == ["Context", "Choice", "Evidence", "Consequence"], path
        assert f"- [{title.removeprefix('# ')}](decisions/{path.name})" in index, path


def glossary() -> list[list[str]]:
    """Return the rows of the glossary."""
    text = text_of(DOCS / "glossary.md").replace("\\|", "‖")
    return [row for table in results_page.tables(text) for row in table.rows]


def test_the_glossary_has_each_term_once() -> None:
    terms = [row[0] for row in glossary()]
    assert len(terms) == len(set(terms)) > 50


def test_a_term_is_defined_where_the_glossary_has_it() -> None:
    rooms = {row[0]: ROOT / "genperf" / row[3].strip("`") for row in glossary()}
    assert not [f"{term}: {place}" for term, place in rooms.items() if not place.is_file()]
    assert not [f"{row[0]}: no sentence" for row in glossary() if not row[2].endswith(".")]
