"""`genperf init`: a settings file whose every line is a comment, to fill in."""

from pathlib import Path
from types import SimpleNamespace

from genperf.cli.output import Output
from genperf.cli.settings import DEFAULT, commented
from genperf.cli.writing import write_whole
from genperf.errors import GenperfError


def run(o: SimpleNamespace, out: Output) -> None:
    """Write the file, where there is none."""
    if Path(DEFAULT).exists():
        raise GenperfError("is there already", where=DEFAULT, hint="move it away, or edit it")
    write_whole(DEFAULT, commented())
    out.note(f"wrote {DEFAULT}")
