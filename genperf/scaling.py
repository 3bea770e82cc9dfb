"""The kinds of scaling: what becomes of the work of one worker as the workers grow.

A kind is a line of `KINDS`; the command line, the checks of files and `genperf.panel.panel` read them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, get_args

from msgspec import Struct

if TYPE_CHECKING:
    from genperf.arrays import Array

Scaling = Literal["weak", "strong", "job"]


class Kind(Struct, frozen=True):
    """A kind of scaling."""

    power: float  #: The work of one worker at n workers is in proportion to n to this power.
    meaning: str  #: What it means, for people.
    shared: bool = False  #: Whether all workers share one amount of work.
    whole: bool = False  #: Whether they share it whatever their batch, as that of an epoch or a whole job.

    def over(self, count: str) -> str:
        """Return the work of one worker as a formula over what counts the workers.

        >>> KINDS["strong"].over("gpus"), KINDS["weak"].over("gpus")
        ('1/gpus', '1')
        """
        return {0.0: "1", -1.0: f"1/{count}"}.get(self.power, f"{count}**{self.power:g}")

    def relative(self, counts: Array) -> Array:
        """Return the work of one worker W(n)/W(n₀), relative to that at the first count; shape (rows,)."""
        work: Array = (counts[0] / counts) ** -self.power
        return work


KINDS: Mapping[Scaling, Kind] = {
    "weak": Kind(0.0, "work per worker is fixed"),
    "strong": Kind(-1.0, "the work of all is", shared=True),
    "job": Kind(-1.0, "times of an epoch or a whole job", shared=True, whole=True),
}
NAMES: tuple[Scaling, ...] = get_args(Scaling)
#: What stands in place of a kind where the times of each group show its own.
BY_GROUP = "group"
#: The names in a sentence.
LISTED = f"{', '.join(NAMES[:-1])} or {NAMES[-1]}"
