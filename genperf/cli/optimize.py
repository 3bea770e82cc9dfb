"""`genperf optimize`: a fitted model over a grid of configurations → the best of them."""

from __future__ import annotations

import click

from genperf.cli.options import names_of, number, once, one_group, output_options
from genperf.cli.output import csv_text, say, show_frame, show_json
from genperf.cli.writing import raw_option, writable, write_whole


@click.command("optimize")
@click.argument("model")
@click.option(
    "--over",
    metavar="NAME=VALUES",
    multiple=True,
    required=True,
    help="The factors to vary: workers=1:256, nodes=1:64:*2, memory=8:64:8, batch=32,64, precision=fp16,fp32.",
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
    "--deadline", metavar="SECONDS", type=float, help="For all steps; the upper end of the interval keeps it."
)
@click.option("--fits", default=0.95, show_default=True, type=float, help="Least probability that a run does not fail.")
@click.option("--trusted", is_flag=True, help="Only configurations with the verdict ok or caution.")
@click.option(
    "--capacity", metavar="NAME=X", multiple=True, help="Of a model of memory, say: memory_gb=80 is kept as by --fits."
)
@click.option("--machines", metavar="FORMULA", help="The number of machines; nodes, or else workers, where omitted.")
@click.option(
    "--price", metavar="X/TIME", default="1", help="Of a machine: 3.06/h; or a formula of a machine and a second."
)
@click.option("--interval", default=0.9, show_default=True, type=float, help="Nominal coverage of the intervals.")
@click.option("--top", default=10, show_default=True, type=click.IntRange(min=1), help="How many to show.")
@click.option("--group", metavar="A,B", help="Which group's model, for a model fitted with --group.")
@click.option("-o", "--output", callback=writable, metavar="CSV", help="Write the best configurations here.")
@raw_option
@output_options
def command(
    model: str,
    over: tuple[str, ...],
    where: tuple[str, ...],
    minimize: str | None,
    maximize: str | None,
    steps: str | None,
    deadline: float | None,
    fits: float,
    trusted: bool,
    capacity: tuple[str, ...],
    machines: str | None,
    price: str,
    interval: float,
    top: int,
    group: str | None,
    output: str | None,
    as_json: bool,
    quiet: bool,
    no_color: bool,
    raw: bool,
) -> None:
    """Find the configuration for which MODEL's time, or a cost, is least.

    Every combination is evaluated. For a table of step times, least time per step is not least time for the training:
    --minimize "time/(workers*batch)" is the time per sample, and --steps "EPOCHS*SAMPLES/(workers*batch)" makes the
    time, the cost and the deadline those of the whole training. A count that is still used well: --where
    "time_1/time >= 0.8" with a fixed batch per worker, "time_1/(workers*time) >= 0.8" with a fixed amount of work.
    """
    from genperf.advice import Goal, Job, optimize
    from genperf.result import load_model

    if minimize is not None and maximize is not None:
        raise click.UsageError("give either --minimize or --maximize")
    most = {name: number(text, "--capacity") for name, text in once(capacity, "--capacity").items()}
    fitted = one_group(load_model(model), group, model)
    optimum = optimize(
        fitted,
        dict(once(over, "--over", names_of(fitted))),
        where,
        minimize,
        goal=Goal(maximize, deadline, fits, trusted, most),
        interval=interval,
        job=Job(steps, machines, per_second(price)),
        top=top,
    )
    if output:
        write_whole(output, csv_text(optimum.best, raw))
        say(f"wrote {output}", quiet)
    if as_json:
        show_json(optimum.to_dict())
        return
    if not output or not quiet:
        for title, frame in optimum.tables():
            show_frame(frame, title, plain=no_color)
        click.echo(optimum.reason)
    for note in optimum.notes:
        say(f"note: {note}", quiet)


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
