"""The declared licence is the one whose text is shipped; version, citation and changelog agree."""

import re
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import genperf
from experiments.pictures.architecture_picture import OUT, drawn, picture

ROOT = Path(__file__).parents[2]


def test_the_text_of_the_declared_licence_is_shipped() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    title, version, *_ = (ROOT / "LICENSE").read_text(encoding="utf-8").split("\n")[1:]
    assert settings["project"]["license"] == "Apache-2.0"
    assert settings["project"]["license-files"] == ["LICENSE"]
    assert (title.strip(), version.strip()) == ("Apache License", "Version 2.0, January 2004")
    assert "LICENSE" in settings["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]


def test_version_is_one_in_package_citation_and_changelog() -> None:
    assert f"\nversion: {genperf.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## {genperf.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


# --- the site's pages: every how-to is two clicks from the first page, and no example file is without a page ---------

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


# --- the picture of the rooms: drawn from the imports as they are ----------------------------------------------------

SVG = "{http://www.w3.org/2000/svg}"
#: The top imports all others; the arrow to the bottom is implied by the one to the middle.
LAYERS = {"bottom": 0, "middle": 1, "side": 1, "top": 2}
IMPORTS = {
    "bottom": frozenset[str](),
    "middle": frozenset({"bottom"}),
    "side": frozenset[str](),
    "top": frozenset({"bottom", "middle", "side"}),
}


def test_the_picture_is_that_of_the_imports() -> None:
    assert OUT.read_text(encoding="utf-8") == drawn(), "run: python -m experiments architecture_picture"


def test_rooms_stand_in_their_layers_and_implied_arrows_are_left_out() -> None:
    root = ET.fromstring(picture(IMPORTS, LAYERS))
    arrows = [path for path in root.iter(f"{SVG}path") if "marker-end" in path.attrib]
    assert len(arrows) == 3
    heights = {g.findtext(f"{SVG}text"): float(g.find(f"{SVG}rect").get("y")) for g in root.iter(f"{SVG}g")}
    assert heights["top"] < heights["middle"] == heights["side"] < heights["bottom"]
    titles = [g.findtext(f"{SVG}title") for g in root.iter(f"{SVG}g")]
    assert "top imports bottom, middle, side" in titles
    assert "bottom imports nothing of genperf" in titles
