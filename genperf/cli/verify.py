"""`genperf verify`: new runs beside their predictions; status 1 where runs are slower."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import click

from genperf.cli import decorators as shared
from genperf.cli.decorators import option
from genperf.cli.output import Output, tell, tell_all
from genperf.cli.writing import write_whole
from genperf.metrics import coverage_text
from genperf.words.numbers import join_values

if TYPE_CHECKING:
    from genperf.verification import Verification


@shared.command("verify")
@shared.source("model", metavar="MODEL|TABLE")
@shared.source("sources", metavar="SOURCE…", nargs=-1, required=True)
@shared.option_group(
    "The question",
    option("--alarm", default=0.01, show_default=True, type=float, help="The rate of false alarms that is kept."),
    option("--update", is_flag=True, help="Fit again with what is now known, and show what moved."),
    option("--junit", metavar="FILE", help="Write a JUnit report here, a test case a run."),
    option("--github", is_flag=True, help="Print annotations of GitHub Actions."),
    shared.SEED,
)
@shared.shown(*shared.RESULT)
def verify(
    model: str,
    sources: tuple[str, ...],
    alarm: float,
    update: bool,
    junit: str | None,
    github: bool,
    seed: int,
    out: Output,
) -> None:
    """Compare new runs of SOURCE with their predictions by MODEL, or by the TABLE of earlier runs.

    Each run is inside its 90 % interval, faster or slower. Status 1 where runs are slower at the rate of false alarms.
    """
    from genperf.verification import verify as verified

    answer = verified(model, *sources, alarm=alarm, update=update, seed=seed)
    if junit:
        write_whole(junit, junit_report(answer))
        out.note(f"wrote {junit}")
    if not out.written(answer):
        tell_all(answer.lines)
    if github:
        tell_all(github_annotations(answer, sources[0]))
    if answer.alarm.raised:
        tell(f"error: {answer.judged}", err=True)
        raise click.exceptions.Exit(1)


def junit_report(answer: Verification) -> str:
    """Return a JUnit report: a test case for each run, which fails where it is slower by itself, and one for all."""
    slower, lines = answer.alarm.slower, answer.lines
    cases = [(f"{n + 1}. {join_values(run.at)}", lines[n], n in slower) for n, run in enumerate(answer.runs)]
    cases.append(("all runs", answer.judged, answer.alarm.raised))
    failures = sum(failed for *_, failed in cases)
    suite = Element("testsuite", name="genperf verify", tests=str(len(cases)), failures=str(failures))
    for name, line, failed in cases:
        case = SubElement(suite, "testcase", classname="genperf", name=name)
        if failed:
            SubElement(case, "failure", message=line)
        else:
            SubElement(case, "system-out").text = line
    indent(suite)
    return tostring(suite, "unicode") + "\n"


def github_annotations(answer: Verification, file: str) -> Iterator[str]:
    """Yield annotations: an error where runs are slower, else a notice; a warning for each slow or missing run."""
    lines, kind = answer.lines, "error" if answer.alarm.raised else "notice"
    text = f"{answer.judged}; {coverage_text(answer.coverage['inside'], len(answer.runs))}"
    yield f"::{kind} file={file},title=genperf verify::{text}"
    yield from (f"::warning file={file},title=slower::{lines[row]}" for row in answer.alarm.slower)
    yield from (f"::warning file={file},title=not compared::{text}" for text in answer.not_compared)
