"""Values that options give a prediction, with amounts and ranges, and the columns that follow from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click
import numpy as np
import numpy.typing as npt

from genperf.cli.options import grid, names_of, number, once
from genperf.formula.amounts import amount

if TYPE_CHECKING:
    from genperf.facts import Paid, Training
    from genperf.result import FitResult, GroupedResult
    from genperf.table.cells import Cells

T = TypeVar("T")

#: Digits of a predicted value for people; a file has all.
DIGITS = 3


def values_at(at: tuple[str, ...], fitted: FitResult | GroupedResult) -> dict[str, list[Any]]:
    """Read `--at name=v1,v2` options: numbers as `30B`, ranges as `16:128:*2`; labels and groups stay texts."""
    schema = fitted.first.schema
    texts = {*schema.group, *(f.name for f in schema.factors if not f.numeric)}
    return {
        name: values if schema.column(name) in texts else _numbers(name, values)
        for name, values in under_columns(grid(at, names_of(fitted)), fitted).items()
    }


def target_of(target: tuple[str, ...], fitted: FitResult | GroupedResult) -> dict[str, str]:
    """Read `--target name=value` options: numbers as `30B`; labels and groups stay texts."""
    schema = fitted.first.schema
    texts = {*schema.group, *(f.name for f in schema.factors if not f.numeric)}
    given = under_columns(once(target, "--target", names_of(fitted)), fitted)
    return {name: text if schema.column(name) in texts else plain_amount(text) for name, text in given.items()}


def under_columns(given: Mapping[str, T], fitted: FitResult | GroupedResult) -> dict[str, T]:
    """Return values under the names of the model's columns, as `ask` finds them: `gpus` is `GPUs`."""
    names = dict.fromkeys(names_of(fitted))
    if all(name in names for name in given):
        return dict(given)
    from genperf.panel.reading import column_named

    return {column_named(name, names) or name: value for name, value in given.items()}


def capacities(given: tuple[str, ...], fitted: FitResult | GroupedResult) -> dict[str, float]:
    """Read `--capacity memory=80` options: in the unit of the quantity, which may follow the number."""
    first = fitted.first
    most = {}
    for name, text in once(given, "--capacity").items():
        unit = first.further.get(name, first).schema.target.unit
        plain = text.strip().removesuffix(unit) if unit else text
        most[name] = number(plain.strip() or text, "--capacity")
    return most


def _numbers(name: str, values: Sequence[str]) -> list[Any]:
    numbers: list[Any] = []
    for text in values:
        if ":" in text:
            from genperf.advice.grid import read_grid

            plain = ":".join(plain_amount(part) for part in text.split(":"))
            numbers += [str(v) for v in read_grid({name: plain}).axes[0].values]
        else:
            numbers.append(plain_amount(text))
    return numbers


def plain_amount(text: str) -> str:
    """Return an amount as a plain number; any other text stays, for the message of what reads it."""
    star, rest = ("*", text.strip()[1:]) if text.strip().startswith("*") else ("", text)
    value = amount(rest)
    try:
        float(rest)
    except ValueError:
        return text if value is None else f"{star}{value!r}"
    return text


def shows_of(show: tuple[str, ...], price: str | None) -> dict[str, str]:
    """Read `--show NAME=FORMULA` options; a name alone is its own formula, and a price shows the cost of a step.

    Examples
    --------
    >>> shows_of(("days=time*30B/1d", "efficiency"), "2/h")
    {'days': 'time*30B/1d', 'efficiency': 'efficiency', 'cost': 'cost'}
    """
    shows = once(tuple(text if "=" in text else f"{text}={text}" for text in show), "--show")
    return shows if price is None or "cost" in shows else {**shows, "cost": "cost"}


def amount_of(text: str | None, option: str) -> float | None:
    """Read a number as people write it (`300B`, `30d`) from an option."""
    value = None if text is None else amount(text)
    if text is not None and (value is None or not abs(value) < float("inf")):
        raise click.BadParameter(f"'{text}' is not a number; try 300, 300B or 30d", param_hint=option)
    return value


def training_of(tokens: str | None, peak: str | None) -> Training:
    """Read `--tokens` and `--peak`.

    Examples
    --------
    >>> training_of("300B", "a100")
    Training(tokens=300000000000.0, peak=312000000000000.0)
    """
    from genperf.facts import Training
    from genperf.peaks import peak_of

    count = amount_of(tokens, "--tokens")
    if count is not None and not count > 0.0:
        raise click.BadParameter(f"'{tokens}' is no number of tokens; try 300B", param_hint="--tokens")
    return Training(count, None if peak is None else peak_of(peak))


def with_derived(
    fitted: FitResult | GroupedResult,
    predicted: Mapping[str, Cells],
    shows: Mapping[str, str],
    price: Paid | None,
    interval: float,
    given: Mapping[str, float],
) -> dict[str, Cells]:
    """Return a prediction with the columns that follow from it behind its value and interval."""
    if not shows:
        return dict(predicted)
    from genperf.attribution.derived import derived_columns
    from genperf.table.clean import labels

    arrays = {name: np.asarray(values) for name, values in predicted.items()}
    columns: dict[str, npt.NDArray[Any]] = {}
    groups = [labels(predicted[g]).tolist() for g in fitted.group]
    keys = list(zip(*groups, strict=True)) if groups else [()] * len(predicted["verdict"])
    for key in dict.fromkeys(keys):
        rows = np.array([k == key for k in keys])
        part = {name: values[rows] for name, values in arrays.items()}
        for name, values in derived_columns(fitted.results[key], part, shows, price, interval, given).items():
            columns.setdefault(name, np.full(len(keys), np.nan))[rows] = values
    words = {name: predicted[name] for name in ("verdict", "reason")}
    return {**{name: v for name, v in predicted.items() if name not in words}, **columns, **words}


def for_people(
    columns: Mapping[str, Cells], fitted: FitResult | GroupedResult, shows: Mapping[str, str]
) -> dict[str, Cells]:
    """Return columns to print: of what was predicted three significant digits, of what was given all.

    Left out are the column of fits where every run is certain to, and the time where no step was measured.
    """
    target = fitted.first.schema.target
    certain = "fits" in columns and bool(np.all(np.asarray(columns["fits"]) == 1.0))
    derived = {f"{name}{end}" for name in shows for end in ("", "_lower", "_upper")}
    rounded = derived | {*fitted.first.predicted_names}
    # Where a throughput was measured, and no work of a step was given, a time is that of one unit of its work.
    hidden = {"fits"} if certain else set()
    if "throughput" in columns and not fitted.first.schema.of_steps:
        hidden |= {target.name, "lower", "upper"} - set(shows)
    return {
        name: np.array([_short(v) for v in values.tolist()]) if name in rounded and values.dtype.kind == "f" else values
        for name, values in columns.items()
        if name not in hidden
    }


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
