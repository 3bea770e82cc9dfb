"""`genperf suggest`: a fitted model and a target → what to measure next."""

from __future__ import annotations

from typing import Any

import click
from msgspec.structs import replace

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
    shared.TARGET(help="The configuration to decide about: gpus=64; twice the largest count where omitted."),
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
    from genperf.words.numbers import heading, singular, suited_unit, with_article

    every = model_or_table(model, roles, *target)
    every, wanted = configuration(target, "--at (--target)", every, heeded=("next",))
    single(wanted)
    _, fitted = one_group(every, group, model, wanted)
    wanted = {name: value for name, value in wanted.items() if name not in every.group}
    suggestion = search.suggest(fitted, wanted, **about)
    if out.written(suggestion, suggestion.chosen):
        return
    if len(suggestion.candidates):
        settings = [f.name for f in fitted.schema.factors]
        quantity, worker = suggestion.quantity, fitted.panel.counted
        size, unit = suited_unit(float(suggestion.candidates[quantity.name].iloc[0]), quantity.unit)
        candidates = suggestion.candidates.drop(columns="gain_per_cost").assign(
            width=[f"±{100.0 * width:.3g} %" for width in suggestion.candidates["width"]],
            gain=[f"{100.0 * gain:.0f} %" for gain in suggestion.candidates["gain"]],
            **{quantity.name: suggestion.candidates[quantity.name] / size},
        )
        # Of a measured throughput, the seconds of one sample say nothing to anybody.
        if suggestion.throughput and quantity.throughput:
            candidates = candidates.drop(columns=quantity.name)
        printed, same = for_people(candidates, settings, suggestion.target)
        of_what = "a new run" if about["band"] == "prediction" else "the mean"
        cost = about["cost"]
        name = "worker" if worker is None else singular(worker.name)
        timed = fitted.panel.timed if fitted.schema.of_steps else f"{singular(quantity.samples)} on each"
        usual = f"{name}-seconds of {with_article(timed)}"
        price = usual if cost == "workers" else cost if "time" in cost else f"time × {cost}"
        title = f"what one more measurement would do to the interval of {of_what}"
        title += f", the best for its cost ({price}) first{f'; each at {same}' if same else ''}"
        heads = {"width": "width after", "gain": "narrower by", quantity.name: heading(replace(quantity, unit=unit))}
        out.frame(printed.rename(columns=heads), title)
    tell(suggestion.sentence)
