"""Lines for people: what a name or a message holds of control characters is written out. Imported by every command."""

from __future__ import annotations

import re

import click

#: Control characters other than the end of a line and the tabulator, marks of the direction of writing, and what has no
#: width and joins no letters.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")


def tell(text: str, err: bool = False) -> None:
    """Print a line: what a name holds of control characters is written out, so that no terminal obeys it."""
    click.echo(visible(text), err=err)


def visible(text: str) -> str:
    r"""Return a text without characters that steer a terminal, turn the direction of writing or cannot be seen.

    Examples
    --------
    >>> print(visible("net\x1b[2J\u202e"))
    net\x1b[2J\u202e
    """
    return _STEERING.sub(lambda match: match[0].encode("unicode_escape").decode(), text)
