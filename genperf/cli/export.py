"""`genperf export`: a fitted expression in another language."""

from types import SimpleNamespace

from genperf.cli.options import model_or_table, one_group
from genperf.cli.output import Output
from genperf.cli.writing import write_whole
from genperf.reporting.export import export


def run(o: SimpleNamespace, out: Output) -> None:
    """Write the expression to a file or to standard output."""
    result = one_group(model_or_table(o.model), o.group, o.model)
    write_whole(out.output or "-", export(result, o.to).rstrip("\n") + "\n")
