"""The entry: finds the command, reads the settings, prints every error as one message, and ends in order."""

import contextlib
import io
import os
import shlex
import signal
import sys
import traceback
import warnings
import zlib
from pathlib import Path
from types import FrameType

import click

import genperf
from genperf.cli.commands import COMMANDS, FORMER, SECTIONS, command_named, names_a_source, settings_of
from genperf.cli.decorators import write_groups
from genperf.cli.output import tell
from genperf.cli.writing import names_files
from genperf.errors import GenperfError

#: The exit status of a fault of genperf itself: "internal software error" of sysexits.h.
FAULT_STATUS = 70
#: Prints the traceback as well, for those who mend it.
TRACEBACK_VARIABLE = "GENPERF_TRACEBACK"


class Stopped(KeyboardInterrupt):
    """A signal ended the process, as Ctrl-C does."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def stop_in_order() -> None:
    """Let SIGTERM, SIGHUP and Ctrl-C, also pressed twice, end the process with what is fitted kept."""
    for name in ("SIGTERM", "SIGHUP", "SIGINT"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _stop)


def _stop(number: int, frame: FrameType | None) -> None:
    # A second one must not interrupt the saving.
    signal.signal(number, signal.SIG_IGN)
    raise Stopped(number)


def open_closed_streams() -> None:
    """Open the standard streams that the caller closed, so that no other file gets their numbers."""
    # As in other programs, a closed input is empty, and writing to a closed output is an error.
    for number, name, mode in ((0, "stdin", os.O_RDONLY), (1, "stdout", os.O_RDONLY), (2, "stderr", os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.dup2(os.open(os.devnull, mode), number)
            if getattr(sys, name) is None:
                binary = io.FileIO(number, "r" if name == "stdin" else "w", closefd=False)
                buffered = io.BufferedReader(binary) if name == "stdin" else io.BufferedWriter(binary)
                setattr(sys, name, io.TextIOWrapper(buffered, encoding="utf-8", errors="backslashreplace"))


def drop_output() -> None:
    """Drop what is left to print, also when Python flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def fault(error: BaseException) -> tuple[str, int]:
    """Return a line about an error that no message was written for, with a number for its place, and the status."""
    kind = type(error).__name__
    # An overflow may have a number before its text.
    message = error.args[-1] if isinstance(error, OverflowError) and error.args else error
    text = " ".join(str(message).split())[:200]
    home = str(Path(genperf.__file__).parent)
    inner = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(home)]
    place = f"{Path(inner[-1].filename).relative_to(home).as_posix()}:{inner[-1].lineno}" if inner else ""
    number = f"{zlib.crc32(f'{genperf.__version__} {kind} {place}'.encode()) % 1_000_000:06d}"
    before = "".join(traceback.format_exception(error)) if os.environ.get(TRACEBACK_VARIABLE) else ""
    # Numbers too large, divided by zero, or a matrix that cannot be solved with; numpy is not imported for this.
    if isinstance(error, ArithmeticError) or kind == "LinAlgError":
        hint = "  try: ask nearer to the data, or fit the model again; its file may have been changed"
        return f"{before}error: nothing can be computed with these numbers: {text} (number {number})\n{hint}", 1
    report = f"please report it as number {number} of version {genperf.__version__} with the command"
    what = f"{kind}: {text}" if text else kind
    return f"{before}error: a fault of genperf, not of your data: {what}; {report}", FAULT_STATUS


class _Commands(click.Group):
    """The commands in their sections, each imported when it is called."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words; without any, show how the one table that lies here would be asked about."""
        if not args and not ctx.resilient_parsing:
            endings = (".csv", ".tsv", ".jsonl", ".parquet")
            tables = [path.name for path in Path().iterdir() if path.suffix.lower() in endings]
            if len(tables) == 1:
                show_question(tables[0])
                ctx.exit()
        if args and args[0][:2] == "--" and any(map(names_files, args)):
            # An option before a table is one of the question.
            of_group = {name for parameter in self.get_params(ctx) for name in parameter.opts}
            args = args if args[0].partition("=")[0] in of_group else ["ask", *args]
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
        elif args[0] not in COMMANDS and names_a_source(*args):
            args = ["ask", *args]
        if args[0] not in COMMANDS:
            raise click.exceptions.NoSuchCommand(args[0], possibilities=COMMANDS, ctx=ctx)
        return args[0], command_named(args[0]), args[1:]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the question that each command answers before the options."""
        write_groups(formatter, {title: list(commands.items()) for title, commands in SECTIONS.items()})
        click.Command.format_options(self, ctx, formatter)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True},
    epilog="Exit status: 0 done, 1 a fault of the data or the model, 2 wrong usage, 70 a fault of genperf.",
)
@click.version_option(genperf.__version__, prog_name="genperf")
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
    at = "" if scale is None else f" --at {scale}={2 * float(max(opened.reading.columns[scale].values)):g}"
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
