"""How a model was fitted, so that it can be fitted again."""

from __future__ import annotations

import platform
import shlex
from importlib.metadata import PackageNotFoundError, version

from genperf import __version__
from genperf.result import FitResult
from genperf.table import Role

_ROLES: tuple[Role, ...] = ("intrinsic", "extrinsic", "categorical")
#: Options of a fit that the command line takes under the same name, with what it takes without being told.
_OPTIONS = {"loss": "relative", "penalty": "l2", "solver": "projected"}


def command_of(result: FitResult) -> str:
    """Return the command that fits the same model to the same rows.

    Rows that were filtered out, or a throughput that the time was made of, are not known to a model: the data's hash
    tells whether the same rows were read.

    Examples
    --------
    >>> import genperf as gp
    >>> import pandas as pd
    >>> runs = pd.DataFrame({"gpus": [1, 2, 4, 8], "seconds": [9.0, 5.0, 3.0, 2.0]})
    >>> result = gp.fit(gp.read_table(runs, time="seconds", extrinsic="gpus"), model="power-law", seed=3)
    >>> print(command_of(result))
    genperf fit TABLE --time seconds --extrinsic gpus --model power-law --seed 3 -o model.json
    """
    schema = result.schema
    source = schema.source if schema.source not in ("", "DataFrame", "-") else "TABLE"
    words = ["genperf", "fit", source, "--time", schema.time]
    for role in _ROLES:
        names = [f.name for f in schema.factors if f.role == role]
        words += [f"--{role}", ",".join(names)] if names else []
    words += ["--group", ",".join(schema.group)] if schema.group else []
    for name, formula in schema.derived.items():
        words += ["--let", f"{name}={formula}"]
    words += ["--model", result.model]
    for name, usual in _OPTIONS.items():
        value = result.options.get(name)
        words += [f"--{name}", str(value)] if value not in (None, usual) else []
    return shlex.join([*words, "--seed", str(result.seed), "-o", "model.json"])


def versions() -> dict[str, str]:
    """Return the versions of what computes."""
    found = {"genperf": __version__, "Python": platform.python_version()}
    for name in ("numpy", "scipy", "pandas", "scikit-learn"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # pragma: no cover - a broken installation
            continue
    return found
