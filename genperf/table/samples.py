"""How the samples of a step change with the workers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StepSamples:
    """How the samples of a step changed with the workers, in every run of a table."""

    #: The column that counts the workers, or the nodes where none does.
    count: str = ""
    #: The global batch of one of these, where it grew with their number; None elsewhere.
    each: float | None = None
    #: The samples of a step, where the passes of micro-batches fell as the number rose; None elsewhere.
    same: float | None = None
