"""The bundled measurements: published and measured timing tables of distributed training.

`data/README.md` gives the source of each, `data/columns.csv` the meaning and unit of each column,
`data/tables.toml` the roles of the columns.

Examples
--------
>>> names()
('allreduce_vs_server', 'bigscience', 'causes', 'core_experiment', 'dlperf', 'dlperf_gpt', 'dlperf_insightface',
 'dlperf_widedeep', 'gpu_cnn', 'gpu_transformer', 'initialisation', 'libai', 'links', 'overlap', 'partitioned',
 'pytorch_cpu', 'rubick', 'server_knee', 'single_worker', 'whole_jobs')
>>> table = load("pytorch_cpu")
>>> len(table), [f.name for f in table.factors if f.role == "extrinsic"]
(759, ['workers'])
"""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
from msgspec.structs import replace

from genperf.errors import TableError, suggest
from genperf.panel import Table, read_table

_TIME = "step_time_s"
#: Source → the tables whose rows are published series: columns that tell one series of devices and nodes from others.
_SERIES: dict[str, dict[str, tuple[str, ...]]] = {
    "dlperf": {
        "dlperf": ("config", "batch_per_device"),
        "dlperf_insightface": ("config", "batch_per_device"),
        "dlperf_gpt": ("implementation", "tensor_parallel", "micro_batch", "hidden_size", "optimizer_sharding"),
        "dlperf_widedeep": ("implementation", "framework_version", "test", "batch_per_device"),
    },
    "libai": {"libai": ("framework", "section", "model", "tensor_parallel", "pipeline_parallel", "batch_per_device")},
}


@cache
def _roles() -> dict[str, dict[str, str]]:
    """Return the options of each table, from `data/tables.toml`."""
    return tomllib.loads((_folder() / "tables.toml").read_text(encoding="utf-8"))


def names() -> tuple[str, ...]:
    """Return the names of the bundled tables."""
    return tuple(_roles())


def path(name: str) -> Path:
    """Return where a bundled table lies, in a checkout or installed; an error suggests a name for any other."""
    if name not in _roles():
        raise TableError(f"no bundled table '{name}'", hint=suggest(name, names()))
    return _folder() / f"{name}.csv"


def frame(name: str) -> pd.DataFrame:
    """Return a bundled table as it is, without roles: only an empty cell is missing, "none" and "na" are values."""
    return pd.read_csv(path(name), keep_default_na=False, na_values=[""])


def corpus_names() -> tuple[str, ...]:
    """Return the names of the corpus' sources: published series of other clusters, see `data/corpus/README.md`."""
    return tuple(sorted(file.stem for file in (_folder() / "corpus" / "series").glob("*.csv")))


def corpus(name: str) -> pd.DataFrame:
    """Return a source of the corpus: `source`, `series`, `devices`, `nodes`, `batch` (per device) and `t` (s, a step).

    Examples
    --------
    >>> corpus("rubick").columns.tolist()
    ['source', 'series', 'devices', 'nodes', 'batch', 't']
    """
    if name not in corpus_names():
        raise TableError(f"no source '{name}' in the corpus", hint=suggest(name, corpus_names()))
    return pd.read_csv(_folder() / "corpus" / "series" / f"{name}.csv")


def world() -> pd.DataFrame:
    """Return the published series with which `ask` compares an efficiency, a row per count.

    `inside` and `between` are the links in a node, and rdma, ethernet or slingshot between nodes, empty where the
    source does not give them; `batch` is "device" where the batch of a device stays along the series, else "total";
    `rate` is the work of all devices in a second, in a unit of the series.

    Examples
    --------
    >>> published = world()
    >>> bool(published.groupby(["cluster", "series"]).ngroups > 300), published.cluster.nunique() > 10
    (True, True)
    """
    folder = _folder() / "published"
    sources, clusters = (pd.read_csv(folder / f"{n}.csv", keep_default_na=False) for n in ("sources", "clusters"))
    tables = []
    for source, machines in clusters.groupby("source"):
        rows = _published(str(source))
        for _, machine in machines.iterrows():
            of_cluster = rows[rows["place"].str.contains(machine["matches"])].copy()
            for name, value in machine.drop("matches").items():
                # Of a cluster without a framework of its own each series has one.
                of_cluster[str(name)] = of_cluster["framework"] if name == "framework" and not value else value
            tables.append(of_cluster)
    table = pd.concat(tables, ignore_index=True).merge(sources, on="source")
    table = table.sort_values(["source", "cluster", "series"])
    order = "source repository commit licence cluster device framework devices_per_node inside between series batch"
    return table[[*order.split(), "devices", "nodes", "rate"]].reset_index(drop=True)


def runs() -> pd.DataFrame:
    """Return the published single runs with which `ask` compares the utilisation of one run, a row a run.

    The facts as the source prints them; `active` are the parameters that a token uses, `mixture` tells of experts, and
    `mfu` is a fraction of the dense peak.
    """
    return pd.read_csv(_folder() / "published" / "runs.csv", keep_default_na=False, na_values=[""])


def collectives() -> pd.DataFrame:
    """Return the published tests of collectives at their plateau; `busbw_GBps` is by the factors of nccl-tests."""
    return pd.read_csv(_folder() / "published" / "collectives.csv", keep_default_na=False, na_values=[""])


def _published(source: str) -> pd.DataFrame:
    """Return the series of a source, a row a count; the column `place` tells its clusters apart."""
    file = _folder() / "published" / f"{source}.csv"
    if file.is_file():
        return pd.read_csv(file).rename(columns={"cluster": "place"}).drop(columns=["source", "path", "line"])
    rows: pd.DataFrame
    keys = ["framework", "series", "devices", "nodes", "batch"]
    if source in _SERIES:
        tables = []
        for name, columns in _SERIES[source].items():
            table = frame(name).assign(batch="device")
            # Doubled batches and vocabularies are no series of counts.
            table = table if "test" not in table else table[table["test"] == "fixed_batch_per_device"]
            tables.append(table.assign(series=table[list(columns)].astype(str).agg(" ".join, axis=1)))
        rows = pd.concat(tables).groupby(keys)["samples_per_s"].median().rename("rate").reset_index()
        rows = rows[rows.groupby("series")["devices"].transform("nunique") > 1]
    else:
        rows = corpus(source).assign(framework="")
        rows["rate"] = rows["devices"] * rows["batch"] / rows["t"]
        total = (rows["devices"] * rows["batch"]).groupby(rows["series"])
        rows["batch"] = (total.transform("max") <= 1.01 * total.transform("min")).map({True: "total", False: "device"})
    rows["place"] = rows["series"]
    return rows[[*keys, "rate", "place"]]


def load(name: str, **options: Any) -> Table:
    """Return a bundled table with its roles; options of `read_table` win over the table's.

    Examples
    --------
    >>> series = load("dlperf", categorical="", group="config", where="framework == 'mxnet' and nodes == 1")
    >>> len(list(series.groups()))
    7
    """
    roles = {"time": _TIME, **_roles().get(name, {}), **options}
    if options.get("throughput") or options.get("quantity"):
        roles["time"] = options.get("time")
    # The file's place differs between machines; what is fitted to it must not.
    return replace(read_table(path(name), **roles), source=f"{name}.csv")


def roles(name: str) -> dict[str, str]:
    """Return the options of `read_table` with which a bundled table is loaded.

    Examples
    --------
    >>> roles("server_knee")
    {'time': 'step_time_s', 'intrinsic': 'compute_s', 'extrinsic': 'workers,servers', 'repeat': 'repeat'}
    """
    path(name)
    return {"time": _TIME, **_roles()[name]}


def columns(name: str) -> pd.DataFrame:
    """Return the column dictionary of a bundled table: column, unit, meaning, in the table's order.

    Examples
    --------
    >>> columns("pytorch_cpu").set_index("column").loc["step_time_s", "unit"]
    's'
    """
    order = pd.read_csv(path(name), nrows=0).columns
    dictionary = pd.read_csv(_folder() / "columns.csv", keep_default_na=False)
    of_table = dictionary[[name in datasets.split() for datasets in dictionary["datasets"]]].drop(columns="datasets")
    return of_table.set_index("column").loc[order].rename_axis("column").reset_index()


def describe(name: str) -> str:
    """Return where a bundled table comes from and what its columns mean, as text."""
    _, _, after = (path(name).parent / "README.md").read_text(encoding="utf-8").partition(f"\n## {name}\n")
    provenance = after.partition("\n## ")[0].strip()
    dictionary = columns(name).to_numpy(dtype=object)
    lines = [f"  {column}{f' [{unit}]' if unit else ''}: {meaning}" for column, unit, meaning in dictionary]
    return "\n".join([name, "", provenance, "", "Columns", *lines])


def _folder() -> Path:
    """Return where the bundled tables lie: in the installed package, or in a checkout."""
    here = Path(__file__).parent
    installed, checkout = here / "_data", here.parent / "data"
    for folder in (installed, checkout):
        if (folder / "columns.csv").is_file():
            return folder
    raise TableError("the bundled measurements are missing", hint="install genperf again", where=str(installed))
