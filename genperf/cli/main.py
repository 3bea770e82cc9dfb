"""The entry: finds the command, reads the settings file, and prints every error as one message."""

import contextlib
import io
import shlex
import signal
import sys
import warnings

import click

from genperf import __version__
from genperf.cli.commands import COMMANDS, FORMER, SECTIONS, command_named, lone_table, names_a_source
from genperf.cli.decorators import write_groups
from genperf.cli.output import tell
from genperf.cli.process import Stopped, drop_output, fault, open_closed_streams, stop_in_order
from genperf.cli.settings import settings_of
from genperf.errors import GenperfError


class _Commands(click.Group):
    """The commands in their sections, each imported when it is called."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words; without any, show how the one table that lies here would be asked about."""
        if not args and not ctx.resilient_parsing and (table := lone_table()):
            show_question(table)
            ctx.exit()
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command."""
        return command_named(cmd_name) if cmd_name in COMMANDS else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first word names; where it is a file or a run, it is asked about."""
        if args[0] in FORMER:
            words = FORMER[args[0]]
            tell(f"note: `genperf {args[0]}` is now `genperf {' '.join(words)}`; this name goes", err=True)
            args = [*words, *args[1:]]
        elif args[0] not in COMMANDS and names_a_source(args[0]):
            args = ["ask", *args]
        if args[0] not in COMMANDS:
            raise click.exceptions.NoSuchCommand(args[0], possibilities=COMMANDS, ctx=ctx)
        return args[0], command_named(args[0]), args[1:]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the questions before the options."""
        self.format_commands(ctx, formatter)
        click.Command.format_options(self, ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the question that each command answers."""
        write_groups(formatter, {title: list(commands.items()) for title, commands in SECTIONS.items()})


@click.group(
    cls=_Commands,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        "show_default": True,
    },
    epilog="Exit status: 0 done, 1 a fault of the data or the model, 2 wrong usage, 70 a fault of genperf.",
)
@click.version_option(__version__, prog_name="genperf")
@click.option("--config", metavar="PATH", help="Settings file; genperf.toml here where there is one.")
@click.pass_context
def cli(ctx: click.Context, config: str | None) -> None:
    """Fit, extrapolate and explain the execution time of distributed deep learning.

    Start with `genperf demo`, or on your own measurements with `genperf runs.csv --at gpus=64`.
    """
    ctx.default_map = settings_of(config) if ctx.invoked_subcommand in COMMANDS else {}


def show_question(table: str) -> None:
    """Print how a table was read, and how it is asked about twice its largest scale."""
    from genperf.panel.read import recognised

    opened = recognised(table)
    scale = opened.reading.scale
    tell(f"{table} {opened.line}")
    at = "" if scale is None else f" --at {scale}={2 * float(max(opened.reading.evidence[scale].values)):g}"
    tell(f"ask:  genperf {shlex.quote(table)}{at}")
    tell("all commands: genperf --help")


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its status."""
    open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        # A name of a file may contain bytes that are no text.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    stop_in_order()
    if not sys.warnoptions:
        # What a computation warns of is for those who mend genperf: `python -W default -m genperf` shows it.
        warnings.simplefilter("ignore")
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    try:
        status = cli.main(args=arguments, prog_name="genperf", standalone_mode=False)
        sys.stdout.flush()
        return int(status or 0)
    except (BrokenPipeError, SystemExit):
        # The reader of the output has what it wanted; click exits then.
        drop_output()
        return 0
    except click.Abort as stop:
        cause = stop.__cause__
        number = cause.number if isinstance(cause, Stopped) else int(signal.SIGINT)
        return _failed("stopped; nothing half-written is left", 128 + number)
    except click.ClickException as error:
        message = io.StringIO()
        error.show(message)
        return _failed(message.getvalue().removesuffix("\n"), error.exit_code)
    except GenperfError as error:
        return _failed(f"error: {error}", 1)
    except OSError as error:
        try:
            sys.stdout.flush()
        except OSError:
            # What is still to be printed cannot be: Python would try again at its end.
            drop_output()
        return _failed(f"error: {error.filename or 'standard output'}: {error.strerror or error}", 1)
    except MemoryError:
        return _failed("error: this needs more memory than there is\n  try: fewer rows, draws or values at once", 1)
    except Exception as error:
        return _failed(*fault(error))


def _failed(text: str, status: int) -> int:
    """Print a message on standard error, where that is still possible."""
    with contextlib.suppress(OSError, ValueError):
        tell(text, err=True)
    return status
