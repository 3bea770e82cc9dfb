"""The published single runs and tests of collectives that answers about one run are compared with.

    python -m experiments published_runs MFU.csv COLLECTIVES.csv

takes two tables of facts with their sources, a row a run and a row a collective, keeps the sources whose licence
`data/published/README.md` names, and writes `data/published/runs.csv` and `data/published/collectives.csv`. Left out
are runs that are not the usual training of a network: adapters, proxies of fewer layers, searches, and what its owner
found too slow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from experiments.shared import DATA, beside
from genperf.asking.one_run import PRINTED, RECOMPUTED, STATED, TrainingRun, run_of_row, utilisation_of
from genperf.errors import GenperfError

OUT = DATA / "published"
#: Repository of a source that is bundled → its licence.
LICENCES = {name: licence for licence, listed in beside(__file__)["sources"].items() for name in listed.split()}
#: Table → its columns, in their order.
COLUMNS: dict[str, list[str]] = beside(__file__)["columns"]
#: Remarks of rows that are no usual training.
UNUSUAL = (
    r"LoRA|proxy|too slow|slow on purpose|slow by design|adapter|offload|of an A100, not|whatever the device|misprint"
)
#: Tokens of a sequence from which on 6·P says nothing: attention takes most of the time.
LONGEST = 32768
#: A message from which on the bandwidth of a link is reached: a plateau.
PLATEAU = 2**28


def repository(source: str) -> str:
    """Return the repository of a source; empty for a thread, a paper or a file without one."""
    name = re.split(r"[@ #]", source)[0]
    return name if re.fullmatch(r"[\w.-]+/[\w.-]+", name) else ""


def value_of(row: dict[str, object]) -> float | None:
    """Return the MFU of a run: as its source states it, else from its operations, else by 6·P and attention."""
    note = str(row.get("note", ""))
    try:
        run = run_of_row(row)
        used = utilisation_of(run)
    except GenperfError:
        return None
    if STATED in run.claims:
        return run.claims[STATED]
    if PRINTED in run.claims:
        return run.claims[PRINTED] / (RECOMPUTED if "flops=hardware" in note else 1.0)
    return None if run.sequence >= LONGEST else used.mfu


def usual_runs(file: Path) -> Iterator[tuple[pd.Series, TrainingRun, float]]:
    """Yield the runs of a file that are usual training, as they stand there and as they are read, with their MFU."""
    for _, row in pd.read_csv(file, keep_default_na=False, na_values=[""]).iterrows():
        cells = row.dropna().to_dict()
        unusual = re.search(UNUSUAL, str(row["note"])) or "search" in row["model"]
        value = None if unusual else value_of(cells)
        if value is not None and 0.0 < value < 1.0:
            yield row, run_of_row(cells), value


def runs(file: Path) -> pd.DataFrame:
    out = []
    for row, run, value in usual_runs(file):
        source, network = repository(row["source"]), run.network
        size = {"active": float(f"{network.active:.4g}"), "mixture": int(network.is_mixture)} if network.active else {}
        of = {"family": run.device.family, "precision_class": run.precision or "16-bit", **size, "mfu": round(value, 4)}
        if source in LICENCES:
            out.append({**row, **of, "licence": LICENCES[source], "repository": source})
    return pd.DataFrame(out)[COLUMNS["runs"]]


def collectives(file: Path) -> pd.DataFrame:
    """Return the tests of collectives at their plateau, of the sources with a licence."""
    table = pd.read_csv(file, keep_default_na=False, na_values=[""])
    table["repository"] = table["source"].map(repository)
    table["licence"] = table["repository"].map(LICENCES)
    large = table["message_bytes"].isna() | (table["message_bytes"] >= PLATEAU)
    rows = table[table["licence"].notna() & large & table["busbw_GBps"].notna() & table["devices"].notna()]
    keys = ["repository", "collective", "devices", "nodes", "device", "link_between"]
    best = rows.loc[rows.groupby(keys, dropna=False)["busbw_GBps"].idxmax()].sort_index()
    return best[COLUMNS["collectives"]]


def run(mfu: Path, tests: Path) -> None:
    """Write the two tables of the bundled sources."""
    for name, table in (("runs", runs(mfu)), ("collectives", collectives(tests))):
        table.to_csv(OUT / f"{name}.csv", index=False)
        print(name, len(table), "rows of", table["repository"].nunique(), "repositories")
