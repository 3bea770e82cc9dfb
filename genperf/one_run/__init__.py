"""One run by itself: its utilisation of the devices' peak, its place among published runs, what a training takes."""

from genperf.one_run.answer import OneRun, about, tested_in
from genperf.one_run.run import TrainingRun, run_in, run_of_row, run_of_words
