"""A PyTorch worker that is one device of a partitioned transformer: a core at the pace of a slower device.

worker_partitioned_pytorch.py FOLDER RANK
"""

from __future__ import annotations

import time

import process_memory
import torch
from framework_pytorch import RANK, gather, measure
from pace import Pace
from partition_design import TINY, Layout, of_case
from partitioned import Device, Groups, Training, largest
from work import Case


class Processor:
    """One core, whose memory is the process's, beside what Python and PyTorch take."""

    where = torch.device("cpu")

    def __init__(self) -> None:
        # What PyTorch loads and allocates at the first steps is no part of a layout's memory.
        alone = Layout(1, 1, 1, TINY[0].batch)
        training = Training(TINY[0], Device(alone, 0, GROUPS, Pace(0.0), self.where))
        for _ in range(3):
            training.step()
        del training
        process_memory.reset()
        self._before = process_memory.resident()

    def pace(self, case: Case) -> Pace:
        """Return what slows computation: of the thread that computes, as the others carry messages."""
        return Pace(case["slowdown"], time.thread_time)

    def memory(self) -> float:
        """Return the most memory since the last reset, MB."""
        return process_memory.peak() - self._before


class Step:
    """Training steps of one layout, and the most memory that a device held meanwhile."""

    def __init__(self, case: Case) -> None:
        shape, layout = of_case(case)
        self.training = Training(shape, Device(layout, RANK, GROUPS, MACHINE.pace(case), MACHINE.where))
        self.counted = False

    def __call__(self) -> dict[str, float]:
        if not self.counted:
            # By now the network of the case before is gone.
            process_memory.reset()
            self.counted = True
        self.training.step()
        return {}

    def figures(self) -> dict[str, float]:
        """Return the memory of the device that held most."""
        return {"memory_mb": largest(MACHINE.memory(), MACHINE.where)}


gather()
GROUPS = Groups()
MACHINE = Processor()
measure(lambda number, case: Step(case))
