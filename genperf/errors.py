"""Errors that point at the place and suggest what to try.

Every error a user can cause is a `GenperfError`; the command line prints it and exits with status 1,
so no traceback reaches anyone for bad input.
"""

import functools
import inspect
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeVar

from msgspec import Struct

R = TypeVar("R")


class GenperfError(Exception):
    """A fault of the data, the model or a request that the user can mend: what it is, what to try, and where it is.

    >>> print(GenperfError("no rows are left", hint="check the filter", where="runs.csv"))
    runs.csv: no rows are left
      try: check the filter
    """

    def __init__(self, message: str, *, hint: str | None = None, where: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.where = where

    def __reduce__(self) -> tuple[Any, ...]:
        # Keyword-only arguments: what a worker process raises must come back whole.
        return type(self).__new__, (type(self), self.message), self.__dict__

    def __str__(self) -> str:
        head = f"{self.where}: {self.message}" if self.where else self.message
        return f"{head}\n  try: {self.hint}" if self.hint else head


#: What an argument of a type is called in a message.
_KINDS: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "True or False",
    Path: "a path",
    Mapping: "a mapping such as {'gpus': 64}",
    Sequence: "a list",
    Iterable: "a list",
    Callable: "a function",
    type(None): "None",
}
#: What stands for a type of Python: numpy's numbers and any path do as well.
_ACCEPTED: dict[Any, Any] = {int: Integral, float: Real, Path: PathLike}


def checked(function: Callable[..., R], opens: bool = False) -> Callable[..., R]:
    """Return a public function that refuses arguments of another type than it says.

    What is opened, as tables and the first argument of one that `opens` it, is refused where it is opened.

    >>> def fit(seed: int, penalty: Literal["l1", "l2"] = "l2") -> None: ...
    >>> checked(fit)(0, "l3")
    Traceback (most recent call last):
    genperf.errors.GenperfError: fit: penalty is 'l1' or 'l2', not 'l3'
      try: help(genperf.fit) lists what it takes
    """
    signature, types = inspect.signature(function), typing.get_type_hints(function)
    opened = next(iter(signature.parameters)) if opens else ""
    hint = f"help(genperf.{function.__name__}) lists what it takes"

    @functools.wraps(function)
    def with_checks(*arguments: Any, **options: Any) -> R:
        for name, value in signature.bind(*arguments, **options).arguments.items():
            kind = Any if name == opened else types.get(name, Any)
            kinds = typing.get_args(kind)
            # A table or its path: there are more kinds of tables than types.
            is_opened = str in kinds and any(getattr(of, "__name__", "") in ("DataFrame", "Table") for of in kinds)
            if not (signature.parameters[name].kind.name.startswith("VAR") or is_opened or _is_of(value, kind)):
                raise GenperfError(f"{function.__name__}: {name} is {_name_of(kind)}, not {value!r}", hint=hint)
            if name == "seed" and value < 0:
                raise GenperfError(f"{function.__name__}: seed is zero or more, not {value}", hint=hint)
        return function(*arguments, **options)

    return with_checks


def _is_of(value: Any, kind: Any) -> bool:
    """Tell whether a value is of an annotated type, and so are the items of a mapping or a list."""
    origin, of = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return True
    if origin is Literal:
        return any(value is one or (isinstance(value, str) and value == one) for one in of)
    if origin in (typing.Union, UnionType):
        return any(_is_of(value, one) for one in of)
    if not isinstance(value, _ACCEPTED.get(kind, origin or kind)) or isinstance(value, bytes):
        return False
    if origin is Mapping:
        return all(_is_of(name, of[0]) and _is_of(item, of[1]) for name, item in value.items())
    items = value if origin in (Sequence, Iterable) and isinstance(value, list | tuple) else ()
    return all(_is_of(item, of[0]) for item in items)


def _name_of(kind: Any) -> str:
    """Return what the values of an annotated type are called."""
    origin, of = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, UnionType):
        return " or ".join(map(_name_of, of))
    if origin is Literal:
        return " or ".join(map(repr, of))
    return _KINDS.get(origin or kind, f"a {getattr(kind, '__name__', kind)}")


def attempted(work: Callable[..., R], *arguments: Any) -> R | GenperfError:
    """Return what some work returns, or the error of the data or the model that it raises."""
    try:
        return work(*arguments)
    except GenperfError as error:
        return error


class TableError(GenperfError):
    """A table cannot be read, or holds values that cannot be used."""


class OnlyFailuresError(TableError):
    """All runs of a table failed: nothing was measured."""


class UnclearTableError(TableError):
    """Nothing in a table is known to be a measurement, or it is none: the command line shows how its file begins."""

    begin: tuple[str, ...] = ()

    def __str__(self) -> str:
        begin = "".join(f"\n    {line}" for line in self.begin)
        return super().__str__() + (f"\n  it begins:{begin}" if begin else "")


class ModelError(GenperfError):
    """A model does not fit the table, or a model file cannot be used."""


class FitError(GenperfError):
    """The constants cannot be determined from this data."""


class FormulaError(GenperfError):
    """A formula is refused; a caret marks so many characters as its `width` from a 0-based `column` on.

    >>> print(FormulaError("'.' is not allowed", text="a.b + 1", column=1))
    '.' is not allowed
      a.b + 1
       ^
    """

    def __init__(self, message: str, *, text: str, column: int, width: int = 1, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.text = text
        self.column = column
        self.width = max(1, width)

    def __str__(self) -> str:
        line = self.text.replace("\n", " ").replace("\t", " ")
        start = 0 if self.column < 70 else self.column - 30
        excerpt = line[start : start + 100]
        room = max(1, min(self.width, len(excerpt) - (self.column - start)))
        lines = [self.message, f"  {excerpt}", "  " + " " * (self.column - start) + "^" * room]
        return "\n".join([*lines, f"  try: {self.hint}"] if self.hint else lines)


class Note(Struct, frozen=True):
    """Advice to the user that does not stop the work."""

    text: str  #: One sentence, with the advice in it.
    kind: str = "note"  #: A short stable name, for machine-readable output.

    def __str__(self) -> str:
        return self.text


def counted(count: int, noun: str) -> str:
    """Write a count with its noun: `1 row`, `2 rows`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


#: Entries of a list before the others are only counted: half of a terminal's 24 lines.
LISTED = 12


def listed(names: Sequence[str], most: int = LISTED) -> str:
    """Write names with commas between; of many the first ones, and their number.

    >>> listed(["a", "b"]), listed(["a", "b", "c"], most=2)
    ('a, b', 'a, b, … (3 in all)')
    """
    more = f", … ({len(names)} in all)" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def suggest(word: str, words: Collection[str]) -> str:
    """Return a hint: the known word that the user may have meant, or all of them.

    >>> suggest("workrs", ["workers", "batch"]), suggest("layers", ["workers", "batch"])
    ("did you mean 'workers'?", 'one of workers, batch')
    """
    return did_you_mean(word, words) or f"one of {', '.join(words) or 'none'}"


def known_name(kind: str, name: str, names: Collection[str], error: type[GenperfError] = GenperfError) -> str:
    """Return a name of those that there are; an error suggests one for any other."""
    if name not in names:
        raise error(f"unknown {kind} '{name}'", hint=suggest(name, names))
    return name


def did_you_mean(word: str, words: Collection[str], similarity: float = 0.6, otherwise: str = "") -> str:
    """Return a hint: the known word that the user may have meant, and what `otherwise` to try; empty without either."""
    import difflib

    spelled = {str(candidate).casefold(): candidate for candidate in words}
    near = difflib.get_close_matches(word.casefold(), list(spelled), n=1, cutoff=similarity)
    meant = f"did you mean '{spelled[near[0]]}'?" if near else ""
    return " Or ".join(filter(None, (meant, otherwise)))


#: Similarity of two spellings (0 to 1) from which on one is taken for a typing error of the other: one letter of six
#: that is missing has 0.9, another generation of a device (A100, H100) 0.75.
TYPING_ERROR = 0.8


def misspelt(word: str, words: Collection[str]) -> bool:
    """Tell whether a word is spelled so nearly as a known one, or of its letters, that it may be a typing error.

    >>> misspelt("pytorh", ["pytorch", "mxnet"]), misspelt("gpsu", ["gpus"]), misspelt("jax", ["pytorch"])
    (True, True, False)
    """
    letters = [sorted(str(candidate).casefold()) for candidate in words]
    return (word.isalpha() and sorted(word.casefold()) in letters) or bool(did_you_mean(word, words, TYPING_ERROR))
