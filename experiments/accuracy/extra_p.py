"""Extra-P, driven in an environment of its own: it pins an old numpy."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

#: Scales, their times, and the scales at which the model is asked.
Series = tuple[list[float], list[float], list[float]]

DRIVER = """
import io, json, logging, sys, time, warnings
from contextlib import redirect_stderr
warnings.filterwarnings("ignore"); logging.disable(logging.WARNING)
import extrap, numpy
from extrap.entities.callpath import Callpath
from extrap.entities.coordinate import Coordinate
from extrap.entities.experiment import Experiment
from extrap.entities.measurement import Measure, Measurement
from extrap.entities.metric import Metric
from extrap.entities.parameter import Parameter
from extrap.modelers import single_parameter
from extrap.modelers.model_generator import ModelGenerator

given = json.load(sys.stdin)
experiment, metric = Experiment(), Metric("time")
experiment.add_parameter(Parameter("n")); experiment.add_metric(metric)
for i, (n, t, _) in enumerate(given["series"]):
    callpath = Callpath(str(i)); experiment.add_callpath(callpath)
    for a, b in zip(n, t):
        at = Coordinate(float(a)); experiment.add_coordinate(at)
        experiment.add_measurement(Measurement(at, callpath, metric, [float(b)]))
modeler = single_parameter.all_modelers["Basic"]()
modeler.allow_negative_exponents = given["negative"]
generator = ModelGenerator(experiment, modeler=modeler, use_measure=Measure.MEAN)
start = time.process_time()
with redirect_stderr(io.StringIO()):
    generator.model_all()
seconds = time.process_time() - start
by_name = {key[0].name: model for key, model in generator.models.items()}
predicted = [
    [float(by_name[str(i)].hypothesis.function.evaluate(float(x))) for x in asked]
    if str(i) in by_name else [float("nan")] * len(asked) for i, (_, _, asked) in enumerate(given["series"])]
versions = f"Extra-P {extrap.__version__} with numpy {numpy.__version__}"
json.dump({"predicted": predicted, "seconds": seconds, "versions": versions}, sys.stdout)
"""


@dataclass(frozen=True)
class ExtraP:
    """What Extra-P's Basic modeler made of some series."""

    #: Seconds, a list for each series.
    predicted: list[list[float]]
    #: Seconds of work that fitting all of them took.
    seconds: float
    versions: str


def extra_p_python() -> str | None:
    """Make an environment with Extra-P; None, with a message, where that cannot be done."""
    where = Path(tempfile.gettempdir()) / "genperf-extra-p"
    python = where / "bin" / "python"
    try:
        if not python.exists():
            venv.create(where, with_pip=True)
        if subprocess.run([python, "-c", "import extrap"], capture_output=True, check=False).returncode:
            subprocess.run(
                [python, "-m", "pip", "install", "-q", "extrap"], capture_output=True, check=True, timeout=600
            )
    except (OSError, subprocess.SubprocessError) as error:
        print(f"Extra-P is left out: no environment with it can be made ({type(error).__name__})", file=sys.stderr)
        return None
    return str(python)


def fit_extra_p(python: str, series: Sequence[Series], negative: bool = False) -> ExtraP | None:
    """Fit a model to every series; None, with a message, where it fails. `negative` allows negative exponents."""
    given = json.dumps({"series": series, "negative": negative})
    run = subprocess.run([python, "-c", DRIVER], input=given, capture_output=True, text=True, check=False)
    if run.returncode:
        print(f"Extra-P failed: {run.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return None
    return ExtraP(**json.loads(run.stdout))
