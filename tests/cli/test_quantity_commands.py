"""`--unit` and `--quantity` through the commands."""

import re
from pathlib import Path

import pandas as pd
from helpers import Shell

import genperf as gp
from genperf.cli.explain import _read_again
from genperf.cli.options import one_group

#: Milliseconds of 8/n + 1 s; gigabytes of 30/n + 2.
RUNS = "workers,ms,memory_gb\n" + "".join(f"{n},{8000 / n + 1000},{30 / n + 2}\n" for n in (1, 2, 4, 8, 16))
LAW = ["--model", "a/workers + c"]
FOLDER = {"runs.csv": RUNS}


TIME = ["--time", "ms", "--unit", "ms", "--extrinsic", "workers"]


def test_a_table_is_not_converted_twice(shell: Shell, tmp_path: Path) -> None:
    both = pd.concat([pd.read_csv(tmp_path / "runs.csv").assign(net=net) for net in "ab"])
    both.to_csv(tmp_path / "both.csv", index=False)
    columns = [*TIME, "--group", "net"]
    assert shell("fit", "both.csv", *columns, *LAW, "-o", "m.json")[0] == 0
    before = (tmp_path / "m.json").read_bytes()
    # Resumed, every group is kept: its rows are the same.
    assert shell("fit", "both.csv", *columns, *LAW, "-o", "m.json", "--resume")[0] == 0
    assert (tmp_path / "m.json").read_bytes() == before
    assert shell("explain", "m.json", "--group", "a", "--importance", "both.csv", "--unit", "ms")[0] == 0
    _, chosen = one_group(gp.load_model("m.json"), "a", "m.json")
    again = _read_again(chosen, ("a",), "both.csv", "ms")
    assert again.measured.tolist() == [9.0, 5.0, 3.0, 2.0, 1.5]
    assert again.group == ()


def test_the_measured_column_of_the_command_line_wins_over_the_settings(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "genperf.toml").write_text('time = "ms"\nunit = "ms"\nextrinsic = ["workers"]\n')
    assert "time: ms, 1.5 to 9 s" in shell("check", "runs.csv")[1]
    assert "memory_gb: 3.88 to 32 GB" in shell("check", "runs.csv", "--quantity", "memory_gb:GB")[1]
    assert "time: ms, 25 to 150 min" in shell("check", "runs.csv", "--unit", "s")[1]
    (tmp_path / "genperf.toml").write_text('quantity = "memory_gb:GB"\nextrinsic = "workers"\n')
    assert "memory_gb: 3.88 to 32 GB" in shell("check", "runs.csv")[1]
    assert shell("check", "runs.csv", "--time", "ms", "--quantity", "memory_gb")[0] == 1


def test_fit_leads_with_the_held_out_error(shell: Shell) -> None:
    runs = "workers,seconds\n" + "".join(f"{n},{8 / n + 1 + 0.01 * (n % 3)}\n" for n in (1, 2, 4, 8, 16, 32))
    Path("more.csv").write_text(runs)
    columns = ["--time", "seconds", "--extrinsic", "workers"]
    status, out, err = shell("fit", "more.csv", *columns)
    first, *rest = out.splitlines()
    assert status == 0
    assert first.startswith("auto, ")
    assert "expressions averaged: more.csv, 6 configurations; held-out error " in first
    assert "expressions averaged" in first
    # Then how far it may be trusted, and a line per factor; no internals.
    assert rest[0].startswith("at twice the largest scale (workers=64): ")
    assert re.fullmatch(r"doubling workers: time x \d\.\d\d", rest[1])
    assert len(rest) == 2
    assert "nothing was kept: -o model.json" in err
    status, out, err = shell("fit", "more.csv", *columns, "--verbose")
    assert out.splitlines()[3].startswith("averaged: ")
    assert "(2)" not in out
    # The formula of one member is not the prediction.
    assert "T =" not in out
    assert "constants of " in err
    out = shell("fit", "more.csv", *columns, *LAW, "--verbose")[1]
    assert out.startswith("your formula: more.csv, 6 configurations; ")
    assert out.splitlines()[3].startswith("time (s) = ")
    assert shell("fit", "more.csv", *columns, "--model", "amdahl")[1].startswith("amdahl: ")
