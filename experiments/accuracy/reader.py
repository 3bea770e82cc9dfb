"""What each mechanism of the reader brings: every form of a table or a log is asked again without it.

The forms of `forms.txt` are of one law, and asked for twice the largest count. A folder has `cases.json`:
a list of a `file`, a `question` (column to value) and a `truth` (`quantity`, `value`, `unit`; -1 is to be refused).
Only counts of its answers stand on the page.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from experiments.shared import beside, markdown, page
from genperf.asking.tables import ask
from genperf.errors import GenperfError
from genperf.panel.question import Requested
from genperf.table.opened import open_files, understood

#: Relative difference from the truth up to which an answer is right.
RIGHT = 0.25
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0, "hours": 3600.0}
BYTES = {"gb": 1e9, "gib": 2.0**30, "mb": 1e6, "mib": 2.0**20}
FORMS_FILE = Path(__file__).with_name("forms.txt")


@dataclass(frozen=True)
class Asked:
    """A question about a file or a folder, and its truth; a truth of -1 is that it has no answer."""

    path: Path
    at: Mapping[str, str]
    want: str | None
    truth: float
    unit: str


@dataclass(frozen=True)
class Form:
    """One way to keep runs: its files, and a question about one of them, or about `.`, their folder."""

    name: str
    path: str
    at: Mapping[str, str]
    #: In seconds, or in a second.
    truth: float
    files: Mapping[str, str]
    want: str | None = None

    def write(self, folder: Path) -> Path:
        """Write the files below a folder, and return what is asked about."""
        place = folder / self.name.replace(" ", "_")
        for name, text in self.files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text, encoding="utf-8")
        return place / self.path


def forms(file: Path = FORMS_FILE) -> list[Form]:
    """Return the forms of a file: after `===` a question, after each `---` the name of a file and its text."""
    read = []
    for part in re.split(r"^=== ", file.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        head, *files = re.split(r"^--- ", part, flags=re.MULTILINE)
        texts = (text.partition("\n") for text in files)
        read.append(Form(files={name: content for name, _, content in texts}, **json.loads(head)))
    return read


class Score(NamedTuple):
    """How many questions were answered, how many rightly, and how many wrongly with the verdict ok."""

    answered: int
    right: int
    wrong_though_ok: int


def mean_of_all(values: Sequence[Any], rate: bool = False) -> tuple[Any, None]:
    """Return the mean of the values of a key, warm-up included."""
    numbers = [v for v in values if isinstance(v, float) and np.isfinite(v)]
    return (float(np.mean(numbers)) if len(numbers) == len(values) > 0 else values[-1]), None


def plain_records(value: Any, _: int = 0) -> list[Any]:
    """Return an array of records, or a record alone."""
    listed = value if isinstance(value, list) else [value]
    return listed if all(isinstance(record, dict) for record in listed) else []


#: What stands in the place of a function, by its name in `reader.toml`.
REPLACEMENTS: Mapping[str, Any] = {
    "never": lambda *_: False,
    "no match": re.compile(r"(?!)"),
    "nothing": lambda *_: None,
    "a property of nothing": property(lambda _: None),
    "as it is": lambda value, *_: value,
    "the mean of all": mean_of_all,
    "a list": list,
    "plain records": plain_records,
    "one clause": lambda line: [line],
    "no text": lambda *_: "",
    "no names": lambda _: {},
    "no rules": lambda _: set(),
    "no header": lambda *_: (None, []),
    "as asked": lambda _, at: Requested(dict(at)),
    "no column": lambda _, text: ("", text),
}
#: A mechanism → what stands in the place of its functions where it is left out, by their paths below `genperf`.
MECHANISMS = {
    mechanism: {path: REPLACEMENTS[name] for path, name in functions.items()}
    for mechanism, functions in beside(__file__).items()
}


def questions_of(folder: Path) -> list[Asked]:
    cases = json.loads((folder / "cases.json").read_text(encoding="utf-8"))
    asked = []
    for case in cases:
        truth, at = case["truth"], {name: str(value) for name, value in case["question"].items()}
        wanted = truth.get("quantity") or None, float(truth["value"]), truth.get("unit", "")
        asked.append(Asked(folder / case["file"], at, *wanted))
    return asked


def size_in(unit: str, other: str) -> float:
    """Return how much of another unit one is; 1 where they are not both of time or of memory."""
    for sizes in (SECONDS, {**BYTES, **{name.upper(): size for name, size in BYTES.items()}}):
        if unit in sizes and other in sizes:
            return sizes[unit] / sizes[other]
    return BYTES.get(unit.lower(), 1.0) / BYTES.get(other.lower(), BYTES.get(unit.lower(), 1.0))


#: What a reader without a mechanism may end in: a later one meets what it never gets.
FAILURES = (GenperfError, ArithmeticError, LookupError, TypeError, ValueError)


def outcome_of(question: Asked) -> Score:
    """Ask a question, and judge the answer."""
    try:
        answer = ask(str(question.path), question.want, at=question.at).to_dict()
        value: Mapping[str, Any] = answer.get("answers", [answer])[0]
        number = float(value.get("value") or "nan")
    except FAILURES:
        number, value = float("nan"), {}
    if not np.isfinite(number):
        return Score(0, question.truth == -1.0, 0)
    error = number * size_in(value.get("unit", ""), question.unit) / question.truth - 1.0
    right = question.truth != -1.0 and abs(error) <= RIGHT
    return Score(1, right, not right and value.get("verdict") == "ok")


def text_of(path: Path) -> str:
    """Return what the reader makes of a file or a folder, as a text."""
    try:
        source = understood(open_files([path]))
    except FAILURES as error:
        return repr(error)
    columns = {name: cells.tolist() for name, cells in source.columns.items()}
    steady = {name: cells.tolist() for name, cells in source.steady.items()}
    names = {name: (taken.columns, taken.values) for name, taken in source.names.items()}
    return repr((columns, source.units, source.aliases, steady, names, source.runs, source.caption))


class Judge:
    """Scores of questions by what the reader made of their files: what is read alike is answered once."""

    def __init__(self) -> None:
        self.known: dict[tuple[int, str], Score] = {}

    def scores(self, sets: Mapping[str, Sequence[Asked]], mechanism: str = "") -> dict[str, Score]:
        """Return the score of each set of questions without a mechanism; with all where none is named."""
        instead = MECHANISMS.get(mechanism, {})
        of_reading = all(path.startswith("table.") for path in instead)
        with ExitStack() as stack:
            for path, replacement in instead.items():
                stack.enter_context(patch(f"genperf.{path}", replacement))
            each = {name: [self.outcome(question, of_reading) for question in some] for name, some in sets.items()}
        return {name: Score(*map(sum, zip(*outcomes, strict=True))) for name, outcomes in each.items()}

    def outcome(self, question: Asked, of_reading: bool) -> Score:
        """Return what a question gives; asked anew where a mechanism behind the reading of files is left out."""
        if not of_reading:
            return outcome_of(question)
        key = (id(question), text_of(question.path))
        if key not in self.known:
            self.known[key] = outcome_of(question)
        return self.known[key]


def run(*folders: str) -> str:
    """Return the page: answers with all mechanisms, and without each."""
    with tempfile.TemporaryDirectory() as place:
        asked = [Asked(form.write(Path(place)), form.at, form.want, form.truth, "s") for form in forms()]
        sets = {"forms": asked, **{Path(folder).name: questions_of(Path(folder)) for folder in folders}}
        judge = Judge()
        complete = judge.scores(sets)
        without = {name: judge.scores(sets, name) for name in MECHANISMS}
    head = ["", *(f"{name}: {len(questions)} asked" for name, questions in sets.items())]

    def cells(of_sets: Mapping[str, Score]) -> list[str]:
        return [f"{score.right} / {score.answered}" for score in of_sets.values()]

    rows = [["**all**", *cells(complete)]]
    rows += [[f"without: {name}", *cells(of_sets)] for name, of_sets in without.items()]
    wrong = ", ".join(f"{score.wrong_though_ok} of {name}" for name, score in complete.items())
    idle = [name for name, of_sets in without.items() if of_sets == complete]
    command = " ".join(["python -m experiments reader", *("FOLDER" for _ in folders)])
    return page(
        "reader", globals(), command=command, table=markdown(head, rows), wrong=wrong, idle=", ".join(idle) or "none"
    )
