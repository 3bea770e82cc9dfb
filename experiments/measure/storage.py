"""The storage host: answers GET /N with N bytes.

storage.py FOLDER RANK
"""

from __future__ import annotations

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from meeting import Meeting

#: The storage's port, counted from the job's first.
PORT_OFFSET = 100
_CHUNK = bytes(1 << 16)


class Handler(BaseHTTPRequestHandler):
    """Sends as many bytes as the path says."""

    def do_GET(self) -> None:
        left = int(self.path.lstrip("/"))
        self.send_response(200)
        self.send_header("Content-Length", str(left))
        self.end_headers()
        while left > 0:
            self.wfile.write(_CHUNK[:left])
            left -= len(_CHUNK)

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


if __name__ == "__main__":
    job = Meeting(sys.argv[1]).get("job.json")
    # The last host is the storage's.
    ThreadingHTTPServer((job["addresses"][-1], job["port"] + PORT_OFFSET), Handler).serve_forever()
