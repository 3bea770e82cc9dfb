"""The entry: finds the command, reads the settings file, and prints every error as one message."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from keyword import iskeyword
from typing import Any

import click

from genperf import __version__
from genperf.cli.settings import settings_of
from genperf.errors import GenperfError

#: Command → what it does, in the order of a day's work. Each lives in the file of its name.
COMMANDS = {
    "import": "Turn measurements of another tool into a table.",
    "ask": "Answer five questions about one configuration from a table.",
    "check": "Read and validate a table, and summarise it.",
    "fit": "Fit a model to a table.",
    "predict": "Predict with a fitted model.",
    "compare": "Rank groups, or the levels of a factor, by their predictions.",
    "validate": "Measure how well models predict held-out rows.",
    "explain": "Show which terms the predicted time is made of.",
    "suggest": "Choose what to measure next.",
    "optimize": "Find the best configuration of a grid.",
    "report": "Write a page with the answers, figures and sliders.",
    "models": "List the families of expressions.",
    "demo": "Run the whole path on the bundled measurements.",
}


class _Commands(click.Group):
    """Commands that are imported when they are called, so that help costs nothing."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        # A file named as a word of Python could not be imported by others.
        file = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        command: click.Command = import_module(f"genperf.cli.{file}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        from genperf.errors import suggest

        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = suggest(args[0], list(COMMANDS)) if args else None
            if near and "mean" not in error.message:
                raise click.UsageError(f"{error.message} {near.capitalize()}", ctx) from None
            raise


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit status: 0 done, 1 a fault of the data or the model, 2 wrong usage.",
)
@click.version_option(__version__, prog_name="genperf")
@click.option("--config", type=click.Path(), help="Settings file; genperf.toml here where there is one.")
@click.pass_context
def cli(ctx: click.Context, config: str | None) -> None:
    """Fit, extrapolate and explain the execution time of distributed deep learning.

    Start with `genperf demo`, or `genperf check TABLE --time COLUMN` on your own measurements.
    """
    ctx.default_map = settings_of(config, COMMANDS)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its status."""
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    try:
        status = cli.main(args=arguments, prog_name="genperf", standalone_mode=False)
        sys.stdout.flush()
        return int(status or 0)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.Abort:
        click.echo("stopped; nothing half-written is left", err=True)
        return 130
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except GenperfError as error:
        click.echo(f"error: {error}", err=True)
        return 1
    except BrokenPipeError:
        # The reader of the output ended: nothing is printed, also when Python flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        click.echo(f"error: {error.filename or 'file'}: {error.strerror or error}", err=True)
        return 1
