"""The storage host of a job: answers GET /N with N bytes, which workers read over HTTP. Standard library only.

storage.py FOLDER RANK
"""

from __future__ import annotations

import sys
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from meeting import Meeting

_SENT, _READ = bytes(1 << 16), 1 << 20
# A proxy that the environment may name does not know the hosts of this job.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def place(job: dict[str, Any]) -> tuple[str, int]:
    """Return the address and the port of the storage: the last host, beside the job's own ports."""
    return job["addresses"][-1], job["port"] + 100


class Storage:
    """The storage of a job as its workers see it."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.address = "http://{}:{}".format(*place(job))

    def read(self, count: int) -> None:
        """Read so many bytes."""
        left = count
        with _OPENER.open(f"{self.address}/{count}") as answer:
            while left:
                left -= len(answer.read(min(left, _READ)))

    def until_there(self) -> None:
        while True:
            try:
                return self.read(1)
            except urllib.error.URLError:
                time.sleep(0.05)


class Handler(BaseHTTPRequestHandler):
    """Sends as many bytes as the path says."""

    def do_GET(self) -> None:
        left = int(self.path.lstrip("/"))
        self.send_response(200)
        self.send_header("Content-Length", str(left))
        self.end_headers()
        while left > 0:
            self.wfile.write(_SENT[:left])
            left -= len(_SENT)

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


if __name__ == "__main__":
    ThreadingHTTPServer(place(Meeting(sys.argv[1]).get("job.json")), Handler).serve_forever()
