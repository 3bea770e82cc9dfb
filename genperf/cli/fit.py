"""`genperf fit`: a table → a fitted model, of which it prints first how well it predicts what it was not fitted to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from genperf.cli import decorators as shared
from genperf.cli.decorators import option
from genperf.cli.output import Output, progress, tell, tell_all
from genperf.cli.writing import write_whole
from genperf.errors import counted, listed

if TYPE_CHECKING:
    from genperf.panel import Table
    from genperf.result import FitResult, GroupedResult


@shared.command("fit")
@shared.source("table")
@shared.option_group(
    "The model",
    option(
        "--model",
        metavar="MODEL",
        default="auto",
        shell_complete=shared.complete_models,
        help="auto, a family (see `genperf list models`) or a formula.",
    ),
    option("--also-model", metavar="NAME=MODEL", multiple=True, help="What to fit to a quantity of --also."),
    option("--pool", is_flag=True, help="Name columns that could show which groups are alike."),
    option("--quick", is_flag=True, help="A first look: one structure, fewer draws; intervals are rougher."),
    option("--resume", is_flag=True, help="Keep what is in FILE already, where rows and options are the same."),
)
@shared.table_options
@shared.fit_options
@shared.shown(*shared.RESULT, shared.output("FILE", "Write the model here (JSON)."))
@option("--verbose", "-v", is_flag=True, help="Print the formula, or the members, and the constants as well.")
def fit(
    table: str,
    model: str,
    also_model: tuple[str, ...],
    pool: bool,
    quick: bool,
    resume: bool,
    verbose: bool,
    roles: dict[str, Any],
    fitting: dict[str, Any],
    out: Output,
) -> None:
    """Fit a model to TABLE; print its held-out error, how far it may be trusted, and what doubling each factor does."""
    from genperf.cli.fitted import constants_shown, fitted_lines, group_notes
    from genperf.cli.options import pairs, read
    from genperf.estimate.options import QUICK_DRAWS
    from genperf.fitting import fitted_phases
    from genperf.result import FitResult, load_model, model_pieces

    output = out.output
    if resume and (not output or output == "-"):
        raise click.UsageError("--resume continues the file that -o names.")
    measured = read(table, roles)
    options = {**fitting, "also_models": pairs(also_model, "--also-model"), "pool": pool}
    if resume and output and Path(output).exists():
        options["resume"] = load_model(output)
    if quick:
        structure = "separable" if options["structure"] == "auto" else options["structure"]
        options |= {"draws": QUICK_DRAWS, "structure": structure}
    result = _fitted(measured, model, options, out)
    if output:
        write_whole(output, model_pieces(result))
    if out.as_json:
        write_whole("-", model_pieces(result))
        return
    if isinstance(result, FitResult):
        tell_all(fitted_lines(result, verbose))
        if verbose and result.is_formula:
            out.frame(constants_shown(result))
        elif verbose:
            out.note(f"constants of {counted(len(result.members), 'expression')}: --json, or genperf explain MODEL")
        out.notes(result.notes)
    else:
        tell(str(result))
        out.notes(group_notes(result))
    unused = [name for name in measured.unused if name not in fitted_phases(measured, model).values()]
    if unused:
        out.note(f"left out, in no role: {listed(unused)}")
    if measured.rejected:
        out.note(f"rejected rows: {measured.rejected_rows}; genperf check lists them")
    if output:
        out.wrote(output)
    else:
        out.note("nothing was kept: -o model.json writes the model")


def _fitted(measured: Table, model: str, options: dict[str, Any], out: Output) -> FitResult | GroupedResult:
    """Fit a table; the groups that are done are kept in the file, also where the work is stopped."""
    from genperf.fitting import fit
    from genperf.result import model_pieces

    saved = 0

    def save(so_far: GroupedResult) -> None:
        nonlocal saved
        if out.output and out.output != "-":
            write_whole(out.output, model_pieces(so_far))
            saved = len(so_far)

    try:
        with progress(out.quiet, "groups" if measured.group else "") as done:
            return fit(measured, model, progress=done, checkpoint=save, **options)
    except KeyboardInterrupt:
        if saved:
            out.note(f"{saved} of {measured.group_count} groups are in {out.output}; --resume continues from there")
        raise
