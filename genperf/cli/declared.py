"""Commands as `commands.toml` declares them: what each does, its arguments and its options, each once."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from keyword import iskeyword
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
COMMANDS = _TABLE["commands"]


class _Command(click.Command):
    """A command; the help of `import` lists the formats, which are read only then."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.name == "import":
            from genperf.importers import FORMATS

            with formatter.section("Formats"):
                formatter.write_dl([(name, format.what) for name, format in FORMATS.items()])


@cache
def command_named(name: str) -> click.Command:
    """Return a command, which calls `run` in the file of its name: imported only then, so that help costs nothing.

    `run` takes the command's own parameters as attributes of `o`, how to show the result as `out`, and those of the
    sections that it shares by name.
    """
    alone, command = _TABLE.get(name, {}), COMMANDS[name]
    shared = {key: spec for section in command.get("sections", ()) for key, spec in _TABLE[section].items()}

    def call(**given: Any) -> None:
        refuse_overwriting(given)
        out = Output(**{key: given.pop(key) for key in SHOWING if key in given})
        o = SimpleNamespace(**{key: given.pop(key) for key in alone if key in given})
        # A file named as a word of Python could not be imported by others.
        import_module(f"genperf.cli.{name}_" if iskeyword(name) else f"genperf.cli.{name}").run(o, out, **given)

    specs = {**alone, **shared}
    parameters = [_parameter(key, {**_TABLE["shared"].get(key, {}), **spec}) for key, spec in specs.items()]
    return _Command(name, callback=call, params=parameters, help=command["help"], short_help=command["summary"])


def _parameter(name: str, spec: Mapping[str, Any]) -> click.Parameter:
    """Return an argument or an option; the keys are those at the head of the table."""
    given: dict[str, Any] = {key: spec[key] for key in ("default", "required", "nargs") if key in spec}
    if "argument" in spec:
        return click.Argument([name], metavar=spec["argument"], **given)
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
    return click.Option([*flags.split(), name], **given)


def _picture(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Return a file's name whose ending is that of a picture, as click's callback of `--plot`."""
    if value is not None and value.rpartition(".")[2].lower() not in PICTURES:
        raise click.BadParameter(f"'{value}' ends in none of {', '.join('.' + e for e in PICTURES)}")
    if value is not None and find_spec("matplotlib") is None:
        # Before the work, whose result could not be drawn.
        raise GenperfError("plots need matplotlib", hint='pip install "genperf[plots]"')
    return writable(ctx, param, value)
