"""`genperf import` as a user types it: the table it writes is one that the other commands read."""

import json
import shlex
from pathlib import Path

import pytest

from genperf.cli.main import run

DATA = Path(__file__).parents[1] / "importers" / "data"


@pytest.mark.parametrize(
    ("format", "files", "more"),
    [
        ("hyperfine", ["hyperfine_scan.json"], []),
        ("extra-p", ["extra_p.txt"], []),
        ("pytorch-profiler", ["single*.json", "ddp*"], ["--from-name", "*_workers{workers}*"]),
        ("mlperf", ["mlperf_throughput.txt", "mlperf_blocks.txt"], []),
    ],
)
def test_the_commands_it_prints_run(
    format: str,
    files: list[str],
    more: list[str],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["import", format, *(str(DATA / file) for file in files), *more, "-o", "table.csv"]) == 0
    printed = capsys.readouterr()
    assert printed.out == ""
    commands = dict(line.split(": ", 1) for line in printed.err.splitlines() if line.startswith(("next", "then")))
    assert run(shlex.split(commands["next"])[1:]) == 0
    assert "rejected" not in capsys.readouterr().out
    words = shlex.split(commands["then"])
    assert words[:3] == ["genperf", "fit", "table.csv"]
    if format == "extra-p":
        assert run([*words[1:], "--model", "amdahl"]) == 0
        assert (tmp_path / "model.json").exists()


def test_standard_input_output_and_the_description(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with (DATA / "hyperfine_failures.json").open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert run(["import", "hyperfine", "-", "--set", "workers=8"]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines()[0] == "source,workers,command,repeat,time_s"
    assert printed.out.splitlines()[1].startswith("standard input,8,")
    assert "left out: 4" in printed.err
    assert "exit code 1" in printed.err
    assert "no factor varies: name what differs" in printed.err
    assert run(["import", "hyperfine", str(DATA / "hyperfine_scan.json"), "-o", "t.csv", "--json", "-q"]) == 0
    printed = capsys.readouterr()
    described = json.loads(printed.out)
    assert printed.err == ""
    assert described["rows"] == 12
    assert described["roles"] == {"time": "time_s", "intrinsic": "batch", "extrinsic": "workers", "repeat": "repeat"}


def test_several_series_are_groups_and_times_of_zero_are_left_aside(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    source = tmp_path / "runs.txt"
    source.write_text("PARAMETER workers\nPOINTS 1 2\nREGION a\nDATA 1\nDATA 2\nREGION b\nDATA 1\nDATA 0\n")
    assert run(["import", "extra-p", str(source)]) == 0
    err = capsys.readouterr().err
    assert "--time value --extrinsic workers --group callpath --repeat repeat --where 'value > 0'" in err


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
    arguments: list[str],
    status: int,
    said: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("precious")
    assert run(["import", *arguments]) == status
    assert said in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]
    assert (tmp_path / "t.csv").read_text() == "precious"
