"""Computation on a slower device than a core: real work, and a wait for every second of it.

Many hosts share few cores. A worker computes its step for real, reads how much processor time that took, and waits
until `slowdown` times as much has passed: as on a device of its own that is so much slower than a core. As long as
`slowdown` × cores ≥ workers there is time for all, whoever computes first.

Read inside the frameworks' environments: nothing but the standard library.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType


class Pace:
    """Stretches what is computed inside it; a slowdown of 0 leaves it as fast as it is.

    Examples
    --------
    >>> with Pace(2.0):
    ...     sum(range(1000))
    499500
    """

    def __init__(self, slowdown: float, processor: Callable[[], float] = time.process_time) -> None:
        self.slowdown, self.processor = slowdown, processor
        self._used = self._begun = 0.0
        self._overslept = 0.0

    def __enter__(self) -> Pace:
        self.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def begin(self) -> None:
        self._used, self._begun = self.processor(), time.perf_counter()

    def end(self) -> None:
        """Wait for what is left of the time that the device takes."""
        due = self.slowdown * (self.processor() - self._used)
        left = due - (time.perf_counter() - self._begun) - self._overslept
        if left > 0:
            begun = time.perf_counter()
            time.sleep(left)
            # A sleep ends some tens of microseconds late: the next one is shorter by that.
            self._overslept = time.perf_counter() - begun - left
