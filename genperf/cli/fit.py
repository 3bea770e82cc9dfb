"""`genperf fit`: a table → a fitted model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from genperf.cli.fitted import PRINTED, constants_shown, fitted_lines, group_notes
from genperf.cli.messages import tell
from genperf.cli.options import fit_arguments, fit_options, once, read, table_options
from genperf.cli.output import Output, results
from genperf.cli.progress import announce, progress
from genperf.cli.writing import writable, write_whole
from genperf.errors import counted, listed


@click.command("fit")
@click.argument("table")
@table_options
@click.option("--model", default="auto", show_default=True, help="auto, a family (see `genperf models`) or a formula.")
@fit_options
@click.option("--also-model", metavar="NAME=MODEL", multiple=True, help="What to fit to a quantity of --also.")
@click.option("--pool", is_flag=True, help="Name columns that could show which groups are alike.")
@click.option("-o", "--output", callback=writable, metavar="FILE", help="Write the model here (JSON).")
@click.option("--quick", is_flag=True, help="A first look: one structure, fewer draws; intervals are rougher.")
@click.option("--resume", is_flag=True, help="Keep what is in FILE already, where rows and options are the same.")
@click.option("--verbose", "-v", is_flag=True, help="Print the formula, or the members, and the constants as well.")
@results()
def command(
    table: str,
    model: str,
    also_model: tuple[str, ...],
    pool: bool,
    output: str | None,
    quick: bool,
    resume: bool,
    verbose: bool,
    out: Output,
    **given: Any,
) -> None:
    """Fit a model to TABLE; print its held-out error, how far it may be trusted, and what doubling each factor does."""
    from genperf.estimate.options import DEFAULTS
    from genperf.fitting import fit, fitted_phases
    from genperf.result import FitResult, GroupedResult, load_model, model_pieces

    if resume and (not output or output == "-"):
        raise click.UsageError("--resume continues the file that -o names.")
    measured = read(table, given)
    before = load_model(output) if resume and output and Path(output).exists() else None

    saved = 0

    def save(so_far: GroupedResult) -> None:
        nonlocal saved
        if output and output != "-":
            write_whole(output, model_pieces(so_far))
            saved = len(so_far)

    if not measured.group and model in ("auto", "generic"):
        announce(len(measured.medians()), len(measured.factors), out.quiet)
    try:
        with progress(out.quiet, "groups" if measured.group else "") as done:
            further = {"also_models": once(also_model, "--also-model")}
            options = {**fit_arguments(given), **further, "pool": pool}
            if quick:
                structure = "separable" if options["structure"] == "auto" else options["structure"]
                options |= {"draws": DEFAULTS.quick_draws, "structure": structure}
            result = fit(measured, model, resume=before, progress=done, checkpoint=save, **options)
    except KeyboardInterrupt:
        if saved:
            out.note(f"{saved} of {measured.group_count} groups are in {output}; --resume continues from there")
        raise
    if output:
        write_whole(output, model_pieces(result))
    if out.as_json:
        write_whole("-", model_pieces(result))
        return
    if isinstance(result, FitResult):
        for line in fitted_lines(result, verbose):
            tell(line)
        if verbose and result.is_formula:
            out.frame(constants_shown(result))
        elif verbose:
            out.note(f"constants of {counted(len(result.members), 'expression')}: --json, or genperf explain MODEL")
        notes = [str(note) for note in result.notes]
    else:
        tell(str(result))
        notes = group_notes(result)
    for text in notes:
        out.note(f"note: {text}")
    unused = [name for name in measured.unused if name not in fitted_phases(measured, model).values()]
    if unused:
        out.note(f"left out, in no role: {listed(unused, PRINTED.max_unused)}")
    if measured.rejected:
        out.note(f"rejected rows: {measured.rejected_rows}; genperf check lists them")
    out.note(f"wrote {output}" if output else "nothing was kept: -o model.json writes the model")
