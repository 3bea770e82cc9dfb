"""A command that writes a file, and never over one that it reads."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping
from typing import Any

import click

from genperf.errors import GenperfError

#: Parameters of the commands that name files to read, and files to write.
_READ, _WRITTEN = ("table", "model", "source", "files", "data", "candidates"), ("output", "plot")


class WritingCommand(click.Command):
    """A command with `-o` or `--plot`: an input that would be overwritten is refused before anything is read."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command.

        Raises
        ------
        GenperfError
            Where a file is to be read and written, or to be written twice.
        """
        refuse_overwriting(ctx.params)
        return super().invoke(ctx)


def refuse_overwriting(given: Mapping[str, Any]) -> None:
    """Refuse to write over a file that is read, or two results into one file.

    Parameters
    ----------
    given : mapping of str to object
        The parameters of a command by name.

    Raises
    ------
    GenperfError
    """
    written = [str(given[name]) for name in _WRITTEN if given.get(name) not in (None, "-")]
    if len({os.path.realpath(path) for path in written}) < len(written):
        raise GenperfError("two results are written here", where=written[0], hint="name two files")
    for path in written:
        if os.path.isfile(path) and any(os.path.samefile(path, read) for read in _files_read(given)):
            raise GenperfError("is read, and would be overwritten", where=path, hint="name another file to write")


def _files_read(given: Mapping[str, Any]) -> Iterator[str]:
    """Yield the files that a command reads and that are there; a pattern stands for its files."""
    for name in _READ:
        value = given.get(name)
        for text in value if isinstance(value, tuple) else () if value is None else (str(value),):
            path = os.path.expanduser(text)
            if "\0" not in path:
                matched = glob.glob(path) if set(path) & set("*?[") else []
                yield from (p for p in [path, *matched] if os.path.isfile(p))
