"""A table of any shape is read as what it holds: one small table a shape, with what is to be read from it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from genperf.cli.main import run
from genperf.errors import TableError
from genperf.panel import read_table
from genperf.table.cells import parts_of
from genperf.table.opened import as_csv, open_files, understood


def lines(*rows: str) -> str:
    return "\n".join(rows) + "\n"


MARKDOWN = lines(
    "# Results", "", "| nodes | **time** |", "|------:|:-----|", "| 1 | 9.5 s |", "| 2 | 5.25 s |", "", "End."
)
#: The name of a shape: its text, the columns to be read from it, and words of the report.
SHAPES: dict[str, tuple[str, dict[str, list[object]], list[str]]] = {
    "commas": ("gpus,s\n1,9\n2,5\n", {"gpus": ["1", "2"], "s": ["9", "5"]}, []),
    "rows of JSON with a header": (
        '[["gpus", "s"], [1, 9], [2, 5]]', {"gpus": ["1", "2"], "s": ["9", "5"]},
        ["2 records of JSON read as rows, 2 columns"],
    ),
    "columns and data of JSON": (
        '{"columns": ["gpus", "s"], "data": [[1, 9], [2, 5]]}', {"gpus": ["1", "2"], "s": ["9", "5"]},
        ["2 records of JSON read as rows, 2 columns"],
    ),
    "runs of blanks": (
        lines("gpus   time per step", "1      9.5", "16     2.25"),
        {"gpus": ["1", "16"], "time per step": ["9.5", "2.25"]}, [],
    ),
    "tabs": (
        "gpus\tcards\ts\n1\t0,1,2\t9\n2\t0\t5\n", {"gpus": ["1", "2"], "cards": [3, 1]},
        ["2 cells: lists of 'cards'"],
    ),
    "markdown": (MARKDOWN, {"nodes": ["1", "2"], "time": [9.5, 5.25]}, ["2 rows read from a table drawn with | and -"]),
    "markdown with a single dash and colons": (
        lines("| nodes | s |", "|:-:|-|", "| 1 | 9 |", "| 2 | 5 |"), {"nodes": ["1", "2"], "s": ["9", "5"]},
        ["2 rows read from a table drawn with | and -"],
    ),
    "counts in brackets": (
        lines("nodes,tokens/s/GPU", "1 (8 GPUs),910", "2 (16 GPUs),890"), {"nodes": [1, 2], "GPUs": [8, 16]},
        ["2 cells: 'GPUs' read from the brackets in 'nodes'"],
    ),
    "ranges": (
        lines("| gpus | s/kimg |", "|--|--|", "| 1 | 12&ndash;14 |", "| 2 | 6.2–6.8 |"),
        {"gpus": ["1", "2"], "s/kimg": [13, 6.5]}, ["2 cells: lists, ranges or products of 's/kimg'"],
    ),
    "products": (
        lines("gpus,tok/s", "8,62.5*2", "16,120.25 × 2"), {"tok/s": [125, 240.5]},
        ["2 cells: lists, ranges or products of 'tok/s'"],
    ),
    "counts in brackets of names": (
        lines("setup,s", "Single GPU,9", "Multi-GPU (2×),5", "Multi-GPU (4×),3"),
        {"devices": [1, 2, 4], "setup kind": ["Single GPU", "Multi-GPU", "Multi-GPU"]},
        ["3 cells: 'devices', 'setup kind' read"],
    ),
    "a count of its own in names that differ": (
        lines("run,s", "baseline_batch1,9", "sweep_batch2,12"),
        {"batch": [1, 2], "run kind": ["baseline_batch", "sweep_batch"]}, ["2 cells: 'batch', 'run kind' read"],
    ),
    "memory beside wide counts": (
        lines("net,1 GPU,2 GPUs,mem", "a,9 h,5 h,8.5 GB", "b,7 h,4 h,6.5 GB"),
        {"GPUs": [1, 2, 1, 2], "net": ["a", "a", "b", "b"], "mem": [8.5, 8.5, 6.5, 6.5]},
        ["2 columns: '1 GPU', '2 GPUs'"],
    ),
    "glued counts in headers": (
        lines("| what | 4worker2server | 8worker4server |", "|--|--|--|", "| s/epoch | 90 | 47 |", "|tok/s|9|17|"),
        {"worker": [4, 8], "server": [2, 4], "s/epoch": ["90", "47"]},
        ["2 columns: '4worker2server', '8worker4server'"],
    ),
    "minutes and seconds beside hours": (
        lines("gpus,elapsed", "8,1:05:30", "16,35:10"), {"elapsed": [3930, 2110]}, ["2 cells: hours, minutes"],
    ),
    "durations in words beside one in minutes": (
        lines("gpus,elapsed", "8,6 hrs and 12 minutes", "16,3 hours 16 min", "64,54 minutes"),
        {"elapsed": [22320, 11760, 3240]}, ["2 cells: hours, minutes"],
    ),
    "sentences of durations in several units": (
        lines("1x8: training took 6 hrs and 12 minutes on 8 GPUs", "2x8: training took 54 minutes on 16 GPUs"),
        {"GPUs": [8, 16], "took": [22320, 3240]}, ["2 runs"],
    ),
    "sentences of one node and several": (
        lines("single node: 30 images/s", "2 nodes: 55 images/s"), {"nodes": [1, 2], "images/s": [30, 55]}, ["2 runs"],
    ),
    "a title with a comma, which says how the runs were scaled": (
        lines("Strong scaling, ResNet-50", "nodes,seconds", "1,10", "2,5.3"),
        {"nodes": ["1", "2"], "seconds": ["10", "5.3"], "scaling": ["strong", "strong"]}, [],
    ),
    "seconds of an iteration": (
        lines("gpus,step", "1,0.5 s/it", "2,600 ms/step"), {"step": [0.5, 0.6]}, ["2 cells: 's/it' and 'ms/step'"],
    ),
    "a share that is not known": (
        lines("gpus,s,sem%", "1,9,0.2%", "2,5,0.4%", "4,3,nan%"), {"sem%": [0.2, 0.4, "nan%"]}, ["2 cells: unit '%'"],
    ),
    "a clock under a unit": (
        lines("gpus,time (min)", "8,1:05:30", "16,35:15"), {"time (min)": [65.5, 35.25]}, ["2 cells: hours, minutes"],
    ),
    "pairs": (
        lines("# runs", "np=1  time = 9.5s", "", "np=2  time=5.25s  note=again"),
        {"np": ["1", "2"], "time": [9.5, 5.25], "note": ["", "again"]},
        ["2 lines of name=value read as rows, 3 columns"],
    ),
    "pairs with names of two words": (
        lines("gpus=1; wall time=0.5 s", "gpus=2; wall time=0.3 s"), {"gpus": ["1", "2"], "wall time": [0.5, 0.3]},
        ["2 lines of name=value"],
    ),
    "titles above the header": (
        lines("Results,,", "Date: 2026-03-01,,", ",,", "gpus,images/s,note", "1,410,", "2,792,warm"),
        {"gpus": ["1", "2"], "images/s": ["410", "792"], "note": ["", "warm"]}, ["3 lines above the header left out"],
    ),
    "cells with =": ("gpus,note\n1,lr=1\n2,lr=2\n", {"gpus": ["1", "2"], "note": ["lr=1", "lr=2"]}, []),
    "header behind #": (lines("# machines, s", "1, 9", "2, 5"), {"machines": ["1", "2"], "s": ["9", "5"]}, []),
    "header behind # and rows behind #": (
        lines(
            "# cluster b",
            "#ranks  #points  #run time  -> per point",
            "#4  100  9.5",
            "",
            "# more",
            "8  100  5.5",
            "16  100  3",
        ),
        {"ranks": ["8", "16"], "points": ["100", "100"], "run time": ["5.5", "3"]},
        ["1 row behind '#' left out"],
    ),
    "no header": (
        lines("a,1,9.5", "a,2,5.5", "b,1,8"),
        {"column1": ["a", "a", "b"], "column2": ["1", "2", "1"], "column3": ["9.5", "5.5", "8"]},
        ["no header line: columns are named column1 to column3"],
    ),
    "blank rows and empty ends": (
        lines("gpus,s,", "1,9,", ",,", "2,5,,"), {"gpus": ["1", "2"], "s": ["9", "5"]},
        ["1 row without a filled cell left out"],
    ),
    "separators of thousands in the header": (
        lines("net;1,024;2,048", "a;9;5", "b;8;4"), {"1,024": ["9", "8"], "2,048": ["5", "4"]}, [],
    ),
    "an index and an empty column": (
        lines(",gpus,note,s", "0,1,,9", "1,2,,5"), {"gpus": ["1", "2"], "s": ["9", "5"]}, [],
    ),
    "JSON lines": (
        '{"gpus": 1, "memory": {"peak": 3.5, "all": [1, 3.5]}, "devices": [0]}\n'
        '{"gpus": 2, "memory": {"peak": 2.5, "all": [2, 2.5]}, "devices": [0, 1]}\n',
        {"gpus": ["1", "2"], "memory.peak": ["3.5", "2.5"], "devices": [1.0, 2.0]},
        ["2 records of JSON", "2 lists of 'memory.all' left out", "2 cells: lists of 'devices' replaced"],
    ),
    "a JSON array": ('[{"n": 1, "s": 9}, {"n": 2, "s": null}]', {"n": ["1", "2"], "s": ["9", ""]}, ["2 records"]),
    "JSON results in an object": (
        '{"host": "a", "results": [{"n": 1, "s": 9}, {"n": 2, "s": 5}]}',
        {"host": ["a", "a"], "n": ["1", "2"], "s": ["9", "5"]}, ["2 records"],
    ),
    "JSON columns": ('{"n": [1, 2, 4], "s": [9, 5, 3]}', {"n": ["1", "2", "4"], "s": ["9", "5", "3"]}, ["3 records"]),
    "JSON records by name": (
        '{"first": {"n": 1, "s": 9}, "second": {"n": 2, "s": 5}}',
        {"name": ["first", "second"], "n": ["1", "2"], "s": ["9", "5"]}, ["2 records"],
    ),
    "units": (
        lines("machines,time,memory", "1,627.5 s,176GB", "2,311 s,87GB"),
        {"time": [627.5, 311.0], "memory": [176.0, 87.0]},
        ["2 cells: unit 's' removed from 'time'", "2 cells: unit 'GB' removed from 'memory'"],
    ),
    "units of several sizes": (
        lines("n,time,memory", "1,2 min,1.5 GiB", "2,90 s,512 MiB", "4,500 ms,256 MiB"),
        {"time": [120.0, 90.0, 0.5], "memory": [1536.0, 512.0, 256.0]},
        ["3 cells: 'min' and 's' and 'ms' of 'time' converted to 's'", "converted to 'MiB'"],
    ),
    "words of another language": (
        lines("nodos,tiempo", "1,691931 microsegundos", "2,451162 microsegundos"), {"tiempo": [691931.0, 451162.0]},
        ["2 cells: 'microsegundos' of 'tiempo' converted to 'us'"],
    ),
    "durations": (
        lines("n,took", "1,1h 20min", "2,45min 10s"), {"took": [4800.0, 2710.0]}, ["hours, minutes and seconds"],
    ),
    "percent and multiples": (
        lines("n,efficiency,speedup", "1,100.0%,1×", "2,94.5%,1.89x"),
        {"efficiency": [100.0, 94.5], "speedup": [1.0, 1.89]},
        ["unit '%' removed", "'×' and 'x' of 'speedup' converted to 'x'"],
    ),
    "plus or minus": (
        lines("n,rate,ms", '1,"6,457+/-38",925.02 +- 4.42', '2,"12,914±71",406 ± 2'),
        {"rate": [6457.0, 12914.0], "ms": [925.02, 406.0]},
        ["2 cells: ± and what follows removed from 'rate'", "2 cells: separator of thousands removed from 'rate'"],
    ),
    "second values and footnotes": (
        lines("n,rate,used,gpus", '1,"6,083 (6,553)",47.25 GiB (74%),8[^2126]', '2,"9,100 (9,800)",46.5 GiB (73%),16'),
        {"rate": [6083.0, 9100.0], "used": [47.25, 46.5], "gpus": [8.0, 16.0]},
        ["2 cells: second value in brackets removed from 'rate'", "1 cell: footnote removed from 'gpus'"],
    ),
    "European numbers": (
        lines("n;s", "1;1.904,08", "2;951,5"), {"s": [1904.08, 951.5]}, ["2 cells: decimal comma read in 's'"],
    ),
    "seconds in a language of decimal commas": (
        lines("Hilos,Tiempo", '1,"296,508 s"', '2,"150,435 s"'), {"Tiempo": [296.508, 150.435]},
        ["2 cells: decimal comma read in 'Tiempo'"],
    ),
    "thousands in that language": (
        lines("Hilos,Tiempo (ms)", '1,"128,039.81"', '8,"14,333.37"'), {"Tiempo (ms)": [128039.81, 14333.37]},
        ["2 cells: separator of thousands removed from 'Tiempo (ms)'"],
    ),
    "rows numbered under #": (
        lines("#,Hilos,Tiempo", "1,1,9", "2,4,3"), {"Hilos": ["1", "4"], "Tiempo": ["9", "3"]}, [],
    ),
    "an index of pandas": (lines("Unnamed: 0,gpus,s", "0,1,9", "1,4,3"), {"gpus": ["1", "4"], "s": ["9", "3"]}, []),
    "billions": (
        lines("params,s", "350M,3", "1.3B,9"), {"params": [3.5e8, 1.3e9]},
        ["2 cells: 'M' and 'B' of 'params' written out"],
    ),
    "one column a count": (
        lines("net,1 GPU,4 GPUs,8 GPUs", "a,253.1,925.02 +- 4.4,1282", "b,49,53.5 +- 0.1,—"),
        {"net": ["a", "a", "a", "b", "b"], "GPUs": [1, 4, 8, 1, 4], "value": [253.1, 925.02, 1282.0, 49.0, 53.5]},
        ["3 columns: '1 GPU', '4 GPUs', '8 GPUs' became rows of 'value' with 'GPUs'; 1 empty cell left out"],
    ),
    "counts with an equals sign": (
        lines("size,n=1,n=2,n=3", "10,9,5,4"), {"size": ["10"] * 3, "n": [1, 2, 3], "value": ["9", "5", "4"]},
        ["3 columns"],
    ),
    "two quantities at each count": (
        lines("net,2 nodes time,4 nodes time,2 nodes memory,4 nodes memory", "a,9,5,30,16"),
        {"nodes": [2, 4], "time": ["9", "5"], "memory": ["30", "16"]}, ["4 columns"],
    ),
    "counts alone": (
        lines("net,1,2,4,8", "a,10,19,36,60", "b,5,9,17,30"),
        {"net": ["a"] * 4 + ["b"] * 4, "count": [1, 2, 4, 8] * 2}, ["4 columns"],
    ),
    "times of counts": (
        lines("size,T1,T2,T4,T8", "10,9,5,3,2"),
        {"size": ["10"] * 4, "count": [1, 2, 4, 8], "T": ["9", "5", "3", "2"]}, ["4 columns"],
    ),
    "a unit beside each count": (
        lines("net,1 GPU (s),4 GPUs (s)", "a,9,5"), {"GPUs": [1, 4], "time (s)": ["9", "5"]}, ["2 columns"],
    ),
    "a single one beside several": (
        lines("net,single device(t/s),2 card(t/s),4 card(t/s),2 card scaling,4 card scaling", "a,100,190,360,.95,.9"),
        {"card": [1, 2, 4], "value (t/s)": ["100", "190", "360"], "scaling": ["", ".95", ".9"]}, ["5 columns"],
    ),
    "one in Chinese": (lines("net,单卡,4卡", "a,9,5"), {"卡": [1, 4], "value": ["9", "5"]}, ["2 columns"]),
    "nodes and cards in Chinese": (
        lines("模型,1机1卡,2机16卡,4机32卡", "a,9,120,230"), {"nodes": [1, 2, 4], "devices": [1, 16, 32]}, ["3 col"],
    ),
    "ways between slashes": (
        lines("TP/PP/DP,s", "8/2/1,9", "8/2/4,10"), {"TP": [8, 8], "PP": [2, 2], "DP": [1, 4]}, ["'TP', 'PP', 'DP'"],
    ),
    "a grid with a header of two lines": (
        "+-------+---------+\n| nodes | img/s   |\n|       | in all  |\n+=======+=========+\n| 1     | 90      |\n"
        "+-------+---------+\n| 2     | 171     |\n+-------+---------+\n",
        {"nodes": ["1", "2"], "img/s in all": ["90", "171"]}, ["2 rows"],
    ),
    "what a scheduler allocated": (
        "JobID|AllocTRES|Elapsed\n7|cpu=64,gres/gpu=4,node=1|06:10:18\n7.batch|cpu=16,node=1|06:10:18\n"
        "8|cpu=128,gres/gpu=8,node=2|03:20:01\n",
        {"gpu": [4, 8], "node": [1, 2], "Elapsed": ["06:10:18", "03:20:01"]}, ["1 step of jobs"],
    ),
    "sections of named rows": (
        "| | 8 GPUs | 16 GPUs |\n|---|---|---|\n| **S** | | |\n| tokens/s | 800 | 1500 |\n| MFU | 40 % | 38 % |\n"
        "| **L** | | |\n| tokens/s | 90 | 170 |\n| MFU | 45 % | 43 % |\n",
        {"table": ["S", "S", "L", "L"], "GPUs": [8, 16] * 2, "tokens/s": ["800", "1500", "90", "170"]}, ["2 names of"],
    ),
    "what counts alone": (
        lines("net,Number of GPUs 1,Number of GPUs 2", "a,9,17"), {"GPUs": [1, 2], "value": ["9", "17"]}, ["2 columns"],
    ),
    "several of a device above named values": (
        lines("Workload,8×A100,16×A100,32×A100", "BERT (seq/s),90,170,330", "GPT (seq/s),20,38,75"),
        {"devices": [8, 16, 32], "GPT (seq/s)": ["20", "38", "75"]}, ["3 columns"],
    ),
    "blocks below comments": (
        "# nodes time_s\n# strong scaling\n1 90\n2 46\n4 24\n\n\n# weak scaling\n1 90\n2 91\n4 93\n",
        {"table": ["strong scaling"] * 3 + ["weak scaling"] * 3, "nodes": ["1", "2", "4"] * 2}, ["2 tables"],
    ),
    "levels of pandas below what was typed": (
        ">>> print(means)\n             img_per_s  step_s\nmodel  gpus                   \n"
        "large  1       49.2    0.65\n       2       93.8    0.68\n"
        "small  1      253.1    0.13\n       2      489.4    0.13\n",
        {"model": ["large", "large", "small", "small"], "gpus": ["1", "2", "1", "2"]}, ["empty cells of 'model'"],
    ),
    "multiples of a device": (
        lines("net,1xV100,4x V100,8 x V100", "a,10,38,70"), {"devices": [1, 4, 8], "V100": ["10", "38", "70"]},
        ["3 columns"],
    ),
    "quantities as rows": (
        lines("GPUs,1,2,4", "Time (s),100,52,30", "Memory (GB),10,6,4", "Speedup,1.0,1.9,3.3"),
        {"GPUs": [1, 2, 4], "Time (s)": ["100", "52", "30"], "Memory (GB)": ["10", "6", "4"]},
        ["3 names of values in 'GPUs' became columns: 'Time (s)', 'Memory (GB)', 'Speedup'"],
    ),
    "a row for each quantity of a run": (
        lines("gpus,metric,value,unit", "1,step_time,9,ms", "1,rate,8,img/s", "4,step_time,10,ms", "4,rate,29,img/s"),
        {"gpus": ["1", "4"], "step_time": [9.0, 10.0], "rate": [8.0, 29.0]},
        ["2 names of values in 'metric' became columns: 'step_time', 'rate'"],
    ),
    "counts whose runs failed": (
        lines("net,1 GPU,4 GPUs", "a,9,OOM", "b,8,3"), {"GPUs": [1, 4, 1, 4], "value": ["9", "OOM", "8", "3"]},
        ["2 columns"],
    ),
    "repeats of a time by number": (
        lines("n,time_1,time_2,time_3", "1,9,9.1,8.9", "2,5,5.1,5"),
        {"n": ["1"] * 3 + ["2"] * 3, "repeat": [1, 2, 3] * 2, "time": ["9", "9.1", "8.9", "5", "5.1", "5"]},
        ["the repeat"],
    ),
    "repeats of a time by number, with a gap": (
        lines("n,time_1,time_2,time_3", "1,9,9.1,8.9", "2,5,failed,5"),
        {"repeat": [1, 2, 3] * 2, "time": ["9", "9.1", "8.9", "5", "failed", "5"]}, ["the repeat"],
    ),
    "repeats as columns": (
        lines(
            "# nodes,Tiempo 1era Ejecución,Tiempo 2nda Ejecución,Tiempo 3era Ejecución",
            "1,9 s,8.5 s,9.5 s",
            "2,5 s,5 s,5.5 s",
        ),
        {"nodes": ["1"] * 3 + ["2"] * 3, "repeat": [1, 2, 3] * 2, "Tiempo": [9.0, 8.5, 9.5, 5.0, 5.0, 5.5]},
        ["3 columns", "the repeat"],
    ),
    "runs as columns": (
        lines("gpus,run 1,run 2", "1,9,9.5", "2,5,5.5"),
        {"gpus": ["1", "1", "2", "2"], "repeat": [1, 2, 1, 2], "value": ["9", "9.5", "5", "5.5"]}, ["the repeat"],
    ),
    "pairs in a cell": (
        lines("Experiment,rate", '"n=2, m=1",1.2', '"n=4, m=4",1.8', '"n=4, m=32",3.1'),
        {"n": [2, 4, 4], "m": [1, 4, 32]}, ["3 cells: 'n', 'm' read from the names in 'Experiment'"],
    ),
    "a line of a file is no setting": (
        lines("source,n,rate", "a/b.csv:2,1,1.2", "a/b.csv:3,2,1.8", "a/b.csv:4,4,3.1"), {"n": ["1", "2", "4"]}, [],
    ),
    "a baseline": (
        lines("Experiment,rate", "baseline,95", "pipeline-1,81", "pipeline-2,135", "pipeline-4,265"),
        {"pipeline": [1, 1, 2, 4], "Experiment kind": ["baseline", "pipeline", "pipeline", "pipeline"]},
        ["'pipeline', 'Experiment kind' read from the names"],
    ),
    "a multiple of a device": (
        lines("card,gpus,rate", "A100 80GB,1,10", "2x A100 80GB,2,19", "V100,1,4", "2x V100,2,7"),
        {"card kind": ["A100 80GB", "A100 80GB", "V100", "V100"]}, ["'card kind' read from the names in 'card'"],
    ),
    "a multiple behind a device": (
        lines("system,rate", "A100 x 1,10", "A100 x 4,38", "V100 x 1,4", "V100 x 4,15"),
        {"devices": [1, 4, 1, 4], "system kind": ["A100", "A100", "V100", "V100"]},
        ["'devices', 'system kind' read from the names in 'system'"],
    ),
    "thousands of a unit": (
        lines("gpus,rate", "8,12.5k tok/s", "16,24.25k tok/s"), {"rate": [12500.0, 24250.0]},
        ["2 cells: 'k tok/s' of 'rate' converted to 'tok/s'"],
    ),
    "slices of a kind": (
        lines("slice,rate", "v3-8,9", "v3-32,34", "v3-128,130"), {"v3": [8, 32, 128]},
        ["3 cells: 'v3' read from the names in 'slice'"],
    ),
    "a command with its count": (
        lines("command,real", "mpirun -np 1 ./heat 4096,9", "mpirun -np 4 ./heat 4096,3"), {"np": [1, 4]},
        ["read from the names in 'command'"],
    ),
    "two titled tables of blanks": (
        lines("Cluster A", "", "gpus  rate", "1     9", "2     17", "", "Cluster B", "", "gpus  rate", "1     8"),
        {"table": ["Cluster A", "Cluster A", "Cluster B"], "gpus": ["1", "2", "1"]},
        ["2 tables of the same columns read as one: 'table' has their titles"],
    ),
    "names of files": (
        lines("log,s", "a100_001x.txt,23", "a100_002x.txt,24", "a100_064x.txt,90"), {"x": [1, 2, 64]},
        ["'x' read from the names in 'log'"],
    ),
    "a row of units below the header": (
        lines("gpus,step time,memory,net", "-,ms,[GB],", "1,90.5,30,a", "2,50.5,16,a"),
        {"gpus": ["1", "2"], "step time (ms)": ["90.5", "50.5"], "memory (GB)": ["30", "16"], "net": ["a", "a"]},
        ["row of units read into the header: gpus, step time (ms), memory (GB), net"],
    ),
    "a title above the table": (
        lines("Measured on the new cluster", "", "gpus,s", "1,9", "2,5"), {"gpus": ["1", "2"], "s": ["9", "5"]}, [],
    ),
    "two tables of the same columns": (
        lines("on A", "gpus,s", "-,ms", "1,90", "2,50", "", "on B", "gpus,s", "-,ms", "1,190"),
        {"table": ["on A", "on A", "on B"], "gpus": ["1", "2", "1"], "s (ms)": ["90", "50", "190"]},
        ["2 tables of the same columns read as one: 'table' has their titles"],
    ),
    "a header again": (
        lines("gpus,s", "1,9", "2,5", "gpus,s", "4,3"), {"gpus": ["1", "2", "4"], "s": ["9", "5", "3"]},
        ["2 tables of the same columns read as one"],
    ),
    "tables of other columns": (
        lines("gpus,s", "1,9", "2,5", "", "nodes,loss", "1,2.5"), {"gpus": ["1", "2"], "s": ["9", "5"]},
        ["another table is left out, from line 5 on: nodes, loss"],
    ),
    "remarks behind the rows": (
        lines("gpus,s", "1,9", "2,5 # (warm)", "4,3,# (again)", '8,2,"noisy, others ran"', "16,1"),
        {"gpus": ["1", "2", "4", "8", "16"], "s": [9.0, 5.0, 3.0, 2.0, 1.0]}, ["remarks behind 2 rows left out"],
    ),
    "words behind the last bar of a row": (
        lines("| gpus | s |", "|---|---|", "| 1 | 9 |", "| 2 | 5 | <- warm", "| 4 | 3 |{{< /caption >}}"),
        {"gpus": ["1", "2", "4"], "s": ["9", "5", "3"]}, ["3 rows read"],
    ),
    "counts before the devices, behind a table of devices": (
        lines(
            "| GPU | Tokens/sec |", "|---|---|", "| A100 | 6,800 |", "| V100 | 3,100 |",
            "", "### Scaling", "", "| Setup | Tokens/sec |", "|---|---|",
            "| 1\u00d7 A100 | 12,300 |", "| 2\u00d7 A100 | 23,800 |",
        ),
        {"Setup": ["1\u00d7 A100", "2\u00d7 A100"], "Tokens/sec": [12300.0, 23800.0], "devices": [1, 2]},
        ["another table is left out, from line 1 on: GPU, Tokens/sec"],
    ),
    "two drawn tables": (
        lines(
            "## bert",
            "",
            "| gpus | s |",
            "|---|---|",
            "| 1 | 9 |",
            "",
            "## gpt",
            "",
            "| gpus | s |",
            "|---|---|",
            "| 1 | 8 |",
        ),
        {"table": ["bert", "gpt"], "gpus": ["1", "1"], "s": ["9", "8"]},
        ["2 tables of the same columns"],
    ),
    "nodes by devices": (
        lines("layout,s", "1x4,9", "2x4,5", "4x4,3"),
        {"nodes": [1, 2, 4], "devices_per_node": [4, 4, 4], "devices": [4, 8, 16]},
        ["'nodes', 'devices_per_node', 'devices' read from the names in 'layout'"],
    ),
    "nodes and the devices of each in a name": (
        lines("run,s", "1n x 8g,9", "2n x 8g,5", "4 nodes x 8 gpus,3"),
        {"nodes": [1, 2, 4], "devices_per_node": [8, 8, 8], "devices": [8, 16, 32]},
        ["'nodes', 'devices_per_node', 'devices' read from the names in 'run'"],
    ),
    "nodes and the devices of each behind a name": (
        lines("log,s", "resnet50 1n4d,9", "resnet50 4n8d.txt,5", "bert_2n8g,4"),
        {
            "nodes": [1, 4, 2], "devices_per_node": [4, 8, 8], "devices": [4, 32, 16],
            "log kind": ["resnet50", "resnet50", "bert"],
        },
        ["'nodes', 'devices_per_node', 'devices', 'log kind' read from the names in 'log'"],
    ),
    "nodes and the devices of all in a name": (
        lines("run,s", "1node_1gpu,70", "1node_8gpu,9", "2node_16gpu,5", "4node_32gpu,3"),
        {"nodes": [1, 1, 2, 4], "devices_per_node": [1, 8, 8, 8], "devices": [1, 8, 16, 32]},
        ["'nodes', 'devices_per_node', 'devices' read from the names in 'run'"],
    ),
    "ways by ways": (
        lines("ways (tp × pp),s", "1×4,9", "2×4,5"), {"tp": [1, 2], "pp": [4, 4]}, ["'tp', 'pp' read from the names"],
    ),
    "two counts in a name": (
        lines("file,s", "1_worker_4_cores.txt,9", "2_worker_4_cores.txt,5", "2_worker_8_cores.txt,4"),
        {"worker": [1, 2, 2], "cores": [4, 4, 8]}, ["'worker', 'cores' read"],
    ),
}  # fmt: skip


def read(folder: Path, text: str) -> dict[str, list[object]]:
    path = folder / "runs.csv"
    path.write_text(text, encoding="utf-8")
    return {name: list(cells) for name, cells in understood(path).columns.items()}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_is_understood_and_reported(tmp_path: Path, shape: str) -> None:
    text, expected, reported = SHAPES[shape]
    path = tmp_path / "runs.csv"
    path.write_text(text, encoding="utf-8")
    source = understood(path)
    columns = {name: list(cells) for name, cells in source.columns.items()}
    assert {name: columns.get(name) for name in expected} == expected
    report = "\n".join(map(str, source.steps))
    assert all(words in report for words in reported)
    assert bool(report) == bool(reported)


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_written_is_understood_alike(tmp_path: Path, shape: str) -> None:
    first = tmp_path / "runs.csv"
    first.write_text(SHAPES[shape][0], encoding="utf-8")
    once = understood(first)
    again = tmp_path / "again.csv"
    again.write_text(as_csv(once), encoding="utf-8")
    twice = understood(again)
    assert as_csv(twice) == as_csv(once)
    assert dict(twice.units) == dict(once.units)


#: Tables that look like a shape and are another: the columns that stay as they are written.
HOSTILE: dict[str, tuple[str, dict[str, list[object]]]] = {
    "units of different kinds": ("n,s\n1,9 s\n2,5 GB\n4,3 s\n", {"s": ["9 s", "5 GB", "3 s"]}),
    "a plain number beside another unit": ("n,s\n1,9\n2,5 ms\n4,3\n", {"s": ["9", "5 ms", "3"]}),
    "half of the cells are numbers": ("n,v\n1,9 s\n2,fast\n4,3 s\n8,slow\n", {"v": ["9 s", "fast", "3 s", "slow"]}),
    "years": ("net,2021,2022,2023\na,1,2,3\nb,4,5,6\n", {"2021": ["1", "4"]}),
    "percentiles": ("n,p50,p90,p99\n1,9,10,11\n2,5,6,7\n", {"p50": ["9", "5"]}),
    "stages": ("n,stage1,stage2,stage3\n1,9,10,2\n2,5,6,1\n", {"stage1": ["9", "5"]}),
    "layers as sizes": ("hidden,layer1,layer2\n64,9,10\n128,5,6\n", {"layer1": ["9", "5"]}),
    "precisions": ("n,fp16,fp32\n1,9,10\n2,5,6\n", {"fp16": ["9", "5"]}),
    "accuracies": ("n,top1,top5\n1,70.5,90\n2,71,91\n", {"top1": ["70.5", "71"]}),
    "times of parts": ("n,time_1,time_2,time_3\n1,9,1,4\n2,5,1,2\n", {"time_1": ["9", "5"]}),
    "texts under counts": ("net,1 GPU,4 GPUs\na,yes,no\nb,no,no\n", {"1 GPU": ["yes", "no"]}),
    "one count twice": ("net,1 GPU,1 GPUs,4 GPUs\na,9,8,3\n", {"1 GPU": ["9"], "1 GPUs": ["8"]}),
    "a table with a column of that name": ("GPUs,1 GPUs,2 GPUs\n3,9,8\n", {"GPUs": ["3"], "1 GPUs": ["9"]}),
    "ambiguous thousands": ("n;s\n1;1,904\n2;2,500\n", {"s": ["1,904", "2,500"]}),
    "two decimal signs": ("n;s\n1;1.904,08\n2;1,904.08\n", {"s": ["1.904,08", "1,904.08"]}),
    "dates and versions": ("n,day,version\n1,2024-01-01,1.2.3\n2,2024-01-02,1.2.4\n", {"version": ["1.2.3", "1.2.4"]}),
    "names of networks": ("net,s\nresnet50,1\nresnet101,2\n", {"net": ["resnet50", "resnet101"]}),
    "names of devices": ("card,s\nV100,1\nA100,2\nP100,3\n", {"card": ["V100", "A100", "P100"]}),
    "sizes of networks": ("net,s\nllama-7b,1\nllama-70b,2\n", {"net": ["llama-7b", "llama-70b"]}),
    "clusters by number": ("where,s\nnode-17,1\nnode-23,2\nnode-51,3\n", {"where": ["node-17", "node-23", "node-51"]}),
    "addresses": ("host,s\n10.0.0.1,1\n10.0.0.2,2\n", {"host": ["10.0.0.1", "10.0.0.2"]}),
    "sizes of pictures": ("picture,s\n224x224,1\n512x512,2\n", {"picture": ["224x224", "512x512"]}),
    "a group without a number": (
        "net,mode,s\nvgg,eager,9\nbert,eager,8\n\nbert,graph,OOM\nbert,eager,2\n",
        {"net": ["vgg", "bert", "bert", "bert"], "s": ["9", "8", "OOM", "2"]},
    ),
    "a run that took s": ("gpus,mode,s\n-,s,-\n2,s,5\n", {"gpus": ["-", "2"]}),
    "levels with an x": ("load,s\nheavy_256x1024,1\nheavy_512x128,2\n", {"load": ["heavy_256x1024", "heavy_512x128"]}),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_what_only_looks_like_a_shape_stays(tmp_path: Path, case: str) -> None:
    text, expected = HOSTILE[case]
    columns = read(tmp_path, text)
    assert {name: columns.get(name) for name in expected} == expected
    assert len(columns) == len(next(csv.reader([text.splitlines()[0].replace(";", ",")])))


REFUSED = {
    "duplicates": ("gpus, gpus,s\n1,1,9\n", "columns 1 and 2 are both named 'gpus'"),
    "a log": (
        lines(*(f"step {i} {'loss ' * (i % 4)}took {i}.5" for i in range(1, 9))),
        "is a log or a text, not a table",
    ),
    "prose": (
        lines("Results", "we ran it on four nodes", "it took about nine seconds each"),
        "its lines are sentences",
    ),
    "a trace": ('{"traceEvents": [{"ph": "X", "ts": 1}]}', "genperf import pytorch-profiler"),
    "JSON of lists only": ('[{"a": [1.5, 2.5]}]', "is JSON without a number or a text"),
    "JSON of a number without end": (f'[{{"a": {"1" * 5000}}}]', "holds a number that cannot be read"),
    "broken JSON": ('{"a": 1}\n{"a": }\n', "line 2, column 7: is JSON with a fault"),
    "JSON of numbers and records": ('{"a": 1}\n3\n', "JSON lines that are no records"),
    "very many keys": (f"[{{{', '.join(f'{chr(34)}k{i}{chr(34)}: 1' for i in range(2500))}}}]", "2,500 different keys"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_table_is_named(tmp_path: Path, case: str) -> None:
    text, message = REFUSED[case]
    with pytest.raises(TableError) as caught:
        read(tmp_path, text)
    assert message in str(caught.value)


def test_deep_json_is_cut_and_long_lists_are_left_out(tmp_path: Path) -> None:
    deep = "1"
    for _ in range(30):
        deep = f'{{"in": {deep}}}'
    columns = read(tmp_path, f'[{{"s": 9, "deep": {deep}, "all": [{", ".join(["1.5"] * 100_000)}]}}]')
    assert columns == {"s": ["9"]}


def test_a_fault_is_named_where_it_stands_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("# cluster b\nnet,1 GPU,4 GPUs,8 GPUs\na,9 s,5 s,fast\n\nb,8 s,0 s,2 s\n", encoding="utf-8")
    with pytest.raises(TableError) as caught:
        read_table(path, time="value", extrinsic="GPUs", categorical="net")
    assert "line 3, column '8 GPUs': 'fast' is not a number" in str(caught.value)
    assert "line 5, column '4 GPUs': '0 s' is zero" in str(caught.value)


def test_columns_that_the_user_names_stay_wide(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("batch,1 GPU,4 GPUs\n8,9,5\n16,17,8\n", encoding="utf-8")
    table = read_table(path, time="1 GPU", intrinsic="batch")
    assert table.measured.tolist() == [9.0, 17.0]
    assert not table.notes


def test_levels_filters_and_units_read_the_cells_as_written(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("memory,time,used\n16GB,500 ms,1.5 GB\n32GB,300 ms,2.5 GB\n", encoding="utf-8")
    table = read_table(path, time="time", categorical="memory")
    assert table.factor("memory").levels == ("16GB", "32GB")
    assert table.measured.tolist() == [0.5, 0.3]
    assert read_table(path, time="time", unit="ms", intrinsic="memory").measured.tolist() == [0.5, 0.3]
    assert len(read_table(path, time="time", intrinsic="memory", where="memory == '16GB'")) == 1
    assert read_table(path, time="time", intrinsic="x", let="x=memory*2").measured.tolist() == [0.5, 0.3]
    assert read_table(path, quantity="used", intrinsic="memory").target.unit == "GB"
    with pytest.raises(TableError, match="are in GB, which is no unit of time"):
        read_table(path, time="used", intrinsic="memory")


def test_a_level_that_was_not_measured_is_taken_apart_alike(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("card,gpus,rate\nA100 80GB,1,10\n2x A100 80GB,2,19\nV100,1,4\n", encoding="utf-8")
    assert understood(path).names["card"].of("8x A100 80GB") == {"gpus": 8.0, "card kind": "A100 80GB"}


def test_several_files_report_the_steps_of_each(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("gpus,s\n1,9\n,\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("gpus,s\n-,ms\n2,5\n", encoding="utf-8")
    with pytest.raises(TableError, match="has the columns gpus, s"):
        open_files([str(tmp_path / "*.csv")])
    (tmp_path / "b.csv").write_text("gpus,s\n2,5\n,\n\ngpus,s\n4,3\n", encoding="utf-8")
    source = open_files([str(tmp_path / "*.csv")])
    assert source.columns["gpus"].tolist() == ["1", "2", "4"]
    assert [str(step) for step in source.steps] == [
        "1 row without a filled cell left out (in 2 of 2 files)",
        "2 tables of the same columns read as one (in 1 of 2 files)",
    ]


def test_thousands_of_rows_take_no_rule_of_each_cell(tmp_path: Path) -> None:
    plain = "n,s\n" + "".join(f"{i},{i}.5\n" for i in range(20_000))
    path = tmp_path / "runs.csv"
    path.write_text(plain, encoding="utf-8")
    parts_of.cache_clear()
    assert len(understood(path).lines) == 20_000
    assert parts_of.cache_info().misses < 10


def test_check_shows_and_writes_the_table_as_understood(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "runs.csv", tmp_path / "out.csv"
    path.write_text("net,1 GPU,4 GPUs\na,9 s,5 s\nb,8 s,4 s\n", encoding="utf-8")
    assert run(["check", str(path), "--as-read", str(out)]) == 0
    assert out.read_text(encoding="utf-8") == "net,GPUs,value\na,1,9 s\na,4,5 s\nb,1,8 s\nb,4,4 s\n"
    printed = capsys.readouterr()
    assert "4 rows, 3 columns" in printed.out
    assert "4 cells: unit 's' removed from 'value'" in printed.out + printed.err
    roles = ["--time", "value", "--extrinsic", "GPUs", "--categorical", "net", "--json"]
    answers = []
    for name in (path, out):
        assert run(["check", str(name), *roles]) == 0
        answers.append(json.loads(capsys.readouterr().out))
    assert answers[0]["sha256"] == answers[1]["sha256"]


def test_a_drawing_and_titles_that_a_column_repeats_are_left_unsaid(tmp_path: Path) -> None:
    drawing = lines("| `train` | `data` |", "|---|---|", "| a | b |", "")
    tables = lines(
        "### 3x3", "", "| gpus | atoms | s |", "|---|---|---|", "| 1 | 27 | 9 |", "| 2 | 27 | 5 |", "",
        "### 4x4", "", "| gpus | atoms | s |", "|---|---|---|", "| 1 | 64 | 19 |", "| 2 | 64 | 11 |",
    )  # fmt: skip
    (tmp_path / "runs.md").write_text(drawing + tables)
    source = understood(tmp_path / "runs.md")
    assert [*source.columns] == ["gpus", "atoms", "s"]
    assert [str(step) for step in source.steps] == [
        "4 rows read from a table drawn with | and -",
        "2 tables of the same columns read as one",
    ]
