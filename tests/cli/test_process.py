"""Endings of the process: signals, closed streams, readers that leave, killed runs."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
from helpers import cases_in_text

from genperf.cli.writing import UNFINISHED, write_whole
from genperf.table.cells import csv_pieces

#: For each signal a process whose fit is sent it while its third group is fitted; their statuses are printed.
STOPPED = """
import os, signal, sys
from genperf import fleet
from genperf.cli.main import main, run
from genperf.fitting.model import ExpressionModel

numbers, plain, fits = [int(number) for number in sys.argv.pop(1).split(",")], ExpressionModel.fit, []
# What a fit imports is imported once.
run([*sys.argv[1:], "-q"])
for number in numbers:
    child = os.fork()
    if child:
        print("ended with", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    def fit(model, tables, seed):
        fits.append(seed)
        if len(fits) == 3:
            # A second signal comes while what is fitted is being saved, as from a finger that is impatient.
            fleet._Done.save = lambda done, save=fleet._Done.save: (os.kill(os.getpid(), number), save(done))
            os.kill(os.getpid(), number)
        return plain(model, tables, seed)
    ExpressionModel.fit = fit
    # A signal that whoever started the tests ignores would be ignored here too.
    signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    sys.argv[-1] = f"{number}.json"
    main()
"""


def test_a_signal_keeps_what_is_fitted(tmp_path: Path) -> None:
    numbers = [int(number) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)]
    rows = "".join(f"g{g},{n},{(8 / n + 1) * (1 + g)}\n" for g in range(5) for n in (1, 2, 4, 8, 16))
    (tmp_path / "groups.csv").write_text("net,workers,seconds\n" + rows)
    roles = ["--time", "seconds", "--extrinsic", "workers", "--group", "net", "--model", "a/workers**p + c"]
    command = [sys.executable, "-c", STOPPED, ",".join(map(str, numbers)), "fit", "groups.csv", *roles, "-o", "m.json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert re.findall(r"^ended with (\d+)$", done.stdout, re.MULTILINE) == [str(128 + number) for number in numbers], (
        done
    )
    assert "Traceback" not in done.stderr
    for name, fitted in (("m", 5), *((str(number), 2) for number in numbers)):
        assert len(json.loads((tmp_path / f"{name}.json").read_text())["groups"]) == fitted
    assert not list(tmp_path.glob(".*.json*"))


def test_two_runs_that_write_a_file_leave_the_last_one_whole(tmp_path: Path) -> None:
    def pieces():
        living = [p for p in tmp_path.iterdir() if p.name.endswith(UNFINISHED)]
        assert len(living) == 1
        write_whole(tmp_path / "m.json", "second")
        assert living[0].exists()
        yield "first"

    write_whole(tmp_path / "m.json", pieces())
    assert [p.name for p in tmp_path.iterdir()] == ["m.json"]
    assert (tmp_path / "m.json").read_text() == "first"


@cases_in_text("shell, status")
def test_streams_that_are_closed(shell: str, status: int, tmp_path: Path) -> None:
    line = f"set -o pipefail; {sys.executable} -m genperf {shell}"
    # Python that does not buffer hides what is left to write at the end.
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert (done.returncode, "Traceback" in done.stderr, "ignored" in done.stderr) == (status, False, False), (
        done.stderr
    )


def test_texts_are_no_formulas_of_a_spreadsheet() -> None:
    cells = np.array(["=1+1", "-1", "+x", "@y", "fp16"], dtype=object)
    assert "".join(csv_pieces({"=a": cells})).split() == ["'=a", "'=1+1", "-1", "'+x", "'@y", "fp16"]
    assert "".join(csv_pieces({"=a": cells}, raw=True)).split() == ["=a", "=1+1", "-1", "+x", "@y", "fp16"]
