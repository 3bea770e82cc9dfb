"""TensorBoard's event files: one row a step that was logged.

The scalars that are read have the names of `training_log`. A file without any has the clock of each entry: a step then
took the time between two entries, over the steps between them.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise

from genperf.errors import Note, TableError
from genperf.importers.imported import Cell, Imported
from genperf.importers.training_log import put, table_of

SIGNATURE = r"(?s)\A.{0,60}brain\.Event:"
#: (step, when it was written in seconds, name, value)
Scalar = tuple[int, float, str, float]


def read(path: str, name: str) -> Imported:
    """Read an event file."""
    scalars = list(_scalars(path, name))
    if not scalars:
        hint = "name a file events.out.tfevents.… that has scalars"
        raise TableError("holds no scalar of TensorBoard", where=name, hint=hint)
    steps: dict[int, dict[str, Cell]] = defaultdict(dict)
    settings: dict[str, Cell] = {}
    for step, _, tag, value in scalars:
        put(tag.lower().replace("train/", ""), value, settings, steps[step])
    if any(steps.values()):
        return table_of([{**settings, **steps[step]} for step in sorted(steps) if steps[step]])
    times = _between(scalars)
    if not times:
        hint = "log iteration-time, or two steps of any scalar"
        raise TableError("has no time of a step, and no two steps to measure one between", where=name, hint=hint)
    note = Note("no time is logged: a step took the time between two entries, evaluations included", "clock")
    return table_of([{**settings, "step_time_s": seconds} for seconds in times], [note])


def _scalars(path: str, name: str) -> Iterator[Scalar]:
    """Yield the scalars of a file, as TensorBoard reads them."""
    try:
        from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
        from tensorboard.util.tensor_util import make_ndarray
    except ImportError:
        hint = 'pip install "genperf[tensorboard]"'
        raise TableError("reading TensorBoard's events needs tensorboard", hint=hint, where=name) from None
    for event in EventFileLoader(path).Load():
        for entry in event.summary.value:
            if entry.metadata.plugin_data.plugin_name == "scalars":
                # The shortest number that is the same single-precision one.
                value = float(str(make_ndarray(entry.tensor)[()]))
                yield int(event.step), float(event.wall_time), str(entry.tag), value


def _between(scalars: list[Scalar]) -> list[float]:
    """Return the seconds of a step between successive entries of the scalar that was logged most often."""
    most = Counter(tag for _, _, tag, _ in scalars).most_common(1)[0][0]
    entries = sorted({step: wall for step, wall, tag, _ in scalars if tag == most}.items())
    return [(later - wall) / (after - step) for (step, wall), (after, later) in pairwise(entries) if later > wall]
