"""`genperf optimize`: a fitted model over a grid of configurations → the best of them."""

from types import SimpleNamespace
from typing import Any

import click

from genperf.cli.options import amount_of, capacities, configuration, model_or_table, one_group
from genperf.cli.output import Output, tell
from genperf.errors import GenperfError
from genperf.formula.amounts import with_amounts
from genperf.panel.quantities import price_of
from genperf.search import Goal, Job, layouts, optimize


def run(o: SimpleNamespace, out: Output) -> None:
    """Evaluate the grid, and print the best configurations with what they are the best of."""
    if not o.over and o.devices is None:
        raise click.UsageError(
            "give the factors to vary (--over), or the devices to split a transformer over (--devices)"
        )
    for one, other in (("minimize", "maximize"), ("steps", "samples")):
        if getattr(o, one) is not None and getattr(o, other) is not None:
            raise click.UsageError(f"give either --{one} or --{other}")
    minimize, maximize, steps = (None if t is None else with_amounts(t) for t in (o.minimize, o.maximize, o.steps))
    loaded = model_or_table(o.model)
    fitted = loaded if o.group is None else one_group(loaded, o.group, o.model)
    most = capacities(o.capacity, fitted)
    varied: dict[str, Any] = {**configuration(o.over, "--over", fitted)}
    conditions = [with_amounts(text) for text in o.where]
    if o.devices is not None:
        proposed = layouts(fitted.first, o.devices, varied, conditions)
        varied, conditions = proposed.over, proposed.where
        out.notes(proposed.notes)
    deadline, budget, samples = (amount_of(getattr(o, n), f"--{n}") for n in ("deadline", "budget", "samples"))
    optimum = optimize(
        fitted,
        varied,
        conditions,
        minimize,
        goal=Goal(maximize, deadline, budget, o.fits, o.trusted, most),
        interval=o.interval,
        job=Job(steps, o.per, per_second(o.price), samples, o.price if "/" in o.price else ""),
        top=o.top,
    )
    if out.written(optimum, optimum.best):
        return
    if not out.output or not out.quiet:
        for title, frame in optimum.tables:
            out.frame(frame, title)
        tell(optimum.reason)
    out.notes(optimum.notes)


def per_second(price: str) -> str:
    """Return a price of a machine and a second: of `3.06/h` the number, of a formula the formula.

    Examples
    --------
    >>> per_second("3.6/h"), per_second("2 + batch/16")
    ('0.001', '2 + batch/16')
    """
    try:
        return repr(price_of(price).per_second)
    except GenperfError:
        return price
