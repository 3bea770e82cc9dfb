"""`genperf.toml`: any option of any command, the command line winning."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from genperf.errors import GenperfError, suggest

DEFAULT = "genperf.toml"


def settings_of(path: str | None, commands: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Read a settings file into click's default map.

    Top-level keys hold for every command, a `[fit]` table for that command; keys are the options' long names.

    Parameters
    ----------
    path : str or None
        None reads `genperf.toml` in the working directory, if it is there.
    commands : iterable of str
        The commands that exist.

    Raises
    ------
    GenperfError
        Where a named file is missing, is not TOML, or has a table of no command.
    """
    if path is None and not Path(DEFAULT).is_file():
        return {}
    file = Path(path or DEFAULT)
    try:
        read = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise GenperfError("no such file", where=str(file), hint="check --config") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        hint = 'write TOML: time = "seconds", and a table [fit] for the options of one command'
        raise GenperfError(f"cannot be read as settings: {error}", where=str(file), hint=hint) from None
    known = list(commands)
    tables = {key: value for key, value in read.items() if isinstance(value, dict)}
    for name in tables:
        if name not in known:
            hint = suggest(name, known) or f"one of {', '.join(known)}"
            raise GenperfError(f"[{name}] is not a command", where=str(file), hint=hint)
    shared = {_option(key): _text(value) for key, value in read.items() if key not in tables}
    return {name: {**shared, **{_option(k): _text(v) for k, v in tables.get(name, {}).items()}} for name in known}


def _option(key: str) -> str:
    return key.replace("-", "_").lower()


def _text(value: Any) -> Any:
    """Write a list as on the command line: with commas."""
    if isinstance(value, list) and all(isinstance(v, str) and "=" not in v for v in value):
        return ",".join(value)
    return value
