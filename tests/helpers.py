"""What many tests need: tables of runs that follow a law, and the command line as a function."""

import ast
import json
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pytest
from msgspec.structs import replace

import genperf as gp
from genperf.arrays import Array
from genperf.cli.main import run
from genperf.expression import Expression
from genperf.losses import Penalty, loss_named
from genperf.panel import Panel
from genperf.panel.panel import Target, panel_of
from genperf.solver import Problem
from genperf.table import Factor

PACKAGE = Path(__file__).parents[1] / "genperf"
#: A command's arguments → its status, its output and its errors.
Shell: TypeAlias = Callable[..., tuple[int, str, str]]


@cache
def trees() -> dict[str, ast.Module]:
    """Return the syntax trees of the package by the paths of its files."""
    files = sorted(PACKAGE.rglob("*.py"))
    return {path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in files}


@cache
def nodes() -> dict[str, tuple[ast.AST, ...]]:
    """Return all nodes of the syntax trees, walked once for every test that looks for some."""
    return {path: tuple(ast.walk(tree)) for path, tree in trees().items()}


def panel_with(factors: Sequence[Factor], mapping: dict[str, str] | None = None) -> Panel:
    """Return the panel of columns with measured ranges, or of columns that are not measured yet."""
    return panel_of(tuple(factors), mapping or {})


def runs_of(
    law: Callable[[pd.DataFrame], pd.Series],
    levels: dict[str, Sequence[object]],
    *,
    column: str = "s",
    noise: float = 0.0,
    repeats: int = 1,
    sample: int | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Return runs of every combination of levels, with a column that follows a law under log-normal noise.

    The last factor changes fastest, the column comes last, and repeats follow each other; `noise` is the standard
    deviation of the logarithm, `sample` so many combinations, drawn without replacement.

    Examples
    --------
    >>> runs_of(lambda f: 1 + 8 / f.workers, {"workers": (1, 2), "batch": (16, 32)})
       workers  batch    s
    0        1     16  9.0
    1        1     32  9.0
    2        2     16  5.0
    3        2     32  5.0
    >>> noisy = runs_of(lambda f: 1.0 + 0 * f.workers, {"workers": range(1, 9)}, noise=0.1, repeats=50)
    >>> len(noisy), round(float(np.log(noisy.s).std()), 2)
    (400, 0.1)
    """
    frame = pd.MultiIndex.from_product(list(levels.values()), names=list(levels)).to_frame(index=False)
    if sample is not None:
        frame = frame.sample(sample, random_state=seed)
    frame = frame.loc[frame.index.repeat(repeats)].reset_index(drop=True)
    return noisy(frame.assign(**{column: law(frame)}), column, noise, seed)


def problem_from(
    expression: Expression,
    columns: Mapping[str, Array],
    measured: Array,
    loss: str = "relative",
    penalty: Penalty | None = None,
    scale: Array | None = None,
) -> Problem:
    """Return the problem of an expression's constants, each at its start; coefficients are in units of the mean."""
    constants = expression.constants
    is_coefficient = np.array([c.kind == "coefficient" for c in constants])
    scale = np.where(is_coefficient, measured.mean(), 1.0) if scale is None else scale
    bound = expression.bind({name: columns[name] for name in expression.factors})
    return Problem(
        predict=bound.predict,
        jacobian=bound.jacobian,
        measured=measured,
        weights=np.ones(len(measured)),
        lower=np.array([c.lower for c in constants]),
        upper=np.array([c.upper for c in constants]),
        scale=scale,
        penalised=np.array([c.penalised for c in constants]),
        coefficient=is_coefficient,
        linear=expression.is_sum,
        start=np.array([c.start for c in constants]) * scale,
        loss=loss_named(loss),
        penalty=penalty or Penalty(),
    )


def noisy(frame: pd.DataFrame, column: str, noise: float, seed: int = 0) -> pd.DataFrame:
    """Return a table with log-normal noise of a standard deviation on a column.

    Examples
    --------
    >>> noisy(pd.DataFrame({"s": [1.0, 2.0]}), "s", 0.0).s.tolist()
    [1.0, 2.0]
    """
    errors = noise * np.random.default_rng(seed).standard_normal(len(frame))
    return frame.assign(**{column: frame[column] * np.exp(errors)})


@cache
def memory_model(batches: tuple[int, ...] = (8, 16)) -> gp.FitResult:
    """Return a model of M = 4 + 0.25·batch + 16/workers, in GB."""
    rows = [(n, b, (4 + 0.25 * b + 16 / n) * (1 + 0.01 * ((n + b) % 3 - 1))) for n in (1, 2, 4, 8) for b in batches]
    runs = pd.DataFrame(rows, columns=["workers", "batch", "peak"])
    table = gp.read_table(runs, time="peak", extrinsic="workers", intrinsic="batch")
    table = replace(table, target=Target("peak", "memory_gb", "GB"), notes=())
    return gp.fit(table, "w + a*batch + s/workers", draws=20)


def shell_of(capsys: pytest.CaptureFixture[str]) -> Shell:
    """Return a function that runs a command and returns its status, its output and its errors."""

    def call(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = run(list(arguments))
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


def csv_of(header: str, rows: Iterable[Iterable[object]]) -> str:
    """Return the text of a table.

    Examples
    --------
    >>> csv_of("gpus,s", [(1, 9.0), (2, 5.0)])
    'gpus,s\\n1,9.0\\n2,5.0\\n'
    """
    return "\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n"


def done(shell: Shell, *arguments: str) -> str:
    """Return what a command prints that ends well."""
    status, out, errors = shell(*arguments)
    assert status == 0, errors
    return out


@contextmanager
def without_words(leave: bool) -> Iterator[None]:
    """Leave the sentences of answers out, which take half of the time of an ask as JSON."""
    with pytest.MonkeyPatch.context() as patch:
        if leave:
            patch.setattr("genperf.asking.answer.sentences_of", lambda facts: {})
        yield


def reply(shell: Shell, *command: str, words: bool = False) -> Any:
    """Return what a command that ends well answers as JSON, an `ask` with its sentences where they are wanted."""
    with without_words(command[0] == "ask" and not words):
        return json.loads(done(shell, *command, "--json"))


def refusal(shell: Shell, *arguments: str) -> str:
    """Return why a command is refused."""
    status, out, errors = shell(*arguments)
    assert status == 1, out
    return errors


def asked(shell: Shell, text: str, *question: str, words: bool = False) -> Any:
    """Return what `ask` answers as JSON about a table of this text, with sentences where they are wanted."""
    Path("runs.csv").write_text(text, encoding="utf-8")
    with without_words(not words):
        status, out, errors = shell("ask", "runs.csv", *question, "--json")
    assert (status, errors) == (0, "")
    return json.loads(out)


def _command(question: Sequence[str]) -> list[str]:
    """Return the command line of a question, whose first word may be another command than `ask`."""
    command = next(filter(re.compile("check|compare|explain|optimize|predict|suggest").fullmatch, question[:1]), "ask")
    return [command, "runs.csv", *question[command != "ask" :]]


def told(shell: Shell, text: str, *question: str) -> str:
    """Return what `ask`, or the command that a question begins with, prints about a table of this text."""
    Path("runs.csv").write_text(text, encoding="utf-8")
    return done(shell, *_command(question), "--no-color")


def refused(shell: Shell, text: str, *question: str) -> str:
    """Return why `ask`, or the command that a question begins with, refuses it of a table of this text."""
    Path("runs.csv").write_text(text, encoding="utf-8")
    status, out, errors = shell(*_command(question))
    assert (status, out) == (1, "")
    return errors


def assert_says(text: str, patterns: Iterable[str]) -> None:
    """Check that a text holds each pattern, and none of those behind a `!`."""
    for pattern in patterns:
        assert bool(re.search(pattern.removeprefix("!"), text, re.MULTILINE)) != pattern.startswith("!"), (
            pattern,
            text,
        )


def questions_in(path: Path) -> dict[str, tuple[str, list[str], list[str]]]:
    """Return the questions of a file by their titles: a table, the options, and the patterns of what is said."""
    questions = {}
    for section in path.read_text(encoding="utf-8").split("\n== ")[1:]:
        # A remark may stand below the title.
        title, _, question = section.partition("\n$ ")
        options, _, rest = question.partition("\n")
        table, *lines = re.split(r"\n(?=[>=?] )", rest.rstrip("\n"))
        patterns = [line.removeprefix("> ") for line in lines]
        questions[title.partition("\n")[0]] = f"{table}\n", shlex.split(options), patterns
    return questions


def cases_in_text(names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a test the cases below its name in the text file of its module, `runs.txt` of `test_runs.py`.

    A line is a case: its values stand between `=>`, as JSON or as plain text, in the order of the `names`.
    """

    def with_cases(test: Callable[..., None]) -> Callable[..., None]:
        path = Path(test.__globals__["__file__"])
        text = path.with_name(f"{path.stem.removeprefix('test_')}.txt").read_text(encoding="utf-8")
        section = f"\n{text}".partition(f"\n== {test.__name__}\n")[2].partition("\n== ")[0]
        lines = [line for line in section.splitlines() if line and not line.startswith("# ")]
        assert lines, f"{path}: no case of {test.__name__}"
        cases = [tuple(map(value_in, line.split(" => "))) for line in lines]
        values = cases if "," in names else [value for (value,) in cases]
        return pytest.mark.parametrize(names, values, ids=[line.partition(" => ")[0] for line in lines])(test)

    return with_cases


def value_in(text: str) -> Any:
    """Return a value that is written as JSON, and any other text as it is."""
    try:
        return json.loads(text)
    except ValueError:
        return text
