"""Options that several commands share, and the table that they describe."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from genperf.cli.declared import with_options
from genperf.errors import GenperfError

if TYPE_CHECKING:
    from genperf.panel.tables import Recognised
    from genperf.result import FitResult, GroupedResult
    from genperf.table import Table
    from genperf.table.source import Source

#: `table_options`, `fit_options`: add the roles of a table's columns, and how a model is fitted.
table_options, fit_options = with_options("table options"), with_options("fit options")
#: The options one of which names the measured column.
_MEASURED = ("time", "throughput", "quantity")


def measured_column(given: Mapping[str, Any]) -> bool:
    """Tell whether the options name a measured column, and so describe a table."""
    return any(given.get(name) for name in _MEASURED)


def names_of(fitted: FitResult | GroupedResult) -> list[str]:
    """Return the names of a model's factors and groups, which options give values."""
    return [*(f.name for f in fitted.first.schema.factors), *fitted.first.schema.group]


def pairs(values: tuple[str, ...], option: str, names: Iterable[str] = ()) -> dict[str, str]:
    """Read repeated `name=value` options.

    Parameters
    ----------
    option : str
        For messages.
    names : iterable of str, optional
        Names that may hold an equals sign themselves.

    Examples
    --------
    >>> pairs(("workers=32,64", "batch=8"), "--at")
    {'workers': '32,64', 'batch': '8'}
    >>> pairs(("x=y=3",), "--at", ["x=y"])
    {'x=y': '3'}
    """
    out: dict[str, str] = {}
    for value in values:
        name, equals, text = _split(value, names)
        if not equals or not name.strip() or not text.strip():
            raise click.BadParameter(f"'{value}' is not NAME=VALUE", param_hint=option)
        out[name.strip()] = text.strip()
    return out


def _split(value: str, names: Iterable[str]) -> tuple[str, str, str]:
    """Split `name=value` at the end of the longest name that is known, or else at the first equals sign."""
    known = max((name for name in names if value.startswith(f"{name}=")), key=len, default=None)
    return value.partition("=") if known is None else (known, "=", value[len(known) + 1 :])


def number(text: str, option: str) -> float:
    """Read a finite number from an option."""
    try:
        value = float(text)
    except ValueError:
        raise click.BadParameter(f"'{text}' is not a number", param_hint=option) from None
    if value != value or value in (float("inf"), float("-inf")):
        raise click.BadParameter(f"'{text}' is not finite", param_hint=option)
    return value


def recognised_table(source: str | Source, given: dict[str, Any]) -> Recognised:
    """Open the table that the options describe, taking them out of `given`."""
    from genperf.panel.tables import OPTIONS, recognised

    given.update(dict.fromkeys(_overridden(click.get_current_context(silent=True))))
    roles = {key: given.pop(key) for key in OPTIONS if key in given}
    roles["let"] = pairs(roles.get("let", ()), "--let") or None
    return recognised(source, roles, pairs(given.get("mapping") or (), "--map"))


def read(source: str | Recognised, given: dict[str, Any]) -> Table:
    """Read the table that the options describe, taking them out of `given`; print the roles that are recognised."""
    from genperf.cli.messages import say

    table = recognised_table(source, given) if isinstance(source, str) else source
    context = click.get_current_context(silent=True)
    if not measured_column(table.given):
        say(table.line, context is not None and bool(context.params.get("quiet")))
    return table.table()


def model_or_table(path: str) -> FitResult | GroupedResult:
    """Load a model, or fit `auto` to a table whose columns are recognised."""
    from genperf.fitting import fit
    from genperf.result import is_model, load_model

    if is_model(path):
        return load_model(path)
    return fit(read(path, {"skip_bad_rows": True}))


def _overridden(ctx: click.Context | None) -> tuple[str, ...]:
    """Return the options of the settings file about another measured column than the command line names."""
    if ctx is None:
        return ()
    typed, stored = (
        [name for name in (*_MEASURED, "work", "unit") if ctx.get_parameter_source(name) is source]
        for source in (ParameterSource.COMMANDLINE, ParameterSource.DEFAULT_MAP)
    )
    return tuple(stored) if set(typed) & set(_MEASURED) - set(stored) and set(stored) & set(_MEASURED) else ()


def fit_arguments(given: dict[str, Any]) -> dict[str, Any]:
    """Take the options of a fit out of `given`, as `genperf.fit` wants them."""
    lam = given.pop("lam")
    fixed = pairs(given.pop("fix"), "--fix")
    return {
        **{key: given.pop(key) for key in ("structure", "loss", "penalty", "solver", "seed")},
        **{key: given.pop(key) for key in ("workers", "engine", "address")},
        "lam": lam if lam in (None, "cv") else number(lam, "--lambda"),
        "mapping": pairs(given.pop("mapping"), "--map"),
        "fix": {name: number(value, "--fix") for name, value in fixed.items()},
        "hints": once(given.pop("hints"), "--hint"),
    }


def grid(at: tuple[str, ...], names: Iterable[str] = ()) -> dict[str, list[str]]:
    """Read `--at name=v1,v2` options into lists of values; `names` may hold an equals sign.

    Raises
    ------
    GenperfError
        Where a factor is named twice.
    """
    return {name: [v.strip() for v in values.split(",")] for name, values in once(at, "--at", names).items()}


def once(given: tuple[str, ...], option: str, names: Iterable[str] = ()) -> dict[str, str]:
    """Read repeated `name=value` options, each name of which stands once.

    Parameters
    ----------
    option : str
        For messages.
    names : iterable of str, optional
        Names that may hold an equals sign themselves.

    Raises
    ------
    GenperfError
        Where a name stands twice.
    """
    first = [_split(value, names)[0].strip() for value in given]
    twice = {name for name in first if first.count(name) > 1}
    if twice:
        several = option in ("--at", "--over", "--versus")
        hint = "list values with commas: workers=32,64" if several else "give each once"
        raise GenperfError(f"{option} names {', '.join(sorted(twice))} twice", hint=hint)
    return pairs(given, option, names)


def one_group(fitted: FitResult | GroupedResult, group: str | None, model: str, option: str = "--group") -> FitResult:
    """Return the model of a group, or the only model.

    Parameters
    ----------
    group : str or None
        The group's values, with commas between.
    model : str
        The model file, for messages.
    option : str
        That names the group, for messages.

    Raises
    ------
    ModelError
        Where a model has several groups and none is named, or one is named and there are no groups.
    """
    from genperf.errors import ModelError
    from genperf.result import FitResult

    if isinstance(fitted, FitResult):
        if group is not None:
            raise ModelError("holds one model and no groups", where=model, hint=f"leave {option} out")
        return fitted
    if group is None:
        some = "; ".join(",".join(key) for key in list(fitted.results)[:3])
        raise ModelError("holds several groups", where=model, hint=f"{option} VALUES, for example {some}")
    return fitted[tuple(v.strip() for v in group.split(","))]
