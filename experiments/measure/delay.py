"""Links with a latency, for an emulated cluster: frames from a host wait before the switch sees them.

    delay.py LATENCY_MS HOSTS PREFIX        in the switch's namespace; says "ready" when the links are laid

A kernel may lack `netem`, so the cable between a host and the switch is a pair of TAP devices and this process between
them, which passes frames on in the order they came: at once towards a host, after the latency towards the switch.
The kernel hands over large segments whole (up to 64 kB), so a frame costs little computing beside what it carries.
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
import struct
import subprocess
import sys
import time
from collections import deque
from contextlib import suppress

_TUNSETIFF, _TUNSETOFFLOAD = 0x400454CA, 0x400454D0
_TAP, _NO_PACKET_INFORMATION, _VIRTUAL_HEADER = 0x0002, 0x1000, 0x4000
_CHECKSUM, _SEGMENTS_4, _SEGMENTS_6 = 0x01, 0x02, 0x04
_LARGEST = 65536 + 64
_AT_ONCE = 32


def tap(name: str) -> int:
    """Make a TAP device and return its file descriptor."""
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    flags = _TAP | _NO_PACKET_INFORMATION | _VIRTUAL_HEADER
    fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH22x", name.encode(), flags))
    fcntl.ioctl(device, _TUNSETOFFLOAD, _CHECKSUM | _SEGMENTS_4 | _SEGMENTS_6)
    return device


def read(device: int) -> list[bytes]:
    """Return the frames that wait, a few at a time so that no host waits long for the others."""
    frames = []
    for _ in range(_AT_ONCE):
        try:
            frames.append(os.read(device, _LARGEST))
        except BlockingIOError:
            break
        except OSError as error:
            if error.errno == errno.EBADFD:  # the host's namespace is gone
                sys.exit()
            raise
    return frames


def write(device: int, frame: bytes) -> None:
    """Pass a frame on; like a switch, drop it where there is no room."""
    with suppress(OSError):
        os.write(device, frame)


def main() -> None:
    latency, hosts, prefix = float(sys.argv[1]) / 1e3, int(sys.argv[2]), sys.argv[3]
    to_switch: dict[int, int] = {}
    to_host: dict[int, int] = {}
    for host in range(hosts):
        near, far = tap(f"d{host}"), tap(f"p{host}")
        subprocess.run(["ip", "link", "set", f"d{host}", "netns", f"{prefix}h{host}", "name", "e0"], check=True)
        to_switch[near], to_host[far] = far, near
    print("ready", flush=True)
    waiting: deque[tuple[float, int, bytes]] = deque()
    devices = [*to_switch, *to_host]
    while True:
        wait = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        for device in select.select(devices, [], [], wait)[0]:
            if device in to_host:
                for frame in read(device):
                    write(to_host[device], frame)
            else:
                due = time.monotonic() + latency
                waiting.extend((due, to_switch[device], frame) for frame in read(device))
        now = time.monotonic()
        while waiting and waiting[0][0] <= now:
            _, device, frame = waiting.popleft()
            write(device, frame)


if __name__ == "__main__":
    main()
