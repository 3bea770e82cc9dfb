"""Tables of measurements: CSV, Parquet, standard input or a DataFrame → a checked `Table` of `Factor`s.

Repeats stay repeats, and every row that cannot be used is named by file, line, column and value.
"""

from genperf.table.clean import Rejection
from genperf.table.factor import Factor, Role
from genperf.table.phases import PHASES, phase_columns, phase_seconds, shown_phases
from genperf.table.read import read_table
from genperf.table.table import REPEATS, Table

__all__ = [
    "PHASES",
    "REPEATS",
    "Factor",
    "Rejection",
    "Role",
    "Table",
    "phase_columns",
    "phase_seconds",
    "read_table",
    "shown_phases",
]
