"""`genperf ask`: a table and one configuration → an answer for each measured quantity, in plain sentences."""

import re
from collections.abc import Collection
from types import SimpleNamespace
from typing import Any

from genperf.asking.plan import plan_of
from genperf.asking.question import Question
from genperf.asking.tables import SCALE, ask_fitted, ask_recognised, is_model_file
from genperf.cli.options import names_of, paid_at, pairs, recognised_table, training_of
from genperf.cli.output import Output, tell, tell_all
from genperf.errors import GenperfError
from genperf.models.network import checked_hints
from genperf.result import load_model
from genperf.table.cells import Source
from genperf.table.opened import open_files, source_of_runs
from genperf.words.numbers import join_values

#: A run without a file: the count and the throughput.
_RUN = re.compile(r"\d+:\d+(\.\d+)?([eE][+-]?\d+)?")


def run(o: SimpleNamespace, out: Output, **given: Any) -> None:
    """Answer from a model, from files or from runs; first how the columns were read."""
    hints = checked_hints(pairs(o.hints, "--hint"))
    plan = plan_of(o.samples, o.deadline, o.budget)
    paid, training = paid_at(o.price, o.per), training_of(o.tokens, o.peak)
    question = Question(price=paid, per=o.per, training=training, plan=plan, hints=hints)
    if len(o.table) == 1 and is_model_file(o.table[0]):
        fitted = load_model(o.table[0])
        reply = ask_fitted(fitted, _configuration(o.at, names_of(fitted)), question)
        if not out.written(reply):
            tell(str(reply))
        return
    opened = recognised_table(_source(o.table, given["delimiter"]), {**given, "mapping": o.mapping})
    wanted = _configuration(o.at, opened.source.columns)
    answer = ask_recognised(opened, wanted, o.want, question, o.seed)
    if out.written(answer):
        return
    if not out.quiet:
        tell_all([answer.read_as, *answer.notes])
        if answer.taken:
            tell(f"not given, and taken at: {join_values(answer.taken)}; --at sets them")
    tell(str(answer))


def _source(table: tuple[str, ...], delimiter: str | None) -> Source:
    """Open the files of the table, or make one of runs such as 4:1530."""
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
    named = tuple(text if "=" in text else f"{SCALE}={text}" for text in at)
    wanted = pairs(named, "--at", columns)
    for name, text in wanted.items():
        if re.fullmatch(r"[\d.]+[kKMBT]?([,:][\d.*]+[kKMBT]?)+", text):
            raise GenperfError(
                f"ask answers for one configuration, and {name}={text} is several",
                hint=f"one value, such as {name}={re.split('[,:]', text)[0]}; predict and optimize take several",
            )
    return wanted
