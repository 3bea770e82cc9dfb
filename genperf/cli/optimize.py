"""`genperf optimize`: a fitted model over a grid of configurations → the best of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from genperf.cli import decorators as shared
from genperf.cli.decorators import option
from genperf.cli.output import Output
from genperf.errors import GenperfError, attempted

if TYPE_CHECKING:
    from genperf.result import FitResult


#: Options of the aim that are formulas.
FORMULAS = ("minimize", "maximize", "steps", "work", "per", "price")


@shared.command("optimize")
@shared.source("model", metavar="MODEL|TABLE")
@shared.table_options
@shared.option_group(
    "The grid",
    option(
        "--over",
        "--at",
        "over",
        metavar="NAME=VALUES",
        multiple=True,
        callback=shared.assignments,
        help="The factors to vary: workers=1:256, nodes=1:64:*2, memory=8:64:8, batch=32,64, precision=fp16,fp32.",
    ),
    option(
        "--devices",
        metavar="N",
        type=click.IntRange(min=1),
        help="Every split of a transformer over N devices; --over fixes or varies what else there is.",
    ),
    option("--where", metavar="FORMULA", multiple=True, help="A condition: 'workers*batch <= 8192'; may be repeated."),
    option("--fits", default=0.95, help="Least probability that a run does not fail."),
    option("--trusted", is_flag=True, help="Only configurations with the verdict ok or caution."),
    option("--capacity", metavar="NAME=X", multiple=True, help="Of a model of memory, say: memory_gb=80."),
    shared.GROUP,
)
@shared.one_parameter(
    "aim",
    dict,
    "The aim",
    option(
        "--minimize",
        metavar="time|cost|FORMULA",
        help="The prediction if omitted; with --deadline cost. A formula reads factors, time, time_1 (on one), cost.",
    ),
    option("--maximize", metavar="FORMULA", help="A formula that is to be large, instead of --minimize."),
    option("--steps", metavar="FORMULA", help="The number of steps: '90*1281167/(workers*batch)'; one where omitted."),
    shared.WORK,
    shared.SAMPLES,
    shared.TOKENS,
    shared.DEADLINE,
    shared.BUDGET,
    option("--per", "--machines", metavar="FORMULA", help="What --price is paid for; the workers where omitted."),
    option("--price", metavar="X/h", default="1", help="Of one worker or --per: 2/h; or a formula, for a second."),
    shared.INTERVAL,
    option("--top", default=10, type=click.IntRange(min=1), help="How many to show; of a Pareto front at least five."),
)
@shared.shown(*shared.RESULT, shared.output("CSV", "Write the best configurations here."), shared.RAW)
def optimize(
    model: str,
    over: tuple[str, ...],
    devices: int | None,
    where: tuple[str, ...],
    fits: float,
    trusted: bool,
    capacity: tuple[str, ...],
    group: str | None,
    aim: dict[str, Any],
    roles: dict[str, Any],
    out: Output,
) -> None:
    """Find the configuration for which MODEL's throughput is most, or its time, a cost or a formula least.

    Every combination is evaluated. Where the work of a step is known and varies, the aim is the most throughput; else
    the least time. --samples 300B, --tokens 300B of a transformer, or --steps "EPOCHS*SAMPLES/(workers*batch)", makes
    the time, the cost and the deadline those of the whole training, and the least time the aim; with --deadline the
    least cost. A count that is still
    used well: --where "time_1/time >= 0.8" with a fixed batch per worker, "time_1/(workers*time) >= 0.8" with a fixed
    amount of work.
    """
    from genperf import search
    from genperf.asking.ask import check_steps, question_of, work_of
    from genperf.cli.options import amount_of, capacities, configuration, model_or_table, one_group, with_lists
    from genperf.formula import names_read
    from genperf.formula.amounts import with_amounts
    from genperf.panel.phrases import CHEAPEST, OF_STEPS
    from genperf.panel.quantities import price_of, training_of
    from genperf.search.space import devices_to_split, usual_grid
    from genperf.vocabulary.names import words_in

    asks_cheapest = any(CHEAPEST & words_in(text) for text in over)
    aim |= _one_of(aim, "minimize", "maximize") | _one_of(aim, "steps", "samples", "tokens")
    formulas = {name: with_amounts(aim[name]) for name in FORMULAS if aim[name] is not None}
    conditions = [with_amounts(text) for text in where]
    limited = {text.partition("=")[0].strip() for text in capacity} | names_read(conditions)
    loaded, over = with_lists(partial(model_or_table, model, roles, limited=limited), over)
    read = [text for text in (*conditions, *formulas.values()) if text]
    chosen = loaded if group is None else one_group(loaded, group, model)[1]
    beside = partial(in_formulas, formulas=read)
    (fitted, texts), _ = with_lists(
        lambda *question: configuration(question, "--over", chosen, beside, ("best", "each", "cost"), aim), over
    )
    if asks_cheapest and not {"minimize", "maximize"} & formulas.keys():
        formulas["minimize"] = "cost"
    if devices is None and {*texts} <= {*fitted.first.panel.group}:
        grid = usual_grid(chosen.results.values())
        if not grid:
            what = "give the factors to vary (--over), or the devices to split a transformer over (--devices)"
            raise click.UsageError(what)
        out.note(f"not given, and varied: {', '.join(grid)}; --over varies other factors, or other counts")
        fitted, counts = configuration(grid, "--over", fitted)
        texts = {**counts, **texts}
    if devices is None and (to_split := devices_to_split(fitted.first, texts)) is not None:
        devices, texts = to_split, {}
    aim |= _one_of(aim, "steps", "samples", "tokens")
    if (steps := str(aim["samples"] or "").removesuffix(OF_STEPS)) != str(aim["samples"] or ""):
        # `1000 steps` in words
        question = question_of(work=aim["work"]).about(fitted.first, {})
        check_steps(work_of(fitted.first, question), question.steps)
        formulas["steps"], aim["samples"] = with_amounts(steps), None
    limits, varied = capacities(capacity, fitted), dict[str, Any](texts)
    if devices is not None:
        proposed = search.layouts(fitted.first, devices, varied, conditions)
        varied, conditions = proposed.over, proposed.where
        out.notes(proposed.notes)
    within, money, samples = (amount_of(aim[name], f"--{name}") for name in ("deadline", "budget", "samples"))
    # A price may be a formula, for a second.
    price = attempted(price_of, aim["price"])
    job = search.Job(
        steps=formulas.get("steps"),
        per=aim["per"],
        price=aim["price"] if isinstance(price, GenperfError) else repr(price.per_second),
        samples=samples,
        price_text=aim["price"] if "/" in aim["price"] else "",
        work=formulas.get("work"),
        tokens=training_of(aim["tokens"]).tokens,
    )
    most, settings = formulas.get("maximize"), {name: aim[name] for name in ("interval", "top")}
    goal = search.Goal(maximize=most, deadline=within, budget=money, fits=fits, trusted=trusted, capacity=limits)
    optimum = search.optimize(fitted, varied, conditions, formulas.get("minimize"), goal=goal, job=job, **settings)
    if out.written(optimum, optimum.best):
        return
    if not out.output or not out.quiet:
        out.lines([*optimum.tables, optimum.reason])
    out.notes(optimum.notes)


def _one_of(values: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return options of which one alone may be given."""
    from genperf.cli.options import alternatives

    options = dict(zip(names, alternatives(**{name: values[name] for name in names}), strict=True))
    if len(given_names := [f"--{name}" for name in names if options[name] is not None]) > 1:
        raise click.UsageError(f"give either {' or '.join(given_names)}")
    return options


def in_formulas(result: FitResult, values: Mapping[str, str], formulas: Iterable[str]) -> dict[str, str]:
    """Return the given values of names that are no factors, and that a formula reads."""
    from genperf.formula import names_read

    factors = {factor.name: factor.numeric for factor in result.panel.factors}
    names = names_read(formulas, [name for name, numeric in factors.items() if not numeric])
    return {n: text for n, text in values.items() if n in names and result.panel.meant(n) == n and n not in factors}
