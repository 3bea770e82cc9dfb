"""Odd names, options and places on every command, and far models: `python tests/fuzz/sweep.py`.

A case is a list of commands, one after the other while they succeed: each in a process of its own, in an empty folder.
What is looked for: an exit status other than 0, 1 and 2, a traceback, a message that names no place and nothing to try,
a file that nobody asked for, markup of a name in a page, more than 20 s. Run it as a user who owns nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path

from odd_cases import PARTS, Case, prepare


@dataclass
class Ended:
    """How a run ended: its status (negative for a signal), what it wrote, and its seconds of work."""

    status: int
    out: str
    errors: str
    seconds: float


def ended(arguments: list[str], close: int | None, limit: float) -> Ended:
    """Run a command line in a child of this process, in the folder where this process is."""
    streams = [tempfile.TemporaryFile() for _ in range(2)]  # noqa: SIM115
    child = os.fork()
    if child == 0:
        status = 70
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            for number, stream in enumerate(streams, 1):
                os.dup2(stream.fileno(), number)
            sys.stdin = open(0, closefd=False)  # noqa: SIM115
            sys.stdout, sys.stderr = (os.fdopen(os.dup(n), "w", errors="backslashreplace") for n in (1, 2))
            if close is not None:
                os.close(close)
                setattr(sys, ("stdin", "stdout", "stderr")[close], None)
            from genperf.cli.main import main

            main(arguments)
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
        except BaseException:
            import traceback

            os.write(streams[1].fileno(), f"Traceback {traceback.format_exc()}".encode(errors="replace"))
        finally:
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(Exception):
                    stream.flush()
            os._exit(status & 255)
    # One that waits without work is ended as well.
    clock = threading.Timer(50 * limit, os.kill, (child, signal.SIGKILL))
    clock.start()
    _, code, used = os.wait4(child, 0)
    clock.cancel()
    texts = []
    for stream in streams:
        stream.seek(0)
        texts.append(stream.read().decode("utf-8", "replace"))
        stream.close()
    return Ended(os.waitstatus_to_exitcode(code), texts[0], texts[1], used.ru_utime + used.ru_stime)


class Page(HTMLParser):
    """What a page must not hold: elements and attributes that no page of genperf has."""

    def __init__(self) -> None:
        super().__init__()
        self.odd: list[str] = []
        self.scripts = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        if tag == "img" or any(name.startswith("on") for name, _ in attrs):
            self.odd.append(f"{tag} {attrs}")


#: What a message says of where, or what to try.
PLACED = re.compile(r"try:|line \d|column|row \d|'[^']+'|--\w|Usage:|number \d{6}|: ", re.IGNORECASE)


#: Elements `script` of every page.
SCRIPTS = 2
#: How many runs ended with each status.
STATUSES: Counter[int] = Counter()


def oddities(case: Case, inputs: Path, limit: float) -> Iterator[str]:
    """Run a case and yield what is odd about it."""
    for name, content in case.files.items():
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogateescape"))
    for run in case.runs:
        arguments = [word.replace("IN/", f"{inputs}/", 1) if word.startswith("IN/") else word for word in run]
        end = ended(arguments, case.close, limit)
        shown = end.errors.strip()[-600:]
        STATUSES[end.status] += 1
        if end.status not in (0, 1, 2):
            yield f"status {end.status}: {shown}"
        if "Traceback" in end.errors or "Traceback" in end.out:
            yield f"traceback: {shown}"
        if "nothing can be computed" in end.errors:
            yield f"numbers: {shown}"
        if end.status and not (PLACED.search(end.errors) or case.close == 2):
            yield f"bare message: {shown}"
        if end.status and len(end.errors) > 5000:
            yield f"long message: {len(end.errors)} characters"
        if any(c in end.errors for c in "\x1b\x07\x00"):
            yield f"control characters in the message: {shown!r}"
        if end.seconds > limit:
            yield f"{end.seconds:.0f} s"
        if end.status:
            break
    for page in case.pages:
        if Path(page).exists():
            reader = Page()
            reader.feed(Path(page).read_text(encoding="utf-8"))
            if reader.odd or reader.scripts != SCRIPTS:
                yield f"page: {reader.odd[:3]} {reader.scripts} scripts"
    left = {p.name for p in Path().iterdir()} - set(case.files) - case.made
    if left and not case.anything:
        yield f"left: {sorted(left)}"
    if any(name.endswith(".part") for name in left) and "part" not in case.name:
        yield f"unfinished: {sorted(left)}"


def main() -> None:
    """Run the cases and print what is odd."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--part", action="append", choices=[part.__name__ for part in PARTS], help="only these")
    reader.add_argument("--only", default="", help="cases whose name holds this text")
    reader.add_argument("--every", type=int, default=1, help="one of so many cases")
    reader.add_argument("--first", type=int, default=0, help="the number of the first")
    reader.add_argument("--limit", type=float, default=20.0, help="seconds of work of one run")
    given = reader.parse_args()
    if os.geteuid() == 0:
        sys.exit("places such as /etc are written to: run this as a user who owns nothing")
    from genperf.cli.commands import COMMANDS, command_named
    from genperf.cli.main import run

    home = Path(tempfile.mkdtemp())
    inputs = home / "in"
    inputs.mkdir()
    prepare(inputs, run)
    os.environ["HOME"] = str(home)
    # A child imports only what is not here.
    for name in COMMANDS:
        command_named(name)
    for room in ("asking", "attribution", "datasets", "fitting", "reporting", "search", "validation"):
        import_module(f"genperf.{room}")
    started, count, odd = time.monotonic(), 0, 0
    before = {p.name for p in inputs.iterdir()}
    for part in PARTS:
        if given.part and part.__name__ not in given.part:
            continue
        for number, case in enumerate(part()):
            if number % given.every != given.first or given.only not in case.name:
                continue
            place = home / "here"
            place.mkdir()
            os.chdir(place)
            count += 1
            for oddity in oddities(case, inputs, given.limit):
                odd += 1
                words = [" ".join(word[:60] for word in map(repr, run)) for run in case.runs]
                print(f"{case.name[:100]}\n    {words}\n    {oddity[:1200]}", flush=True)
            os.chdir(home)
            shutil.rmtree(place, ignore_errors=True)
        print(
            f"# {part.__name__}: {count:,} cases so far, {odd} odd, {time.monotonic() - started:.0f} s, "
            f"runs by status {dict(sorted(STATUSES.items()))}",
            flush=True,
        )
    print(f"{count:,} cases, {odd} odd, left beside the inputs: {sorted({p.name for p in inputs.iterdir()} - before)}")
    shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
