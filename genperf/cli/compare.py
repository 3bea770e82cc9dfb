"""`genperf compare`: a fitted model and one configuration → its groups or levels, ranked."""

import re
from types import SimpleNamespace

import click

from genperf.cli.options import configuration, model_or_table, paid_at
from genperf.cli.output import Output
from genperf.search.compare import compare as rank


def run(o: SimpleNamespace, out: Output) -> None:
    """Rank, and print a row for each with the reasons of the verdicts below."""
    fitted = model_or_table(o.model)
    if o.over is not None and o.changes:
        raise click.UsageError("give either --over or --or")
    changed = [configuration(re.split(r",(?=[^,=]+=)", text), "--or", fitted) for text in o.changes]
    ranking = rank(
        fitted,
        configuration(o.at, "--at", fitted),
        changed or o.over,
        maximize=o.maximize,
        price=paid_at(o.price, o.per),
        interval=o.interval,
    )
    if out.written(ranking, ranking.table):
        return
    out.lines(ranking.lines)
    out.notes(ranking.notes)
