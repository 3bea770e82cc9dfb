"""The picture of the rooms: drawn from the imports as they are."""

import xml.etree.ElementTree as ET

from experiments.pictures.architecture_picture import OUT, drawn, picture

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
