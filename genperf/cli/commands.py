"""The commands by question, and `genperf.toml`: any option of any command, which `genperf init` writes."""

import json
import re
import textwrap
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from keyword import iskeyword
from pathlib import Path
from typing import Any, TypeAlias

import click

from genperf.cli import decorators as shared
from genperf.cli.output import tell
from genperf.cli.writing import names_files, write_whole
from genperf.errors import GenperfError, did_you_mean, suggest

#: Heading of the help → command → what it answers, in the order of the help.
SECTIONS: dict[str, dict[str, str]] = {
    "Ask": {
        "ask": "What will I get at 64, how sure is it, what does it cost?",
        "report": "What do I send to my manager? A page, or a proposal.",
    },
    "Decide": {
        "compare": "Which framework, network or split is best?",
        "optimize": "What is the best configuration; what meets my deadline?",
        "suggest": "Which run should I make next?",
    },
    "Explain": {
        "explain": "Why does it not scale? What takes the time?",
        "validate": "How good are such predictions?",
        "verify": "Are new runs as predicted, or slower?",
        "check": "How was my table read?",
    },
    "Work with models": {
        "import": "Turn measurements of another tool into a table.",
        "fit": "Fit a model to a table, and keep it.",
        "predict": "Predict many configurations with a kept model.",
        "list": "Families of expressions; what published series, runs and tables answers rest on.",
        "demo": "Run the whole path on the bundled measurements.",
    },
}
#: The commands, with one that help leaves out.
COMMANDS = (*(name for section in SECTIONS.values() for name in section), "init")
#: Former name of a command → its words now. They go with the next version.
FORMER = {"models": ("list", "models"), "world": ("list", "world"), "export": ("explain",)}


@cache
def command_named(name: str) -> click.Command:
    """Return a command, from the function of its name in the file of its name; `init` stands beside the settings."""
    # A file named as a word of Python could not be imported by others, and a function called list would hide Python's.
    function = f"{name}_" if iskeyword(name) or name == "list" else name
    file = "commands" if name == "init" else function
    command: click.Command = getattr(import_module(f"genperf.cli.{file}"), function)
    return command


def names_a_source(word: str, *further: str) -> bool:
    """Tell whether a first word that is no command is what `ask` answers from: a file, a pattern, a run, a machine.

    Or whether it begins a sentence that names a device, `how many h100 for 1T tokens in 30 days`, or that stands before
    a file, `how fast on 64 gpus runs.csv`. A single word before a file is a command that is not spelled right.
    """
    if (set(word) & set("./\\*?:0123456789") and word[0] != "-") or names_files(word):
        return True
    # Only here: help and completion need no words.
    from genperf.peaks import device_in
    from genperf.vocabulary import words_of

    names = [of for of in further if of[:1] != "-" or of == "-"]
    words = " ".join(names).split()
    files = [names_files(of) for of in names]
    if any(files) and (" " in word or not files[0]):
        return True
    return word.lower() in words_of("headers.maker") or any(device_in(_COUNTS.sub("", of)) for of in words)


#: Before a device: how many of them, `2x8xh100`.
_COUNTS = re.compile(r"(?:\d+x)+")
DEFAULT = "genperf.toml"
#: Largest settings file that is read from a pipe, or from a device that never ends.
MAX_BYTES = 1_000_000
#: Command → option → value, as click takes it.
Defaults: TypeAlias = dict[str, dict[str, Any]]
#: What a value of an option is in the file, and how a message calls it: of a type of click, of a text, of several.
_KINDS: Mapping[type, tuple[Any, str]] = {
    click.types.BoolParamType: (bool, "true or false"),
    click.types.IntParamType: (int, "a whole number"),
    click.types.FloatParamType: (float, "a number"),
}
_TEXT: tuple[Any, str] = (str | int | float | list[str], "text, a number, or a list of texts")
_TEXTS: tuple[Any, str] = (str | list[str], "text or a list of texts")


def settings_of(path: str | None) -> Defaults:
    """Read a settings file, checked as a whole, into click's default map: keys of all commands, then `[fit]` of one."""
    if path is None and not Path(DEFAULT).is_file():
        return {}
    file = Path(path or DEFAULT)
    read, options = _read(file), {name: _options(command_named(name)) for name in COMMANDS}
    defaults: Defaults = {name: {} for name in COMMANDS}
    # A table of one command comes last, and wins over what applies to all.
    for key, value in sorted(read.items(), key=lambda item: item[0] in COMMANDS):
        is_command = key in COMMANDS
        if is_command and not isinstance(value, dict):
            hint = f"a table [{key}] with the options of that command"
            raise GenperfError(f"{key} is a command, and its value no table", where=str(file), hint=hint)
        for name, setting in value.items() if is_command else [(key, value)]:
            having = [command for command in ([key] if is_command else COMMANDS) if _key(name) in options[command]]
            if not having:
                raise _unknown(name, setting, options, str(file), key if is_command else None)
            for command in having:
                option = options[command][_key(name)]
                defaults[command][str(option.name)] = _checked(option, setting, f"{file}: {_key(name)}")
    return defaults


def _unknown(
    key: str, value: Any, options: Mapping[str, Mapping[str, click.Option]], file: str, command: str | None
) -> GenperfError:
    """Return the error for a key that is no option: of the command whose table it is in, or of any command."""
    if command is not None:
        hint = did_you_mean(_key(key), sorted(options[command])) or "see --help"
        return GenperfError("is no option of this command", where=f"{file}: [{command}] {key}", hint=hint)
    key_text = key if len(key) <= 40 else f"{key[:37]}…"
    if isinstance(value, dict):
        return GenperfError(f"[{key_text}] is not a command", where=file, hint=suggest(_key(key)[:100], options))
    option_names = {name for named in options.values() for name in named}
    hint = did_you_mean(_key(key)[:100], [*option_names, *options]) or "see genperf fit --help"
    return GenperfError(f"{key_text} is no option of any command", where=file, hint=hint)


def commented() -> str:
    """Return a settings file with every option of every command, each in a comment with its help and its default."""
    lines = [
        "# Settings of genperf: the options of its commands, without the two hyphens. The command line wins.",
        "# A key above the first table applies to every command that has the option:",
        '# time = "step_time_s"',
        '# extrinsic = "workers"',
    ]
    for name in COMMANDS:
        lines += ["", f"[{name}]"]
        for option in command_named(name).params:
            if isinstance(option, click.Option):
                # click marks an option without a default by an object of its own.
                is_plain = isinstance(option.default, bool | int | float | str)
                value = option.default if is_plain else False if option.is_flag else ""
                lines.append(f"# {_key(max(option.opts, key=len))} = {json.dumps(value)}")
                lines += [f"#   {line}" for line in textwrap.wrap(option.help or "", 110)]
    return "\n".join(lines) + "\n"


@shared.command("init")
def init() -> None:
    """Write genperf.toml here, with every option in a comment. Commands read it where they are run."""
    if Path(DEFAULT).exists():
        raise GenperfError("is there already", where=DEFAULT, hint="move it away, or edit it")
    write_whole(DEFAULT, commented())
    tell(f"wrote {DEFAULT}", err=True)


def _read(file: Path) -> dict[str, Any]:
    """Return the tables and values of a settings file."""
    # Where there is no settings file, help need not wait for this import.
    import tomllib

    from genperf.table.content import read_bounded

    try:
        return tomllib.loads(read_bounded(file, MAX_BYTES).decode("utf-8-sig"))
    except FileNotFoundError:
        raise GenperfError("no such file", where=str(file), hint="check --config") from None
    except (OSError, ValueError, RecursionError) as error:
        of_file = error.strerror if isinstance(error, OSError) else None
        reason = of_file or ("nested too deep" if isinstance(error, RecursionError) else str(error))
        hint = 'write TOML: time = "seconds", and a table [fit] for the options of one command'
        raise GenperfError(f"cannot be read as settings: {reason}", where=str(file), hint=hint) from None


def _options(command: click.Command) -> Mapping[str, click.Option]:
    """Return a command's options by their keys in the file: `also_model` of `--also-model`."""
    options = [p for p in command.params if isinstance(p, click.Option)]
    named = {_key(name): option for option in options for name in option.opts if name.startswith("--")}
    return {**{str(option.name): option for option in options}, **named}


def _key(name: str) -> str:
    return name.lstrip("-").replace("-", "_").lower()


def _checked(option: click.Option, value: Any, where: str) -> Any:
    """Return the value of an option; a list is written as on the command line, with commas."""
    import msgspec

    kind, words = next((expected for of, expected in _KINDS.items() if isinstance(option.type, of)), _TEXT)
    if option.multiple:
        kind, words = _TEXTS
    try:
        read: Any = msgspec.convert(value, kind)
    except msgspec.ValidationError:
        value_text = str(value) if len(str(value)) <= 40 else f"{str(value)[:37]}…"
        hint = f"as {option.opts[-1]} on the command line"
        raise GenperfError(f"is {value_text}; {words} is expected", where=where, hint=hint) from None
    if option.multiple:
        return [read] if isinstance(read, str) else read
    return ",".join(read) if isinstance(read, list) else read
