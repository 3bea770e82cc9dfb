"""`genperf compare`: a fitted model and one configuration → its groups or levels, ranked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from genperf.cli import decorators as shared
from genperf.cli.decorators import option
from genperf.cli.output import Output

if TYPE_CHECKING:
    from genperf.cli.options import Fitted


@shared.command("compare")
@shared.source("model", metavar="MODEL|TABLE")
@shared.table_options
@shared.option_group(
    "The question",
    shared.ONE_AT,
    option(
        "--over",
        metavar="FACTOR",
        help="Compare the levels of this factor, or groups that differ in it; all of them where omitted.",
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
    from genperf.panel.phrases import SeveralValuesError
    from genperf.search.compare import bandwidth_of_runs
    from genperf.table.shape import VARIANT

    over, changes = alternatives(over=over, changes=changes)
    if over is not None and changes:
        raise click.UsageError("give either --over or --or")

    def configured(at: Sequence[str], over: str | None) -> tuple[Fitted, dict[str, str], str | None]:
        """Return the models, the configuration they are asked about, and what is compared."""
        fitted = model_or_table(model, roles, *at, *(filter(None, [over]) if over != VARIANT else ()))
        return *configuration(at, "--at", fitted, bandwidth_of_runs, ("each", "best"), about), over

    try:
        fitted, wanted, over = configured(at, over)
    except SeveralValuesError as error:
        # `fp16 vs fp32 on 64 gpus` says the configuration and its changes.
        if changes or over is not None or len({frozenset(place) for place in error.places}) != 1:
            raise
        places = [[f"{name}={value}" for name, value in place.items()] for place in error.places]
        shared = [text for text in places[0] if all(text in place for place in places)]
        changes = tuple(",".join(text for text in place if text not in shared) for place in places)
        fitted, wanted, over = configured(shared, None)
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
