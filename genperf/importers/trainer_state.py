"""`trainer_state.json` of Hugging Face's Trainer: one row a run, with the throughput that it logs at its end.

The last entries of `log_history` have `train_samples_per_second`, `train_steps_per_second` and `train_runtime`, in
`transformers.trainer_utils.speed_metrics`.
"""

from genperf.errors import Note
from genperf.importers.imported import Cell, Imported, Rows, export_of

RATE = "samples_per_s"
SIGNATURE = r'"log_history"\s*:'


def read(text: str, name: str) -> Imported:
    """Read a state.

    Examples
    --------
    >>> state = '''{"train_batch_size": 16, "log_history": [{"loss": 2.0, "step": 10},
    ...     {"step": 100, "train_runtime": 50.0, "train_samples_per_second": 640.0, "train_steps_per_second": 2.0}]}'''
    >>> read(state, "trainer_state.json").rows
    ({'batch_per_device': 16, 'repeat': 0, 'samples_per_s': 640.0, 'step_time_s': 0.5},)
    """
    file = export_of(text, name, "log_history", "state of a Trainer", "name its trainer_state.json")
    rows, batch = Rows(RATE, rate=True), dict[str, Cell]()
    if file.value.get("train_batch_size"):
        batch["batch_per_device"] = file.member("train_batch_size").number()
    for entry in file.member("log_history").list():
        samples, steps = (
            entry.member(key).number() if entry.has(key) else 0.0
            for key in ("train_samples_per_second", "train_steps_per_second")
        )
        if samples > 0.0:
            rows.add(batch, {RATE: samples, **({"step_time_s": 1.0 / steps} if steps > 0.0 else {})})
    note = Note("the throughput is that of the whole run, its start included", "whole_run")
    hint = "train to the end: the Trainer logs train_samples_per_second there"
    return rows.table(name, "logs no throughput", hint, [note])
