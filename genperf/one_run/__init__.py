"""One run by itself: its utilisation of the devices' peak, its place among published runs, what a training takes."""

from genperf.one_run.answer import OneRun, about
from genperf.one_run.run import TrainingRun, row_in, row_of_run, run_of_row
