"""`genperf suggest`: a fitted model and a target → what to measure next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from genperf.cli import decorators as shared
from genperf.cli.decorators import option
from genperf.cli.output import Output, tell

if TYPE_CHECKING:
    from genperf.prediction.bands import Band


@shared.command("suggest")
@shared.source("model", metavar="MODEL|TABLE")
@shared.table_options
@shared.option_group(
    "The question",
    shared.TARGET(required=True, help="The configuration to decide about: gpus=64; other factors are as measured."),
    option(
        "--cost",
        metavar="FORMULA",
        default="workers",
        help="Cost of a second, over the factors; workers: machine-seconds. A formula with time is the whole cost.",
    ),
    option("--candidates", metavar="CSV", help="What could be measured; powers of two below the target where omitted."),
    option("-k", "--count", default=1, type=click.IntRange(min=1), help="How many to choose."),
    option("--within", metavar="10%|0.1", help="The half width of the target's interval to reach."),
    shared.WORK,
    shared.INTERVAL,
    option(
        "--band",
        default="confidence",
        type=click.Choice(["confidence", "prediction"]),
        help="Of the mean, or of a new run.",
    ),
    shared.GROUP,
)
@shared.shown(*shared.RESULT, shared.output("CSV", "Write what to measure here."), shared.RAW)
def suggest(
    model: str,
    target: tuple[str, ...],
    cost: str,
    candidates: str | None,
    count: int,
    within: str | None,
    work: str | None,
    interval: float,
    band: Band,
    group: str | None,
    roles: dict[str, Any],
    out: Output,
) -> None:
    """Choose what to measure next, so that the interval of MODEL at a target narrows most for its cost."""
    from genperf import search
    from genperf.attribution.answers import for_people
    from genperf.cli.options import configuration, group_at, model_or_table, number, one_group

    # `10%` or `0.1`.
    percent = within is not None and within.strip().endswith("%")
    share = None if within is None else number(within.strip().removesuffix("%").strip(), "--within")
    every = model_or_table(model, roles, *target)
    every, wanted = configuration(target, "--at (--target)", every)
    fitted = one_group(every, group_at(every, group, wanted), model)
    suggestion = search.suggest(
        fitted,
        {name: value for name, value in wanted.items() if name not in every.group},
        within=share / 100.0 if share is not None and percent else share,
        cost=cost,
        candidates=candidates,
        k=count,
        interval=interval,
        work=work,
        band=band,
    )
    if out.written(suggestion, suggestion.chosen):
        return
    if len(suggestion.candidates):
        settings = [f.name for f in fitted.schema.factors]
        # Of a measured throughput, the seconds of one sample say nothing to anybody.
        unread = [suggestion.quantity.name] if suggestion.throughput and suggestion.quantity.throughput else []
        printed, same = for_people(suggestion.candidates.drop(columns=unread), settings, suggestion.target)
        heading = "what one more measurement would do, the best first"
        out.frame(printed, heading + (f"; each at {same}" if same else ""))
    tell(suggestion.sentence)
