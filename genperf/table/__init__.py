"""The shape of what people measured: files of any kind → cells in rows of named columns; nothing of their meaning.

Every cell that cannot be used is named by file, line, column and value. `genperf.panel` makes a checked `Table` of
them.
"""

from genperf.table.cells import Factor, Role
from genperf.table.clean import Rejection
