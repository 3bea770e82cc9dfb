"""`genperf explain`: terms, shares and elasticities of a fitted model; with options, knee, sensitivity, comparison."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
from msgspec.structs import replace

from genperf.cli import decorators as shared
from genperf.cli.decorators import option
from genperf.cli.output import Output, tell, tell_all
from genperf.cli.writing import made_folder, write_whole
from genperf.errors import GenperfError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from genperf.attribution import Explanation
    from genperf.attribution.equation import Style
    from genperf.panel import Table
    from genperf.result import FitResult, GroupedResult
    from genperf.scaling import Scaling

#: Languages of `genperf.reporting.engine`.
TARGETS = ("python", "latex", "javascript", "extra-p")


@shared.command("explain")
@shared.source("model", metavar="MODEL|TABLE")
@shared.table_options
@shared.option_group(
    "The question",
    shared.AT,
    shared.GROUP,
    shared.INTERVAL,
    option(
        "--versus",
        metavar="FACTOR=V,…",
        multiple=True,
        callback=shared.assignments,
        help="Explain the difference to this configuration: factors, or group columns, in which it differs from --at.",
    ),
    option("--members", is_flag=True, help="Also the terms of each member of an ensemble by itself."),
    option(
        "--to",
        metavar="LANGUAGE",
        type=click.Choice(TARGETS),
        help=f"Only the fitted formula, without its interval: {', '.join(TARGETS)}.",
    ),
    option("--latex", "to", flag_value="latex", help="As --to latex: the equation, with meaningful digits."),
    option(
        "--constants",
        metavar="STYLE",
        type=click.Choice(["markdown", "csv", "latex"]),
        help="Only the table of constants with intervals and statistics of the fit: markdown, csv or latex (booktabs).",
    ),
    option("--importance", metavar="TABLE", help="Permutation importance for learners on the table that was fitted."),
    option("--unit", metavar="UNIT", help="Of the times in the TABLE of --importance; by their name where omitted."),
)
@shared.option_group(
    "The scaling",
    option(
        "--knee",
        metavar="LEVEL",
        is_flag=False,
        flag_value="0.5",
        help="Efficiency, the count at which it falls below a level [0.5], where more workers are slower, crossovers.",
    ),
    shared.ALONG,
    option("--up-to", metavar="N", help="How far to look; 16 times the largest measured where omitted."),
    shared.SCALING,
)
@shared.option_group(
    "The causes of slow steps",
    option("--why", is_flag=True, help="Only these; --versus names runs that are sound."),
    shared.HINTS,
)
@shared.option_group(
    "The sensitivity",
    option(
        "--sobol",
        is_flag=False,
        flag_value="time",
        type=click.Choice(["time", "log"]),
        help="Sobol indices of the time (or other quantity) [time] or of its logarithm, over the measured domain.",
    ),
    option("--within", metavar="FACTOR=LOW,HIGH", multiple=True, help="Another domain for --sobol; or levels."),
    shared.SEED,
)
@shared.shown(
    *shared.RESULT,
    shared.output("FILE", "Of --to: write here; to standard output where omitted."),
    shared.plot(
        "Draw the terms along the count of workers; or what --versus, --sobol or --knee compute. Into a folder: the"
        " figures of a paper, as pdf. A picture"
    ),
)
def explain(
    model: str,
    at: tuple[str, ...],
    group: str | None,
    interval: float,
    versus: tuple[str, ...],
    members: bool,
    to: str | None,
    constants: Style | None,
    importance: str | None,
    unit: str | None,
    knee: str | None,
    along: str | None,
    up_to: str | None,
    scaling: Scaling | None,
    why: bool,
    hints: tuple[str, ...],
    sobol: Literal["time", "log"] | None,
    within: tuple[str, ...],
    seed: int,
    roles: dict[str, Any],
    out: Output,
) -> None:
    """Show which terms MODEL's time, or other quantity, is made of, and how each factor changes it."""
    from genperf import attribution, validation
    from genperf.attribution.equation import constants_table
    from genperf.cli.options import configuration, model_or_table, number, one_group, values_at, with_lists
    from genperf.reporting.engine import export

    if why:
        _show_causes(model, roles, group, at, versus, hints, out)
        return
    fitted, at = with_lists(lambda *question: model_or_table(model, roles, *question, *versus), at)
    fitted, values = values_at(at, "--at", fitted, ("why", "efficiency"))
    _, compared = configuration(versus, "--versus", fitted)
    key, chosen = one_group(fitted, group, model, values, unlike=compared)
    if to is not None:
        write_whole(out.output or "-", export(chosen, to).rstrip("\n") + "\n")
        return
    if constants is not None:
        write_whole(out.output or "-", constants_table(chosen, constants, interval) + "\n")
        return
    at_values = {name: cells for name, cells in values.items() if name not in fitted.group} or None
    of_groups = any(name in chosen.schema.group for name in compared)
    upto = number(up_to, "--up-to") if up_to is not None else None
    _, domain = values_at(within, "--within", fitted)
    explanation = attribution.explain(
        chosen,
        at_values,
        interval,
        versus=None if of_groups else compared or None,
        knee=False if knee is None else attribution.Knee(number(knee, "--knee"), along, upto, scaling),
        sobol=attribution.Sobol(sobol, domain, seed=seed) if sobol else False,
    )
    if of_groups:
        other_key, other = _other_group(fitted, key, compared)
        names = ", ".join(key), ", ".join(other_key)
        factors = {f.name: f for f in other.schema.factors if f.name not in other.schema.group}
        at_chosen = chosen.query(at_values).single("groups are compared at one configuration")
        # As far as the other group has the factors and levels.
        in_other = {n: v for n, v in at_chosen.items() if n in factors}
        at_other = {n: v for n, v in in_other.items() if factors[n].numeric or v in factors[n].levels}
        at_other |= {name: value for name, value in compared.items() if name in factors}
        comparison = attribution.compare(chosen, at_chosen, at_other, other=other, names=names, interval=interval)
        explanation = replace(explanation, comparison=comparison)
    if importance is not None:
        table = _read_again(chosen, key, importance, unit)
        explanation = replace(explanation, importance=validation.importance(table, seed=seed))
    if not out.written(explanation):
        _show(explanation, chosen, members, out)
    if out.plot and "." not in Path(out.plot).name:
        from genperf.plots import image, paper

        folder = made_folder(out.plot, ())
        for name, figure in paper(chosen, explanation, interval, seed).items():
            write_whole(str(folder / f"{name}.pdf"), image(figure, "pdf"))
            out.note(f"wrote {folder / f'{name}.pdf'}")
    else:
        out.draw(lambda: _figure(explanation, chosen, at_values, along, interval))


def _show_causes(
    model: str,
    roles: Mapping[str, Any],
    group: str | None,
    at: tuple[str, ...],
    versus: tuple[str, ...],
    hints: tuple[str, ...],
    out: Output,
) -> None:
    """Print the causes of slow steps; a table is read, and nothing is fitted to it."""
    from genperf.causes import why
    from genperf.cli.options import names_of, one_group, pairs, read
    from genperf.result import is_model, load_model
    from genperf.words.answer import parts_sentence
    from genperf.words.numbers import prose

    fitted = load_model(model) if is_model(model) else None
    key, slow = (), None  # type: tuple[str, ...], Any
    if fitted is None:
        slow = read(model, {**roles, "skip_bad_rows": True}, *at, *versus)
        names = [*(factor.name for factor in slow.factors), *slow.group]
    else:
        (key, slow), names = one_group(fitted, group, model), names_of(fitted)
    sound: Any = pairs(versus, "--versus", names)
    if fitted is not None and any(name in slow.schema.group for name in sound):
        _, sound = _other_group(fitted, key, sound)
    diagnosis = why(slow, pairs(at, "--at", names), sound=sound or None, hints=pairs(hints, "--hint"))
    if not out.written(diagnosis):
        legend = slow.panel.legend
        steps = () if legend is None else [part for part in legend.parts if {*part.levels.values()} <= {*key}]
        tell_all([*([prose(parts_sentence(steps, legend.scale))] if steps else []), str(diagnosis)])


def _other_group(
    fitted: FitResult | GroupedResult, key: tuple[str, ...], other: Mapping[str, str]
) -> tuple[tuple[str, ...], FitResult]:
    """Return the key and the model of the group that differs from one in some values."""
    other_key = tuple(other.get(name, value) for name, value in zip(fitted.group, key, strict=True))
    if other_key == key:
        raise GenperfError(f"{', '.join(key)} is compared with itself", hint="--at or --versus with another level")
    return other_key, fitted[other_key]  # type: ignore[index]


def _read_again(chosen: FitResult, key: tuple[str, ...], source: str, unit: str | None) -> Table:
    """Read a table with the roles of the model's, and return the rows of the model's group."""
    from genperf.result import read_as
    from genperf.table.opened import open_files

    table = read_as(open_files([source]), chosen.schema, unit)
    if not chosen.schema.group:
        return table
    tables = dict(table.groups())
    if key not in tables:
        raise GenperfError(f"there is no group {', '.join(key)}", where=source)
    return replace(tables[key], group=())


def _show(explanation: Explanation, chosen: FitResult, members: bool, out: Output) -> None:
    """Print an explanation below the formula, or the shares of an ensemble, and of what work the time is."""
    from genperf.cli.fitted import formula_lines, members_line
    from genperf.formula import quote_name

    target = chosen.schema.target
    tell_all(formula_lines(chosen) if chosen.is_formula else [members_line(chosen)])
    if target.samples == "tokens" and not chosen.panel.has("sequence") and not chosen.schema.of_steps:
        # The throughput counts tokens, the columns samples: their ratio is no time.
        explanation = replace(explanation, terms=explanation.terms.drop(columns=["seconds", "lower", "upper"]))
        lacks = "counts tokens and no column is the sequence length"
        tell(f"no seconds: {target.throughput} {lacks}; fit with --work, the tokens of a step")
    elif not chosen.schema.of_steps:
        # Of a throughput without the work of a step, the time is that of what it counts.
        tell(f"{target.name}: {target.work} / {quote_name(target.throughput or '')}")
    # Constants of terms that are zero are not read. Without its formula or members nobody has seen a constant's name.
    read = chosen.best.expression.without_zeros(chosen.best.values).constant_names
    unknown = [name for name in chosen.best.unidentified if name in read]
    if unknown and (members or chosen.is_formula):
        tell(f"not determined by this data: {', '.join(unknown)}")
    out.lines((explanation if members else replace(explanation, members=explanation.members[:0])).content)


def _figure(
    explanation: Explanation, result: FitResult, at: Mapping[str, Any] | None, along: str | None, interval: float
) -> Figure:
    """Draw a comparison, or else sensitivities, the efficiency, or the terms along the workers."""
    from genperf import plots
    from genperf.attribution import scaling
    from genperf.result import answering

    if explanation.comparison is not None:
        return plots.waterfall(explanation.comparison)
    if explanation.sensitivity is not None:
        return plots.sobol(explanation.sensitivity)
    if explanation.scaling is not None:
        return plots.efficiency(explanation.scaling)
    result = answering(result, at)
    configuration = {name: cells[0] for name, cells in result.query(at).columns.items()}
    return plots.terms(result, scaling(result, configuration, along=along, interval=interval))
