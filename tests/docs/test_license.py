"""The declared licence is the one whose text is shipped; version, citation and changelog agree."""

import tomllib
from pathlib import Path

import genperf

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
