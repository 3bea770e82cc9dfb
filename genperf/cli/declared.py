"""Commands whose arguments and options are declared in `commands.toml`, each once."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click

from genperf.cli.writing import refuse_overwriting, writable
from genperf.scaling import KINDS, NAMES

_TABLE: Mapping[str, Mapping[str, Mapping[str, Any]]] = tomllib.loads(
    Path(__file__).with_name("commands.toml").read_text("utf-8")
)
#: Command → what it does, in the order of a day's work.
COMMANDS: Mapping[str, Any] = _TABLE["commands"]


def declared(name: str, kind: type[click.Command] = click.Command) -> Callable[[Callable[..., None]], click.Command]:
    """Return a decorator that makes a command of a function of its declared parameters, as attributes of one object."""

    def decorate(function: Callable[..., None]) -> click.Command:
        @functools.wraps(function)
        def command(**given: Any) -> None:
            refuse_overwriting(given)
            function(o=SimpleNamespace(**{key: given.pop(key) for key in _TABLE[name]}), **given)

        return click.command(name, cls=kind)(with_options(name)(command))

    return decorate


def with_options(section: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds the parameters of a section."""
    decorators = [_parameter(key, {**_TABLE["shared"].get(key, {}), **spec}) for key, spec in _TABLE[section].items()]
    return lambda command: functools.reduce(lambda made, add: add(made), reversed(decorators), command)


def _parameter(name: str, spec: Mapping[str, Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the decorator of an argument or an option; the keys are those at the head of the table."""
    given: dict[str, Any] = {key: spec[key] for key in ("default", "required", "nargs") if key in spec}
    if "argument" in spec:
        return click.argument(name, metavar=spec["argument"], **given)
    given |= {"metavar": spec.get("value"), "help": spec.get("help") or None, "multiple": spec.get("many", False)}
    given |= {"show_default": spec.get("default", "") != "", "callback": writable if spec.get("file") else None}
    if "alone" in spec:
        given |= {"is_flag": False, "flag_value": spec["alone"]}
    if spec.get("choices") == "scaling":
        meanings = f"{'; '.join(f'{name}: {kind.meaning}' for name, kind in KINDS.items())}."
        given |= {"type": click.Choice(NAMES), "help": spec.get("help") or meanings}
    elif "choices" in spec:
        given["type"] = click.Choice(spec["choices"])
    elif spec.get("number"):
        given["type"] = float
    elif "least" in spec:
        given["type"] = click.IntRange(min=spec["least"])
    elif not {"value", "default"} & {*spec}:
        given["is_flag"] = True
    flags = spec.get("flags", f"--{name.replace('_', '-')}")
    if "/" in flags:
        given["default"] = None
    return click.option(*flags.split(), name, **given)
