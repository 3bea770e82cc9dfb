"""`genperf fit`: a table → a fitted model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from genperf.cli.options import fit_arguments, fit_options, output_options, read, table_options
from genperf.cli.output import say, show_frame, write_whole
from genperf.cli.progress import progress_bar

#: Of many groups, the notes that say how they stand to each other, and how many different ones are shown.
GROUP_NOTES, SHOWN = ("similarity", "not_pooled"), 5


@click.command("fit")
@click.argument("table")
@table_options
@click.option("--model", default="auto", show_default=True, help="auto, a family (see `genperf models`) or a formula.")
@fit_options
@click.option("--pool", is_flag=True, help="Groups measured less far borrow how the others grew.")
@click.option("-o", "--output", metavar="FILE", help="Write the model here (JSON).")
@click.option("--resume", is_flag=True, help="Keep what is in FILE already, where rows and options are the same.")
@output_options
def command(
    table: str,
    model: str,
    pool: bool,
    output: str | None,
    resume: bool,
    as_json: bool,
    quiet: bool,
    no_color: bool,
    **given: Any,
) -> None:
    """Fit a model to TABLE and say what was found."""
    from genperf.fitting import fit, fitted_phases
    from genperf.result import FitResult, GroupedResult, load_model, model_pieces

    if resume and (not output or output == "-"):
        raise click.UsageError("--resume goes on from the file that -o names.")
    measured = read(table, given)
    before = load_model(output) if resume and output and Path(output).exists() else None

    saved = 0

    def save(so_far: GroupedResult) -> None:
        nonlocal saved
        if output and output != "-":
            write_whole(output, model_pieces(so_far))
            saved = len(so_far)

    try:
        with progress_bar("groups", quiet or not measured.group) as progress:
            asked = {**fit_arguments(given), "pool": pool}
            result = fit(measured, model, resume=before, progress=progress, checkpoint=save, **asked)
    except KeyboardInterrupt:
        if saved:
            say(f"{saved} of {measured.group_count} groups are in {output}; --resume goes on from there", quiet)
        raise
    if output:
        write_whole(output, model_pieces(result))
    if as_json:
        write_whole("-", model_pieces(result))
        return
    if isinstance(result, FitResult):
        for line in str(result).splitlines():
            if not line.startswith("note: "):
                click.echo(line)
        constants = result.constants()
        heaviest = constants[constants["member"] == result.best.name].drop(columns="member")
        show_frame(heaviest, plain=no_color)
        others = len(result.members) - 1
        if others:
            say(f"constants of '{result.best.name}'; those of {others} more are in the model (--json)", quiet)
        for note in result.notes:
            say(f"note: {note}", quiet)
    else:
        click.echo(str(result))
        said = [str(n) for held in result.results.values() for n in held.notes if n.kind in GROUP_NOTES]
        for text in list(dict.fromkeys(said))[:SHOWN]:
            say(f"note: {text}", quiet)
    unused = [name for name in measured.unused if name not in fitted_phases(measured, model).values()]
    if unused:
        say(f"left out, in no role: {', '.join(unused)}", quiet)
    if measured.rejected:
        say(f"rejected rows: {len(measured.rejected)}; genperf check lists them", quiet)
    if output:
        say(f"wrote {output}", quiet)
