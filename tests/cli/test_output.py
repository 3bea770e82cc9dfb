"""What commands write: tables, JSON, CSV, figures."""

import importlib.util
import io
import json
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers import Shell, cases_in_text, done, refusal, reply

from genperf.cli.main import cli
from genperf.cli.output import cell, show_json, show_predictions, show_rows
from genperf.cli.writing import write_whole
from genperf.errors import GenperfError
from genperf.table.cells import csv_pieces, records


def test_written_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    target.write_text("old")
    target.chmod(0o640)
    write_whole(target, "new")
    assert target.read_text() == "new"
    assert target.stat().st_mode & 0o777 == 0o640
    assert [p.name for p in tmp_path.iterdir()] == ["out.txt"]


def test_a_link_stays_a_link_and_a_pipe_a_pipe(tmp_path: Path) -> None:
    target, link, pipe = tmp_path / "out.txt", tmp_path / "link", tmp_path / "pipe"
    link.symlink_to(target)
    write_whole(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, "through")
    assert os.read(reader, 10) == b"through"
    os.close(reader)
    assert pipe.is_fifo()


def test_rows_align_numbers_right(capsys: pytest.CaptureFixture[str]) -> None:
    show_rows(["name", "error"], [["generic", "9.5"], ["svr", "14.25"]])
    assert capsys.readouterr().out.splitlines() == ["name     error", "generic    9.5", "svr      14.25"]


FRAME = pd.DataFrame(
    {
        "seconds": [0.1234567891234, np.nan, np.inf],
        "nodes": [1, 2, 3],
        "say": ['a "b", c', "", None],
        "whole": [True, False, True],
        "mixed": [1.23456789123, None, "x"],
        "day": pd.to_datetime(["2020-01-02", "2020-01-03", None]),
        "maybe": pd.array([1, None, 3], dtype="Int64"),
    }
)


def test_csv_is_what_pandas_writes() -> None:
    assert "".join(csv_pieces(FRAME)) == FRAME.to_csv(index=False, float_format="%.9g")
    assert "".join(csv_pieces(FRAME[["say"]])) == FRAME[["say"]].to_csv(index=False)


def test_what_json_has_no_type_for_is_text_and_what_is_missing_is_null(capsys: pytest.CaptureFixture[str]) -> None:
    show_json(records(FRAME))
    last = json.loads(capsys.readouterr().out)[2]
    assert last == {"seconds": None, "nodes": 3, "say": None, "whole": True, "mixed": "x", "day": None, "maybe": 3}


@cases_in_text("value, text")
def test_cell(value: object, text: str) -> None:
    assert cell(value) == text


def test_reasons_are_footnotes_where_lines_are_too_long(capsys: pytest.CaptureFixture[str]) -> None:
    reason = "workers=64 is 2 doublings beyond the measured 1 to 16; the interval is wide"
    table = {
        "workers": np.array([16.0, 64.0, 128.0]),
        "verdict": np.array(["ok", "caution", "caution"], dtype=object),
        "reason": np.array(["", reason, reason], dtype=object),
    }
    show_predictions(table)
    assert capsys.readouterr().out.splitlines() == [
        "workers  verdict",
        "     16  ok",
        "     64  caution [1]",
        "    128  caution [1]",
        f"[1] {reason}",
    ]
    show_predictions({**table, "reason": np.array(["", "far", "far"], dtype=object)})
    assert "far" in capsys.readouterr().out.splitlines()[2]


# --- patterns of files for `ask`, as many rows as `--top` names, and figures that cannot be drawn --------------------

COUNTS = (1, 2, 4, 8)
TABLE = ("--time", "step_time_s", "--extrinsic", "gpus")
ROWS = [f"{n},{8 / n + 1}" for n in COUNTS]
FOLDER = {"runs.csv": "\n".join(["gpus,step_time_s", *ROWS, ""])}
FOLDER |= {f"logs/run{n}/console.log": f"gpus,step_time_s\n{row}\n" for n, row in zip(COUNTS, ROWS, strict=True)}


def test_files_of_a_pattern_are_one_table(shell: Shell) -> None:
    whole = reply(shell, "ask", "runs.csv", "--at", "gpus=16")
    for files in (["logs/*/console.log"], [f"logs/run{n}/console.log" for n in COUNTS]):
        assert reply(shell, "ask", *files, "--at", "gpus=16")["answers"] == whole["answers"]


def test_files_that_are_no_table_together_are_refused(shell: Shell, tmp_path: Path) -> None:
    errors = refusal(shell, "ask", "--full", "logs/*/train.log", "--at", "gpus=16")
    assert "logs/*/train.log: no file matches" in errors
    (tmp_path / "logs" / "run2" / "console.log").write_text("nodes,step_time_s\n2,5\n")
    errors = refusal(shell, "ask", "--full", "logs/*/console.log", "--at", "gpus=16")
    assert "run2/console.log: has the columns nodes, step_time_s, and logs/run1/console.log has gpus, step" in errors
    assert "'runs.csv' is not a run" in refusal(shell, "ask", "--full", "runs.csv", "4:1530", "--at", "gpus=16")


@pytest.mark.parametrize("command", [["validate", "runs.csv", *TABLE], ["predict", "m.json", "--at", "gpus=16"]])
def test_a_missing_matplotlib_is_found_before_the_work(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    # Nothing is read: not even that there is no model.
    errors = refusal(shell, *command, "--plot", "figure.png")
    assert 'plots need matplotlib\n  try: pip install "genperf[plots]"' in errors


def test_a_table_is_printed_before_its_figure_is_drawn(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")

    def undrawn(*given: object) -> None:
        raise GenperfError("no figure today")

    monkeypatch.setattr("genperf.plots.image", undrawn)
    status, out, errors = shell(
        "validate", "runs.csv", *TABLE, "--models", "amdahl", "--scheme", "leave-one-out", "--plot", "f.png"
    )
    assert (status, "no figure today" in errors) == (1, True), errors
    assert "errors of the predicted time" in out
    assert shell("fit", "runs.csv", *TABLE, "--model", "amdahl", "-o", "m.json")[0] == 0
    status, out, errors = shell("predict", "m.json", "--at", "gpus=16", "--plot", "figure.png")
    assert (status, "no figure today" in errors, "16" in out) == (1, True, True)


# --- the published JSON Schemas are those of what the commands print with `--json`, and other answers keep them ------

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
#: Answers that no schema was made from.
OTHERS = [
    ("ask", ("nets.csv", "--at", "devices=16", "--price", "3/h", "--per", "devices")),
    ("ask", ("nets.csv", "--samples", "1M", "--budget", "1", "--price", "1/h")),
    ("check", ("nets.csv",)),
    ("ask", ("one.json", "--at", "devices=64")),
    ("explain", ("one.json", "--at", "devices=16", "--versus", "devices=4")),
    ("verify", ("nets.json", "nets.csv")),
    ("compare", ("nets.json", "--at", "devices=4", "--price", "1/h")),
    ("compare", ("nets.json", "--at", "devices=4", "--at", "net=a", "--or", "devices=8")),
    ("explain", ("one.json", "--knee")),
    ("optimize", ("nets.json", "--over", "devices=1:8")),
    ("predict", ("nets.json", "--at", "devices=8,16")),
    ("suggest", ("one.json", "--target", "devices=64")),
    ("list", ("world",)),
    ("list", ("models",)),
]


@pytest.fixture(scope="module")
def schemas() -> ModuleType:
    spec = importlib.util.spec_from_file_location("schemas", REFERENCE / "schemas.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def broken(schema: dict[str, Any], value: Any, types: dict[type, str], place: str = "$") -> list[str]:
    """Return where a value does not keep a schema."""
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    kind = types[type(value)]
    if kind not in kinds and not (kind == "integer" and "number" in kinds):
        return [f"{place}: {kind}, not {kinds}"]
    if isinstance(value, list) and "items" in schema:
        return [text for k, one in enumerate(value) for text in broken(schema["items"], one, types, f"{place}[{k}]")]
    if not isinstance(value, dict) or "properties" not in schema:
        return []
    out = [f"{place}.{key} is missing" for key in schema["required"] if key not in value]
    for key, one in value.items():
        inner = schema["properties"].get(key, schema["additionalProperties"])
        out += broken(inner, one, types, f"{place}.{key}") if isinstance(inner, dict) else []
    return out


@pytest.mark.usefixtures("all_draws")
def test_the_published_schemas_are_those_of_the_program(schemas: ModuleType) -> None:
    published = {path.stem: path.read_text(encoding="utf-8") for path in (REFERENCE / "schemas").glob("*.json")}
    assert published == schemas.schemas(), "run: python docs/reference/schemas.py"


def test_every_command_with_json_has_a_schema(schemas: ModuleType) -> None:
    context = cli.make_context("genperf", ["--quiet"], resilient_parsing=True)
    commands = [(name, cli.get_command(context, name)) for name in cli.list_commands(context)]
    with_json = {name for name, command in commands if any("--json" in option.opts for option in command.params)}
    assert with_json == {"fit", *schemas.COMMANDS}


def test_other_answers_keep_the_schemas(schemas: ModuleType, shell: Shell) -> None:
    rows = "".join(f"{net},{n},{100 * k * n**0.9:g}\n" for k, net in enumerate("ab", 1) for n in (1, 2, 4, 8, 16))
    Path("nets.csv").write_text(f"net,devices,samples_per_s\n{rows}")
    roles = ("--throughput", "samples_per_s", "--work", "devices", "--extrinsic", "devices")
    assert shell("fit", "nets.csv", *roles, "--group", "net", "-o", "nets.json")[0] == 0
    assert shell("fit", "nets.csv", *roles, "--where", "net == 'a'", "-o", "one.json")[0] == 0
    for command, arguments in OTHERS:
        out = done(shell, command, *arguments, "--json")
        schema = json.loads((REFERENCE / "schemas" / f"{command}.json").read_text(encoding="utf-8"))
        assert broken(schema, json.loads(out), schemas.TYPES) == [], (command, arguments)


# --- `genperf report` and `--plot`: what is written, and what is said where it cannot be -----------------------------

pytest.importorskip("matplotlib", reason='matplotlib is missing: pip install "genperf[plots]"')
ROLES = ["--time", "seconds", "--extrinsic", "workers"]


@pytest.fixture
def shell_of_pictures(shell: Shell) -> Shell:
    """Run a command in a folder with a table, and a model of each of its two groups; return status, output, errors."""
    lines = [f"{net},{n},{t * (1 + 8 / n)}" for net, t in (("a", 1), ("b", 2)) for n in (1, 2, 4, 8, 16)]
    Path("runs.csv").write_text("\n".join(["net,workers,seconds", *lines]))
    Path("one.csv").write_text("\n".join(["net,workers,seconds", *lines[:5]]))
    assert shell("fit", "runs.csv", *ROLES, "--group", "net", "--model", "amdahl", "-o", "groups.json", "-q")[0] == 0
    assert shell("fit", "one.csv", *ROLES, "--model", "amdahl", "-o", "one.json", "-q")[0] == 0
    return shell


FIGURES = [
    ["predict", "one.json", "--at", "workers=32,64"],
    ["predict", "groups.json", "--at", "net=b", "--at", "workers=32"],
    ["explain", "one.json"],
    ["explain", "one.json", "--knee", "--scaling", "strong"],
    ["explain", "one.json", "--at", "workers=16", "--versus", "workers=2"],
    ["validate", "one.csv", *ROLES, "--models", "amdahl,last-point", "--scheme", "extrapolate:workers"],
]


@pytest.mark.parametrize("arguments", FIGURES)
def test_plot_writes_a_figure(shell_of_pictures: Shell, arguments: list[str]) -> None:
    status, _, err = shell_of_pictures(*arguments, "--plot", "figure.svg")
    assert status == 0, err
    assert "wrote figure.svg" in err
    assert Path("figure.svg").read_text().startswith("<?xml")


def test_explain_draws_the_figures_of_a_paper_into_a_folder(shell_of_pictures: Shell) -> None:
    status, _, err = shell_of_pictures("explain", "one.json", "--plot", "figures")
    assert status == 0, err
    names = {path.name for path in Path("figures").iterdir()}
    assert names == {f"{name}.pdf" for name in ("constants", "elasticities", "predicted", "sensitivity")}
    assert all(path.read_bytes().startswith(b"%PDF") for path in Path("figures").iterdir())


def test_plot_of_several_groups_says_how_to_choose_one(shell_of_pictures: Shell) -> None:
    status, _, err = shell_of_pictures("predict", "groups.json", "--at", "workers=32", "--plot", "figure.png")
    assert status == 1
    assert "--at net=a" in err


def test_report_of_a_model(shell_of_pictures: Shell) -> None:
    status, out, err = shell_of_pictures("report", "groups.json", "--title", "Ours", "--target", "workers=64", "--json")
    assert status == 0
    assert json.loads(out) == {"report": "report.html", "bytes": Path("report.html").stat().st_size}
    assert "open it in a browser (file://" in err
    assert "<title>Ours</title>" in Path("report.html").read_text()


def test_report_of_one_group(shell_of_pictures: Shell) -> None:
    assert shell_of_pictures("report", "groups.json", "--only", "b", "-o", "b.html", "-q") == (0, "", "")
    assert 'id="group"' not in Path("b.html").read_text()


def test_a_prediction_of_rows_names_their_file_and_what_it_replaces(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("runs.csv").write_text("workers,time\n1,9\n2,5\n4,3\n8,2\n")
    done(shell, "fit", "runs.csv", "--time", "time", "--extrinsic", "workers", "--model", "amdahl", "-o", "m.json")
    status, out, errors = shell("predict", "m.json", "--data", "runs.csv", "-o", "-")
    assert (status, out.splitlines()[0]) == (0, "workers,time,lower,upper,verdict,reason,fits")
    assert errors == "note: columns of the data are replaced by the predictions of that name: time\n"
    Path("new.csv").write_text("workers\nmany\n")
    assert "new.csv: line 2, column 'workers': 'many' is not a number" in refusal(
        shell, "predict", "m.json", "--data", "new.csv"
    )
    # What was piped is gone; how the model's file begins helps nobody.
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"workers\n")))
    assert "it begins" not in refusal(shell, "predict", "m.json", "--data", "-")
