"""Tables of measurements: CSV, Parquet, standard input or a DataFrame → a checked `Table` of `Factor`s.

Repeats stay repeats, and every row that cannot be used is named by file, line, column and value. `Table` and
`read_table` are imported lazily: a model is loaded and predicts without them, and so without pandas.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from genperf.table.axis import Factor, Role
from genperf.table.clean import Rejection
from genperf.table.target import PHASES, Target, phase_columns, phase_seconds, shown_phases

if TYPE_CHECKING:
    from genperf.table.read import read_table
    from genperf.table.table import REPEATS, Table

_HOME = {"read_table": "read", "REPEATS": "table", "Table": "table"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'genperf.table' has no attribute '{name}'")
    value = getattr(import_module(f"genperf.table.{_HOME[name]}"), name)
    globals()[name] = value
    return value
