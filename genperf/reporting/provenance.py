"""How a model was fitted, so that it can be fitted again."""

import platform
import re
import shlex
from importlib.metadata import version

from genperf import __version__
from genperf.estimate.options import QUICK_DRAWS
from genperf.prediction import Schema
from genperf.prediction.schema import roles_of
from genperf.result import FitResult
from genperf.words.numbers import with_article

#: The options of a fit, as `FitOptions.request` writes them.
_OPTIONS = re.compile(
    r"structure=(?P<structure>.*) loss=(?P<loss>.*) penalty=(?P<penalty>.*) lam=(?P<lam>.*) solver=(?P<solver>.*) "
    r"draws=(?P<draws>\d+) (?:mapping=\{.*\} )?fix=\{(?P<fix>.*?)\}(?: hints=\{(?P<hints>.*)\})?"
    r"(?: table prior \w+)?$"
)
#: The defaults of the command line.
_USUAL = {"structure": "auto", "loss": "relative", "penalty": "l2", "lam": "None", "solver": "projected"}
_OPTION = {"lam": "lambda", "hints": "hint"}


def command_of(result: FitResult, *, pooled: bool = False) -> str:
    """Return the command that fits the same model again; the hash of the data shows whether the rows are those."""
    schema = result.schema
    source = schema.source if schema.source not in ("", "DataFrame", "-") else "TABLE"
    reading = dict(schema.reading)
    words = ["genperf", "fit", source]
    for option, role_value in roles_of(schema).items():
        if option not in reading:
            words += [f"--{option}", role_value if isinstance(role_value, str) else ",".join(role_value)]
    # What the work of a step or the header shows needs no option.
    shows = schema.scaling is None or schema.target.work or any(note.kind == "job" for note in result.notes)
    words += [] if shows else ["--scaling", str(schema.scaling)]
    lets = [("let", f"{name}={formula}") for name, formula in schema.derived.items()]
    for option, value in dict.fromkeys([*(let for let in lets if "let" not in reading), *schema.reading]):
        words += [f"--{option}", *([value] if value else [])]
    words += ["--model", result.model]
    for name, further_result in result.further.items():
        words += ["--also-model", f"{name}={further_result.model}"] if further_result.model != "auto" else []
    words += [word for name, column in schema.mapping.items() for word in ("--map", f"{name}={column}")]
    words += _changed_options(str(result.options.get("request", "")))
    words += ["--pool"] if pooled else []
    return shlex.join([*words, "--seed", str(result.seed), "-o", "model.json"])


def _changed_options(text: str) -> list[str]:
    """Return the options that differ from the defaults."""
    match = _OPTIONS.match(text)
    if match is None:
        return []
    words = ["--quick"] if match["draws"] == str(QUICK_DRAWS) else []
    for name, usual in _USUAL.items():
        words += [f"--{_OPTION.get(name, name)}", match[name]] if match[name] != usual else []
    for name in ("fix", "hints"):
        for key, value in _pairs(match[name]).items():
            words += [f"--{_OPTION.get(name, name)}", f"{key}={value}"]
    return words


def hints_of(result: FitResult) -> dict[str, str]:
    """Return the hints that a model was fitted with."""
    match = _OPTIONS.match(str(result.options.get("request", "")))
    return {} if match is None else _pairs(match["hints"])


def _pairs(text: str | None) -> dict[str, str]:
    """Return the pairs of an option of several values."""
    return dict(pair.split(": ", 1) for pair in filter(None, (text or "").split(", ")))


def measured_text(schema: Schema) -> str:
    """Return what was measured, and in which column."""
    target = schema.target
    if target.throughput:
        return f"the throughput (column {target.throughput})"
    what = f"the time of {with_article(schema.panel.timed)}" if target.is_time else target.name
    return f"{what} (column {target.column})"


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that compute."""
    packages = {name: version(name) for name in ("numpy", "scipy", "pandas", "scikit-learn")}
    return {"genperf": __version__, "Python": platform.python_version(), **packages}
