"""`genperf.toml`: any option of any command, the command line winning."""

import json
import textwrap
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import click
import msgspec

from genperf.errors import GenperfError, suggest

DEFAULT = "genperf.toml"
#: Of a settings file that is no regular file: a pipe, or a device that never ends.
MAX_BYTES = 1_000_000
#: Command → option → value, as click takes it.
Defaults: TypeAlias = dict[str, dict[str, Any]]
#: What a value of an option is in the file, and how a message calls it.
_SWITCH, _WHOLE, _NUMBER = (bool, "true or false"), (int, "a whole number"), (float, "a number")
_TEXT = (str | int | float | list[str], "text, a number, or a list of texts")
_TEXTS = (str | list[str], "text or a list of texts")


def settings_of(path: str | None, command_of: Callable[[str], click.Command], names: Sequence[str]) -> Defaults:
    """Read a settings file into click's default map.

    Top-level keys apply to every command that has the option, a `[fit]` table for that command; keys are the options'
    long names. The whole file is checked, whatever command runs: a misspelt key would else do nothing, in silence.
    """
    if path is None and not Path(DEFAULT).is_file():
        return {}
    file = Path(path or DEFAULT)
    read = _read(file)
    options = {name: _options(command_of(name)) for name in names}
    known = {key: option for named in options.values() for key, option in named.items()}
    defaults: Defaults = {name: {} for name in names}
    # A table of one command wins over what applies to all.
    for key, value in sorted(read.items(), key=lambda item: item[0] in options):
        if key in options:
            defaults[key].update(_of_command(value, key, options[key], str(file)))
        elif _key(key) in known:
            for name, named in options.items():
                if _key(key) in named:
                    option = named[_key(key)]
                    defaults[name][str(option.name)] = _checked(option, value, f"{file}: {_key(key)}")
        else:
            raise _unknown(key, value, names, known, str(file))
    return defaults


def _of_command(value: Any, name: str, options: Mapping[str, click.Option], file: str) -> dict[str, Any]:
    """Return the defaults of one command."""
    if not isinstance(value, dict):
        hint = f"a table [{name}] with the options of that command"
        raise GenperfError(f"{name} is a command, and its value no table", where=file, hint=hint)
    defaults = {}
    for key, given in value.items():
        if _key(key) not in options:
            where, listed = f"{file}: [{name}] {key}", sorted(options)
            hint = suggest(_key(key), listed) or "see --help"
            raise GenperfError("is no option of this command", where=where, hint=hint)
        option = options[_key(key)]
        defaults[str(option.name)] = _checked(option, given, f"{file}: {_key(key)}")
    return defaults


def _unknown(key: str, value: Any, names: Sequence[str], options: Collection[str], file: str) -> GenperfError:
    """Return the error for a key that is no option, or a table of no command."""
    shown = key if len(key) <= 40 else f"{key[:37]}…"
    if isinstance(value, dict):
        hint = suggest(_key(key)[:100], list(names)) or f"one of {', '.join(names)}"
        return GenperfError(f"[{shown}] is not a command", where=file, hint=hint)
    hint = suggest(_key(key)[:100], [*options, *names]) or "see genperf fit --help"
    return GenperfError(f"{shown} is no option of any command", where=file, hint=hint)


def commented(command_of: Callable[[str], click.Command], names: Sequence[str]) -> str:
    """Return a settings file with every option of every command, each in a comment with its help and its default."""
    lines = [
        "# Settings of genperf: the options of its commands, without the two hyphens. The command line wins.",
        "# A key above the first table applies to every command that has the option:",
        '# time = "step_time_s"',
        '# extrinsic = "workers"',
    ]
    for name in names:
        lines += ["", f"[{name}]"]
        for option in command_of(name).params:
            if isinstance(option, click.Option):
                # click marks an option without a default by an object of its own.
                known = isinstance(option.default, bool | int | float | str)
                value = option.default if known else False if option.is_flag else ""
                lines.append(f"# {_key(max(option.opts, key=len))} = {json.dumps(value)}")
                lines += [f"#   {line}" for line in textwrap.wrap(option.help or "", 110)]
    return "\n".join(lines) + "\n"


def _read(file: Path) -> dict[str, Any]:
    """Return the file's tables and values."""
    # Where there is no settings file, help need not wait for this import.
    from genperf.table.content import read_bounded

    try:
        return tomllib.loads(read_bounded(file, MAX_BYTES).decode("utf-8-sig"))
    except FileNotFoundError:
        raise GenperfError("no such file", where=str(file), hint="check --config") from None
    except (OSError, ValueError, RecursionError) as error:
        reason = "nested too deep" if isinstance(error, RecursionError) else str(error)
        hint = 'write TOML: time = "seconds", and a table [fit] for the options of one command'
        raise GenperfError(f"cannot be read as settings: {reason}", where=str(file), hint=hint) from None


def _options(command: click.Command) -> Mapping[str, click.Option]:
    """Return a command's options by their keys in the file."""
    options = [p for p in command.params if isinstance(p, click.Option)]
    named = {_key(name): option for option in options for name in option.opts if name.startswith("--")}
    return {**{str(option.name): option for option in options}, **named}


def _key(name: str) -> str:
    return name.lstrip("-").replace("-", "_").lower()


def _checked(option: click.Option, value: Any, where: str) -> Any:
    """Return the value of an option; a list is written as on the command line, with commas."""
    kind: Any
    if option.multiple:
        kind, words = _TEXTS
    elif option.is_flag and isinstance(option.type, click.types.BoolParamType):
        kind, words = _SWITCH
    elif isinstance(option.type, click.types.IntParamType):
        kind, words = _WHOLE
    elif isinstance(option.type, click.types.FloatParamType):
        kind, words = _NUMBER
    else:
        kind, words = _TEXT
    try:
        read = msgspec.convert(value, kind)
    except msgspec.ValidationError:
        shown = str(value) if len(str(value)) <= 40 else f"{str(value)[:37]}…"
        hint = f"as {option.opts[-1]} on the command line"
        raise GenperfError(f"is {shown}; {words} is expected", where=where, hint=hint) from None
    if option.multiple:
        return [read] if isinstance(read, str) else read
    return ",".join(read) if isinstance(read, list) else read
