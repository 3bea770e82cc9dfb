"""`genperf init`: a settings file whose every line is a comment, to fill in."""

from pathlib import Path

from genperf.cli import decorators as shared
from genperf.cli.output import tell
from genperf.cli.settings import DEFAULT, commented
from genperf.cli.writing import write_whole
from genperf.errors import GenperfError


@shared.command("init")
def init() -> None:
    """Write genperf.toml here, with every option in a comment. Commands read it where they are run."""
    if Path(DEFAULT).exists():
        raise GenperfError("is there already", where=DEFAULT, hint="move it away, or edit it")
    write_whole(DEFAULT, commented())
    tell(f"wrote {DEFAULT}", err=True)
