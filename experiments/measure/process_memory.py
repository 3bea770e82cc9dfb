"""The most memory that a process held at once, on Linux, as its kernel counts it.

Read inside the frameworks' environments: nothing but the standard library.
"""

from __future__ import annotations

import ctypes
import gc
from pathlib import Path

_RESET_PEAK = "5"


def resident() -> float:
    """Return what the process holds now, MB."""
    return _field("VmRSS")


def peak() -> float:
    """Return the most that it held since the last `reset`, MB."""
    return _field("VmHWM")


def reset() -> None:
    """Give back what is free, and count the peak from here on."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text(_RESET_PEAK)


def _field(name: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return float(line.split()[1]) * 1024 / 1e6
    raise OSError(f"/proc/self/status has no {name}")
