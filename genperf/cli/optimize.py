"""`genperf optimize`: a fitted model over a grid of configurations → the best of them."""

from __future__ import annotations

from typing import Any

import click

from genperf.cli.messages import tell
from genperf.cli.options import model_or_table, names_of, once, one_group
from genperf.cli.output import Output, results, show_json
from genperf.cli.shown import amount_of, capacities, plain_amount
from genperf.formula.amounts import with_amounts


@click.command("optimize")
@click.argument("model", metavar="MODEL|TABLE")
@click.option(
    "--over",
    metavar="NAME=VALUES",
    multiple=True,
    help="The factors to vary: workers=1:256, nodes=1:64:*2, memory=8:64:8, batch=32,64, precision=fp16,fp32.",
)
@click.option(
    "--devices",
    metavar="N",
    type=click.IntRange(min=1),
    help="Every split of a transformer over N devices; --over fixes or varies what else there is.",
)
@click.option(
    "--where", metavar="FORMULA", multiple=True, help="A condition: 'workers*batch <= 8192'; may be repeated."
)
@click.option(
    "--minimize",
    default=None,
    metavar="time|cost|FORMULA",
    help="The prediction if omitted. A formula may use factors, time, time_1 (on one worker), total, machines, cost.",
)
@click.option("--maximize", metavar="FORMULA", help="A formula that is to be large, instead of --minimize.")
@click.option(
    "--steps", metavar="FORMULA", help="The number of steps: '90*1281167/(workers*batch)'; one where omitted."
)
@click.option(
    "--samples", metavar="N", help="The work in all, in place of --steps, in the unit of the throughput or batch: 300B."
)
@click.option("--deadline", metavar="SECONDS", help="For all steps, as 30d; the upper end of the interval keeps it.")
@click.option("--budget", metavar="X", help="What all steps may cost, in the unit of --price; kept like the deadline.")
@click.option("--fits", default=0.95, show_default=True, type=float, help="Least probability that a run does not fail.")
@click.option("--trusted", is_flag=True, help="Only configurations with the verdict ok or caution.")
@click.option(
    "--capacity", metavar="NAME=X", multiple=True, help="Of a model of memory, say: memory_gb=80 is kept as by --fits."
)
@click.option(
    "--per", "--machines", "per", metavar="FORMULA", help="What --price is paid for; the workers where omitted."
)
@click.option(
    "--price", metavar="X/TIME", default="1", help="Of one worker or --per, as 2/h; or a formula, for a second."
)
@click.option("--interval", default=0.9, show_default=True, type=float, help="Nominal coverage of the intervals.")
@click.option("--top", default=10, show_default=True, type=click.IntRange(min=1), help="How many to show.")
@click.option("--group", metavar="A,B", help="One group's model, for a model fitted with --group; all where omitted.")
@results(csv="Write the best configurations here.")
def command(
    model: str,
    over: tuple[str, ...],
    devices: int | None,
    where: tuple[str, ...],
    minimize: str | None,
    maximize: str | None,
    steps: str | None,
    samples: str | None,
    deadline: str | None,
    budget: str | None,
    fits: float,
    trusted: bool,
    capacity: tuple[str, ...],
    per: str | None,
    price: str,
    interval: float,
    top: int,
    group: str | None,
    out: Output,
) -> None:
    """Find the configuration for which MODEL's throughput is most, or its time, a cost or a formula least.

    Every combination is evaluated. Where the work of a step is known and varies, the aim is the most throughput; else
    the least time. --samples 300B, or --steps "EPOCHS*SAMPLES/(workers*batch)", makes the time, the cost and the
    deadline those of the whole training, and the least time the aim. A count that is still used well: --where
    "time_1/time >= 0.8" with a fixed batch per worker, "time_1/(workers*time) >= 0.8" with a fixed amount of work.
    """
    from genperf.advice import Goal, Job, layouts, optimize

    if not over and devices is None:
        raise click.UsageError(
            "give the factors to vary (--over), or the devices to split a transformer over (--devices)"
        )
    if minimize is not None and maximize is not None:
        raise click.UsageError("give either --minimize or --maximize")
    if steps is not None and samples is not None:
        raise click.UsageError("give either --steps or --samples")
    minimize, maximize, steps = (None if t is None else with_amounts(t) for t in (minimize, maximize, steps))
    loaded = model_or_table(model)
    fitted = loaded if group is None else one_group(loaded, group, model)
    most = capacities(capacity, fitted)
    varied: dict[str, Any] = {
        name: ",".join(map(_range, text.split(","))) for name, text in once(over, "--over", names_of(fitted)).items()
    }
    conditions = [with_amounts(text) for text in where]
    if devices is not None:
        proposed = layouts(fitted.first, devices, varied, conditions)
        varied, conditions = proposed.over, proposed.where
        for note in proposed.notes:
            out.note(f"note: {note}")
    optimum = optimize(
        fitted,
        varied,
        conditions,
        minimize,
        goal=Goal(maximize, amount_of(deadline, "--deadline"), amount_of(budget, "--budget"), fits, trusted, most),
        interval=interval,
        job=Job(steps, per, per_second(price), amount_of(samples, "--samples"), price if "/" in price else ""),
        top=top,
    )
    out.write(optimum.best)
    if out.as_json:
        show_json(optimum.to_dict())
        return
    if not out.output or not out.quiet:
        for title, frame in optimum.tables:
            out.frame(frame, title)
        tell(optimum.reason)
    for note in optimum.notes:
        out.note(f"note: {note}")


def _range(text: str) -> str:
    """Return a value or a range with its amounts as plain numbers; a label stays."""
    return ":".join(plain_amount(part) for part in text.split(":"))


def per_second(price: str) -> str:
    """Return a price of a machine and a second: of `3.06/h` the number, of a formula the formula.

    Examples
    --------
    >>> per_second("3.6/h"), per_second("2 + batch/16")
    ('0.001', '2 + batch/16')
    """
    from genperf.attribution.derived import price_of
    from genperf.errors import GenperfError

    try:
        return repr(price_of(price).per_second)
    except GenperfError:
        return price
