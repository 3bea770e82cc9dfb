"""`genperf compare`: a fitted model and one configuration → its groups or levels, ranked."""

import re
from typing import Any

import click

from genperf.cli import decorators as shared
from genperf.cli.decorators import option
from genperf.cli.output import Output


@shared.command("compare")
@shared.source("model", metavar="MODEL|TABLE")
@shared.table_options
@shared.option_group(
    "The question",
    shared.ONE_AT,
    option(
        "--over", metavar="FACTOR", help="Compare the levels of this factor; the groups, or all levels, where omitted."
    ),
    option(
        "--or",
        "changes",
        metavar="FACTOR=V[,…]",
        multiple=True,
        help="A change: gpus=16,batch=64; bandwidth=100Gbit/s, where --at has that of the runs.",
    ),
)
@shared.one_parameter(
    "about",
    dict,
    "The question",
    shared.PRICE,
    shared.PER,
    shared.TOKENS,
    shared.PEAK,
    shared.WORK,
    option("--maximize", is_flag=True, help="The largest value is the best, not the smallest."),
    shared.INTERVAL,
)
@shared.shown(*shared.RESULT, shared.output("CSV", "Write the ranking here."), shared.RAW)
def compare(
    model: str,
    at: tuple[str, ...],
    over: str | None,
    changes: tuple[str, ...],
    about: dict[str, Any],
    roles: dict[str, Any],
    out: Output,
) -> None:
    """Rank the groups of MODEL, the levels of a factor, or changes of a configuration (--or).

    Each comes with the probability of being the best; changes, and all with a price, with the cost of the same work.
    """
    from genperf import search
    from genperf.cli.options import alternatives, configuration, model_or_table, single
    from genperf.result import is_model
    from genperf.search.compare import bandwidth_of_runs, of_variants
    from genperf.table.shape import VARIANT

    over, changes = alternatives(over=over, changes=changes)
    if over is not None and changes:
        raise click.UsageError("give either --over or --or")
    fitted = model_or_table(model, roles, *at, *filter(None, [over]))
    if not changes and over in (None, VARIANT) and not is_model(model) and of_variants(fitted.first):
        fitted, over = model_or_table(model, {**roles, "group": VARIANT}, *at), None
    fitted, wanted = configuration(at, "--at", fitted, bandwidth_of_runs)
    single(wanted)
    changed = list[dict[str, str]]()
    for text in changes:
        fitted, change = configuration(re.split(r",(?=[^,=]+=)", text), "--or", fitted, bandwidth_of_runs)
        changed.append(change)
    ranking = search.compare(fitted, wanted, changed or over, **about)
    if out.written(ranking, ranking.table):
        return
    out.lines(ranking.lines)
    out.notes(ranking.notes)
