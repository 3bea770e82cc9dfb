"""A step whose computation is waits: reading, copying, the two passes layer by layer. Exchange and update are real.

An accelerator computes while its host does nothing, so that sixteen hosts share two cores, and an exchange can hide
behind a backward pass. A case says how long a sample takes at each stage, and what goes on meanwhile:

    io_per_sample_s, h2d_per_sample_s                reading a sample, copying it to the device
    forward_per_sample_s, backward_per_sample_s      its passes, the same in every layer
    prefetch       1: the next batch is read and copied during a step; 0: before each
    exchange       when a layer's gradients leave: as soon as they are there ("layers"), or all after the backward pass
    phases         1: the stages are also timed by themselves, in steps of their own

Read inside the frameworks' environments: nothing but the standard library.
"""

from __future__ import annotations

import threading
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from work import Step, Stopwatch

#: When gradients leave: DistributedDataParallel with a bucket a layer (or what is like it elsewhere), with one bucket
#: for all, and `no_sync` with an exchange by hand after the backward pass.
LAYERS, ONE_BUCKET, AFTERWARDS = "layers", "one bucket", "afterwards"

Case = dict[str, Any]


@dataclass(frozen=True)
class Waits:
    """What a batch waits, s."""

    #: `io`, `h2d`: Reading a batch, and copying it to the device.
    io: float
    h2d: float
    #: `forward`, `backward`: The passes through one layer.
    forward: float
    backward: float


def waits(case: Case) -> Waits:
    batch, layers = case["batch_per_worker"], case["layers"]
    return Waits(
        batch * case.get("io_per_sample_s", 0.0),
        batch * case.get("h2d_per_sample_s", 0.0),
        batch * case["forward_per_sample_s"] / layers,
        batch * case["backward_per_sample_s"] / layers,
    )


def wait(seconds: float) -> None:
    """Wait, if there is anything to wait for."""
    if seconds > 0:
        time.sleep(seconds)


class Loader:
    """Reads batches and copies them to the device: when asked, or one ahead, begun when the one before is taken."""

    def __init__(self, waiting: Waits, prefetch: bool) -> None:
        self.waiting, self.prefetch = waiting, prefetch
        self._next: threading.Thread | None = None

    def read(self) -> None:
        wait(self.waiting.io)

    def copy(self) -> None:
        wait(self.waiting.h2d)

    def timed(self) -> Stopwatch:
        """Read a batch and copy it, and return the stopwatch that timed both."""
        watch = Stopwatch()
        self.read()
        watch.lap("io")
        self.copy()
        watch.lap("h2d")
        return watch

    def batch(self) -> None:
        if self._next is None:
            self._load()
        else:
            self._next.join()
        if self.prefetch:
            self._next = threading.Thread(target=self._load, daemon=True)
            self._next.start()

    def _load(self) -> None:
        self.read()
        self.copy()


class Staged:
    """A step of a case. A framework adds `train`, which does it with a batch that is there, and the stages.

    These are `forward`, `backward`, `exchange`, before which the workers `meet`, and `update`: each returns when its
    result is there. Workers that are alone share nothing, and servers that exchange also update.
    """

    def __init__(self, case: Case, shares: bool, updates: bool = True) -> None:
        self.case, self.shares, self.updates = case, shares, updates
        self.waiting, self.at_once = waits(case), case["exchange"] == LAYERS
        self.loader = Loader(self.waiting, bool(case.get("prefetch", 1)))

    def __call__(self) -> dict[str, float]:
        self.loader.batch()
        self.train()
        return {}

    def profile(self) -> dict[str, float]:
        """Do the stages of a step one after another, and return the seconds of each."""
        watch = self.loader.timed()
        with self.unshared():
            self.forward()
            watch.lap("forward")
            self.backward()
        watch.lap("backward")
        if self.shares:
            # What the slowest worker is waited for is no part of the exchange.
            self.meet()
            watch.skip()
            self.exchange()
            watch.lap("exchange")
        if self.updates:
            self.update()
            watch.lap("update")
        return watch.seconds

    def unshared(self) -> AbstractContextManager[Any]:
        """Return a context in which the backward pass exchanges nothing."""
        return nullcontext()


def built(step: Staged) -> Step:
    """Return a step for windows, with its stages where the case asks for them."""
    return step if step.case.get("phases") else step.__call__
