"""What notes say of a count that no run has: their sentences with a result that was not read, which answers report."""

from collections.abc import Collection
from itertools import chain, islice, permutations

from msgspec.structs import replace

from genperf.errors import Note
from genperf.table.cells import Source
from genperf.table.clean import labels, number_in
from genperf.table.facts import FORMS, LONGEST_LINE, LONGEST_NOTES, facts_of, is_result, spelled_in_digits
from genperf.vocabulary import late
from genperf.vocabulary.names import counts_scale

#: The kind of such a note.
UNREAD = "unread"
#: Sentences that are reported; of more the first ones. A guess: each takes a line of a card.
MOST_REPORTED = 2
#: Characters of a sentence that are reported: a line of a card.
LONGEST_SENTENCE = 54
#: Lines of notes, at most. A guess: a log has more, and says of few of them what they count.
MOST_LINES = 64
_END = late(r"(?<=[!?;。；])\s*|(?<=[^\W\d]\.)\s+|\s+(?:vs\.?|versus)\s+")
#: `4 gpus 801`, `two boxes only 2,640` and `4 GPUs: 14 img/s`: a number behind a count and three words at most.
_BARE_NUMBER = late(
    r"[)s:]{0,3}(?:\s+[^\W\d_]{1,12}){0,3}\s+~?(?:\d{1,3}(?:,\d{3})+|\d{2,}(?:\.\d+)?|\d\.\d+)k?(?![\w.%]|,\d|\s+\w)|[s)]{0,2}\s?(?:[:=→]|[-=]>)\s*~?\d"
)


def with_unread(source: Source, text: str) -> Source:
    """Return the runs of notes with a note for each sentence about a count and a result that none of them has."""
    lines = text.split("\n") if source.runs and len(text) <= LONGEST_NOTES else []
    if sum(bool(line.strip()) for line in lines) > MOST_LINES:
        return source
    numbers = {name: [*map(number_in, labels(cells).tolist())] for name, cells in source.cells.items()}
    of_counts = [of_column for name, of_column in numbers.items() if counts_scale(name)]
    # `16 nodes x 4 GPUs` are 64.
    of_each = (n / m for column, by in permutations(of_counts, 2) for n, m in zip(column, by, strict=True) if m)
    counts, results = {*chain.from_iterable(of_counts), *of_each}, {*chain.from_iterable(numbers.values())}
    sentences = (
        (number, sentence.strip(" \t*-"))
        for number, line in enumerate(lines, 1)
        for sentence in _END.split(line[:LONGEST_LINE])
        if sentence and _is_unread(sentence, counts, results)
    )
    notes = [
        Note(f"line {number}: '{sentence[:LONGEST_SENTENCE]}{'…' * (len(sentence) > LONGEST_SENTENCE)}'", UNREAD)
        for number, sentence in islice(sentences, MOST_REPORTED)
    ]
    return replace(source, steps=(*source.steps, *notes)) if notes else source


def _is_unread(sentence: str, counts: Collection[float], results: Collection[float]) -> bool:
    """Tell whether a sentence has a count that no run has, and beside it a result that none has."""
    plain = spelled_in_digits(sentence)
    matches = chain.from_iterable(form.finditer(plain) for form in (FORMS.counted, FORMS.counted_in_han))
    unknown = [c for c in matches if counts_scale(c["key"]) and number_in(c["value"].replace(",", "")) not in counts]
    if not unknown:
        return False
    if any(_BARE_NUMBER.match(plain, count.end()) for count in unknown):
        return True
    measured = {value for key, value, unit in facts_of(sentence) if is_result(key, unit)}
    measured |= {number_in(match["value"].replace(",", "")) for match in FORMS.with_unit.finditer(plain)}
    return not measured <= {*results}
