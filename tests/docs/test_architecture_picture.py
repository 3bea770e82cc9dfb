"""The picture of the rooms: drawn from the imports as they are."""

import doctest
import xml.etree.ElementTree as ET

import pytest

from experiments.pictures import architecture_picture
from experiments.pictures.architecture_picture import OUT, crossings, drawn, imports_of, layers_of, ordered, picture

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


def test_the_examples_of_the_script_hold() -> None:
    outcome = doctest.testmod(architecture_picture)
    assert outcome.attempted > 0
    assert outcome.failed == 0


def test_rooms_stand_in_their_layers_and_implied_arrows_are_left_out() -> None:
    root = ET.fromstring(picture(IMPORTS, LAYERS))
    arrows = [path for path in root.iter(f"{SVG}path") if "marker-end" in path.attrib]
    assert len(arrows) == 3
    heights = {g.findtext(f"{SVG}text"): float(g.find(f"{SVG}rect").get("y")) for g in root.iter(f"{SVG}g")}
    assert heights["top"] < heights["middle"] == heights["side"] < heights["bottom"]
    titles = [g.findtext(f"{SVG}title") for g in root.iter(f"{SVG}g")]
    assert "top imports bottom, middle, side" in titles
    assert "bottom imports nothing of genperf" in titles


def test_names_are_text() -> None:
    assert ET.fromstring(picture({"a<b": frozenset()}, {"a<b": 0})).findtext(f".//{SVG}g/{SVG}text") == "a<b"


def test_arrows_that_need_not_cross_do_not() -> None:
    rows = [["a", "b"], ["c", "d"]]
    arrows = [["a", "d"], ["b", "c"]]
    assert crossings(rows, arrows) == 1
    assert crossings(ordered(rows, arrows), arrows) == 0


def test_imports_are_read_of_every_form(tmp_path) -> None:
    package = tmp_path / "house"
    (package / "upper").mkdir(parents=True)
    (package / "upper" / "one.py").write_text("from house.lower import x\nimport house.base\nimport os\n")
    (package / "upper" / "two.py").write_text("def late():\n    from house import lower\n")
    (package / "__init__.py").write_text("from house.upper import one\n")
    for name in ("lower", "base"):
        (package / f"{name}.py").write_text("")
    read = imports_of(package, ["upper", "lower", "base"])
    assert read == {"upper": {"lower", "base"}, "lower": set(), "base": set()}


def test_without_a_table_of_layers_it_says_so() -> None:
    with pytest.raises(LookupError, match="no table LAYERS"):
        layers_of("FLOORS = {}")
