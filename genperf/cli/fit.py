"""`genperf fit`: a table → a fitted model."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click

from genperf.cli.declared import declared
from genperf.cli.fitted import PRINTED, constants_shown, fitted_lines, group_notes
from genperf.cli.messages import tell
from genperf.cli.options import fit_arguments, fit_options, once, read, table_options
from genperf.cli.output import Output, results
from genperf.cli.progress import announce, progress
from genperf.cli.writing import write_whole
from genperf.errors import counted, listed


@declared("fit")
@table_options
@fit_options
@results()
def command(o: SimpleNamespace, out: Output, **given: Any) -> None:
    """Fit a model to TABLE; print its held-out error, how far it may be trusted, and what doubling each factor does."""
    from genperf.estimate.options import DEFAULTS
    from genperf.fitting import fit, fitted_phases
    from genperf.result import FitResult, GroupedResult, load_model, model_pieces

    output = o.output
    if o.resume and (not output or output == "-"):
        raise click.UsageError("--resume continues the file that -o names.")
    measured = read(o.table, given)
    before = load_model(output) if o.resume and output and Path(output).exists() else None

    saved = 0

    def save(so_far: GroupedResult) -> None:
        nonlocal saved
        if output and output != "-":
            write_whole(output, model_pieces(so_far))
            saved = len(so_far)

    if not measured.group and o.model in ("auto", "generic"):
        announce(len(measured.medians()), len(measured.factors), out.quiet)
    try:
        with progress(out.quiet, "groups" if measured.group else "") as done:
            further = {"also_models": once(o.also_model, "--also-model")}
            options = {**fit_arguments(given), **further, "pool": o.pool}
            if o.quick:
                structure = "separable" if options["structure"] == "auto" else options["structure"]
                options |= {"draws": DEFAULTS.quick_draws, "structure": structure}
            result = fit(measured, o.model, resume=before, progress=done, checkpoint=save, **options)
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
        for line in fitted_lines(result, o.verbose):
            tell(line)
        if o.verbose and result.is_formula:
            out.frame(constants_shown(result))
        elif o.verbose:
            out.note(f"constants of {counted(len(result.members), 'expression')}: --json, or genperf explain MODEL")
        notes = [str(note) for note in result.notes]
    else:
        tell(str(result))
        notes = group_notes(result)
    for text in notes:
        out.note(f"note: {text}")
    unused = [name for name in measured.unused if name not in fitted_phases(measured, o.model).values()]
    if unused:
        out.note(f"left out, in no role: {listed(unused, PRINTED.max_unused)}")
    if measured.rejected:
        out.note(f"rejected rows: {measured.rejected_rows}; genperf check lists them")
    out.note(f"wrote {output}" if output else "nothing was kept: -o model.json writes the model")
