"""The commands, by the question that each answers; a command's file is imported when it is called."""

from functools import cache
from importlib import import_module
from keyword import iskeyword
from pathlib import Path

import click

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
    file = "settings" if name == "init" else function
    command: click.Command = getattr(import_module(f"genperf.cli.{file}"), function)
    return command


def lone_table() -> str | None:
    """Return the one file here that is named as a table."""
    tables = [path.name for path in Path().iterdir() if path.suffix.lower() in (".csv", ".tsv", ".jsonl", ".parquet")]
    return tables[0] if len(tables) == 1 else None


def names_a_source(word: str) -> bool:
    """Tell whether a first word that is no command is what `ask` answers from: a file, a pattern, a run, a machine."""
    return word == "-" or (bool(set(word) & set("./\\*?:0123456789")) and word[0] != "-") or Path(word).exists()
