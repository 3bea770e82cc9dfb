"""Sentences and numbers as a person reads them, one file a subject; nothing here computes an answer."""

import tomllib
from pathlib import Path

#: What is printed for a name, by kind: `texts.toml`.
TEXTS: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("texts.toml").read_text("utf-8"))
