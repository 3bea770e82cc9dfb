"""Forms in which people keep runs, written from one law: files, a question in the words of the file, and its truth."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from experiments.shared import markdown

COUNTS = (1, 2, 4, 8)
TARGET = 16


def rate(count: float) -> float:
    """Return the samples per second of so many devices."""
    return 420.0 * count**0.92


def step(count: float) -> float:
    """Return the seconds of a step of 64 samples a device."""
    return 64.0 * count / rate(count)


def job(count: float) -> float:
    """Return the seconds of 100,000 samples."""
    return 1e5 / rate(count)


@dataclass(frozen=True)
class Form:
    """One way to keep runs."""

    name: str
    files: Mapping[str, str]
    #: What is asked about: one of the files, or "." for their folder.
    path: str
    at: Mapping[str, str]
    #: The value at the question, in seconds or per second.
    truth: float
    want: str | None = None

    def write(self, folder: Path) -> Path:
        """Write the files of the form below a folder, and return what is asked about."""
        place = folder / self.name.replace(" ", "_")
        for name, text in self.files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text, encoding="utf-8")
        return place / self.path


def lines(rows: Iterable[Iterable[object]], between: str = ",") -> str:
    """Return rows as lines of cells."""
    return "".join(between.join(map(str, row)) + "\n" for row in rows)


def steps(line: Callable[[int, float], str], value: float, slow: int = 4, count: int = 30) -> str:
    """Return a line for each step: the first are slow, and all scatter by 1 %."""
    draw = random.Random(round(value * 1e6))
    values = [value * draw.gauss(1.0, 0.01) * (9.0 if n < slow else 1.0) for n in range(count)]
    return "".join(line(n, one) + "\n" for n, one in enumerate(values, 1))


def in_a_file(name: str, file: str, text: str, at: str, truth: float, want: str | None = None) -> Form:
    """Return a form of a single file."""
    return Form(name, {file: text}, file, dict([at.split("=", 1)]), truth, want)


def a_file_a_run(
    name: str, path: str, text: Callable[[int], str], at: str, truth: float, want: str | None = None
) -> Form:
    """Return a form of a file for each count, whose path may hold it."""
    files = {path.format(n=n): text(n) for n in COUNTS}
    return Form(name, files, ".", dict([at.split("=", 1)]), truth, want)


def notebook(*outputs: Mapping[str, object]) -> str:
    """Return a notebook of one cell with these outputs."""
    cell = {"cell_type": "code", "source": ["show()"], "metadata": {}, "execution_count": 1, "outputs": [*outputs]}
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def box(rows: Iterable[Iterable[object]]) -> str:
    """Return a table as a shell draws it."""
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    rule = "+" + "+".join("-" * (width + 2) for width in widths) + "+"
    drawn = ["|" + "|".join(f" {c:>{w}} " for c, w in zip(row, widths, strict=True)) + "|" for row in texts]
    return "\n".join([rule, drawn[0], rule, *drawn[1:], rule]) + "\n"


def html(rows: Iterable[Iterable[object]]) -> str:
    """Return a table of a web page, whose rows have a number."""
    cells = ["".join(f"<td>{cell}</td>" for cell in row) for row in rows]
    numbered = "".join(f"<tr><th>{place or ''}</th>{row}</tr>\n" for place, row in enumerate(cells))
    return f'<table class="t"><tbody>{numbered}</tbody></table>'


def accounting() -> str:
    """Return jobs as a batch system lists them, with a line below the header."""
    widths = (12, 8, 8, 10, 10)
    rows: list[tuple[object, ...]] = [("JobID", "NNodes", "NTasks", "Elapsed", "State"), tuple("-" * w for w in widths)]
    for n in COUNTS:
        minutes, seconds = divmod(round(40.0 * job(n)), 60)
        rows.append((4170 + n, n, 8 * n, f"{minutes // 60:02d}:{minutes % 60:02d}:{seconds:02d}", "COMPLETED"))
    return "".join(" ".join(f"{cell!s:>{w}}" for cell, w in zip(row, widths, strict=True)) + "\n" for row in rows)


PLAIN = [(n, f"{rate(n):.1f}") for n in COUNTS]
OUT_OF_MEMORY = "Traceback (most recent call last):\ntorch.OutOfMemoryError: CUDA out of memory. Tried 2 GiB\n"

FORMS = (
    # --- logs, a file a run ---
    a_file_a_run(
        "steps of a log",
        "train_{n}gpus.log",
        lambda n: steps(lambda i, v: f"[10:00:{i:02d}] step {i} | loss 2.{i} | step_time: {v:.4f} s", step(n)),
        "gpus=16",
        step(TARGET),
        "step_time",
    ),
    a_file_a_run(
        "a log with evaluations",
        "{n}workers.out",
        lambda n: steps(
            lambda i, v: f"iter {i} loss 2.1 time {v:.4f} s\nvalidation {i}: loss 3.0 time {5 * v:.3f} s", step(n), 0
        ),
        "workers=16",
        step(TARGET),
        "time",
    ),
    a_file_a_run(
        "a log that names its devices",
        "job-{n}0417.out",
        lambda n: f"launching on {n} devices\n" + steps(lambda i, v: f"images/sec: {v:.1f} loss=2.{i}", rate(n), 0),
        "devices=16",
        rate(TARGET),
    ),
    a_file_a_run(
        "a folder a run",
        "nproc_{n}/stdout.txt",
        lambda n: f"seed: 1234\nepochs: 3\ntotal time: {job(n):.2f} s\nfinal loss: 1.2\n",
        "nproc=16",
        job(TARGET),
        "total time",
    ),
    a_file_a_run(
        "words of one rate",
        "log_{n}_gpus.txt",
        lambda n: steps(lambda i, v: f"batch {i} tps: {v:.1f} mfu: 31.2%", rate(n) / n, 0),
        "gpus=16",
        rate(TARGET) / TARGET,
        "tps",
    ),
    Form(
        "a run out of memory",
        {f"{n}gpu.log": steps(lambda i, v: f"step {i}  {v:.1f} samples/s", rate(n), 0) for n in COUNTS}
        | {"16gpu.log": f"step 1  {rate(2):.1f} samples/s\n{OUT_OF_MEMORY}"},
        ".",
        {"gpu": "32"},
        rate(32),
    ),
    Form(
        "what a job printed and its errors",
        {f"run.o{n}": f"ranks = {n}\nloading\n" for n in COUNTS}
        | {f"run.e{n}": f"warning: old\nelapsed: {job(n):.2f} s\n" for n in COUNTS},
        ".",
        {"ranks": "16"},
        job(TARGET),
        "elapsed",
    ),
    a_file_a_run(
        "two names of a count",
        "mpi_p{n}.txt",
        lambda n: ("" if n == 1 else f"Processes: {n}\n") + f"Matrix: 4096\nruntime: {job(n):.3f} s\n",
        "Processes=16",
        job(TARGET),
        "runtime",
    ),
    a_file_a_run(
        "a record a file",
        "result_{n}.json",
        lambda n: json.dumps(
            {
                "args": {"world_size": n, "lr": 0.1},
                "environment": {"gpus": 8},
                "metrics": {"samples_per_second": rate(n), "loss": 1.2},
            }
        ),
        "world_size=16",
        rate(TARGET),
        "samples_per_second",
    ),
    a_file_a_run(
        "steps as lines of JSON",
        "{n}nodes/log.jsonl",
        lambda n: steps(lambda i, v: json.dumps({"step": i, "loss": 2.0, "step_time_s": v}), step(n)),
        "nodes=16",
        step(TARGET),
        "step_time_s",
    ),
    a_file_a_run(
        "steps in a table",
        "gpus{n}/metrics.csv",
        lambda n: "epoch,step,loss,samples_per_sec\n" + steps(lambda i, v: f"0,{10 * i},2.{i},{v:.2f}", rate(n), 0),
        "gpus=16",
        rate(TARGET),
        "samples_per_sec",
    ),
    a_file_a_run(
        "the clock of a shell",
        "np{n}.txt",
        lambda n: f"done\n\nreal\t{int(job(n) // 60)}m{job(n) % 60:.3f}s\nuser\t9m1.000s\nsys\t0m2.000s\n",
        "np=16",
        job(TARGET),
        "real",
    ),
    # --- several runs in one text ---
    in_a_file(
        "runs below headings",
        "notes.md",
        "".join(f"## {n} nodes\n\nmean step time: {step(n):.4f} s\nlearning rate: 0.1\n\n" for n in COUNTS),
        "nodes=16",
        step(TARGET),
    ),
    in_a_file(
        "runs one after the other",
        "all.log",
        "".join(f"world size: {n}\n" + steps(lambda i, v: f"step {i}, {v:.1f} samples/s", rate(n), 2) for n in COUNTS),
        "world size=16",
        rate(TARGET),
    ),
    in_a_file(
        "sentences",
        "mail.txt",
        "".join(f"On {n} GPU{'s' if n > 1 else ''} an epoch took {job(n):.1f} seconds.\n" for n in COUNTS),
        "GPUs=16",
        job(TARGET),
    ),
    in_a_file(
        "lines of pairs",
        "pairs.txt",
        "".join(f"workers={n} batch=64 time={step(n):.4f}\n" for n in COUNTS),
        "workers=16",
        step(TARGET),
    ),
    # --- tables ---
    in_a_file(
        "counts in headers",
        "wide.csv",
        lines([("network", *(f"{n} GPUs" for n in COUNTS)), ("resnet (img/s)", *(f"{rate(n):.1f}" for n in COUNTS))]),
        "GPUs=16",
        rate(TARGET),
    ),
    in_a_file(
        "a unit in the caption",
        "table.tex",
        "\\begin{table}\\caption{Iteration time (ms) by nodes}\n\\begin{tabular}{lrrrr}\n"
        + "Method & "
        + " & ".join(f"{n} nodes" for n in COUNTS)
        + " \\\\ \\midrule\n"
        + "ours & "
        + " & ".join(f"{1000 * step(n):.1f}" for n in COUNTS)
        + " \\\\\n\\end{tabular}\\end{table}\n",
        "nodes=16",
        step(TARGET),
    ),
    in_a_file(
        "several tables in a text",
        "README.md",
        "# Machine\n\n"
        + markdown(["GPU", "memory (GB)"], [("V100", 16), ("A100", 80)])
        + "\n\n# Scaling\n\n"
        + markdown(["GPUs", "images/s", "speed-up"], [(n, r, f"{rate(n) / 420:.2f}x") for n, r in PLAIN])
        + "\n",
        "GPUs=16",
        rate(TARGET),
    ),
    in_a_file("a drawn box", "box.txt", box([("gpus", "samples/s"), *PLAIN]), "gpus=16", rate(TARGET)),
    in_a_file(
        "a table aligned in a text",
        "report.txt",
        "We ran the solver, and it did well.\nTimes are medians of 5 runs.\n\n"
        + "".join(f"{a:<10}{b:>12}\n" for a, b in [("ranks", "time (s)"), *((n, f"{job(n):.2f}") for n in COUNTS)])
        + "\nAll of them were run on 3 May, by 2 people.\n",
        "ranks=16",
        job(TARGET),
    ),
    in_a_file(
        "settings in names",
        "names.csv",
        lines([("run", "throughput"), *((f"pipeline-{n}", r) for n, r in PLAIN)]),
        "run=pipeline-16",
        rate(TARGET),
    ),
    in_a_file(
        "facts in cells",
        "cells.csv",
        lines([("gpus", "result"), *((n, f"{r} samples/s 31.2 tflops/gpu") for n, r in PLAIN)]),
        "gpus=16",
        rate(TARGET),
        "samples/s",
    ),
    in_a_file(
        "numbers with units and spreads",
        "spread.csv",
        lines([("GPUs", "Step time"), *((n, f"{1000 * step(n):.1f} ms ± 0.8") for n in COUNTS)]),
        "GPUs=16",
        step(TARGET),
    ),
    in_a_file(
        "a row of units",
        "units.csv",
        lines([("nodes", "duration"), ("-", "(ms)"), *((n, f"{1000 * step(n):.2f}") for n in COUNTS)]),
        "nodes=16",
        step(TARGET),
        "duration",
    ),
    in_a_file(
        "a header in a comment",
        "saved.dat",
        "# nodes  step_time_s\n" + lines([(n, f"{step(n):.6f}") for n in COUNTS], " "),
        "nodes=16",
        step(TARGET),
        "step_time_s",
    ),
    in_a_file(
        "a decimal comma",
        "messung.csv",
        "Anzahl GPUs;Durchsatz (Bilder/s)\n" + "".join(f"{n};{r.replace('.', ',')}\n" for n, r in PLAIN),
        "Anzahl GPUs=16",
        rate(TARGET),
    ),
    in_a_file(
        "records by count",
        "by_count.json",
        json.dumps({"model": "net", "gpus": {str(n): {"images_per_s": rate(n), "loss": 1.1} for n in COUNTS}}),
        "gpus=16",
        rate(TARGET),
    ),
    in_a_file(
        "a table in a notebook",
        "table.ipynb",
        notebook({"output_type": "execute_result", "data": {"text/html": html([("gpus", "images_per_s"), *PLAIN])}}),
        "gpus=16",
        rate(TARGET),
    ),
    in_a_file(
        "repeats in headers",
        "repeats.csv",
        lines(
            [("threads", "run 1 (s)", "run 2 (s)", "run 3 (s)")]
            + [(n, *(f"{job(n) * k:.2f}" for k in (1.01, 1, 1.02))) for n in COUNTS]
        ),
        "threads=16",
        job(TARGET),
    ),
    in_a_file(
        "devices by number",
        "devices.csv",
        lines([("devices", "samples/s"), *((f'"{",".join(map(str, range(n)))}"', r) for n, r in PLAIN)]),
        "devices=16",
        rate(TARGET),
    ),
    in_a_file(
        "runs beside their summary",
        "summary.json",
        json.dumps(
            {
                "hardware": {"gpu_model": "A100"},
                "results": [{"num_gpus": n, "images_per_second": rate(n), "success": True} for n in COUNTS],
                "summary": {"runs": 4, "peak_throughput": rate(8)},
            }
        ),
        "num_gpus=16",
        rate(TARGET),
        "images_per_second",
    ),
    Form(
        "records of which some say more",
        {
            f"{mode}.json": json.dumps(
                {
                    "mode": mode,
                    "results": [{"gpus": n, "step_time_s": slower * step(n)} for n in COUNTS],
                    **({"note": "rerun"} if mode == "b" else {}),
                }
            )
            for mode, slower in (("a", 1.0), ("b", 1.3))
        },
        ".",
        {"gpus": "16", "mode": "a"},
        step(TARGET),
    ),
    Form(
        "ways in headers",
        {
            "ways.csv": lines([("clients", "TP1 agg", "TP2 agg", "TP1/req", "TP2/req")])
            + lines([(n, *(f"{k * rate(n):.1f}" for k in (1, 1.8, 1 / n, 1.8 / n))) for n in COUNTS])
        },
        "ways.csv",
        {"clients": "16", "TP": "2"},
        1.8 * rate(TARGET),
        "agg",
    ),
    a_file_a_run(
        "a key of a quantity without a number",
        "burner-{n}.out",
        lambda n: (
            f"Number of ranks: {n}\nActivation Energy: N/A\nthreads: 0\nCells in X 100\nthreads: 1\n"
            f"Total elapsed time (s): {job(n):.3f}\n"
        ),
        "ranks=16",
        job(TARGET),
        "Total elapsed time (s)",
    ),
    a_file_a_run(
        "thousands in a log",
        "r{n}.log",
        lambda n: f"devices: {n}\n" + steps(lambda i, v: f"[INFO] it {i} rate {v / 100:.3f}k tokens/s", rate(n), 0),
        "devices=16",
        10.0 * rate(TARGET),
    ),
    in_a_file(
        "minutes of a clock",
        "clock.csv",
        lines([("nodes", "wall time"), *((n, f"{20 * job(n) // 60:.0f}:{20 * job(n) % 60:04.1f}") for n in COUNTS)]),
        "nodes=16",
        20.0 * job(TARGET),
    ),
    Form(
        "settings beside results",
        {f"run{n}/config.yaml": f"model: net\ngpus: {n}\nbatch: 64\n" for n in COUNTS}
        | {f"run{n}/metrics.json": json.dumps({"images_per_s": rate(n), "loss": 1.2}) for n in COUNTS},
        ".",
        {"gpus": "16"},
        rate(TARGET),
        "images_per_s",
    ),
    Form(
        "merged cells",
        {
            "merged.tsv": lines(
                [("model", "gpus", "img/s")]
                + [("" if n > 1 else m, n, f"{k * rate(n):.1f}") for m, k in (("a", 1.0), ("b", 0.5)) for n in COUNTS],
                "\t",
            )
        },
        "merged.tsv",
        {"gpus": "16", "model": "a"},
        rate(TARGET),
    ),
    in_a_file(
        "lists by name",
        "plot.py",
        f"import matplotlib\n\ngpus = {[*COUNTS]}\nrate = {[round(rate(n), 1) for n in COUNTS]}  # samples/s\n",
        "gpus=16",
        rate(TARGET),
    ),
    in_a_file("a dictionary", "d.txt", f"{ {n: round(rate(n), 1) for n in COUNTS} }\n", "gpus=16", rate(TARGET)),
    # --- ten forms that were written before what reads them ---
    in_a_file(
        "a product in a name",
        "systems.csv",
        lines([("System", "tokens/s"), *((f"{n}x8 A100", r) for n, r in PLAIN)]),
        "System=16x8 A100",
        rate(TARGET),
    ),
    in_a_file(
        "a generation before the count",
        "slices.csv",
        lines([("TPU", "examples/sec"), *((f"v3-{8 * n}", r) for n, r in PLAIN)]),
        "TPU=v3-128",
        rate(TARGET),
    ),
    a_file_a_run(
        "connections of a load test",
        "bench_{n}.txt",
        lambda n: (
            f"Bombarding http://localhost:8080 for 10s using {25 * n} connection(s)\nDone!\n"
            f"Statistics        Avg      Stdev        Max\n"
            f"  Reqs/sec    {rate(n):10.2f}     210.10   {1.1 * rate(n):.2f}\n"
            f"  Latency        2.04ms     0.8ms    12.92ms\n"
        ),
        "connections=400",
        rate(TARGET),
        "Reqs/sec",
    ),
    in_a_file(
        "two lines of headers with gaps",
        "two.csv",
        ",,Throughput,,Latency,\nnodes,batch,mean,std,mean,std\n"
        + lines([(n, 64, r, 2.1, f"{step(n):.4f}", 0.01) for n, r in PLAIN]),
        "nodes=16",
        rate(TARGET),
        "Throughput mean",
    ),
    in_a_file("the accounting of jobs", "sacct.txt", accounting(), "NNodes=16", 40.0 * job(TARGET), "Elapsed"),
    a_file_a_run(
        "metrics of virtual users",
        "summary_{n}.json",
        lambda n: json.dumps(
            {
                "metrics": {
                    "http_reqs": {"count": int(60 * rate(n)), "rate": rate(n)},
                    "vus_max": {"value": 10 * n, "min": 10 * n, "max": 10 * n},
                }
            }
        ),
        "vus_max=160",
        rate(TARGET),
        "http_reqs.rate",
    ),
    in_a_file(
        "tuples",
        "printed.txt",
        "('workers', 'samples/s')\n" + "".join(f"({n}, {r})\n" for n, r in PLAIN),
        "workers=16",
        rate(TARGET),
    ),
    in_a_file(
        "a web page",
        "page.html",
        "<!DOCTYPE html>\n<html><body><h1>Scaling</h1><p>Ours, 8 nodes.</p>\n"
        + html([("Nodes", "Steps/s"), *((n, f"<b>{rate(n) / 64:.3f}</b>") for n in COUNTS)])
        + "</body></html>",
        "Nodes=16",
        rate(TARGET) / 64,
    ),
    in_a_file(
        "a rate by the second",
        "rates.csv",
        lines([("Clients", "Rate [1/s]", "Errors"), *((n, r, 0) for n, r in PLAIN)]),
        "Clients=16",
        rate(TARGET),
    ),
    in_a_file(
        "a list of settings and results",
        "runs.yaml",
        "runs:\n" + "".join(f"  - gpus: {n}\n    batch: 64\n    throughput: {r}  # samples/s\n" for n, r in PLAIN),
        "gpus=16",
        rate(TARGET),
        "throughput",
    ),
    # --- forms of repositories and trackers ---
    in_a_file(
        "cells over several columns and rows",
        "spans.html",
        "<html><body><table><tr><th rowspan=2>Model</th><th colspan=4>Number of GPUs</th></tr>\n<tr>"
        + "".join(f"<th>{n}</th>" for n in COUNTS)
        + "</tr>\n<tr><td>ours</td>"
        + "".join(f"<td>{r} img/s</td>" for _, r in PLAIN)
        + "</tr></table></body></html>",
        "GPUs=16",
        rate(TARGET),
    ),
    in_a_file(
        "a name over the headers",
        "over.csv",
        lines([("", "Number of GPUs", "", "", ""), ("Method", *COUNTS), ("ours (img/s)", *(r for _, r in PLAIN))]),
        "GPUs=16",
        rate(TARGET),
    ),
    in_a_file(
        "blocks below the names of runs",
        "named.yaml",
        "".join(f"net_{n}gpu:\n  speed:\n    mean: {r}\n    std: 2.1\n    unit: samples/s\n" for n, r in PLAIN),
        "gpu=16",
        rate(TARGET),
        "speed",
    ),
    in_a_file(
        "levels printed once",
        "frame.txt",
        "            mean  std\nnet gpus           \n"
        + "".join(
            f"{name if n == 1 else '':<4}{n:<5}{k * rate(n):>7.1f}{2.1:>5}\n"
            for name, k in (("a", 1.0), ("b", 0.5))
            for n in COUNTS
        ),
        "gpus=16",
        rate(TARGET),
        "mean",
    ),
    in_a_file(
        "dictionaries by name in a program",
        "results.py",
        "import json\n\nresults = {\n"
        + "".join(
            f"    '{name}': {{{', '.join(f'{n}: {k * rate(n):.1f}' for n in COUNTS)}}},\n"
            for name, k in (("net", 1.0), ("other", 0.5))
        )
        + "}\nprint(json.dumps(results))\n",
        "gpus=16",
        rate(TARGET),
    ),
    Form(
        "settings in a hidden folder",
        {f"{n}/.run/config.yaml": f"trainer:\n  devices: {2**n}\nmodel:\n  name: net\n" for n in range(4)}
        | {
            f"{n}/train.log": steps(lambda i, v: f"[10:00:{i:02d}] step {i} | {v:.1f} samples/s", rate(2**n))
            for n in range(4)
        },
        ".",
        {"devices": "16"},
        rate(TARGET),
    ),
    a_file_a_run(
        "a rate beside a number of requests",
        "load_{n}.txt",
        lambda n: (
            f"Number of threads: {n}\n\nStatistics:\n    queries:   {60 * rate(n):.0f} ({rate(n):.2f} per sec.)\n"
            f"    ignored errors:   0      (0.00 per sec.)\n    total time:   60.0041s\n"
        ),
        "threads=16",
        rate(TARGET),
        "queries",
    ),
    a_file_a_run(
        "one metric by the time of day",
        "run-gpus_{n}-tag-perf.csv",
        lambda n: "Wall time,Step,Value\n" + steps(lambda i, v: f"{1.7e9 + i:.1f},{i},{v:.2f}", rate(n), 2),
        "gpus=16",
        rate(TARGET),
    ),
    in_a_file(
        "a small table below a wide one",
        "wide.md",
        "## Speed\n\n"
        + markdown(["# GPUs", "batch", "img/s"], [(n, 64 * n, f"{rate(n) * 10:,.0f}") for n in COUNTS])
        + "\n\n## Accuracy\n\n"
        + markdown(["Epochs", "Top-1"], [(90, 76.4), (300, 78.1)])
        + "\n",
        "GPUs=16",
        10.0 * rate(TARGET),
    ),
    in_a_file(
        "a product with words",
        "grid.md",
        markdown(
            ["Configuration", "tokens/s"],
            [(f"{n} node{'s' if n > 1 else ''} x 8 GPUs", f"{100 * rate(n):,.0f}") for n in COUNTS],
        ),
        "Configuration=16 nodes x 8 GPUs",
        100.0 * rate(TARGET),
    ),
    in_a_file(
        "devices of the only node",
        "one.csv",
        lines([("gpus_per_node", "nodes", "img/s"), *((n, 1, r) for n, r in PLAIN)]),
        "gpus_per_node=16",
        rate(TARGET),
    ),
    a_file_a_run(
        "the day in the name of a folder",
        "2026-05-0{n}_14-22-3{n}_net_{n}gpu/metrics.json",
        lambda n: json.dumps({"throughput": {"mean": rate(n), "std": 2.1, "unit": "samples/s"}, "loss": 2.1}),
        "gpu=16",
        rate(TARGET),
    ),
    a_file_a_run(
        "devices by number in a command",
        "run{n}.txt",
        lambda n: (
            f"+ python -m launch --gpus {','.join(map(str, range(n)))} train.py --batch 64\n"
            + steps(lambda i, v: f"step {i}, loss: 2.{i}, ips: {v:.2f} samples/s", rate(n), 2)
        ),
        "gpus=16",
        rate(TARGET),
        "ips",
    ),
    a_file_a_run(
        "a clock that runs on",
        "log.{n}",
        lambda n: (
            f"nProcs : {n}\n\n"
            + "".join(f"Residual = 0.0{i}\nElapsed = {job(n) * i / 20:.2f} s\n\n" for i in range(1, 21))
        ),
        "nProcs=16",
        job(TARGET),
        "Elapsed",
    ),
    a_file_a_run(
        "lines that begin with a tab",
        "np{n}.err",
        lambda n: (
            f'\tCommand being timed: "mpirun -np {n} ./solve"\n\tUser time (seconds): {n * job(n):.2f}\n'
            f"\tElapsed (wall clock) time (h:mm:ss or m:ss): {job(n) // 60:.0f}:{job(n) % 60:05.2f}\n"
        ),
        "np=16",
        job(TARGET),
        "Elapsed (wall clock) time",
    ),
    a_file_a_run(
        "a rate without a name",
        "threads_{n}.log",
        lambda n: "".join(f"+ {10 * rate(n):.0f} in 00:00:10 = {rate(n):.1f}/s Active: {n}\n" for _ in range(4)),
        "threads=16",
        rate(TARGET),
    ),
    in_a_file(
        "quantities in rows and bare counts in headers",
        "transposed.csv",
        lines(
            [
                ("Metric", *COUNTS),
                ("Time per epoch (s)", *(f"{job(n):.1f}" for n in COUNTS)),
                ("Speedup", *(f"{rate(n) / 420:.2f}" for n in COUNTS)),
                ("Efficiency (%)", *(f"{100 * rate(n) / 420 / n:.0f}" for n in COUNTS)),
            ]
        ),
        "GPUs=16",
        job(TARGET),
        "Time per epoch",
    ),
    in_a_file(
        "points between thousands",
        "punkte.csv",
        "Knoten;Laufzeit (s);Durchsatz (Zellen/s)\n"
        + "".join(
            f"{n};{20 * job(n):,.1f};{1000 * rate(n):,.0f}\n".translate(str.maketrans(",.", ".,")) for n in COUNTS
        ),
        "Knoten=16",
        1000.0 * rate(TARGET),
        "Durchsatz",
    ),
    in_a_file(
        "names over the rows below them, and notes",
        "sections.csv",
        lines(
            [("Model", "GPUs", "img/s")]
            + [
                row
                for m, k in (("a", 1.0), ("b", 0.5))
                for row in [(m, "", ""), *(("", n, k * rate(n)) for n in COUNTS)]
            ]
            + [("", "", ""), ("Note: synthetic data", "", "")]
        ),
        "GPUs=16",
        rate(TARGET),
    ),
    in_a_file(
        "how many of what stands before",
        "systems.csv",
        lines(
            [
                ("System", "Processor", "#", "Accelerator", "#", "time (min)"),
                *(("box", "EPYC", 2, "A100", n, f"{job(n):.2f}") for n in COUNTS),
            ]
        ),
        "# Accelerator=16",
        60.0 * job(TARGET),
    ),
    in_a_file(
        "words of a path",
        "sweep.jsonl",
        "".join(
            json.dumps({"cfg": {"trainer": {"devices": n}}, "perf": {"step_ms": {"p50": 1e3 * step(n), "p99": 1.0}}})
            + "\n"
            for n in COUNTS
        ),
        "devices=16",
        step(TARGET),
        "step_ms p50",
    ),
    in_a_file(
        "shares beside numbers in a text",
        "post.md",
        "I train on up to 8 GPUs, and it does not scale. Here is what I get:\n\n```\nnproc   s/epoch   GPU util\n"
        + "".join(f"{n:<8}{job(n):<10.1f}{95 - n}%\n" for n in COUNTS)
        + "```\n\nIs this normal? I also tried `num_workers=8`, which did not help.\n",
        "nproc=16",
        job(TARGET),
    ),
    Form(
        "a column a network",
        {"nets.csv": lines([("GPUs", "net", "bert"), *((n, r, f"{0.3 * rate(n):.1f}") for n, r in PLAIN)])},
        "nets.csv",
        {"GPUs": "16", "model": "bert"},
        0.3 * rate(TARGET),
        "throughput",
    ),
    in_a_file(
        "quantities by count",
        "quantities.json",
        json.dumps(
            {"throughput": {str(n): rate(n) for n in COUNTS}, "step_ms": {str(n): 1e3 * step(n) for n in COUNTS}}
        ),
        "gpus=16",
        rate(TARGET),
        "throughput",
    ),
    Form(
        "arrays by name beside one of counts",
        {
            "arrays.json": json.dumps(
                {"gpus": COUNTS, "images_per_s": {m: [k * rate(n) for n in COUNTS] for m, k in (("a", 1), ("b", 0.5))}}
            )
        },
        "arrays.json",
        {"gpus": "16", "model": "b"},
        0.5 * rate(TARGET),
    ),
    in_a_file(
        "sections of settings and results",
        "runs.ini",
        "".join(f"[{n}gpu]\nmodel = net\nthroughput = {r}\n\n" for n, r in PLAIN),
        "gpu=16",
        rate(TARGET),
        "throughput",
    ),
    in_a_file(
        "lines of several numbers",
        "lines.txt",
        "Results of the scaling test\n\nGPUs:     "
        + "".join(f"{n:>9}" for n in COUNTS)
        + "\nimages/s: "
        + "".join(f"{r:>9}" for _, r in PLAIN)
        + "\n",
        "GPUs=16",
        rate(TARGET),
    ),
    in_a_file(
        "numbers between slashes",
        "slashes.json",
        json.dumps(
            {
                "benchmarks": [
                    {"name": f"BM_Sum/{n}/1024", "real_time": 1e6 * step(n), "time_unit": "us"} for n in COUNTS
                ]
            }
        ),
        "name=BM_Sum/16/1024",
        step(TARGET),
        "real_time",
    ),
    in_a_file(
        "an efficiency of nodes alone",
        "efficiency.csv",
        lines([("nodes", "parallel efficiency (%)"), *((n, f"{100 * n**-0.06:.1f}") for n in COUNTS)]),
        "nodes=16",
        100.0 * TARGET**-0.06,
    ),
    in_a_file(
        "a sentence of several runs",
        "message.txt",
        "We ran it again: on " + ", on ".join(f"{n} GPUs {r} images/s" for n, r in PLAIN) + ", all in bf16.\n",
        "gpus=16",
        rate(TARGET),
    ),
    in_a_file(
        "records of YAML",
        "runs.yaml",
        "".join(f"- name: run-{n}\n  gpus: {n}\n  throughput: {r} images/s\n" for n, r in PLAIN),
        "gpus=16",
        rate(TARGET),
    ),
)
