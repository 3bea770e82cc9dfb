"""One run in words, as `ask` takes it: `genperf ask 8xh100 7B 76800tok/s`."""

from genperf.cli.output import Output, tell_all
from genperf.one_run import answer_of, is_run, run_of_words
from genperf.peaks import peak_of


def answered_one_run(words: tuple[str, ...], peak: str | None, out: Output) -> bool:
    """Answer about one run, where words describe one: then True."""
    if not is_run(words):
        return False
    answer = answer_of(run_of_words(words, None if peak is None else peak_of(peak)))
    if not out.written(answer):
        tell_all(answer.lines)
    return True
