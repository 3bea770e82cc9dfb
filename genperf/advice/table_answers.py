"""What a table answers: a value for each measured quantity, and sentences about the likeliest one."""

from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from genperf.advice.ask import Answer
from genperf.attribution.answers import as_html
from genperf.errors import listed
from genperf.panel.reading import Reading
from genperf.words.numbers import join_values, three_digits

#: Columns that are listed as left out.
MAX_LISTED = 12


@dataclass(frozen=True, eq=False)
class QuantityAnswer:
    """The predicted value of one measured column, in the column's unit."""

    quantity: str
    unit: str
    value: float
    lower: float
    upper: float
    verdict: str
    reason: str
    at: dict[str, Any]
    sentences: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        return {**vars(self), "sentences": dict(self.sentences)}

    @property
    def line(self) -> str:
        """The value and its interval on a line."""
        unit = f" {self.unit}" if self.unit else ""
        ends = f"{three_digits(self.lower)} to {three_digits(self.upper)}"
        return f"{self.quantity}: {three_digits(self.value)}{unit} ({ends}; {self.verdict})"


@dataclass(frozen=True, eq=False)
class TableAnswer:
    """What a table answers: the likeliest quantity in sentences, and every measured one as a value."""

    reading: Reading
    #: The first quantity; None where its answer is no more than a value.
    answer: Answer | None
    answers: tuple[QuantityAnswer, ...]
    #: What was done to read the table, and what its rows show.
    notes: tuple[str, ...] = ()
    #: The factors that the question leaves open, as they are taken.
    taken: dict[str, Any] = field(default_factory=dict)
    #: Lines of the same quantity in the other series that the question may mean.
    others: tuple[str, ...] = ()
    #: Without a count in the question: the first quantity at eight times the largest one.
    beyond: str = ""
    #: Columns that no part of the answer reads.
    left_out: tuple[str, ...] = ()

    @property
    def read_as(self) -> str:
        """How the table was read, as options that can be copied."""
        left = f"; left out: {listed(self.left_out, MAX_LISTED)}" if self.left_out else ""
        return f"read as: {self.reading.options}{left}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        first = {"at": self.answers[0].at}
        if self.answer is not None:
            first = {**self.answer.to_dict(), "sentences": dict(self.answers[0].sentences)}
        return {
            "roles": self.reading.roles,
            "mapping": self.reading.mapping,
            "read_as": self.reading.read_as(),
            "left_out": list(self.left_out),
            "notes": list(self.notes),
            **first,
            "taken": self.taken,
            "answers": [answer.to_dict() for answer in self.answers],
        }

    def _repr_html_(self) -> str:
        values = pd.DataFrame([vars(answer) for answer in self.answers])
        shown = values[["quantity", "value", "lower", "upper", "unit", "verdict"]]
        return as_html(join_values(self.answers[0].at), shown, *str(self).splitlines(), self.read_as, *self.notes)

    def __str__(self) -> str:
        lines = list(self.answers[0].sentences.values())
        if len(self.answers) > 1:
            lines += ["Also measured:", *(f"  {answer.line}" for answer in self.answers[1:])]
        if self.beyond:
            lines.append(self.beyond)
        if self.others:
            lines += ["The table has other series:", *(f"  {line}" for line in self.others)]
        return "\n".join(lines)
