"""`genperf suggest`: a fitted model and a target → what to measure next."""

from __future__ import annotations

from typing import Literal

import click

from genperf.cli.messages import tell
from genperf.cli.options import model_or_table, number, one_group
from genperf.cli.output import Output, for_people, results, show_json
from genperf.cli.shown import target_of


@click.command("suggest")
@click.argument("model", metavar="MODEL|TABLE")
@click.option(
    "--target",
    metavar="FACTOR=V",
    multiple=True,
    required=True,
    help="The configuration to decide about: workers=64; factors left out are at the centre of the data.",
)
@click.option(
    "--cost",
    default="workers",
    show_default=True,
    metavar="FORMULA",
    help="Cost of a second, over the factors; workers: machine-seconds. A formula with time is the whole cost.",
)
@click.option(
    "--candidates",
    metavar="CSV",
    help="Configurations that could be measured; powers of two below the target where omitted.",
)
@click.option(
    "-k", "--count", "k", default=1, show_default=True, type=click.IntRange(min=1), help="How many to choose."
)
@click.option("--within", metavar="10%|0.1", help="The half width of the target's interval to reach.")
@click.option("--interval", default=0.9, show_default=True, type=float, help="Nominal coverage of the interval.")
@click.option(
    "--band",
    default="confidence",
    show_default=True,
    type=click.Choice(["confidence", "prediction"]),
    help="Of the mean, or of a new run.",
)
@click.option("--group", metavar="A,B", help="Which group's model, for a model fitted with --group.")
@results(csv="Write what to measure here.")
def command(
    model: str,
    target: tuple[str, ...],
    cost: str,
    candidates: str | None,
    k: int,
    within: str | None,
    interval: float,
    band: Literal["confidence", "prediction"],
    group: str | None,
    out: Output,
) -> None:
    """Choose what to measure next, so that the interval of MODEL at a target narrows most for its cost."""
    from genperf.advice import suggest

    fitted = one_group(model_or_table(model), group, model)
    suggestion = suggest(
        fitted,
        target_of(target, fitted),
        cost=cost,
        candidates=candidates,
        k=k,
        within=None if within is None else _share(within),
        interval=interval,
        band=band,
    )
    out.write(suggestion.chosen)
    if out.as_json:
        show_json(suggestion.to_dict())
        return
    if len(suggestion.candidates):
        settings = [f.name for f in fitted.schema.factors]
        shown, same = for_people(suggestion.candidates, settings, suggestion.target)
        heading = "what one more measurement would do, the best first"
        out.frame(shown, heading + (f"; each at {same}" if same else ""))
    tell(suggestion.sentence)


def _share(text: str) -> float:
    """Read `10%` or `0.1`."""
    stripped = text.strip()
    if stripped.endswith("%"):
        return number(stripped[:-1].strip(), "--within") / 100.0
    return number(stripped, "--within")
