"""Kill processes that write a model file, and count what is lost: `python tests/reliability/kills.py 200`."""

import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from genperf.cli.writing import write_whole

SIZE = 10_000_000
UNFINISHED = ".m.json.*.part"
WRITER = f"""
import sys
from genperf.cli.writing import write_whole
while True:
    write_whole(sys.argv[1], ("B" * 25_000 for _ in range({SIZE // 25_000})))
"""


def main(kills: int) -> None:
    """Print the kills, those in mid-write, the files that were not whole, and what is left."""
    folder = Path(tempfile.mkdtemp())
    target = folder / "m.json"
    write_whole(target, "A" * SIZE)
    in_mid_write = lost = 0
    for _ in range(kills):
        before = {*folder.glob(UNFINISHED)}
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(target)])
        # Python starts slowly on a busy machine: the clock begins with the first file.
        while not {*folder.glob(UNFINISHED)} - before and writer.poll() is None:
            time.sleep(0.001)
        time.sleep(0.15 * random.random())
        writer.kill()
        writer.wait()
        in_mid_write += bool({*folder.glob(UNFINISHED)} - before)
        text = target.read_bytes()
        lost += len(text) != SIZE or text[:1] != text[-1:]
    write_whole(target, "C")
    left = sorted(path.name for path in folder.iterdir())
    print(f"{kills} kills, {in_mid_write} in mid-write, {lost} files not whole; left: {', '.join(left)}")


if __name__ == "__main__":
    main(int(sys.argv[1]))
