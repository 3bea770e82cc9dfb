"""`genperf ask`: a table and one configuration → an answer for each measured quantity, in plain sentences."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import click

from genperf.cli.messages import tell
from genperf.cli.options import HINT, once, recognised_table, table_options
from genperf.cli.output import Output, results, show_json
from genperf.cli.shown import training_of
from genperf.errors import GenperfError

if TYPE_CHECKING:
    from genperf.table.source import Source

#: A run without a file: the count and the throughput.
_RUN = re.compile(r"\d+:\d+(\.\d+)?([eE][+-]?\d+)?")


@click.command("ask")
@click.argument("table", nargs=-1, required=True)
@click.option(
    "--at",
    metavar="FACTOR=V",
    multiple=True,
    help="The configuration: gpus=64. A plan's count, or twice the largest, if omitted.",
)
@click.option("--want", metavar="QUANTITY", help="A measured column, or time, throughput, memory; all where omitted.")
@click.option("--price", metavar="X/h", help="Of one machine: 2/h; also /s, /min and /d.")
@click.option("--per", metavar="COL", help="What the price is for: gpus or nodes; the workers where omitted.")
@click.option("--samples", metavar="N", help="How many machines so much work takes, in the throughput's unit: 1.2B.")
@click.option("--deadline", metavar="TIME", help="Of --samples: 5d; the upper end of the interval keeps it.")
@click.option("--budget", metavar="X", help="Of --samples: the money that it may cost; the upper end keeps it.")
@click.option("--tokens", metavar="N", help="Of a transformer: the days and the cost of so many tokens, as 300B.")
@click.option("--peak", metavar="DEVICE", help="Of a transformer: MFU, of a device's peak; a100, or 312T operations/s.")
@click.option("--map", "mapping", metavar="FACTOR=COL", multiple=True, help="The column of a field's name.")
@HINT
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0))
@table_options
@results()
def command(
    table: tuple[str, ...],
    at: tuple[str, ...],
    want: str | None,
    price: str | None,
    per: str | None,
    samples: str | None,
    deadline: str | None,
    budget: str | None,
    tokens: str | None,
    peak: str | None,
    mapping: tuple[str, ...],
    hints: tuple[str, ...],
    seed: int,
    out: Output,
    **given: Any,
) -> None:
    """Answer what to expect of one configuration from TABLE, whose columns are recognised.

    TABLE may be several files, or a pattern in quotes (`"logs/*.csv"`), of the same columns.
    It may be runs themselves, as count:throughput: `genperf ask 1:410 2:792 4:1530 --at 64`.
    A role that is given as an option is not guessed.
    """
    from genperf.advice.ask import Question
    from genperf.advice.plan import plan_of
    from genperf.advice.tables import ask_recognised
    from genperf.attribution.derived import price_of

    paid = None if price is None else price_of(price, per)
    opened = recognised_table(_source(table, given["delimiter"]), {**given, "mapping": mapping})
    plan = plan_of(samples, deadline, budget)
    question = Question(None, "samples", paid, per, training=training_of(tokens, peak), plan=plan)
    wanted = _configuration(at, opened.source.columns)
    answer = ask_recognised(opened, wanted, want, question, once(hints, "--hint"), seed)
    if out.as_json:
        show_json(answer.to_dict())
        return
    if not out.quiet:
        tell(answer.read_as)
        for note in answer.notes:
            tell(note)
        if answer.taken:
            from genperf.words.numbers import join_values

            tell(f"not given, and taken at: {join_values(answer.taken)}; --at sets them")
    tell(str(answer))


def _source(table: tuple[str, ...], delimiter: str | None) -> Source:
    """Open the files of the table, or make one of runs such as 4:1530."""
    from genperf.table.opened import open_files, source_of_runs

    files = [text for text in table if not _RUN.fullmatch(text)]
    if not files:
        return source_of_runs([text.split(":") for text in table])
    if len(files) < len(table):
        raise GenperfError(
            f"'{files[0]}' is not a run", hint="files of one TABLE, or runs as count:throughput: 1:410 2:792 4:1530"
        )
    return open_files(files, delimiter)


def _configuration(at: tuple[str, ...], columns: Collection[str]) -> dict[str, str]:
    """Read `--at name=value` options; a value alone is the count."""
    from genperf.advice.tables import SCALE

    named = tuple(text if "=" in text else f"{SCALE}={text}" for text in at)
    wanted = once(named, "--at", columns)
    for name, text in wanted.items():
        if re.fullmatch(r"[\d.]+[kKMBT]?([,:][\d.*]+[kKMBT]?)+", text):
            raise GenperfError(
                f"ask answers for one configuration, and {name}={text} is several",
                hint=f"one value, such as {name}={re.split('[,:]', text)[0]}; predict and optimize take several",
            )
    return wanted
