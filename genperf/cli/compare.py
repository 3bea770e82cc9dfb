"""`genperf compare`: a fitted model and one configuration → its groups or levels, ranked."""

from __future__ import annotations

import click

from genperf.cli.messages import tell
from genperf.cli.options import model_or_table, once
from genperf.cli.output import Output, results, show_json, show_rows
from genperf.cli.shown import under_columns


@click.command("compare")
@click.argument("model", metavar="MODEL|TABLE")
@click.option("--at", metavar="FACTOR=V", multiple=True, help="The configuration; a group's value keeps its groups.")
@click.option("--over", metavar="FACTOR", help="Compare the levels of this factor; the groups where omitted.")
@click.option("--maximize", is_flag=True, help="The largest value is the best, not the smallest.")
@click.option("--interval", default=0.9, show_default=True, type=float, help="Nominal coverage of the intervals.")
@results(csv="Write the ranking here.")
def command(model: str, at: tuple[str, ...], over: str | None, maximize: bool, interval: float, out: Output) -> None:
    """Rank the groups of MODEL, or the levels of a factor, each with the probability of being the best."""
    from genperf.advice.compare import compare as rank

    fitted = model_or_table(model)
    ranking = rank(fitted, under_columns(once(at, "--at"), fitted), over, maximize=maximize, interval=interval)
    out.write(ranking.table)
    if out.as_json:
        show_json(ranking.to_dict())
        return
    tell(ranking.sentence)
    head, rows = ranking.shown()
    show_rows(head, rows, plain=out.no_color)
    for reason in ranking.footnotes():
        tell(reason)
    for note in ranking.notes:
        out.note(f"note: {note}")
