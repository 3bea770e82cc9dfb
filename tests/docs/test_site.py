"""The site's pages: every how-to is two clicks from the first page, and no example file is without a page."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def linked(page: Path) -> set[Path]:
    """Return the pages that a page links to, in its text or in a tree of contents."""
    text = page.read_text(encoding="utf-8")
    trees = re.findall(r"```\{toctree\}\n(.*?)```", text, re.DOTALL)
    names = [line for tree in trees for line in tree.splitlines() if line and not line.startswith(":")]
    names += [link.removesuffix(".md") for link in re.findall(r"\]\(([^)#:]+\.md)", text)]
    found = (page.parent / f"{name}.md" for name in names)
    return {path.resolve() for path in found if path.exists()}


@pytest.mark.parametrize("folder", ["how-to", "notebooks", "coming-from"])
def test_pages_are_two_clicks_from_the_first(folder: str) -> None:
    once = linked(DOCS / "index.md")
    twice = once.union(*(linked(page) for page in once))
    assert set((DOCS / folder).glob("*.md")) <= twice


def test_every_example_is_on_a_page() -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md"))
    code = (DOCS / "reference" / "families.py").read_text(encoding="utf-8")
    assert not [path.name for path in (DOCS / "examples").glob("*.csv") if path.name not in pages + code]


def test_the_gallery_has_twelve_tables() -> None:
    text = (DOCS / "gallery.md").read_text(encoding="utf-8")
    sections = re.split(r"(?m)^## ", text)[1:]
    assert len(sections) == 12
    assert all("{literalinclude} examples/" in part and "{command-output} genperf " in part for part in sections)
