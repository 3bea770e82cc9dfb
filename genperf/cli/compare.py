"""`genperf compare`: a fitted model and one configuration → its groups or levels, ranked."""

from __future__ import annotations

import re

import click

from genperf.cli.messages import tell
from genperf.cli.options import model_or_table, once
from genperf.cli.output import Output, results, show_json, show_rows
from genperf.cli.shown import under_columns


@click.command("compare")
@click.argument("model", metavar="MODEL|TABLE")
@click.option("--at", metavar="FACTOR=V", multiple=True, help="The configuration; a group's value keeps its groups.")
@click.option("--over", metavar="FACTOR", help="Compare the levels of this factor; the groups where omitted.")
@click.option(
    "--or",
    "changes",
    metavar="FACTOR=V[,…]",
    multiple=True,
    help="What could be changed: gpus=16,batch=64; bandwidth=100Gbit/s, where --at has that of the runs.",
)
@click.option("--price", metavar="X/h", help="Of one machine: 2/h; the ranking then has the cost of the same work.")
@click.option("--per", metavar="COL", help="What the price is for; the workers where omitted.")
@click.option("--maximize", is_flag=True, help="The largest value is the best, not the smallest.")
@click.option("--interval", default=0.9, show_default=True, type=float, help="Nominal coverage of the intervals.")
@results(csv="Write the ranking here.")
def command(
    model: str,
    at: tuple[str, ...],
    over: str | None,
    changes: tuple[str, ...],
    price: str | None,
    per: str | None,
    maximize: bool,
    interval: float,
    out: Output,
) -> None:
    """Rank the groups of MODEL, the levels of a factor, or changes of a configuration (--or).

    Each comes with the probability of being the best; changes, and all with a price, with the cost of the same work.
    """
    from genperf.advice.compare import compare as rank
    from genperf.attribution.derived import price_of

    fitted = model_or_table(model)
    if over is not None and changes:
        raise click.UsageError("give either --over or --or")
    changed = [under_columns(once(tuple(re.split(r",(?=[^,=]+=)", text)), "--or"), fitted) for text in changes]
    ranking = rank(
        fitted,
        under_columns(once(at, "--at"), fitted),
        changed or over,
        maximize=maximize,
        price=None if price is None else price_of(price, per),
        interval=interval,
    )
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
