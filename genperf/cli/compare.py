"""`genperf compare`: a fitted model and one configuration → its groups or levels, ranked."""

import re
from types import SimpleNamespace

import click

from genperf.cli.declared import declared
from genperf.cli.options import model_or_table, pairs, under_columns
from genperf.cli.output import Output, show_rows, tell


@declared("compare", "result options")
def command(o: SimpleNamespace, out: Output) -> None:
    """Rank the groups of MODEL, the levels of a factor, or changes of a configuration (--or).

    Each comes with the probability of being the best; changes, and all with a price, with the cost of the same work.
    """
    from genperf.advice.compare import compare as rank
    from genperf.attribution.derived import price_of

    fitted = model_or_table(o.model)
    if o.over is not None and o.changes:
        raise click.UsageError("give either --over or --or")
    changed = [under_columns(pairs(re.split(r",(?=[^,=]+=)", text), "--or"), fitted) for text in o.changes]
    ranking = rank(
        fitted,
        under_columns(pairs(o.at, "--at"), fitted),
        changed or o.over,
        maximize=o.maximize,
        price=None if o.price is None else price_of(o.price, o.per),
        interval=o.interval,
    )
    if out.written(ranking, ranking.table):
        return
    tell(ranking.sentence)
    head, rows = ranking.shown()
    show_rows(head, rows, plain=out.no_color)
    for reason in ranking.footnotes():
        tell(reason)
    out.notes(ranking.notes)
