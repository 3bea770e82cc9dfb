"""`metrics.csv` of PyTorch Lightning's CSVLogger: one row a logged step with a time or a throughput.

`ThroughputMonitor` logs `train|global/samples_per_sec` and `train|device/samples_per_sec`; a program may log a time of
a step under any name that a table's header may have.
"""

import csv
import io

from genperf.errors import TableError
from genperf.importers.imported import Cell, FormatError, Imported, is_number
from genperf.importers.training_log import MEASURED, named, table_of
from genperf.table.target import TIME_UNITS
from genperf.vocabulary.headers import header_of

SIGNATURE = r"\A(?=[^\n]*\bepoch\b)(?=[^\n]*\bstep\b)[^\n]*,"


def read(text: str, name: str) -> Imported:
    r"""Read a file.

    Examples
    --------
    >>> metrics = "epoch,step,train_loss,train/step_ms\n0,49,,98.0\n0,49,2.5,\n0,99,,81.5\n"
    >>> read(metrics, "metrics.csv").rows
    ({'repeat': 0, 'step_time_s': 0.0815},)
    """
    rows = list(csv.DictReader(io.StringIO(text)))
    if not rows or not {"epoch", "step"} <= set(rows[0]):
        raise FormatError("is no metrics.csv of Lightning: it has no 'epoch' and 'step'", where=name)
    steps: list[dict[str, Cell]] = []
    for row in rows:
        values: dict[str, Cell] = {}
        for key, cell in row.items():
            if key and is_number(cell) and float(cell) > 0.0 and (measured := _measured(key)):
                values[measured[0]] = round(float(cell) * measured[1], 12)
        if values:
            steps.append(values)
    if not steps:
        hint = "log with ThroughputMonitor(…), or self.log('step_time_s', …)"
        raise TableError("logs no time and no throughput of a step", where=name, hint=hint)
    return table_of(steps)


def _measured(column: str) -> tuple[str, float] | None:
    """Return the column that a logged number belongs to, and what it is multiplied by."""
    header = header_of(column)
    if header.of == "step" and header.unit in TIME_UNITS:
        numerator, denominator = TIME_UNITS[header.unit]
        return "step_time_s", numerator / denominator
    return named(column.lower().rpartition("|")[2], MEASURED)
