"""`genperf.toml`: any option of any command, the command line winning."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click
import msgspec

from genperf.errors import GenperfError, suggest

DEFAULT = "genperf.toml"
#: What a value of an option is in the file, and how a message calls it.
_SWITCH, _WHOLE, _NUMBER = (bool, "true or false"), (int, "a whole number"), (float, "a number")
_TEXT = (str | int | float | list[str], "text, a number, or a list of texts")
_TEXTS = (str | list[str], "text or a list of texts")


def settings_of(path: str | None, commands: Iterable[str], command: click.Command | None) -> dict[str, dict[str, Any]]:
    """Read a settings file into click's default map.

    Top-level keys hold for every command, a `[fit]` table for that command; keys are the options' long names.

    Parameters
    ----------
    path : str or None
        None reads `genperf.toml` in the working directory, if it is there.
    commands : iterable of str
        The commands that exist.
    command : Command or None
        The one that runs: its options declare what each value may be.

    Raises
    ------
    GenperfError
        Where a named file is missing, is not TOML, has a table of no command, or a value that its option cannot have.
    """
    if path is None and not Path(DEFAULT).is_file():
        return {}
    file = Path(path or DEFAULT)
    read = _read(file)
    known = list(commands)
    tables = {key: value for key, value in read.items() if isinstance(value, dict)}
    for name in tables:
        if name not in known:
            hint = suggest(name, known) or f"one of {', '.join(known)}"
            raise GenperfError(f"[{name}] is not a command", where=str(file), hint=hint)
    if command is None or command.name is None:
        return {}
    options = _options(command)
    shared = {_key(key): value for key, value in read.items() if key not in tables}
    mine = {_key(key): value for key, value in tables.get(command.name, {}).items()}
    for key in mine:
        if key not in options:
            where, listed = f"{file}: [{command.name}] {key}", sorted(options)
            raise GenperfError("is no option of this command", where=where, hint=suggest(key, listed) or "see --help")
    given = {**{key: value for key, value in shared.items() if key in options}, **mine}
    return {command.name: {str(options[k].name): _checked(options[k], v, f"{file}: {k}") for k, v in given.items()}}


def _read(file: Path) -> dict[str, Any]:
    """Return the file's tables and values."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise GenperfError("no such file", where=str(file), hint="check --config") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
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
    """Return the value of an option; a list is written as on the command line, with commas.

    Parameters
    ----------
    option : Option
    value : object
        As TOML has it.
    where : str
        The file and the key, for messages.

    Raises
    ------
    GenperfError
        Where it is of another kind than the option's values.
    """
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
