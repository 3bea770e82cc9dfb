"""`metrics.csv` of PyTorch Lightning's CSVLogger: one row a logged step with a time or a throughput.

`ThroughputMonitor` logs `train|global/samples_per_sec` and `train|device/samples_per_sec`; a program may log a time of
a step under any name that a table's header may have.
"""

import re
from dataclasses import replace

from genperf.errors import TableError
from genperf.importers.imported import Imported
from genperf.importers.training_log import MEASURED, named, table_of
from genperf.table.clean import numbers
from genperf.table.text import read_delimited
from genperf.vocabulary.headers import TIME_UNITS, header_of

SIGNATURE = r"\A(?=[^\n]*\bepoch\b)(?=[^\n]*\bstep\b)[^\n]*,"


def read(text: str, name: str) -> Imported:
    r"""Read a file.

    Examples
    --------
    >>> metrics = "epoch,step,train_loss,train/step_ms\n0,49,,98.0\n0,49,2.5,\n0,99,,81.5\n"
    >>> read(metrics, "metrics.csv").rows
    ({'repeat': 0, 'step_time_s': 0.0815},)
    """
    if not re.search(SIGNATURE, text):
        raise TableError("is no metrics.csv of Lightning: it has no 'epoch' and 'step'", where=name)
    source = read_delimited(text, name, ",")
    measured = {key: column for key in source.cells if (column := _measured(key)) is not None}
    rows = zip(*(numbers(source.cells[key])[0].tolist() for key in measured), strict=True)
    steps = [
        {column: round(x * unit, 12) for x, (column, unit) in zip(row, measured.values(), strict=True) if x > 0.0}
        for row in rows
    ]
    if not any(steps):
        hint = "log with ThroughputMonitor(…), or self.log('step_time_s', …)"
        raise TableError("logs no time and no throughput of a step", where=name, hint=hint)
    return replace(table_of([step for step in steps if step]), left_out=tuple(map(str, source.ragged)))


def _measured(column: str) -> tuple[str, float] | None:
    """Return the column that a logged number belongs to, and what it is multiplied by."""
    header = header_of(column)
    if header.of == "step" and header.unit in TIME_UNITS:
        numerator, denominator = TIME_UNITS[header.unit]
        return "step_time_s", numerator / denominator
    return named(column.lower().rpartition("|")[2], MEASURED)
