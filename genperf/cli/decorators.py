"""Decorators of commands: options that several commands share, and what a command is given of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from genperf.cli.output import PICTURES, Output
from genperf.cli.writing import files_read, first_lines, names_files, refuse_overwriting, writable
from genperf.errors import GenperfError, UnclearTableError
from genperf.scaling import BY_GROUP, KINDS, NAMES

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

F = TypeVar("F", bound=Callable[..., Any])
#: Headings of the help: the options of a table, which only `--help-table` shows, and those of no group.
TABLE_OPTIONS, OTHER = "The table", "Other options"
#: Columns of a term in the help, as click has it.
TERM_WIDTH = 30
#: A comma before the next NAME=, whose name may have a unit in parentheses, and a value that has an equals sign itself.
_NEXT = re.compile(r",\s*(?=[^\d\s,=<>!()][^,=<>!()]*(?:\([^,=<>!()]*\)[^,=<>!()]*)*=(?!=))")
_LABEL = re.compile(r"=[^,=]*=")
#: What stands in brackets of a value, `(tp=2, pp=4)`.
_BRACKETED = re.compile(r"(?<==)[^=,()]*\([^()]*\)")


class Option(click.Option):
    """An option that stands in a group of its command's help."""

    title = OTHER
    #: The parameter of the command that has the values of the group, and what makes it of them; none where empty.
    part_of: tuple[str, Callable[..., object]] = ("", dict)


class Command(click.Command):
    """A command that never overwrites what it reads, and whose help has its options in groups."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words: those around a table are its configuration; an unknown option may be a factor."""
        ctx.allow_extra_args = True
        try:
            super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            from genperf.vocabulary.names import meant_by

            name = error.option_name.lstrip("-")
            if any("--at" in parameter.opts for parameter in self.params) and meant_by(name):
                text = f"{error.message} A factor is set by --at {name}=VALUE."
                raise click.NoSuchOption(error.option_name, text, error.possibilities, ctx) from None
            raise
        if ctx.args and not ctx.resilient_parsing:
            self._place_words(ctx)
        return ctx.args

    def _place_words(self, ctx: click.Context) -> None:
        """Put the words that click left over into the parameters: files into the table, others into `--at`."""
        from genperf.cli.options import split_words
        from genperf.table.content import Files

        words = " ".join(ctx.args)
        table = next((p.name for p in self.params if isinstance(p, click.Argument) and p.nargs == 1), None)
        settings = next((p.name for p in self.params if "--at" in p.opts), None)
        texts = tuple(ctx.args) if table is None else (ctx.params[table], *ctx.args)
        # A table that is not there is refused as such when it is opened.
        files, around = split_words(texts) if any(map(names_files, texts)) else (texts[:1], texts[1:])
        are_files = all(map(names_files, files[1:]))
        if table is None or not are_files or (around and settings is None):
            # A word such as `x.csv` that is no file is neither.
            configured = "" if settings is None else f' A configuration is --at "{words}".'
            ctx.fail(f"Got unexpected words ({words}).{configured}")
        ctx.args, ctx.params[table] = [], files[0] if len(files) == 1 else Files.named(files)
        if settings is not None:
            ctx.params[settings] = (*ctx.params[settings], *around)

    def invoke(self, ctx: click.Context) -> Any:
        """Call the command's function; of a table that is unclear, the error shows how its file begins."""
        refuse_overwriting(ctx.params)
        values, groups = {**ctx.params}, dict[tuple[str, Callable[..., object]], dict[str, Any]]()
        for option in self.params:
            # The values of a group of options may be gathered as one parameter.
            if isinstance(option, Option) and option.part_of[0] and option.name in values:
                groups.setdefault(option.part_of, {})[option.name] = values.pop(option.name)
        # `--samples "90 epochs"` is read as in the words of a question, with all that limits it.
        place = next((option.name or "" for option in self.params if "--at" in option.opts), "")
        for of_group in groups.values() if place else ():
            job = {name: of_group[name] for name in ("samples", "deadline", "budget") if of_group.get(name)}
            worded = {name for name, text in job.items() if re.fullmatch(r"\d\S* (?!steps$)[^\W\d]{3,}", text.strip())}
            words = tuple(text if name in worded else f"--{name}={text}" for name, text in job.items())
            if worded:
                values[place] = (*values[place], *words)
                of_group |= dict.fromkeys(job)
        callback = self.callback
        assert callback is not None
        try:
            # A value of a group is refused with the usage of the command, as click does inside `invoke`.
            return ctx.invoke(lambda: callback(**values, **{name: make(**of) for (name, make), of in groups.items()}))
        except UnclearTableError as error:
            from genperf.table.content import STANDARD_INPUT

            # Of several files that are read, the one that the error names; what was piped is gone.
            files = [] if error.where == STANDARD_INPUT else [*files_read(ctx.params)]
            named = [path for path in files if path == error.where]
            error.begin = next(map(first_lines, named or files), ())
            raise

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the groups in the order of the options, without those of the table."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            if isinstance(parameter, click.Option) and (record := parameter.get_help_record(ctx)):
                groups.setdefault(getattr(parameter, "title", OTHER), []).append(record)
        other_options, _ = groups.pop(OTHER), groups.pop(TABLE_OPTIONS, None)
        write_groups(formatter, {**groups, OTHER if groups else "Options": other_options})


def write_groups(formatter: click.HelpFormatter, groups: Mapping[str, Sequence[tuple[str, str]]]) -> None:
    """Write terms and what they mean under headings, all in the same two columns."""
    width = min(TERM_WIDTH, max(len(term) for rows in groups.values() for term, _ in rows))
    for title, [(term, meaning), *further_rows] in groups.items():
        with formatter.section(title):
            formatter.write_dl([(term.ljust(width), meaning), *further_rows], col_max=TERM_WIDTH)


option = partial(click.option, cls=Option)
command = partial(click.command, cls=Command)


def option_group(title: str, *options: Callable[[Any], Any]) -> Callable[[F], F]:
    """Return a decorator that adds options under a heading of the help."""
    return one_parameter("", dict, title, *options)


def one_parameter(
    parameter: str, make: Callable[..., object], title: str, *options: Callable[[Any], Any]
) -> Callable[[F], F]:
    """Return a decorator that adds options, and hands a command `make` of their values as one parameter."""

    def decorate(function: F) -> F:
        first_added = len(getattr(function, "__click_params__", ()))
        # click lists options from the last to the first, as decorators are applied.
        for add in reversed(options):
            add(function)
        declared: list[Any] = function.__click_params__  # type: ignore[attr-defined]
        before = {name for option in declared[:first_added] for name in option.opts} if parameter else set()
        declared[first_added:] = [option for option in declared[first_added:] if before.isdisjoint(option.opts)]
        for option in declared[first_added:]:
            option.title, option.part_of = title, (parameter, make)
        return function

    return decorate


def _picture(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Return a file's name whose ending is that of a picture, as click's callback of `--plot`."""
    # A name without an ending is a folder, where a command draws several figures.
    folder = ctx.command.name == "explain" and value is not None and "." not in Path(value).name
    if value is not None and not folder and value.rpartition(".")[2].lower() not in PICTURES:
        raise click.BadParameter(f"'{value}' ends in none of {', '.join('.' + e for e in PICTURES)}")
    if value is not None and find_spec("matplotlib") is None:
        # Before the work, whose result could not be drawn.
        raise GenperfError("plots need matplotlib", hint='pip install "genperf[plots]"')
    return value if folder else writable(ctx, param, value)


def assignments(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> tuple[str, ...]:
    """Split `NAME=VALUE` texts that set several factors, as click's callback: gpus=16,32,batch=64 at `,batch`."""
    out: list[str] = []
    for text in texts:
        start = 0
        # A comma inside brackets, `f(a=1,b=2)`, splits nothing.
        outside = _BRACKETED.sub(lambda match: "_" * len(match[0]), text)
        # A label that has an equals sign itself, `layout=tp=2,pp=4`, stays as it is, and so does a name with a comma.
        for comma in () if _LABEL.search(outside) else _NEXT.finditer(outside):
            before = text[start : comma.start()]
            if "=" in before or before[:1].isdigit():
                out.append(before)
                start = comma.end()
        out.append(text[start:])
    return tuple(out)


def _show_table_options(ctx: click.Context, param: click.Parameter, wanted: bool) -> None:
    """Print the options of the table, which the help of a command leaves out."""
    if wanted and not ctx.resilient_parsing:
        formatter = ctx.make_formatter()
        options = (o for o in ctx.command.params if getattr(o, "title", "") == TABLE_OPTIONS)
        records = [record for o in options if (record := o.get_help_record(ctx)) is not None]
        write_groups(formatter, {TABLE_OPTIONS: records})
        click.echo(formatter.getvalue().rstrip("\n"))
        ctx.exit()


def complete_columns(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the columns of the table that a command names, in the place of its last word between commas."""
    begun, comma, last = incomplete.rpartition(",")
    # Files named before an option that lacks its value are in `args`.
    header = next(map(first_lines, files_read({**ctx.params, "files": tuple(ctx.args)})), ("",))[0]
    ending = "=" if "=" in (param.make_metavar(ctx) or "") else ""
    names = [name.strip(' "') for name in re.split(r"[,;\t|]", header)]
    return [f"{begun}{comma}{name}{ending}" for name in names if name.lower().startswith(last.lower())]


def complete_models(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of families."""
    from genperf.models import MODELS

    begun, comma, last = incomplete.rpartition(",")
    return [f"{begun}{comma}{name}" for name in ("auto", *MODELS) if name.startswith(last)]


def complete_files(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Let the shell complete the name of a file."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


source = partial(click.argument, shell_complete=complete_files)
column = partial(option, shell_complete=complete_columns)


def output(metavar: str, help: str, **more: Any) -> Callable[[F], F]:
    """Return the option `-o`, a file to write."""
    return option("-o", "--output", metavar=metavar, help=help, callback=writable, **more)


def plot(help: str) -> Callable[[F], F]:
    """Return the option `--plot`, a picture to write."""
    return option("--plot", metavar="FILE", help=f"{help} (png, svg or pdf).", callback=_picture)


JSON = option("--json", "as_json", is_flag=True, help="Machine-readable result on standard output.")
QUIET = option("--quiet", "-q", is_flag=True, help="Print nothing but the result.")
NO_COLOR = option("--no-color", is_flag=True, help="Plain text, also on a terminal.")
RAW = option("--raw", is_flag=True, help="Write texts that begin with = + - @ as they are.")
#: How a result is shown, in what a command is given as `out`.
shown = partial(one_parameter, "out", Output, "The result")
RESULT = (JSON, QUIET, NO_COLOR)

INTERVAL = option("--interval", default=0.9, help="Nominal coverage of the intervals.")
GROUP = option("--group", metavar="A,B", help="Which group's model, for a model fitted with --group.")
SEED = option("--seed", default=0, type=click.IntRange(min=0), help="Of everything that is drawn.")
WORKERS = option("--workers", default=1, type=click.IntRange(min=1), help="Processes to fit with.")
_CONFIGURATION = partial(column, "--at", metavar="FACTOR=V,…", multiple=True, callback=assignments)
AT = _CONFIGURATION(help="The configuration: gpus=64,batch=32. Several values: gpus=64,128; gpus=16:128:*2.")
ONE_AT = _CONFIGURATION(help="The configuration: gpus=64,batch=32.")
TARGET = partial(column, "--at", "--target", "target", metavar="FACTOR=V,…", multiple=True, callback=assignments)
ALONG = column("--along", metavar="FACTOR", help="The factor that counts the workers, where it is not recognised.")
HINTS = option(
    "--hint",
    "hints",
    metavar="NAME=VALUE",
    multiple=True,
    help='The network between nodes: "bandwidth=25Gbit/s", latency=20us, parameters=110M, "devices per node=8".',
)
MAPPING = option("--map", "mapping", metavar="FACTOR=COL", multiple=True, help="The column of a field's name.")
PRICE = option("--price", metavar="X/h", help="Of one machine: 2/h; also /s, /min and /d.")
PER = column("--per", metavar="COL", help="What the price is for: gpus or nodes; the workers where omitted.")
WORK = option("--work", metavar="FORMULA", help="Samples of a step: 32*gpus; from the columns where omitted.")
SAMPLES = option("--samples", metavar="N", help="The work in all, in the unit of the throughput or batch: 300B.")
DEADLINE = option("--deadline", metavar="TIME", help="Of --samples: 5d; the upper end of the interval keeps it.")
BUDGET = option("--budget", metavar="X", help="Of --samples: the money that it may cost; the upper end keeps it.")
TOKENS = option("--tokens", metavar="N", help="Of a transformer: the days and the cost of so many tokens, as 300B.")
PEAK = option("--peak", metavar="DEVICE", help="Of a transformer: MFU, of a device's peak; a100, or 312T operations/s.")


_meanings = "; ".join(f"{name}: {kind.meaning}" for name, kind in KINDS.items())
SCALING = option("--scaling", type=click.Choice(NAMES), help=f"{_meanings}.")
_ROLES = one_parameter(
    "roles",
    dict,
    TABLE_OPTIONS,
    column(
        "--time", metavar="COL", help="Column of measured times; its unit is that of its name, or --unit, else seconds."
    ),
    column("--throughput", metavar="COL", help="Column of samples per second, instead of --time."),
    option("--work", metavar="FORMULA", help="Samples per step of --throughput; from the columns where omitted."),
    option(
        "--scaling",
        type=click.Choice((*NAMES, BY_GROUP)),
        help=f"{_meanings}; {BY_GROUP}: as the times of each group show.",
    ),
    column("--quantity", metavar="COL[:UNIT]", help="Column of another positive quantity, instead of --time."),
    option("--also", metavar="NAME=COL[:UNIT]", multiple=True, help="A further quantity: memory=peak_gb:GB."),
    option("--unit", metavar="UNIT", help="Of --time: s, ms, us, ns, min or h; of --quantity, any."),
    column("--intrinsic", metavar="A,B", help="Properties of the program: batch, …"),
    column("--extrinsic", metavar="A,B", help="Properties of the run: workers, …"),
    column("--categorical", metavar="A,B", help="Names without an order: framework, …"),
    column("--group", metavar="A,B", help="One model per combination of these columns."),
    column("--weight", metavar="COL", help="Column of weights."),
    column("--repeat", metavar="COL", help="Column that numbers the repeats of a configuration."),
    option("--let", metavar="NAME=FORMULA", multiple=True, help="Derive a column; may be repeated."),
    option("--where", metavar="FORMULA", multiple=True, help="Keep only rows where this holds; may be repeated."),
    option("--skip-bad-rows", is_flag=True, help="Go on without rows that cannot be read; they are counted."),
    option("--aggregate/--no-aggregate", default=None, help="Summarise rows while reading; files over 64 MB are."),
    column("--status", metavar="COL", help="Column that says how a run ended: OOM, failed, timeout, …"),
    option("--failed", metavar="COL=VALUE,…", multiple=True, help="Values of runs that failed, in place of the usual."),
    option("--delimiter", metavar="CHAR", help="What separates columns, where it is not recognised."),
    MAPPING,
)


def table_options(function: F) -> F:
    """Add the options of a table's columns, which a command is given as `roles`, and `--help-table` that lists them."""
    listed = option(
        "--help-table",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_show_table_options,
        help="Show the options of the table's columns: --time, --group, --where, ….",
    )
    return _ROLES(listed(function))


def _arguments(**values: Any) -> dict[str, Any]:
    """Return the options of a fit as `genperf.fit` takes them."""
    from genperf.cli.options import number, pairs

    lam = values["lam"]
    return {
        **values,
        "lam": lam if lam in (None, "cv") else number(lam, "--lambda"),
        "mapping": pairs(click.get_current_context().params["mapping"], "--map"),
        "fix": {name: number(value, "--fix") for name, value in pairs(values["fix"], "--fix").items()},
        "hints": pairs(values["hints"], "--hint"),
    }


fit_options = one_parameter(
    "fitting",
    _arguments,
    "The fit",
    option("--structure", default="auto", help="separable, per-term, product, grown or auto."),
    option("--loss", default="relative", help="relative, log, absolute, squared or huber."),
    option("--penalty", default="l2", help="l2, l1 or elastic-net."),
    option("--lambda", "lam", metavar="X|cv", help="Strength of the penalty; cv chooses by cross-validation."),
    option("--solver", default="projected", help="projected or de."),
    option("--fix", metavar="NAME=X", multiple=True, help="Hold a constant of the model at a value."),
    HINTS,
    SEED,
    WORKERS,
    option("--engine", default="local", help="Where fits run: local or dask."),
    option("--address", metavar="HOST:PORT", help="Of your Dask scheduler."),
)
