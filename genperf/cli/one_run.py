"""One run in words, as `ask` takes it: `genperf ask 8xh100 7B 76800tok/s`."""

from collections.abc import Mapping

from genperf.asking.question import Question
from genperf.cli.output import Output, tell_all
from genperf.one_run import Run, answer_of, bus_in, bus_of_words, is_run, run_of_words
from genperf.peaks import peak_of


def run_named(words: tuple[str, ...], peak: str | None) -> Run | None:
    """Return the run that words describe; None where they name files."""
    return run_of_words(words, None if peak is None else peak_of(peak)) if is_run(words) else None


def measured_links(hints: Mapping[str, str]) -> dict[str, str]:
    """Return hints, where a file of nccl-tests stands for the bandwidth that it measured."""
    measured = {name: bus_in(text, {}) for name, text in hints.items()}
    return {n: text if (bus := measured[n]) is None else f"{bus.speed / 1e9:.6g}GB/s" for n, text in hints.items()}


def answered_bus(words: tuple[str, ...], hints: Mapping[str, str], out: Output) -> bool:
    """Answer about a test of collectives, in words or in a file: then True."""
    bus = (bus_in(words[0], hints) if len(words) == 1 else None) or bus_of_words(words, hints)
    if bus is not None and not out.written(bus):
        tell_all(bus.lines)
    return bus is not None


def answer_one_run(run: Run, question: Question, at: Mapping[str, str], out: Output) -> None:
    """Show the answer about one run."""
    tokens = None if question.training is None else question.training.tokens
    answer = answer_of(run, tokens, at, question.price, question.hints)
    if not out.written(answer):
        tell_all(answer.lines)
