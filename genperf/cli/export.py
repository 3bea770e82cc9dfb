"""`genperf export`: a fitted expression in another language."""

from types import SimpleNamespace

from genperf.cli.declared import declared
from genperf.cli.options import model_or_table, one_group
from genperf.cli.output import Output
from genperf.cli.writing import write_whole


@declared("export")
def command(o: SimpleNamespace, out: Output) -> None:
    """Write the fitted expression of MODEL, with its constants, as a function of its factors.

    The interval and the verdict are not exported.
    """
    from genperf.reporting.export import export

    result = one_group(model_or_table(o.model), o.group, o.model)
    write_whole(out.output or "-", export(result, o.to).rstrip("\n") + "\n")
