"""A fitted expression in other languages has the value that Python predicts."""

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
from helpers import Shell, runs_of

import genperf as gp
from genperf.errors import GenperfError
from genperf.formula import FUNCTIONS, LANGUAGES, Call, Name, in_language
from genperf.reporting.engine import export

AT = {"workers": 6.0, "batch size": 24.0, "framework": "mxnet"}


@cache
def fitted() -> gp.FitResult:
    levels = {"workers": (1, 2, 4, 8), "batch size": (8, 16, 32), "framework": ("mxnet", "pytorch")}
    slower = {"mxnet": 2.0, "pytorch": 1.0}
    frame = runs_of(lambda f: (0.1 + 0.01 * f["batch size"] + 0.02 * f.workers) * f.framework.map(slower), levels)
    roles = {"time": "s", "extrinsic": "workers", "intrinsic": "batch size", "categorical": "framework"}
    return gp.fit(gp.read_table(frame, **roles), model="generic", draws=2)


def expected() -> float:
    expression = fitted().best.expression
    return float(expression.evaluate(fitted().best.values, {k: [v] for k, v in AT.items()})[0])


def test_python_has_the_value() -> None:
    names: dict[str, object] = {}
    exec(export(fitted(), "python"), names)
    assert re.search(r"measured: [\w ]+ \d to \d+, [\w ]+ \d to \d+\n", export(fitted(), "python"))
    assert names["predict"](workers=6.0, batch_size=24.0, framework="mxnet") == pytest.approx(expected())  # type: ignore[operator]


@pytest.mark.skipif(not shutil.which("node"), reason="no Node.js")
def test_javascript_has_the_value() -> None:
    order = [f.name for f in fitted().schema.factors]
    arguments = ", ".join(repr(AT[name]) for name in order)
    script = export(fitted(), "javascript") + f"console.log(predict({arguments}))"
    printed = subprocess.run(["node", "-e", script], capture_output=True, text=True, check=True).stdout
    assert float(printed) == pytest.approx(expected())


@pytest.mark.skipif(not shutil.which("node"), reason="no Node.js")
def test_a_column_named_as_what_the_formula_calls_hides_it_not() -> None:
    levels = {"power": (1, 2, 4, 8), "math": (2, 4, 8), "Math": (1, 3)}
    frame = runs_of(lambda f: 0.1 + f.power**0.5 + 0.01 * f.math + 0.02 * f.Math, levels)
    table = gp.read_table(frame, time="s", extrinsic="power", intrinsic="math,Math")
    result = gp.fit(table, "a + b*power**p + c*log2(math) + d*max(Math, 2)", draws=2)
    at = {"power": 3.0, "math": 4.0, "Math": 3.0}
    order, value = [at[f.name] for f in result.schema.factors], result.predict(at)["time"][0]
    names: dict[str, object] = {}
    exec(export(result, "python"), names)
    assert names["predict"](*order) == pytest.approx(value, rel=1e-12)  # type: ignore[operator]
    script = export(result, "javascript") + f"console.log(predict(...{order}))"
    printed = subprocess.run(["node", "-e", script], capture_output=True, text=True, check=True).stdout
    assert float(printed) == pytest.approx(value, rel=1e-12)


def test_the_comment_has_what_a_prediction_shows_beside() -> None:
    frame = runs_of(lambda f: f.gpus * f.batch / (1 + f.batch), {"gpus": (1, 2, 4), "batch": (8, 16)}, column="rate")
    roles = {"throughput": "rate", "extrinsic": "gpus", "intrinsic": "batch,load", "let": {"load": "batch**2"}}
    table = gp.read_table(frame, work="gpus*batch", **roles)
    text = export(gp.fit(table, "a + b*load + c*batch", draws=2), "python")
    assert "; throughput in samples/s is gpus*batch/time; load = batch**2\n" in text


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_function_is_written(function: str, language: str) -> None:
    arguments = tuple(Name(n) for n in "abc"[: max(FUNCTIONS[function].least, min(3, FUNCTIONS[function].most))])
    assert in_language(Call(function, arguments), {n: n for n in "abc"}, LANGUAGES[language])


def test_names_of_columns_become_no_code() -> None:
    hostile = 'x"); import os; ("'
    frame = pd.DataFrame({hostile: [1, 2, 4, 8], "s": [9.0, 5.0, 3.0, 2.0]})
    result = gp.fit(gp.read_table(frame, time="s", extrinsic=hostile), model="generic", draws=2)
    for language in LANGUAGES:
        text = export(result, language)
        assert hostile not in text
        assert "import os;" not in text


def test_an_average_is_refused() -> None:
    frame = pd.DataFrame({"workers": [1, 2, 4, 8], "s": [9.0, 5.0, 3.0, 2.0]})
    result = gp.fit(gp.read_table(frame, time="s", extrinsic="workers"))
    with pytest.raises(GenperfError, match="has no formula"):
        export(result, "python")


def test_the_command_writes_a_file(tmp_path: Path, shell: Shell) -> None:
    (tmp_path / "runs.csv").write_text("workers,s\n1,9\n2,5\n4,3\n8,2\n")
    runs, model, code = (str(tmp_path / name) for name in ("runs.csv", "m.json", "m.py"))
    assert shell("fit", runs, "--time", "s", "--extrinsic", "workers", "--model", "amdahl", "-o", model)[0] == 0
    assert shell("explain", model, "--to", "python", "-o", code)[0] == 0
    assert "def predict(workers)" in Path(code).read_text()
    status, out, _ = shell("explain", model, "--to", "extra-p")
    assert status == 0
    # The old name goes on, with a note.
    before, same, note = shell("export", model, "--to", "extra-p")
    assert (before, same) == (status, out)
    assert "`genperf explain`" in note
    assert re.fullmatch(r"1\.\d+ \+ 7\.\d+/workers\n", out)
