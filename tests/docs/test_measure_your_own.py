"""The loops that docs/measure-your-own.md hands out: run as they stand there, with a launcher that trains nothing."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import genperf as gp

PAGE = Path(__file__).parents[2] / "docs" / "measure-your-own.md"
BLOCKS = re.findall(r"```(?:bash|sh)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
LOOP = next(block for block in BLOCKS if block.startswith("#!"))
SPEEDS = next(block for block in BLOCKS if "speeds.csv" in block)
STEPS = next(block for block in BLOCKS if "steps.csv" in block)
SETTINGS = 'counts="1 2 3" runs=2 short=10 long=110 batch=32 out=runs.csv'
#: A job of 4 s and 0.25 s a step and worker: said, not waited for.
SAID = '{ awk -v n="$1" -v s="$2" "BEGIN { print 4 + 0.25 * n * s }"; }'

pytestmark = pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in ("bash", "awk", "shuf")), reason="the loops need bash, awk and shuf"
)


def loop(launch: str, seconds: str | None = None) -> str:
    """Return the page's loop with another command to launch, and perhaps another stopwatch."""
    text, found = re.subn(r"^counts=.*?^}$", f"{SETTINGS}\nlaunch() {launch}", LOOP, flags=re.DOTALL | re.MULTILINE)
    assert found == 1
    if seconds is not None:
        text, found = re.subn(r"^seconds\(\) .*$", f"seconds() {seconds}", text, flags=re.MULTILINE)
        assert found == 1
    return text


def bash(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-u", "-c", text], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )


def test_the_difference_of_two_runs_is_the_steps_between(tmp_path: Path) -> None:
    ran = bash(tmp_path, loop("{ :; }", SAID))
    assert (ran.returncode, ran.stderr) == (0, "")
    table = gp.read_table(
        tmp_path / "runs.csv", time="step_time_s", extrinsic="workers", intrinsic="batch_per_worker", repeat="run"
    )
    rows = table.frame.astype(float).sort_values(["workers", "run"])
    assert rows.workers.tolist() == [1, 1, 2, 2, 3, 3]
    assert rows.run.tolist() == [1, 2] * 3
    assert rows.step_time_s.tolist() == [0.25, 0.25, 0.5, 0.5, 0.75, 0.75]
    assert rows.startup_s.tolist() == [4.0] * 6


def test_every_count_is_run_once_before_any_is_repeated(tmp_path: Path) -> None:
    bash(tmp_path, loop("{ :; }", SAID))
    runs = [line.split(",")[2] for line in (tmp_path / "runs.csv").read_text().splitlines()[1:]]
    assert runs == ["1"] * 3 + ["2"] * 3


def test_a_run_that_fails_is_said_left_out_and_made_up_for(tmp_path: Path) -> None:
    failed = bash(tmp_path, loop('{ echo "lost a host"; [ "$1" != 2 ]; }'))
    assert sorted(failed.stderr.splitlines()) == [f"2 workers, run {r}: failed, see measure.log" for r in (1, 2)]
    assert "lost a host" in (tmp_path / "measure.log").read_text()
    before = (tmp_path / "runs.csv").read_text()
    assert sorted(line[0] for line in before.splitlines()[1:]) == ["1", "1", "3", "3"]
    bash(tmp_path, loop("{ :; }"))
    after = (tmp_path / "runs.csv").read_text()
    assert after.startswith(before)
    assert [line[:2] for line in after.removeprefix(before).splitlines()] == ["2,", "2,"]


def test_printed_speeds_become_a_table(tmp_path: Path) -> None:
    # The first figure is from the warm-up.
    launch = 'launch() { echo "step 50 speed 7.5 samples/s"; echo "step 500 speed $(($1 * 1000)).5 samples/s"; }'
    ran = bash(tmp_path, f"batch=32\n{launch}\n{SPEEDS.split('genperf')[0]}")
    assert (ran.returncode, ran.stderr) == (0, "")
    table = gp.read_table(
        tmp_path / "speeds.csv",
        throughput="samples_per_s",
        work="workers*batch_per_worker",
        extrinsic="workers",
        repeat="run",
    )
    assert sorted(set(table.frame.samples_per_s.astype(float))) == [1000.5, 2000.5, 4000.5, 6000.5, 8000.5]
    assert table.rows == 15


def test_imported_jobs_become_steps(tmp_path: Path) -> None:
    head = "source,command,steps,workers,repeat,time_s\n"
    jobs = [f'a.json,"train {s}, {n}",{s},{n},{r},{4 + 0.5 * n * s}' for s in (50, 500) for n in (1, 2) for r in (0, 1)]
    # The long run of one pair failed and was left out.
    (tmp_path / "jobs.csv").write_text(head + "\n".join(jobs[:-1]) + "\n")
    ran = bash(tmp_path, STEPS)
    assert (ran.returncode, ran.stderr) == (0, "")
    first, *rest = (tmp_path / "steps.csv").read_text().splitlines()
    assert (first, sorted(rest)) == ("workers,run,step_time_s", ["1,0,0.5", "1,1,0.5", "2,0,1"])
