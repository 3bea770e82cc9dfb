"""`genperf ask`: a table and one configuration → five plain sentences."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from genperf.cli.options import HINT, once, output_options, pairs, read, table_options
from genperf.cli.output import show_json
from genperf.cli.shown import training_of
from genperf.cli.tell import tell
from genperf.errors import GenperfError

if TYPE_CHECKING:
    from genperf.table import Table

#: The kinds of notes that an answer repeats, of the table and of the fit.
TABLE_NOTES = ("rows_rejected", "runs_failed", "job", "job_likely", "repeats_apart", "shape")
FIT_NOTES = ("hint", "hint_contradicted", "outlier", "mixture")


@click.command("ask")
@click.argument("table")
@click.option("--at", metavar="FACTOR=V", multiple=True, required=True, help="The configuration: gpus=64.")
@click.option("--price", metavar="X/h", help="Of one machine: 2/h; also /s, /min and /d.")
@click.option("--per", metavar="COL", help="What the price is for: gpus or nodes; the workers where omitted.")
@click.option("--tokens", metavar="N", help="Of a transformer: the days and the cost of so many tokens, as 300B.")
@click.option("--peak", metavar="DEVICE", help="Of a transformer: MFU, of a device's peak; a100, or 312T operations/s.")
@click.option("--map", "mapping", metavar="FACTOR=COL", multiple=True, help="The column of a field's name.")
@HINT
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0))
@table_options
@output_options
def command(
    table: str,
    at: tuple[str, ...],
    price: str | None,
    per: str | None,
    tokens: str | None,
    peak: str | None,
    mapping: tuple[str, ...],
    hints: tuple[str, ...],
    seed: int,
    as_json: bool,
    quiet: bool,
    no_color: bool,
    **given: Any,
) -> None:
    """Answer five questions about one configuration from TABLE, whose columns are recognised by their names.

    A role that is given as an option is not guessed.
    """
    from genperf.advice.ask import Question, ask
    from genperf.attribution.derived import price_of
    from genperf.fitting import fit_group
    from genperf.models.guess import guess_roles
    from genperf.table.columns import Columns
    from genperf.table.jobs import taken_as_job
    from genperf.table.roles import lets_of
    from genperf.table.understood import understood
    from genperf.words.numbers import join_values, samples_called

    paid = None if price is None else price_of(price, per)
    source = understood(table, given["delimiter"])
    also = {text.partition("=")[2].rpartition(":")[0] or text.partition("=")[2] for text in given["also"]}
    derived = Columns(source)
    lets = {name: derived.derive(name, text) for name, text in lets_of(given["let"]).items()}
    cells = {name: column for name, column in {**source.columns, **lets}.items() if name not in also}
    guess = guess_roles(cells, given, pairs(mapping, "--map"), once(at, "--at"))
    work, measured = given["work"], guess.roles.get("throughput")
    given.update(guess.roles)
    given["let"] = (*given["let"], *(f"{name}={formula}" for name, formula in guess.derived.items()))
    given["failed"] = (guess.roles["failed"],) if "failed" in guess.roles else given["failed"]
    given["work"] = work if measured else None
    # The question is about the whole: rows that cannot be read are left out, and counted.
    given["skip_bad_rows"] = True
    # Standard input is read once.
    whole = read(table if table != "-" else source.frame, given)
    whole = taken_as_job(whole)
    wanted = guess.at(once(at, "--at"))
    _refuse_several(wanted, whole)
    values = _one_series(whole, wanted)
    result = fit_group(whole, tuple(values.values()), guess.mapping, seed, once(hints, "--hint"))
    constants = {name: float(text) for name, text in values.items() if text.replace(".", "", 1).isdigit()}
    configuration = {name: value for name, value in wanted.items() if name not in values}
    sample = samples_called(measured) if measured else "samples"
    steps = not measured or bool(work)
    training = training_of(tokens, peak)
    question = Question(work, sample, paid, per, constants, steps=steps, training=training)
    answer = ask(result, configuration, question)
    if as_json:
        show_json(
            {"roles": guess.roles, "mapping": guess.mapping, "left_out": list(guess.left_out), **answer.to_dict()}
        )
        return
    if not quiet:
        left = f"; left out: {', '.join(guess.left_out)}" if guess.left_out else ""
        tell(f"{guess}{left}")
        for notes, kinds in ((whole.notes, TABLE_NOTES), (result.notes, FIT_NOTES)):
            for note in notes:
                if note.kind in kinds:
                    tell(note.text)
        if answer.taken:
            tell(f"not given, and taken at: {join_values(answer.taken)}; --at sets them")
    tell(str(answer))


def _refuse_several(wanted: dict[str, str], table: Table) -> None:
    """Refuse several values of a count or another number: the answer is about one configuration."""
    numeric = {f.name for f in table.numeric}
    for name, text in wanted.items():
        if name in numeric and {",", ":"} & {*text}:
            raise GenperfError(
                f"ask answers for one configuration, and {name}={text} is several",
                hint=f"one value, such as {name}={re.split('[,:]', text)[0]}; predict and optimize take several",
            )


def _one_series(table: Table, wanted: dict[str, str]) -> dict[str, str]:
    """Return the values of the group that is asked about; none where the table is one."""
    if not table.group:
        return {}
    groups = dict(table.groups())
    named = {name: value for name, value in wanted.items() if name in table.group}
    fits = [key for key in groups if all(key[table.group.index(n)] == v for n, v in named.items())]
    if not fits:
        known = "; ".join(", ".join(key) for key in list(groups)[:4])
        text = ", ".join(f"{n}={v}" for n, v in named.items())
        raise GenperfError(f"no run has {text}", hint=f"one of {known}")
    if len(fits) > 1:
        open_ = [n for j, n in enumerate(table.group) if len({key[j] for key in fits}) > 1]
        choices = sorted({key[table.group.index(open_[0])] for key in fits})
        raise GenperfError(
            f"the table holds {len(fits)} series, which differ in {', '.join(open_)}",
            hint=f"name one: --at {open_[0]}={choices[0]}; the values are {', '.join(choices[:6])}",
        )
    return dict(zip(table.group, fits[0], strict=True))
