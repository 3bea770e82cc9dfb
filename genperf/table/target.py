"""The target: the measured quantity that a model predicts."""

from __future__ import annotations

import msgspec

#: The name and the unit of the default target.
TIME, SECONDS = "time", "s"
MEMORY_UNITS = ("B", "kB", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB", "bytes")


class Target(msgspec.Struct, frozen=True, forbid_unknown_fields=True, repr_omit_defaults=True):
    """The measured quantity that a model predicts.

    Examples
    --------
    >>> str(Target("step_s")), str(Target("peak_gb", "memory", "GB"))
    ("time 'step_s', s", "memory 'peak_gb', GB")
    """

    #: The column of the table that holds it.
    column: str
    #: What predictions, messages and pages call it.
    name: str = TIME
    #: The unit of the values in memory and in the model file; empty for a number without one.
    unit: str = SECONDS
    #: Whether every value is above zero, so that its logarithm exists. Every fit works on the logarithm, so that a
    #: table refuses other values today.
    positive: bool = True
    #: The column of the measured throughput that the time was made from; empty where a time was measured.
    throughput: str = ""
    #: The work of a step, the formula that was divided by the throughput; empty where no formula over the factors tells
    #: it.
    work: str = ""

    @property
    def is_time(self) -> bool:
        """Whether it is a time in seconds, so that work per second, efficiency, phases and cost have a meaning."""
        return self.unit == SECONDS

    @property
    def is_memory(self) -> bool:
        """Whether it is an amount of memory, by its unit."""
        return self.unit in MEMORY_UNITS

    @property
    def true_seconds(self) -> bool:
        """Whether its values are the seconds of a step: those of a throughput depend on the unit of the work."""
        return self.is_time and not self.throughput

    def __str__(self) -> str:
        return f"{self.name} '{self.column}'" + (f", {self.unit}" if self.unit else "")
