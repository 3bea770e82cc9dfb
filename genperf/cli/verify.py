"""`genperf verify`: new runs beside their predictions; status 1 where runs are slower."""

from typing import Any
from xml.sax.saxutils import escape, quoteattr

import click

from genperf.cli import decorators as shared
from genperf.cli.decorators import option
from genperf.cli.output import Output, tell_all
from genperf.cli.writing import write_whole
from genperf.errors import GenperfError
from genperf.metrics import coverage_text


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
def verify(model: str, sources: tuple[str, ...], junit: str | None, github: bool, out: Output, **question: Any) -> None:
    """Compare new runs of SOURCE with their predictions by MODEL, or by the TABLE of earlier runs.

    Each run is inside its 90 % interval, faster or slower. Status 1 where runs are slower at the rate of false alarms.
    """
    from genperf.verification import verify as verified

    answer = verified(model, *sources, **question)
    findings, (_, judged, raised) = answer.findings, answer.findings[-1]
    if junit:
        failures = sum(slow for *_, slow in findings)
        report = [f'<testsuite name="genperf verify" tests="{len(findings)}" failures="{failures}">']
        for name, line, slow in findings:
            outcome = f"<failure message={quoteattr(line)} />" if slow else f"<system-out>{escape(line)}</system-out>"
            report.append(f'  <testcase classname="genperf" name={quoteattr(name)}>{outcome}</testcase>')
        write_whole(junit, "\n".join([*report, "</testsuite>", ""]))
        out.note(f"wrote {junit}")
    is_written = out.written(answer)
    if not is_written:
        tell_all(answer.content)
    if github:
        held = coverage_text(answer.coverage["inside"], len(answer.runs))
        annotations = [("error" if raised else "notice", "genperf verify", f"{judged}; {held}")]
        annotations += [("warning", "slower", line) for _, line, slow in findings[:-1] if slow]
        annotations += [("warning", "not compared", text) for text in answer.not_compared]
        tell_all(f"::{kind} file={sources[0]},title={title}::{text}" for kind, title, text in annotations)
    if raised:
        raise GenperfError(judged) if is_written else click.exceptions.Exit(1)
