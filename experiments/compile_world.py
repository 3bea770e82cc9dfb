"""Make the tables of `data/published` from clones of the repositories that published them.

    python experiments/compile_world.py CLONES data/published

CLONES holds `OWNER/NAME`, a git clone of each repository that `data/published/sources.csv` names for `READERS`. Every
row has the path and the line of its figure at the commit named there. `rate` is what all devices do in a second, in
the unit of the series; rates of one device are multiplied by the devices. Series of fewer than two counts are left
out, and so is a figure whose document has no licence beside it.
"""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pandas as pd


class Point(NamedTuple):
    """A published figure: `batch` is "device" where the batch of a device stays along the series, else "total"."""

    cluster: str
    framework: str
    series: str
    batch: str
    devices: int
    nodes: int
    rate: float
    path: str
    line: int


class Table(NamedTuple):
    """A table of a Markdown document, with the headings above it, innermost first."""

    headings: list[str]
    header: list[str]
    rows: list[tuple[int, list[str]]]


class Clone:
    """A repository at one commit."""

    def __init__(self, folder: Path, commit: str) -> None:
        self.folder, self.commit = folder, commit

    def git(self, *arguments: str) -> str:
        """Return what a command of git prints."""
        command = ["git", "-C", str(self.folder), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, errors="replace").stdout

    def files(self, pattern: str) -> list[str]:
        """Return the files whose path matches."""
        return [f for f in self.git("ls-tree", "-r", "--name-only", self.commit).splitlines() if re.search(pattern, f)]

    def lines(self, path: str) -> list[str]:
        """Return the lines of a file."""
        return self.git("show", f"{self.commit}:{path}").splitlines()


def cells(line: str) -> list[str]:
    return [re.sub(r"\*\*|<br */?>|`", " ", cell).strip() for cell in line.strip().strip("|").split("|")]


def tables(lines: list[str]) -> Iterator[Table]:
    """Yield the tables of a Markdown document."""
    headings: dict[int, str] = {}
    table: Table | None = None
    for number, line in enumerate(lines, 1):
        heading = re.match(r"(#+)\s*(.*)", line)
        if heading:
            depth = len(heading[1])
            headings = {d: h for d, h in headings.items() if d < depth} | {depth: heading[2]}
        if line.count("|") < 2:
            if table:
                yield table
            table = None
        elif table is None:
            table = Table([headings[d] for d in sorted(headings, reverse=True)], cells(line), [])
        elif not re.fullmatch(r"[\s|:-]+", line):
            table.rows.append((number, cells(line)))
    if table:
        yield table


def number(cell: str) -> float | None:
    """Return the number with which a cell begins; None for any other."""
    found = re.match(r"~?\s*(\d[\d,]*\.?\d*)(?![\d.]*\s*[xX/%])", cell)
    return float(found[1].replace(",", "")) if found else None


#: Folders and suffixes by their framework; all others are PyTorch's.
FRAMEWORKS = {"TensorFlow": "TensorFlow", "TensorFlow2": "TensorFlow", "MxNet": "MXNet", "paddle": "PaddlePaddle"}
COUNTS = re.compile(r"^(#|num|number of)? ?(-?gpus?|nodes?)$", re.I)
RESULTS = re.compile(
    r"throughput|speed|scaling|time|accuracy|latency|overhead|loss|map|dice|accumul|score|p[0-9]+|final|avg", re.I
)


def nvidia_machine(headings: list[str]) -> tuple[str, int] | None:
    """Return the machine that a heading names, and the devices on a node."""
    text = next((h for h in headings if re.search(r"DGX|V100|A100", h, re.I)), "")
    memory = re.search(r"(16|32|40|80) ?G", text, re.I)
    kind = re.search(r"DGX[- ]?(1|2H|2|A100|H100)", text, re.I)
    if not kind or not memory:
        return None
    name = kind[1].upper()
    device = "A100" if name == "A100" else "H100" if name == "H100" else "V100"
    machine = "DGX A100" if name == "A100" else "DGX H100" if name == "H100" else f"DGX-{name}"
    return f"{machine}, {device} {memory[1]} GB", 16 if name in ("2", "2H") else 8


def subject(heading: str) -> str:
    """Return what a heading says beside the machine: the network, or the phase of a training."""
    words = r"NVIDIA|DGX\S*( A100)?|\([^)]*\)|\btrain\w*|performance|results?|benchmark\w*|\b(for|on|the)\b|[:,\d]+x? "
    return " ".join(re.sub(words, " ", f"{heading} ", flags=re.I).strip(" :-").split())


def licence_of(clone: Clone, path: str, licences: list[str]) -> str:
    """Return the licence in the folder of a document, or in one above it; empty where there is none."""
    folders = [str(p) for p in Path(path).parents]
    beside = [f for f in licences if str(Path(f).parent) in folders]
    if not beside:
        return ""
    text = "\n".join(clone.lines(max(beside, key=len)))
    names = {"Apache License": "Apache-2.0", "Redistribution and use": "BSD-3-Clause", "Permission is hereby": "MIT"}
    return next((name for words, name in names.items() if words in text), "")


def nvidia_examples(clone: Clone) -> Iterator[Point]:
    """Tables of training throughput in the READMEs of NVIDIA's examples; one folder has one licence."""
    licences = clone.files(r"/LICEN[SC]E(\.md)?$")
    for path in clone.files(r"README\.md$"):
        if not licence_of(clone, path, licences):
            continue
        folder = path.removesuffix("/README.md")
        for table in tables(clone.lines(path)):
            place = " > ".join(table.headings[:2]).lower()
            machine = nvidia_machine(table.headings[:2])
            counts = [j for j, name in enumerate(table.header) if COUNTS.match(name)]
            values = [
                j
                for j, name in enumerate(table.header)
                if re.search(r"throughput", name, re.I) and not re.search(r"speed-?up|scaling|infer", name, re.I)
            ]
            if re.search("infer|evaluat", place) or machine is None or len(counts) != 1 or not values:
                continue
            cluster, each = machine
            within = [w for w in (subject(h) for h in table.headings[:2]) if w]
            whole = "accumul" in " ".join(table.header).lower() or "strong" in " ".join(table.header).lower()
            free = re.compile("batch", re.I) if whole else re.compile("$^")
            keys = [
                j
                for j, name in enumerate(table.header)
                if j not in counts and not RESULTS.search(name) and not free.search(name)
            ]
            for line, row in table.rows:
                count = number(row[counts[0]])
                if count is None or len(row) != len(table.header):
                    continue
                nodes = count if "node" in table.header[counts[0]].lower() else max(1.0, count / each)
                if nodes != int(nodes):
                    continue
                for j in values:
                    rate = number(row[j])
                    if rate is None:
                        continue
                    devices = count * each if "node" in table.header[counts[0]].lower() else count
                    column = re.sub(r"throughput[ \\-]*", "", table.header[j], flags=re.I) or "throughput"
                    words = [" ".join(f"{table.header[k]} {row[k]}".split()) for k in keys]
                    series = "; ".join([folder, *within, " ".join(column.split()), *words])
                    framework = FRAMEWORKS.get(folder.split("/")[0], "PyTorch")
                    point = (cluster, framework, series, "total" if whole else "device", int(devices), int(nodes))
                    yield Point(*point, rate, path, line)


def flagperf(clone: Clone) -> Iterator[Point]:
    """Tables "性能指标" of FlagPerf: rows "A100 … (1x8)", one batch a device, throughput without reading data."""
    for path in clone.files(r"^training/[^/]+/[^/]+/README\.md$"):
        vendor, case = path.split("/")[1:3]
        for table in tables(clone.lines(path)):
            header = [name.lower() for name in table.header]
            if "p_core" not in header or "fix_hp" not in header:
                continue
            for line, row in table.rows:
                placed = re.search(r"^\s*([A-Za-z][\w -]*?) ?[单两双].*?(\d+)x(\d+)", row[0])
                batch = re.search(r"bs ?= ?(\d+)", row[header.index("fix_hp")]) if len(row) == len(header) else None
                rate = number(row[header.index("p_core")]) if batch else None
                if placed is None or batch is None or rate is None:
                    continue
                nodes, each = int(placed[2]), int(placed[3])
                series = f"{case}; {row[header.index('precision')]}; batch {batch[1]}"
                cluster = f"{vendor} {placed[1].strip()}"
                framework = FRAMEWORKS.get(case.rpartition("-")[2], "PyTorch")
                yield Point(cluster, framework, series, "device", nodes * each, nodes, rate, path, line)


def nemo(clone: Clone) -> Iterator[Point]:
    """Tables of a row of nodes and one of tokens per second, with the network's size beside."""
    for table in tables(clone.lines("README.md")):
        if "Nodes" not in table.header or "Training Performance" not in table.headings[0]:
            continue
        heading = re.sub(r"^[\d. ]+", "", table.headings[1])
        name = next(row[0] for _, row in table.rows if row[0])
        counts = next(row for _, row in table.rows if number(row[2]) == int(number(row[2]) or 0) and not row[1])
        for line, row in table.rows:
            if row[1] != "Tokens per Second":
                continue
            for count, cell in zip(counts[2:], row[2:], strict=True):
                nodes, rate = number(count), number(cell)
                if nodes and rate:
                    series = f"{heading.split()[0]} {name}; tokens"
                    point = ("DGX SuperPOD, A100 80 GB", "NeMo", series, "total")
                    yield Point(*point, int(nodes) * 8, int(nodes), rate, "README.md", line)


def mosaicml(clone: Clone) -> Iterator[Point]:
    """One table a device, a row a configuration; a series has one micro-batch and number of micro-batches."""
    path = "scripts/train/benchmarking/README.md"
    for table in tables(clone.lines(path)):
        if "# GPUs" not in table.header:
            continue
        for line, row in table.rows:
            cell = dict(zip(table.header, row, strict=False))
            devices, rate = int(cell["# GPUs"]), float(cell["Throughput (T/s)"])
            keys = ("Model", "SeqLen (T)", "MicroBatchSize", "GradAccum", "Precision", "MP Mode", "Sharding Strategy")
            keys += ("Activation Checkpointing", "Activation CPUOffload")
            series = "MPT; " + "; ".join(cell[k] for k in keys)
            cluster = f"MosaicML, {cell['GPU'].upper().replace('_', ' ').replace('GB', ' GB')}"
            yield Point(cluster, "PyTorch", series, "device", devices, devices // 8, rate, path, line)


def maxtext(clone: Clone) -> Iterator[Point]:
    """Yield rows of a number of slices of 256 chips, with operations a chip and a second by the network's size."""
    path = "README.md"
    for table in tables(clone.lines(path)):
        for line, row in table.rows:
            slices = re.match(r"(\d+)x v5e-256", row[0])
            for name, cell in zip(table.header, row, strict=False):
                rate = number(cell)
                if slices and rate and name.endswith("TFLOP/sec/chip"):
                    nodes = int(slices[1])
                    point = ("TPU v5e, slices of 256", "JAX", f"MaxText {name.split()[0]}", "device")
                    yield Point(*point, 256 * nodes, nodes, rate * 256 * nodes, path, line)


def lumi(clone: Clone) -> Iterator[Point]:
    """Yield logs of Megatron-DeepSpeed: the median of a job's iterations after the first two."""
    for path in clone.files(r"175B-scaling-comms/\d+-node\.out$"):
        nodes = int(re.search(r"(\d+)-node", path)[1])  # type: ignore[index]
        try:
            lines = list(enumerate(clone.lines(path), 1))
        except subprocess.CalledProcessError:
            continue
        found = [(n, float(m[1])) for n, line in lines if (m := re.search(r"samples per second: ([\d.]+)", line))]
        rate = statistics.median_low([rate for _, rate in found[2:]])
        line = next(n for n, value in found if value == rate)
        series = "GPT 175B; 8 tensor x 8 pipeline; 1024 samples"
        yield Point("LUMI, MI250X", "Megatron-DeepSpeed", series, "total", nodes * 8, nodes, rate, path, line)


def polaris(clone: Clone) -> Iterator[Point]:
    """MLPerf logs of CosmoFlow, 20992 samples; the median throughput of a job's epochs after the first."""
    for path in clone.files(r"cosmoflow_pytorch/results/.*\.log$"):
        facts: dict[str, int] = {}
        rates = []
        for n, line in enumerate(clone.lines(path), 1):
            if not line.startswith(":::MLLOG "):
                continue
            event = json.loads(line.removeprefix(":::MLLOG "))
            if event["key"] == "tracked_stats":
                rates.append((n, event["value"]["throughput"]))
            elif isinstance(event["value"], int):
                facts[event["key"]] = event["value"]
        if facts.get("train_samples") != 20992 or len(rates) < 5:
            continue
        rate = statistics.median_low([rate for _, rate in rates[1:]])
        nodes, way = facts["number_of_nodes"], "Horovod" if "_hvd_" in path else "PyTorch"
        line = next(n for n, value in rates if value == rate)
        series = f"CosmoFlow; {way}"
        yield Point("Polaris, A100", way, series, "device", nodes * 4, nodes, round(rate, 2), path, line)


def mxnet(clone: Clone) -> Iterator[Point]:
    path = "example/image-classification/README.md"
    for table in tables(clone.lines(path)):
        if table.header[0] != "#GPUs":
            continue
        for line, row in table.rows:
            for name, cell in zip(table.header[1:], row[1:], strict=True):
                devices, rate = int(row[0]), number(cell)
                point = ("AWS p2.16xlarge, K80", "MXNet", name, "device", devices, max(1, devices // 16))
                yield Point(*point, rate or 0.0, path, line)


def tensorpack(clone: Clone) -> Iterator[Point]:
    """Cells "228/228/219": of the data made on the GPU, on the CPU and in Python; two tables, two ways to update."""
    path, ways = "ResNet-MultiGPU/README.md", iter(("replicated", "parameter server"))
    for table in tables(clone.lines(path)):
        if table.header[0] != "#GPU":
            continue
        way = next(ways)
        names = ("tensorpack, GPU", "tensorpack, CPU", "tensorpack, Python", "tensorflow/benchmarks")
        for line, row in table.rows:
            for name, cell in zip(names, [*row[1].split("/"), row[2]], strict=True):
                point = ("8 x P100", "TensorFlow", f"ResNet-50, {way}; {name}", "device", int(row[0]), 1)
                yield Point(*point, float(cell), path, line)


READERS: dict[str, Callable[[Clone], Iterator[Point]]] = {
    "flagperf": flagperf,
    "lumi": lumi,
    "maxtext": maxtext,
    "mosaicml": mosaicml,
    "mxnet": mxnet,
    "nemo": nemo,
    "nvidia_examples": nvidia_examples,
    "polaris": polaris,
    "tensorpack": tensorpack,
}


def compiled(points: Iterator[Point]) -> pd.DataFrame:
    """Return the points of series with several counts; of a count that was published twice, the median.

    A series for whose count one document has figures more than a tenth apart is left out: its key lacks something.
    """
    series: dict[tuple[str, ...], dict[tuple[int, int], list[Point]]] = defaultdict(lambda: defaultdict(list))
    for point in points:
        series[point[:4]][point.nodes, point.devices].append(point)
    rows = []
    for counts in series.values():
        apart = any(p.rate > 1.1 * q.rate and p.path == q.path for ps in counts.values() for p in ps for q in ps)
        if len(counts) > 1 and not apart:
            repeated = (sorted(counts[c], key=lambda p: p.rate) for c in sorted(counts))
            rows.extend(repeats[(len(repeats) - 1) // 2] for repeats in repeated)
    return pd.DataFrame(rows, columns=Point._fields).sort_values(["cluster", "series"], kind="stable")


def main(arguments: list[str]) -> None:
    if len(arguments) != 2:
        sys.exit(__doc__)
    clones, folder = map(Path, arguments)
    sources = pd.read_csv(folder / "sources.csv", dtype=str, keep_default_na=False).set_index("source")
    for name, read in READERS.items():
        frame = compiled(read(Clone(clones / sources.repository[name], sources.commit[name])))
        frame.insert(0, "source", name)
        frame.to_csv(folder / f"{name}.csv", index=False, lineterminator="\n")
        print(f"{name}: {frame.series.nunique()} series, {len(frame)} figures, {frame.cluster.nunique()} clusters")


if __name__ == "__main__":
    main(sys.argv[1:])
