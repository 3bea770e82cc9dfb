"""The commands as a user types them: what they print, what they write, how they end."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pandas as pd
import pytest
from click.shell_completion import ShellComplete
from helpers import Shell, cases_in_text, csv_of, done, refusal, reply, runs_of

import genperf
import genperf as gp
from genperf.cli.commands import COMMANDS, commented
from genperf.cli.main import cli
from genperf.reporting.place import command_of

RUNS = """workers,batch,run,seconds
1,32,0,9.02
1,32,1,8.98
2,32,0,5.0
4,32,0,3.01
8,32,0,2.0
16,32,0,1.49
"""
HERE = {**os.environ, "PYTHONPATH": str(Path(genperf.__file__).parents[1])}
ROLES = ["--time", "seconds", "--intrinsic", "batch", "--extrinsic", "workers", "--repeat", "run"]
FOLDER = {"runs.csv": RUNS}


def test_help_names_every_command(shell: Shell) -> None:
    out = done(shell, "--help")
    assert all(name in out for name in {*COMMANDS} - {"init"})


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(shell: Shell, command: str) -> None:
    out = done(shell, command, "--help")
    assert out.startswith(f"Usage: genperf {command}")


def test_predict_imports_only_numpy_and_what_reads_the_model(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "two.csv").write_text(
        "net,workers,seconds\n" + "".join(f"{g},{n},{1 + 8 / n}\n" for g in "ab" for n in (1, 2, 4))
    )
    assert shell("fit", "runs.csv", *ROLES, "--model", "auto", "-o", "m.json")[0] == 0
    columns = ["--time", "seconds", "--extrinsic", "workers", "--group", "net"]
    assert shell("fit", "two.csv", *columns, "--model", "amdahl", "-o", "groups.json")[0] == 0
    asked = [
        ["m.json", "--at", "workers=32,64", "--at", "batch=32"],
        ["m.json", "--data", "runs.csv", "-o", "out.csv", "--json"],
        ["groups.json", "--at", "workers=8"],
        ["groups.json", "--data", "two.csv"],
    ]
    code = (
        "import sys; from genperf.cli.main import run;"
        f"bad = [a for a in {asked} if run(['predict', *a]) != 0];"
        "heavy = {'pandas', 'pyarrow', 'scipy', 'sklearn', 'statsmodels', 'joblib', 'matplotlib', 'rich'};"
        "heavy &= set(sys.modules);"
        "sys.exit(f'imported {heavy}, refused {bad}' if heavy or bad else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path, env=HERE
    )
    assert done.returncode == 0, done.stderr


#: What one process does, one after the other, and libraries that it then has no use for.
LEAN = [
    ("run(['--help'])", "scipy pandas sklearn statsmodels matplotlib"),
    ("run(['four.csv', '--at', '64'])", "scipy sklearn statsmodels joblib matplotlib jinja2"),
    (
        "import genperf.plots, genperf.reporting, genperf.validation",
        "sklearn statsmodels scipy.stats joblib matplotlib jinja2",
    ),
]


def test_no_heavy_library_is_imported_in_vain(tmp_path: Path) -> None:
    (tmp_path / "four.csv").write_text("gpus,images_per_s\n1,410\n2,792\n4,1530\n8,2905\n")
    steps = [f"{program}; print(sys.modules.keys() & {heavy.split()}, file=sys.stderr)" for program, heavy in LEAN]
    code = "; ".join(("import sys; from genperf.cli.main import run", *steps))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env=HERE)
    assert done.stderr == "set()\n" * len(LEAN)


def test_standard_input_and_settings_file(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "genperf.toml").write_text(
        'time = "seconds"\nextrinsic = ["workers"]\n[fit]\nmodel = "amdahl"\nseed = 5\noutput = "from_settings.json"\n'
    )
    with (tmp_path / "runs.csv").open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        status, _, _ = shell("fit", "-")
    assert status == 0
    model = json.loads((tmp_path / "from_settings.json").read_text())
    assert model["groups"][0]["model"]["seed"] == 5
    # The command line wins.
    assert shell("fit", "runs.csv", "--seed", "6")[0] == 0
    assert json.loads((tmp_path / "from_settings.json").read_text())["groups"][0]["model"]["seed"] == 6


@cases_in_text("stored, command")
def test_a_typed_option_takes_the_place_of_stored_ones(shell: Shell, stored: str, command: tuple[str, ...]) -> None:
    done(shell, "fit", "runs.csv", *ROLES, "--model", "amdahl", "-o", "m.json")
    plain = done(shell, *command)
    Path("genperf.toml").write_text(f"[{command[0]}]\n{stored}\n")
    assert done(shell, *command) == plain


def test_a_failed_write_leaves_the_old_file(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text("precious")
    status, _, _ = shell("fit", "none.csv", *ROLES, "-o", "m.json")
    assert status == 1
    assert (tmp_path / "m.json").read_text() == "precious"
    assert os.listdir(tmp_path).count("m.json") == 1


def test_phase_columns_are_named_and_fitted(shell: Shell) -> None:
    phases = pd.DataFrame({"workers": [1, 2, 4, 8], "forward_s": 0.4, "comm_s": [0.0, 0.1, 0.15, 0.175], "host": "a"})
    phases.assign(seconds=0.5 + phases.forward_s + phases.comm_s).to_csv("phases.csv", index=False)
    roles = ["phases.csv", "--time", "seconds", "--extrinsic", "workers"]
    out = done(shell, "check", *roles)
    assert "phases: forward_s (forward), comm_s (exchange); s-sgd, s-sgd-full, s-sgd-input, s-sgd-none fit each" in out
    assert "left out, in no role: host\n" in out
    assert reply(shell, "check", *roles)["phases"] == {"forward": "forward_s", "exchange": "comm_s"}
    status, out, err = shell("fit", *roles, "--model", "s-sgd-none", "--verbose")
    assert status == 0
    assert "beta_n" in out
    assert "note: fitted to separate columns: forward ('forward_s'), exchange ('comm_s');" in err
    assert "left out, in no role: host\n" in err
    assert "left out, in no role: forward_s, comm_s, host\n" in shell("fit", *roles, "--model", "amdahl")[2]


def test_a_file_or_runs_alone_are_asked_about(shell: Shell) -> None:
    named, alone = shell("ask", "runs.csv", "--at", "64"), shell("runs.csv", "--at", "64")
    assert alone == named
    assert alone[0] == 0
    assert shell("1:410", "2:792", "4:1530", "64") == shell("ask", "1:410", "2:792", "4:1530", "--at", "64")
    assert shell("runs.csv", "64", "workers") == shell("runs.csv", "workers=64") == alone
    batch = shell("runs.csv", "--at", "workers=64", "--at", "batch=16")
    assert shell("runs.csv", "64 workers with batch 16") == shell("runs.csv", "batch 16,", "64", "workers") == batch
    assert shell("runs.csv", "64.csv")[2] == "error: 64.csv: no such file\n"


def test_former_names_go_on_with_a_note(shell: Shell) -> None:
    status, out, note = shell("models", "--json")
    assert (status, out) == shell("list", "models", "--json")[:2]
    assert note == "note: `genperf models` is now `genperf list models`; this name goes\n"


def test_without_a_word_the_one_table_shows_its_question(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["genperf"])
    out = done(shell)
    assert "genperf runs.csv --at workers=32\n" in out
    Path("more.csv").write_text(RUNS)
    assert shell()[2].startswith("Usage: genperf")


def test_options_of_the_table_stand_behind_an_option_of_their_own(shell: Shell) -> None:
    assert "--skip-bad-rows" not in shell("fit", "--help")[1]
    out = done(shell, "fit", "--help-table")
    assert "--skip-bad-rows" in out
    assert "--loss" not in out


@cases_in_text("typed, completed")
def test_a_shell_completes_columns_models_and_formats(shell: Shell, typed: str, completed: str) -> None:
    *words, incomplete = typed.split()
    completion = ShellComplete(cli, {}, "genperf", "_GENPERF_COMPLETE")
    assert completed in [item.value for item in completion.get_completions(words, incomplete)]


def test_the_settings_that_init_writes_are_read_and_never_overwritten(shell: Shell) -> None:
    done(shell, "init")
    written = Path("genperf.toml").read_bytes()
    done(shell, "models")
    assert "is there already" in refusal(shell, "init")
    assert Path("genperf.toml").read_bytes() == written


def test_every_option_stands_in_the_settings_with_a_value_of_its_kind() -> None:
    text = commented()
    assert tomllib.loads(text) == {name: {} for name in COMMANDS}
    filled = tomllib.loads(re.sub(r"(?m)^# (\w+ = )", r"\1", text))
    assert (filled["fit"]["model"], filled["fit"]["quiet"], filled["predict"]["interval"]) == ("auto", False, 0.9)


# --- the first look of `fit --quick` ---


def test_a_first_look_is_told_apart_and_repeated_by_its_command(shell: Shell) -> None:
    levels = {"workers": (1, 2, 4, 8), "batch": (8, 16, 32), "layers": (2, 4)}
    runs_of(lambda f: 0.02 * f.batch + 0.1 * f.layers + 1 / f.workers, levels, noise=0.02).to_csv(
        "runs.csv", index=False
    )
    fit = ("fit", "runs.csv", "--time", "s", "--extrinsic", "workers", "--intrinsic", "batch,layers")
    assert shell(*fit, "--model", "generic", "--quick", "-o", "quick.json")[0] == 0
    assert shell(*fit, "--model", "generic", "-o", "whole.json")[0] == 0
    quick, whole = (gp.load_model(f"{name}.json") for name in ("quick", "whole"))
    assert len(quick.best.draws) < len(whole.best.draws)
    assert "--quick" in command_of(quick).split()
    assert "--quick" not in command_of(whole).split()
    # The page's command makes the same bytes again.
    again = [word.replace("model.json", "again.json") for word in command_of(quick).split()[1:]]
    assert shell(*again)[0] == 0
    assert Path("again.json").read_bytes() == Path("quick.json").read_bytes()
    rows = [json.loads(shell("predict", f"{n}.json", "--at", "workers=8", "--at", "batch=16", "--at", "layers=4",
                             "--json")[1])["predictions"][0]["time"] for n in ("quick", "whole")]  # fmt: skip
    assert rows[0] == pytest.approx(rows[1], rel=0.3)


def test_repeated_conditions_all_hold(shell: Shell, tmp_path: Path) -> None:
    table = tmp_path / "runs.csv"
    table.write_text(csv_of("workers,link,s", [(n, x, 8 / n + x) for n in (1, 2, 4, 8) for x in (1, 2)]))
    kept = ("--where", "link == 2", "--where", "workers > 1")
    assert "3 rows" in done(shell, "check", str(table), "--time", "s", "--extrinsic", "workers,link", *kept)
