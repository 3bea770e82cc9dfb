"""The door to every fit: a model's name, a table and where the fits run → a result."""

from genperf.fitting.door import fit
from genperf.fitting.expressions import fitted_phases
from genperf.fitting.models import Model, model_named

__all__ = ["Model", "fit", "fitted_phases", "model_named"]
