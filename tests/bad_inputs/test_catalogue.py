"""Odd inputs beside what the command line answers: a message, never a traceback, never a fault of genperf."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers import Shell, shell_of

COUNTS = (1, 2, 4, 8, 16)
TABLE = ("--time", "seconds", "--extrinsic", "workers")
GRID = ("--over", "workers=1:8", "--over", "batch=32", "--over", "framework=tf")


def table(head: str, scale: float = 1.0) -> str:
    return f"{head},seconds\n" + "".join(f"{n},{(8 / n + 1) * scale!r}\n" for n in COUNTS)


TEXT_ROWS = "".join(
    f"{f},{n},{b},{s * (8 / n + 1) * b / 32!r}\n" for f, s in (("tf", 1), ("mx", 2)) for n in COUNTS for b in (32, 64)
)
FILES = {
    "runs.csv": table("workers"),
    "text.csv": "framework,workers,batch,seconds\n" + TEXT_ROWS,
    "ep.txt": "PARAMETER p\nPOINTS 2 4\nREGION main\nMETRIC time\nDATA 5.0\nPARAMETER q\nDATA 3.0\n",
    "deep.json": "[" * 30_000,
    "deep.toml": "time = " + "[" * 30_000,
    **{f"t{k}.csv": table("workers", 10.0**k) for k in (-300, -200, -100, -40, 40, 100, 200, 300)},
    "denormal.csv": "workers,seconds\n" + "".join(f"{n},5e-324\n" for n in COUNTS),
}
SETTINGS = {
    "seed = 1.5": "a whole number is expected",
    "seed = true": "a whole number is expected",
    "seed = 2020-01-01": "a whole number is expected",
    'seed = "one"': "a whole number is expected",
    "seed = [1]": "a whole number is expected",
    'json = "perhaps"': "true or false is expected",
    "json = 1": "true or false is expected",
    "json = 2020-01-01": "true or false is expected",
    "time = 2020-01-01": "text, a number, or a list of texts is expected",
    "time = 12:30:00": "text, a number, or a list of texts is expected",
    "time = [[1]]": "text, a number, or a list of texts is expected",
    "time = true": "text, a number, or a list of texts is expected",
    "let = 1": "text or a list of texts is expected",
    "let = [1]": "text or a list of texts is expected",
    "let = 2020-01-01": "text or a list of texts is expected",
    'quiet = "no"': "true or false is expected",
    "[fit]\ntiem = 1": "is no option of this command",
    "[fitt]": "[fitt] is not a command",
    "time = ": "cannot be read as settings",
}
#: Arguments → the status and a part of the message.
CASES: dict[tuple[str, ...], tuple[int, str]] = {
    **{
        (*command, "-o", output): answer
        for command in (
            ("fit", "runs.csv", *TABLE),
            ("predict", "m.json", "--at", "workers=4"),
            ("validate", "runs.csv", *TABLE),
            ("report", "m.json"),
            ("import", "extra-p", "ep.txt"),
            ("optimize", "m.json", "--over", "workers=1:8"),
            ("suggest", "m.json", "--target", "workers=64"),
        )
        for output, answer in {
            "": (2, "the file's name is empty"),
            "missing/x": (1, "no such folder to write to"),
            "folder": (1, "is a folder, not a file"),
            "runs.csv/x": (1, "no such folder to write to"),
            "x" * 300: (1, "File name too long"),
        }.items()
    },
    **{
        ("optimize", "t.json", *GRID, option, formula): (1, "a number is needed here, not a")
        for option in ("--minimize", "--price", "--machines", "--steps")
        for formula in ("framework", "'abc'", "workers > 1")
    },
    **{
        ("suggest", "t.json", "--target", "workers=64", "--cost", formula): (1, "a number is needed here, not a text")
        for formula in ("framework", "'abc'")
    },
    **{
        ("fit", "text.csv", *TABLE, "--let", f"x={formula}", "--intrinsic", "x"): (1, "a number is needed here")
        for formula in ("framework", "'abc'")
    },
    **{
        ("fit", "runs.csv", *TABLE, "--model", formula): (1, "no constants within the bounds give finite values")
        for formula in ("a*workers/0", "a*workers/(0*workers)", "a*log(0*workers)")
    },
    **{
        ("fit", "runs.csv", *TABLE, "--model", "+".join(f"c{i}*workers**{i % 30}" for i in range(count))): (
            1,
            "constants",
        )
        for count in (6, 40, 100, 200)
    },
    **{
        ("fit", f"t{k}.csv", *TABLE): (1, "is nearer to zero than 1e-30" if k < 0 else "is larger than 1e+30 in size")
        for k in (-300, -200, -100, -40, 40, 100, 200, 300)
    },
    ("fit", "denormal.csv", *TABLE): (1, "is nearer to zero than 1e-30"),
    ("check", "runs.csv", *TABLE, "--where", "workers>0" + "<1" * 1500): (1, "comparisons are joined; at most 240"),
    ("check", "runs.csv", *TABLE, "--where", " and ".join(["workers>0"] * 300)): (1, "at most 4000 are read"),
    ("import", "extra-p", "ep.txt"): (1, "PARAMETER stands after POINTS"),
    ("import", "extra-p", "deep.json"): (1, "deep"),
    ("predict", "m.json", "--at", "workers=1e308"): (1, "is larger than 1e+30 in size"),
    ("predict", "m.json", "--at", "workers=-1e308"): (1, "is larger than 1e+30 in size"),
    ("predict", "m.json", "--at", "workers=inf"): (1, "is infinite"),
    ("predict", "runs.csv", "--at", "workers=4"): (1, "is a table of runs, not a model"),
    ("explain", "text.csv"): (1, "is a table of runs, not a model"),
    ("predict", "deep.json", "--at", "workers=4"): (1, "is not a whole model file"),
    ("--config", "deep.toml", "fit", "runs.csv"): (1, "cannot be read as settings"),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from genperf.cli.main import run

    folder = tmp_path_factory.mktemp("bad")
    (folder / "folder").mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    runs, text = str(folder / "runs.csv"), str(folder / "text.csv")
    assert run(["fit", runs, *TABLE, "--model", "amdahl", "-q", "-o", str(folder / "m.json")]) == 0
    roles = (*TABLE, "--intrinsic", "batch", "--categorical", "framework")
    assert run(["fit", text, *roles, "--model", "generic", "-q", "-o", str(folder / "t.json")]) == 0
    return folder


@pytest.fixture
def shell(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    monkeypatch.chdir(place)
    return shell_of(capsys)


@pytest.mark.parametrize("arguments", CASES, ids=lambda a: " ".join(a)[:60])
def test_odd_input_is_answered(shell: Shell, arguments: tuple[str, ...]) -> None:
    status, message = CASES[arguments]
    answered, _, errors = shell(*arguments)
    assert (answered, message in errors) == (status, True), errors


@pytest.mark.parametrize("text", SETTINGS)
def test_settings_name_their_key(shell: Shell, place: Path, text: str) -> None:
    (place / "bad.toml").write_text(text)
    status, _, errors = shell("--config", "bad.toml", "fit", "runs.csv")
    assert status == 1
    assert SETTINGS[text] in errors


@pytest.mark.parametrize("name", ["__index_level_0__", "self", "wo`rk", "x=y", "wo\nrk", "lambda", "log", "a b"])
def test_any_name_is_fitted_loaded_and_asked_about(shell: Shell, place: Path, name: str) -> None:
    rows = "".join(f"{n},{w},{n * (8 / w + 1)!r}\n" for n in COUNTS for w in (1, 2, 4, 8))
    (place / "named.csv").write_text(f'"{name}",workers,seconds\n{rows}')
    shown = name.replace("\n", " ")
    fit = ("fit", "named.csv", *TABLE, "--intrinsic", shown, "--model", "generic", "-o", "named.json")
    assert shell(*fit)[0] == 0
    status, out, _ = shell("predict", "named.json", "--at", f"{shown}=8", "--at", "workers=4", "--json")
    assert status == 0
    assert shown in json.loads(out)["predictions"][0]
