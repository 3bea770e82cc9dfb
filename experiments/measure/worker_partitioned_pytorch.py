"""A PyTorch worker that is one device of a partitioned transformer: an emulated host's, or an accelerator.

Over gloo, a device is a core at the pace of a slower one; over NCCL it is the accelerator of the worker's number.

worker_partitioned_pytorch.py FOLDER RANK
"""

from __future__ import annotations

import time

import process_memory
import torch
from pace import Pace
from partition_design import TINY, Layout, of_case
from partitioned import Device, Groups, Training, Unpaced, largest
from pytorch_group import JOB, RANK, gather, measure
from work import Case


class Processor:
    """One core, whose memory is the process's, beside what Python and PyTorch take."""

    where = torch.device("cpu")

    def __init__(self) -> None:
        # What PyTorch loads and allocates at the first steps is no part of a layout's memory.
        alone = Layout(1, 1, 1, TINY[0].batch)
        training = Training(TINY[0], Device(alone, 0, GROUPS, Unpaced(), self.where))
        for _ in range(3):
            training.step()
        del training
        process_memory.reset()
        self._before = process_memory.resident()

    def pace(self, case: Case) -> Pace:
        """Return what slows computation: of the thread that computes, as the others carry messages."""
        return Pace(case["slowdown"], time.thread_time)

    def wait(self) -> None:
        """Return at once: a core has done what it was called for."""

    def reset_memory(self) -> None:
        """Count the most memory from here on."""
        process_memory.reset()

    def memory(self) -> float:
        """Return the most memory since the last reset, MB."""
        return process_memory.peak() - self._before


class Accelerator:
    """A CUDA device, whose memory is what PyTorch has allocated of it."""

    def __init__(self) -> None:
        self.where = torch.device("cuda", RANK)
        torch.set_float32_matmul_precision("high")

    def pace(self, case: Case) -> Unpaced:
        """Return what slows computation: nothing."""
        return Unpaced()

    def wait(self) -> None:
        """Wait until the device has done everything."""
        torch.cuda.synchronize()

    def reset_memory(self) -> None:
        """Count the most memory from here on."""
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()

    def memory(self) -> float:
        """Return the most memory since the last reset, MB."""
        return torch.cuda.max_memory_allocated() / 1e6


class Step:
    """Training steps of one layout, and the most memory that a device held meanwhile."""

    def __init__(self, case: Case) -> None:
        shape, layout = of_case(case)
        self.training = Training(shape, Device(layout, RANK, GROUPS, MACHINE.pace(case), MACHINE.where))
        self.counted = False

    def __call__(self) -> dict[str, float]:
        """Train one step."""
        if not self.counted:
            # By now the network of the case before is gone.
            MACHINE.reset_memory()
            self.counted = True
        self.training.step()
        MACHINE.wait()
        return {}

    def figures(self) -> dict[str, float]:
        """Return the memory of the device that held most."""
        return {"memory_mb": largest(MACHINE.memory(), MACHINE.where)}


ON_ACCELERATORS = JOB["cases"][0].get("device", "cpu") != "cpu"
if ON_ACCELERATORS:
    torch.cuda.set_device(RANK)
gather("nccl" if ON_ACCELERATORS else "gloo")
GROUPS = Groups()
MACHINE = Accelerator() if ON_ACCELERATORS else Processor()
measure(lambda number, case: Step(case))
