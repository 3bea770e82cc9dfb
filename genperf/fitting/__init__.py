"""The door to every fit: a model's name, a table and where the fits run → a result."""

from genperf.fitting.door import fit, fit_prepared, model_of, model_or_table, prepared_auto
from genperf.fitting.model import fitted_phases
