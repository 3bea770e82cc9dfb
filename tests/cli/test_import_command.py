"""`genperf import` as a user types it: the table it writes is one that the other commands read."""

import json
import shlex
from pathlib import Path

import pytest
from helpers import Shell, done

DATA = Path(__file__).parents[1] / "importers" / "data"


@pytest.mark.parametrize(
    ("format", "files", "more"),
    [
        ("hyperfine", ["hyperfine_scan.json"], []),
        ("extra-p", ["extra_p.txt"], []),
        ("pytorch-profiler", ["single*.json", "ddp*"], ["--from-name", "*_workers{workers}*"]),
    ],
)
def test_the_commands_it_prints_run(format: str, files: list[str], more: list[str], shell: Shell) -> None:
    status, out, errors = shell("import", format, *(str(DATA / file) for file in files), *more, "-o", "table.csv")
    assert (status, out) == (0, "")
    commands = dict(line.split(": ", 1) for line in errors.splitlines() if line.startswith(("next", "then")))
    assert "rejected" not in done(shell, *shlex.split(commands["next"])[1:])
    words = shlex.split(commands["then"])
    assert words[:3] == ["genperf", "fit", "table.csv"]
    if format == "extra-p":
        done(shell, *words[1:], "--model", "amdahl")
        assert Path("model.json").exists()


def test_standard_input_output_and_the_description(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    with (DATA / "hyperfine_failures.json").open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        status, out, errors = shell("import", "hyperfine", "-", "--set", "workers=8")
    assert status == 0
    assert out.splitlines()[0] == "source,workers,command,repeat,time_s"
    assert out.splitlines()[1].startswith("standard input,8,")
    said = ("left out: 4", "exit code 1", "no factor varies: name what differs")
    assert [words for words in said if words not in errors] == []
    scan = ("import", "hyperfine", str(DATA / "hyperfine_scan.json"), "-o", "t.csv", "--json", "-q")
    status, out, errors = shell(*scan)
    assert (status, errors) == (0, "")
    described = json.loads(out)
    assert described["rows"] == 12
    assert described["roles"] == {"time": "time_s", "intrinsic": "batch", "extrinsic": "workers", "repeat": "repeat"}


def test_several_series_are_groups_and_times_of_zero_are_left_aside(shell: Shell) -> None:
    Path("runs.txt").write_text("PARAMETER workers\nPOINTS 1 2\nREGION a\nDATA 1\nDATA 2\nREGION b\nDATA 1\nDATA 0\n")
    status, _, errors = shell("import", "extra-p", "runs.txt")
    assert status == 0
    assert "--time value --extrinsic workers --group callpath --repeat repeat --where 'value > 0'" in errors


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["hyprfine", "x.json"], 1, "did you mean 'hyperfine'?"),
        (["hyperfine", "none.json", "-o", "t.csv"], 1, "none.json: no such file"),
        (["hyperfine"], 2, "Missing argument"),
        (["hyperfine", "x.json", "--set", "workers"], 2, "is not NAME=VALUE"),
        (["hyperfine", "x.json", "--set", "a=1", "--set", "a=2"], 1, "--set names a twice"),
        (["hyperfine", "x.json", "--json"], 2, "needs -o FILE"),
    ],
)
def test_bad_input_is_answered_and_the_old_table_stays(
    arguments: list[str], status: int, said: str, shell: Shell
) -> None:
    Path("t.csv").write_text("precious")
    ended, _, errors = shell("import", *arguments)
    assert (ended, said in errors) == (status, True)
    assert {path.name: path.read_text() for path in Path().iterdir()} == {"t.csv": "precious"}
