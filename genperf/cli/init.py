"""`genperf init`: a settings file whose every line is a comment, to fill in."""

from pathlib import Path

import click

from genperf.cli.output import tell
from genperf.cli.settings import DEFAULT, commented
from genperf.cli.writing import write_whole
from genperf.errors import GenperfError


@click.command("init")
def command() -> None:
    """Write genperf.toml here, with every option in a comment. Commands read it where they are run."""
    from genperf.cli.main import COMMANDS, command_named

    if Path(DEFAULT).exists():
        raise GenperfError("is there already", where=DEFAULT, hint="move it away, or edit it")
    write_whole(DEFAULT, commented(command_named, list(COMMANDS)))
    tell(f"wrote {DEFAULT}", err=True)
