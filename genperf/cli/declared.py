"""Commands whose arguments and options are declared in `commands.toml`, each once."""

import functools
import tomllib
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click

from genperf.cli.output import PICTURES, SHOWING, Output
from genperf.cli.writing import refuse_overwriting, writable
from genperf.errors import GenperfError
from genperf.scaling import KINDS, NAMES

_TABLE: Mapping[str, Mapping[str, Mapping[str, Any]]] = tomllib.loads(
    Path(__file__).with_name("commands.toml").read_text("utf-8")
)
#: Command → what it does, in the order of a day's work.
COMMANDS: Mapping[str, Any] = _TABLE["commands"]


def declared(
    name: str, *sections: str, kind: type[click.Command] = click.Command
) -> Callable[[Callable[..., None]], click.Command]:
    """Return a decorator that makes a command of a function of its parameters, and of those of shared sections.

    The function takes the command's own parameters as attributes of `o`, how to show the result as `out`, and those of
    the sections by name.
    """
    specs = {key: spec for section in (name, *sections) for key, spec in _TABLE[section].items()}

    def decorate(function: Callable[..., None]) -> click.Command:
        @functools.wraps(function)
        def command(**given: Any) -> None:
            refuse_overwriting(given)
            out = Output(**{key: given.pop(key) for key in SHOWING if key in given})
            of_command = SimpleNamespace(**{key: given.pop(key) for key in _TABLE[name] if key in given})
            function(o=of_command, out=out, **given)

        parameters = [_parameter(key, {**_TABLE["shared"].get(key, {}), **spec}) for key, spec in specs.items()]
        made = functools.reduce(lambda so_far, add: add(so_far), reversed(parameters), command)
        return click.command(name, cls=kind)(made)

    return decorate


def _parameter(name: str, spec: Mapping[str, Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the decorator of an argument or an option; the keys are those at the head of the table."""
    given: dict[str, Any] = {key: spec[key] for key in ("default", "required", "nargs") if key in spec}
    if "argument" in spec:
        return click.argument(name, metavar=spec["argument"], **given)
    callback = _picture if spec.get("file") == "picture" else writable if "file" in spec else None
    given |= {"metavar": spec.get("value"), "help": spec.get("help") or None, "multiple": spec.get("many", False)}
    given |= {"show_default": spec.get("default", "") != "", "callback": callback}
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


def _picture(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Return a file's name whose ending is that of a picture, as click's callback of `--plot`."""
    if value is not None and value.rpartition(".")[2].lower() not in PICTURES:
        raise click.BadParameter(f"'{value}' ends in none of {', '.join('.' + e for e in PICTURES)}")
    if value is not None and find_spec("matplotlib") is None:
        # Before the work, whose result could not be drawn.
        raise GenperfError("plots need matplotlib", hint='pip install "genperf[plots]"')
    return writable(ctx, param, value)
