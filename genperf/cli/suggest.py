"""`genperf suggest`: a fitted model and a target → what to measure next."""

from __future__ import annotations

from typing import Any

import click

from genperf.cli import decorators as shared
from genperf.cli.decorators import option
from genperf.cli.output import Output, tell


def _share(ctx: click.Context, param: click.Parameter, text: str | None) -> float | None:
    """Return `10%` or `0.1` as a share, as click's callback."""
    from genperf.cli.options import number

    if text is None:
        return None
    value = number(text.strip().removesuffix("%").strip(), "--within")
    return value / 100.0 if text.strip().endswith("%") else value


@shared.command("suggest")
@shared.source("model", metavar="MODEL|TABLE")
@shared.table_options
@shared.option_group(
    "The question",
    shared.TARGET(required=True, help="The configuration to decide about: gpus=64; other factors are as measured."),
    shared.GROUP,
)
@shared.one_parameter(
    "about",
    dict,
    "The question",
    option(
        "--cost",
        metavar="FORMULA",
        default="workers",
        help="Cost of a second, over the factors; workers: machine-seconds. A formula with time is the whole cost.",
    ),
    option("--candidates", metavar="CSV", help="What could be measured; powers of two below the target where omitted."),
    option("-k", "--count", "k", default=1, type=click.IntRange(min=1), help="How many to choose."),
    option("--within", metavar="10%|0.1", callback=_share, help="The half width (of --band) to reach."),
    shared.WORK,
    shared.INTERVAL,
    option(
        "--band",
        default="confidence",
        type=click.Choice(["confidence", "prediction"]),
        help="Widths and gains are those of the mean, or of a new run.",
    ),
)
@shared.shown(*shared.RESULT, shared.output("CSV", "Write what to measure here."), shared.RAW)
def suggest(
    model: str, target: tuple[str, ...], group: str | None, about: dict[str, Any], roles: dict[str, Any], out: Output
) -> None:
    """Choose what to measure next, so that the interval of MODEL at a target narrows most for its cost."""
    from genperf import search
    from genperf.attribution.answers import for_people
    from genperf.cli.options import configuration, model_or_table, one_group, single

    every = model_or_table(model, roles, *target)
    every, wanted = configuration(target, "--at (--target)", every)
    single(wanted)
    _, fitted = one_group(every, group, model, wanted)
    wanted = {name: value for name, value in wanted.items() if name not in every.group}
    suggestion = search.suggest(fitted, wanted, **about)
    if out.written(suggestion, suggestion.chosen):
        return
    if len(suggestion.candidates):
        settings = [f.name for f in fitted.schema.factors]
        # Of a measured throughput, the seconds of one sample say nothing to anybody.
        unread = [suggestion.quantity.name] if suggestion.throughput and suggestion.quantity.throughput else []
        shares = {name: suggestion.candidates[name] for name in ("width", "gain")}
        candidates = suggestion.candidates.drop(columns=["gain_per_cost", *unread]).assign(
            width=[f"±{100.0 * width:.3g} %" for width in shares["width"]],
            gain=[f"{100.0 * gain:.0f} %" for gain in shares["gain"]],
        )
        printed, same = for_people(candidates, settings, suggestion.target)
        of_what = "a new run" if about["band"] == "prediction" else "the mean"
        cost = about["cost"]
        price = "worker-seconds of one step" if cost == "workers" else cost if "time" in cost else f"time × {cost}"
        heading = (
            f"what one more measurement would do to the interval of {of_what}, the best for its cost ({price}) first"
        )
        out.frame(
            printed.rename(columns={"width": "width after", "gain": "narrower by"}),
            heading + (f"; each at {same}" if same else ""),
        )
    tell(suggestion.sentence)
