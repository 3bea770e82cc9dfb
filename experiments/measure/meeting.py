"""How the launcher and the workers of a job meet: small files in the job's folder.

The hosts of an emulated cluster share the machine's files, so this works for every framework and takes nothing of the
links that are measured. A file is written under another name and renamed: it is there whole or not at all.

    job.json         what is measured; written by the launcher before the workers start
    ready-R          seconds from the process's start until worker R could take part
    go-K             case K may begin, or the word stop
    steps-K          steps in a window of case K: decided by worker 0 from its warm-up, taken by all
    result-K         what worker 0 measured
    done-K-R         worker R has finished case K
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

STOP = "stop"
_EVERY = 0.002


class Meeting:
    """The job's folder, as one worker or the launcher sees it."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def put(self, name: str, content: Any) -> None:
        """Write a file that the others wait for."""
        path = self.folder / name
        new = path.with_name(f".{name}.{os.getpid()}")
        new.write_text(json.dumps(content))
        new.rename(path)

    def there(self, name: str) -> bool:
        """Tell whether a file has been written."""
        return (self.folder / name).exists()

    def get(self, name: str) -> Any:
        """Read a file that is there."""
        return json.loads((self.folder / name).read_text())

    def wait(self, name: str) -> Any:
        """Wait for a file and read it.

        A worker waits for ever: the launcher, which watches the time, kills it.
        """
        while not self.there(name):
            time.sleep(_EVERY)
        return self.get(name)
