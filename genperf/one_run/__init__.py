"""One run by itself: what a row of it says, its utilisation of the devices' peak, its place among published runs."""

from genperf.one_run.run import TrainingRun, row_in, row_of_run, run_of_row
