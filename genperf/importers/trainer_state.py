"""`trainer_state.json` of Hugging Face's Trainer: one row a run, with the throughput that it logs at its end.

The last entries of `log_history` have `train_samples_per_second`, `train_steps_per_second` and `train_runtime`, in
`transformers.trainer_utils.speed_metrics`.
"""

from __future__ import annotations

from genperf.errors import Note, TableError
from genperf.importers.imported import Cell, FormatError, Imported
from genperf.importers.json_text import Json, parse_json

REPEAT, RATE = "repeat", "samples_per_s"
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
    file = Json(parse_json(text, name), name)
    if not file.has("log_history"):
        raise FormatError("is JSON, but no state of a Trainer", where=name, hint="name its trainer_state.json")
    rows: list[dict[str, Cell]] = []
    for entry in file.member("log_history").list():
        if entry.has("train_samples_per_second") and entry.member("train_samples_per_second").number() > 0.0:
            row: dict[str, Cell] = {REPEAT: len(rows), RATE: entry.member("train_samples_per_second").number()}
            if entry.has("train_steps_per_second") and entry.member("train_steps_per_second").number() > 0.0:
                row["step_time_s"] = 1.0 / entry.member("train_steps_per_second").number()
            rows.append(row)
    if not rows:
        hint = "train to the end: the Trainer logs train_samples_per_second there"
        raise TableError("logs no throughput", where=name, hint=hint)
    batch: dict[str, Cell] = {}
    if file.has("train_batch_size") and file.value["train_batch_size"]:
        batch["batch_per_device"] = file.member("train_batch_size").number()
    notes = (Note("the throughput is that of the whole run, its start included", "whole_run"),)
    return Imported(tuple({**batch, **row} for row in rows), RATE, REPEAT, tuple(batch), notes=notes, rate=True)
