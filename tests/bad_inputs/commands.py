"""What users type, right and wrong: tables of every kind, and the commands of `commands.txt` that read them."""

import shlex
from pathlib import Path

DATA = Path(__file__).parents[1] / "importers" / "data"


#: File name → text; JSON ends without a new line.
FILES = {
    name: text if name.endswith(".json") else f"{text}\n"
    for part in Path(__file__).with_name("files.txt").read_text(encoding="utf-8").rstrip("\n").split("\n== ")[1:]
    for name, _, text in [part.partition("\n")]
}
#: Files of tests/importers/data, by the name that they have here.
IMPORTED = {
    "failures.json": "hyperfine_failures.json",
    "single.json": "single_workers1.pt.trace.json",
    "ddp.json": "ddp_workers2_rank0.pt.trace.json",
    "state.json": "trainer_state.json",
    "losses.events": "events.out.tfevents.losses",
    "report.sqlite": "nsight.sqlite",
}


def typed(name: str) -> list[str]:
    """Return the commands of a file beside this one, as they are typed; `\\x1b` stands for an escape."""
    text = Path(__file__).with_name(name).read_text(encoding="utf-8").replace(r"\x1b", "\x1b")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def commands() -> list[tuple[str, ...]]:
    """Return the commands in their order: a model that one reads was made by an earlier one."""
    return [tuple(shlex.split(line)) for line in typed("commands.txt")]


def prepare(folder: Path) -> None:
    """Write the files that the commands read."""
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "latin.csv").write_bytes(b"workers,seconds\n1,\xe9\n")
    for name, original in IMPORTED.items():
        (folder / name).write_bytes((DATA / original).read_bytes())
