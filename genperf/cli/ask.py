"""`genperf ask`: a table and one configuration → an answer for each measured quantity, in plain sentences."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from genperf.cli import decorators as shared
from genperf.cli.decorators import option
from genperf.cli.output import Output, progress, tell, tell_all
from genperf.errors import GenperfError

if TYPE_CHECKING:
    from genperf.asking.answer import Answer
    from genperf.asking.ask import Question
    from genperf.table.cells import Source


def _question(hints: tuple[str, ...], **texts: str | None) -> Question:
    """Read what is asked beside the configuration."""
    from genperf.asking.ask import question_of
    from genperf.cli.options import pairs

    return question_of(hints=pairs(hints, "--hint"), **texts)


@shared.command("ask")
@shared.source("table", nargs=-1, required=True)
@shared.option_group(
    "The question",
    shared.ONE_AT,
    option("--want", metavar="QUANTITY", help="A measured column, or time, throughput, memory; all where omitted."),
)
@shared.one_parameter(
    "question",
    _question,
    "The question",
    shared.PRICE,
    shared.PER,
    shared.SAMPLES,
    shared.DEADLINE,
    shared.BUDGET,
    shared.TOKENS,
    shared.PEAK,
    shared.HINTS,
)
@shared.option_group("The question", shared.SEED)
@shared.option_group(
    "The answer",
    click.option("--full", is_flag=True, help="All that is known, in sentences, with how the columns were read."),
    click.option("--why", "why", is_flag=True, help="What the time is made of, and why it is slow."),
    click.option("--normal", is_flag=True, help="How the efficiency compares with published series."),
    click.option("--cost", "cost", is_flag=True, help="Whether growing pays, and what it costs."),
    click.option("--layout", "layout", is_flag=True, help="At the best split of the devices into dp, tp and pp."),
)
@shared.table_options
@shared.shown(*shared.RESULT)
def ask(
    table: tuple[str, ...],
    at: tuple[str, ...],
    want: str | None,
    question: Question,
    seed: int,
    roles: dict[str, Any],
    full: bool,
    why: bool,
    normal: bool,
    cost: bool,
    layout: bool,
    out: Output,
) -> None:
    """Answer what to expect of one configuration from TABLE, whose columns are recognised, or from a model.

    TABLE may be several files, or a pattern in quotes (`"logs/*.csv"`), of the same columns.
    It may be runs themselves, as count:throughput: `genperf ask 1:410 2:792 4:1530 --at 64`; or as one would say them,
    `genperf "1 node 410 img/s, 2 nodes 790 img/s, what about 16 nodes?"`; or one run in words, whose
    utilisation is answered: `genperf ask 8xh100 7B 76800tok/s bf16 seq=2048`; of several each is in quotes.
    Words around a table are its configuration: `genperf ask runs.csv 64 GPUs` asks as `--at "64 GPUs"` does.
    Several values, `--at gpus=64,256` or `--at gpus=8:1024:*2`, are answered beside each other.
    A role that is given as an option is not guessed. Without --at: a plan's count, or twice the largest.
    """
    from genperf.asking.one_run import OneRun, joint_answer, row_in, row_of_note
    from genperf.asking.tables import answers_about, configurations, is_model_file, subject_of
    from genperf.cli.options import names_of, pairs, recognised_table, split_words, with_scale
    from genperf.panel.read import Recognised
    from genperf.panel.words import source_of_words
    from genperf.result import load_model
    from genperf.table.clean import labels
    from genperf.table.opened import runs_and_question
    from genperf.vocabulary.names import column_named

    if len(table) > 1:
        table, words = split_words(table)
        at = (*at, *words)
    elif " " in table[0]:
        stated, words_behind = runs_and_question(table[0])
        table, at = (stated,), (*at, *filter(None, [words_behind]))
    topics = [name for name, wanted in (("why", why), ("normal", normal), ("cost", cost)) if wanted]
    question = replace(question, topics=("layout",)) if layout else question
    about: Any = load_model(table[0]) if len(table) == 1 and is_model_file(table[0]) else None
    columns: Mapping[str, Any] = {} if about is None else dict.fromkeys(names_of(about), ())
    if about is None:
        # One run in words is a row by column, several are a `Source`, and {} is a file. A file of that name is read,
        # even if it is called `8xh100`.
        # `is this normal` names no configuration of a test of collectives.
        is_file = any(map(str.isdigit, "".join(at))) and Path(table[0]).is_file()
        in_words: Any = {} if is_file else source_of_words(table) or row_in(table)
        try:
            source = in_words or _source(table, roles["delimiter"])
        except GenperfError:
            if not (source := row_of_note(table)):
                raise
        recognise = partial(recognised_table, options=roles)
        about = source if isinstance(source, dict) else subject_of(source, question, recognise)
    if isinstance(about, Recognised):
        columns = about.source.columns
        for note in (step.text for step in about.source.steps if step.kind == "run"):
            out.note(f"note: {note}")
    wanted = pairs(with_scale(at, columns), "--at", columns)
    at_once = configurations(wanted, lambda name: labels(columns.get(column_named(name, columns) or name, ())))
    with progress(out.quiet):
        at_once, answers = answers_about(about, at_once, want, question, seed)
    if isinstance(answers[0], OneRun):
        if not out.written(answers[0] if len(answers) == 1 else [*answers]):
            tell_all((joint_answer(answers) if len(answers) > 1 else answers[0]).content)
        return
    _show(answers, at_once, out, full, topics)


#: The sentences that answer `--why`, `--normal` and `--cost`, or a question about them or the next run.
TOPICS = {
    "why": ("parts", "limit", "causes", "exchange"),
    "normal": ("normal", "exchange"),
    "cost": ("plan", "training", "pays", "best"),
    "best": ("pays", "best"),
    "fastest": ("fastest",),
    "efficiency": ("falls",),
    "next": ("next",),
}


def _show(
    answers: Sequence[Answer], at: Sequence[Mapping[str, str]], out: Output, full: bool, topics: Collection[str]
) -> None:
    """Print answers as JSON, as the sentences of some topics, as all sentences, or as a card."""
    from genperf.vocabulary import any_of, words_of
    from genperf.vocabulary.names import words_in
    from genperf.words.numbers import join_values, taken_text

    if out.written(answers[0] if len(answers) == 1 else [*answers]):
        return
    keys = dict.fromkeys(key for name in (*topics, *answers[0].topics) for key in TOPICS.get(name, ()))
    if keys and not any(answer.sentences_about(keys) for answer in answers):
        columns = () if answers[0].reading is None else answers[0].reading.columns
        is_test = any(re.search(f"(?i){any_of('statement.bandwidth')}", name) for name in columns)
        hint = "of a test of collectives: genperf 8xh100 all_reduce 470GB/s" if is_test else "--full shows what is"
        is_mfu = not words_in(answers[0].answers[0].quantity).isdisjoint(words_of("one_run.mfu"))
        hint = "of the MFU of one run, with its device and network: genperf 8xh100 7B 41%" if is_mfu else hint
        raise GenperfError("nothing of what is asked is known of these runs", hint=hint)
    if not (keys or full):
        _show_card(answers, at, out)
        return
    from genperf.asking.several import differing_values

    if full and not out.quiet:
        tell_all([line for line in (answers[0].read_as, *answers[0].notes, *answers[0].lacking) if line])
    for answer, apart in zip(answers, differing_values(at), strict=True):
        if apart:
            tell(f"At {join_values(apart)}:")
        if answer.taken and not out.quiet:
            tell(taken_text({name: [value] for name, value in answer.taken.items()}))
        if keys:
            tell_all(answer.sentences_about(keys))
            continue
        tell(str(answer))


def _show_card(answers: Sequence[Answer], at: Sequence[Mapping[str, str]], out: Output) -> None:
    """Print one answer as a card with a picture, and several in columns beside each other."""
    # A pipe has 80 columns, and not every terminal the letters of a picture.
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 80
    if len(answers) > 1:
        from genperf.asking.several import beside

        out.styled(beside(answers, at, width))
        return
    from genperf.asking.answer import card

    letters = (sys.stdout.encoding or "").lower().replace("-", "") in ("utf8", "utf16")
    out.styled(card(answers[0], width, letters, footer=not out.quiet))


def _source(table: tuple[str, ...], delimiter: str | None) -> Source:
    """Open the files of the table, or make one of runs such as 4:1530."""
    from genperf.cli.options import RUN
    from genperf.table.cells import source_of
    from genperf.table.opened import open_files

    files = [text for text in table if not RUN.fullmatch(text)]
    if not files:
        runs = [text.split(":") for text in table]
        return source_of("runs", ("workers", "throughput"), runs, range(1, len(runs) + 1), "run")
    if len(files) < len(table):
        hint = "files of one TABLE, or runs as count:throughput: 1:410 2:792 4:1530"
        raise GenperfError(f"'{files[0]}' is not a run", hint=hint)
    return open_files(files, delimiter, lambda text: tell(text, err=True))
