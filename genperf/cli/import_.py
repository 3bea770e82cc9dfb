"""`genperf import`: measurements of another tool → a table."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from genperf.cli import decorators as shared
from genperf.cli.decorators import option
from genperf.cli.output import Output
from genperf.cli.writing import write_whole
from genperf.errors import LISTED, counted

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from genperf.table.importers.imported import Imported


def _formats_or_files(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the formats that begin with a text, and let the shell complete the name of a file."""
    from click.shell_completion import CompletionItem

    from genperf.importers import FORMATS

    formats = [CompletionItem(name) for name in FORMATS if name.startswith(incomplete)]
    return [*formats, *shared.complete_files(ctx, param, incomplete)]


class _Import(shared.Command):
    """The command whose help lists the formats, which are read only then."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the formats below the options."""
        from genperf.importers import FORMATS

        with formatter.section("Formats"):
            formatter.write_dl([(name, format.what) for name, format in FORMATS.items()])


@shared.command("import", cls=_Import)
@shared.source("sources", shell_complete=_formats_or_files, metavar="[FORMAT] SOURCE…", nargs=-1, required=True)
@option("--set", "settings", metavar="FACTOR=VALUE", multiple=True, help="A factor that is not in the files.")
@option("--from-name", metavar="PATTERN", help="Factors in the files' names: run_{workers}_{batch}.json.")
@shared.shown(
    option("--json", "as_json", is_flag=True, help="Describe the written table on standard output; needs -o."),
    shared.QUIET,
    shared.output("CSV", "Write the table here; to standard output where omitted."),
    shared.RAW,
)
def import_(sources: tuple[str, ...], settings: tuple[str, ...], from_name: str | None, out: Output) -> None:
    """Turn whatever there is of your runs into a table for genperf.

    A SOURCE is a file, a pattern or a folder: tables, logs, records. A FORMAT before it is needed only for the formats
    below; rows of several files become one table.
    """
    from genperf.cli.options import pairs
    from genperf.importers import FORMATS, READ_BY_SHAPE, format_of_files, import_files
    from genperf.table.importers.imported import csv_lines

    format, *files = sources
    output = out.output
    if out.as_json and output in (None, "-"):
        raise click.UsageError("--json describes the table that is written: it needs -o FILE.")
    if not files and format in (*FORMATS, *READ_BY_SHAPE):
        raise click.UsageError(f"Missing argument 'SOURCE…': the files of {format}.")
    if format not in (*FORMATS, *READ_BY_SHAPE) and (recognised := format_of_files(sources)) is not None:
        format, files = recognised, list(sources)
    if format not in FORMATS:
        _import_source(files if format in READ_BY_SHAPE else list(sources), pairs(settings, "--set"), from_name, out)
        return
    table = import_files(format, files, pairs(settings, "--set"), from_name)
    write_whole(output or "-", "".join(csv_lines(table, out.raw)))
    roles = _roles(table)
    named = dict(zip((option.removeprefix("--") for option in roles[::2]), roles[1::2], strict=True))
    about = {"table": output, "rows": len(table.rows), "columns": list(table.columns), "roles": named}
    out.written({**about, "left_out": list(table.left_out), "notes": [str(note) for note in table.notes]})
    if table.left_out:
        out.note(f"left out: {len(table.left_out)}")
        for reason in table.left_out[:LISTED]:
            out.note(f"  {reason}")
    out.notes(table.notes)
    path = _written(out, len(table.rows), len(table.values("source")))
    if any(role in ("--extrinsic", "--intrinsic", "--categorical") for role in roles):
        out.note(f"next: {shlex.join(['genperf', 'check', path, *roles])}")
        out.note(f"then: {shlex.join(['genperf', 'fit', path, *roles, '-o', 'model.json'])}")
    else:
        hint = "name what differs between the runs: --set workers=8, or --from-name 'run_{workers}.json'"
        out.note(f"no factor varies: {hint}")


def _import_source(files: list[str], settings: dict[str, str], from_name: str | None, out: Output) -> None:
    """Write a source as it is understood, and print how it was read."""
    from genperf.errors import GenperfError, suggest
    from genperf.importers import FORMATS, import_sources
    from genperf.table.cells import as_csv
    from genperf.table.content import files_of

    if len(files) > 1 and not set("./\\*?") & set(files[0]) and not Path(files[0]).exists():
        raise GenperfError(f"there is no format '{files[0]}'", hint=suggest(files[0], FORMATS))
    source = import_sources(files, settings, from_name)
    write_whole(out.output or "-", as_csv(source))
    steps = [str(step) for step in source.steps]
    out.written({"table": out.output, "rows": len(source), "columns": [*source.columns], "notes": steps})
    for text in steps:
        out.note(text)
    path = _written(out, len(source), sum(len(files_of(name)) for name in files))
    out.note(f"next: {shlex.join(['genperf', 'ask', path])}")


def _written(out: Output, rows: int, files: int) -> str:
    """Print how many rows of how many files were written, and return the name of the table."""
    path = out.output if out.output and out.output != "-" else "TABLE"
    text = f"{counted(rows, 'row')} of {counted(files, 'file')}"
    out.note(f"wrote {path}: {text}" if path == out.output else text)
    return path


def _roles(table: Imported) -> list[str]:
    """Return the options that name the columns' roles; factors that do not vary are in none."""
    from genperf.table.clean import is_number
    from genperf.vocabulary.names import COUNTED, canonical_of

    series = [name for name in table.group if len(table.values(name)) > 1]
    columns_by_role = {role: list[str]() for role in ("--intrinsic", "--extrinsic", "--categorical")}
    for name in table.factors:
        cells = table.values(name) - {None, ""}
        if len(cells) < 2:
            continue
        numeric = all(is_number(cell) for cell in cells)
        of_number = "--extrinsic" if canonical_of(name) in COUNTED else "--intrinsic"
        columns_by_role[of_number if numeric else "--categorical"].append(name)
    words = ["--time", table.time]
    for role, names in {**columns_by_role, "--group": series}.items():
        words += [role, ",".join(names)] if names else []
    words += ["--repeat", table.repeat]
    if any(isinstance(value, int | float) and value <= 0 for value in table.values(table.time)):
        words += ["--where", f"{table.time} > 0"]
    return words
