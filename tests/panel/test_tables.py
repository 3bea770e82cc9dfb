"""Tables as people keep them: what each column is read as, and what the question makes of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import pytest

import genperf as gp
from genperf.panel.reading import read_columns
from genperf.table.opened import understood


@dataclass(frozen=True)
class Case:
    """A table, a question, and what is to be read: the scale, the quantities in order, and some columns' roles."""

    text: str
    at: dict[str, str]
    scale: str
    quantities: tuple[str, ...]
    roles: dict[str, str] = field(default_factory=dict)
    #: The columns whose levels are series; empty where the table is read as one.
    group: str = ""
    want: str | None = None


CASES = {
    "a count that is on no list": Case(
        "kerne,Dauer (s)\n1,812.4\n2,431.7\n4,240.9\n8,151.2\n", {"kerne": "16"}, "kerne", ("Dauer (s)",)
    ),
    "letters for names": Case(
        "p,t\n1,91.25\n2,47.13\n4,25.84\n8,15.97\n", {"p": "32"}, "p", ("t",), {"p": "setting", "t": "measured"}
    ),
    "a speedup and an efficiency are ratios": Case(
        "procs,wall,speedup,eff\n1,80.31,1.00,100%\n2,41.86,1.92,96%\n4,22.67,3.54,89%\n8,13.12,6.12,77%\n",
        {"procs": "16"}, "procs", ("wall",), {"speedup": "ratio", "eff": "ratio"},
    ),
    "an ideal speedup was not measured": Case(
        "GPUs,Speedup (ideal),Speedup (measured)\n1,1,1\n2,2,1.93\n4,4,3.7\n8,8,7.0\n", {"GPUs": "64"}, "GPUs",
        ("Speedup (measured)",), {"Speedup (ideal)": "spread"},
    ),
    "a speedup without its name": Case(
        "cores,seconds,vs one\n1,80.31,1.00\n2,41.86,1.92\n4,22.67,3.54\n8,13.12,6.12\n16,8.91,9.01\n", {"cores": "32"},
        "cores", ("seconds",), {"vs one": "consequence"},
    ),
    "the throughput of another network is no factor": Case(
        "gpus,netA,netB,netC\n1,361,1204,52\n2,703,2391,99\n4,1377,4702,191\n8,2631,9013,365\n", {"gpus": "16"}, "gpus",
        ("netA", "netB", "netC"),
    ),
    "a mean beside its deviation": Case(
        "n_envs,thr_mean,thr_std\n256,9120.4,88.1\n512,18077.9,71.6\n1024,35410.2,204.7\n2048,66201.8,690.3\n",
        {"n_envs": "8192"}, "n_envs", ("thr_mean",), {"thr_std": "spread"},
    ),
    "users and the counters of a server": Case(
        "users,total_time,ok,failed,total_tokens,tokens_per_second\n"
        "1,11.31,1,0,512,45.27\n2,11.62,2,0,1024,88.12\n3,12.05,3,0,1536,127.47\n4,12.61,4,0,2048,162.41\n",
        {"users": "8"}, "users", ("tokens_per_second", "total_time"),
        {"ok": "consequence", "total_tokens": "consequence", "failed": "constant"},
    ),
    "watts that follow the devices": Case(
        "card,num_gpu,watt,img\nA,1,300,511\nA,2,600,997\nA,4,1200,1931\nB,1,400,803\nB,2,800,1561\nB,4,1600,3027\n",
        {"card": "B", "num_gpu": "8", "watt": "3200"}, "num_gpu", ("img",), {"watt": "setting", "card": "kind"}, "card",
    ),
    "a global batch that stays": Case(
        "mode,world_size,bs,gbs,img_per_s\nstrong,1,64,64,371.2\nstrong,2,32,64,640.5\nstrong,4,16,64,981.3\n"
        "weak,1,64,64,371.2\nweak,2,64,128,733.8\nweak,4,64,256,1429.6\n",
        {"mode": "strong", "world_size": "8", "bs": "8", "gbs": "64"}, "world_size", ("img_per_s",), {"mode": "kind"},
        "mode",
    ),
    "the tensor ways of a server": Case(
        "tp,load,conc,prompts,out_tps,ttft_ms\n1,long,1,32,27.31,93.4\n1,long,8,48,203.6,549.1\n"
        "2,long,1,32,46.92,66.7\n2,long,8,48,341.8,321.9\n", {"tp": "4", "load": "long", "conc": "8"}, "tp",
        ("out_tps", "ttft_ms"), {"conc": "setting", "prompts": "setting"},
    ),
    "nodes and the processes on them": Case(
        "nodes,nproc,total time\n1,48,171.3\n2,96,87.9\n4,192,45.8\n8,384,24.6\n", {"nodes": "32", "nproc": "1536"},
        "nproc", ("total time",),
    ),
    "a throughput of one device beside that of all": Case(
        "Nodes,GPUs,TPS/GPU,Total TPS,MFU\n1,8,6457,51656,41%\n2,16,6121,97936,39%\n4,32,5987,191584,38%\n",
        {"Nodes": "16", "GPUs": "128"}, "GPUs", ("Total TPS", "TPS/GPU"), {"MFU": "ratio"},
    ),
    "units in the cells": Case(
        "Machines,per tree,used\n1,627.8 s,176GB\n2,311 s,87GB\n4,156 s,43GB\n", {"Machines": "8"}, "Machines",
        ("per tree", "used"),
    ),
    "a size that is scaled, not workers": Case(
        "x,Total runtime\n1,23.18\n2,24.73\n4,27.51\n8,33.54\n16,45.31\n", {"x": "64"}, "x", ("Total runtime",)
    ),
    "a job's number and its date": Case(
        "job_id,date,gpus,step_s\n7101,2024-01-02,1,1.02\n7102,2024-01-02,2,1.11\n7107,2024-01-03,4,1.21\n",
        {"gpus": "8"}, "gpus", ("step_s",), {"job_id": "label", "date": "label"},
    ),
    "parameters name the model": Case(
        "model,params,gpus,tok_s\nm-7b,7e9,8,21100.5\nm-7b,7e9,16,41502.1\nm-30b,3e10,8,5210.7\nm-30b,3e10,16,10233.9\n"
        "m-30b,3e10,32,20011.2\n", {"params": "30B", "gpus": "64"}, "gpus", ("tok_s",), {"params": "setting"},
    ),
    "Spanish": Case(
        "# Nodos,Tiempo (ms)\n1,691.9\n2,451.1\n4,453.4\n8,547.9\n", {"# Nodos": "16"}, "Nodos", ("Tiempo (ms)",)
    ),
    "French": Case("coeurs,durée\n1,912.4\n2,471.7\n4,250.9\n8,141.2\n", {"coeurs": "16"}, "coeurs", ("durée",)),
    "Chinese": Case("卡数,吞吐量\n1,312.4\n2,618.9\n4,1201.7\n8,2309.6\n", {"卡数": "32"}, "卡数", ("吞吐量",)),
    "Vietnamese": Case(
        "số GPU,thời gian (s)\n1,612.4\n2,318.9\n4,171.7\n8,99.6\n", {"số GPU": "16"}, "số GPU", ("thời gian (s)",)
    ),
    "what is wanted comes first": Case(
        "gpus,step_s,peak_gb\n1,1.02,31.4\n2,1.11,31.9\n4,1.21,32.1\n", {"gpus": "8"}, "gpus", ("peak_gb", "step_s"),
        want="memory",
    ),
    "several kinds and one series": Case(
        "net,link,gpus,img\na,ib,1,251.3\na,ib,2,493.1\na,ib,4,971.8\na,tcp,1,250.7\na,tcp,2,403.9\na,tcp,4,733.1\n"
        "b,ib,1,91.3\nb,ib,2,179.9\nb,ib,4,351.1\nb,tcp,1,91.2\nb,tcp,2,150.8\nb,tcp,4,261.7\n",
        {"net": "b", "link": "tcp", "gpus": "8"}, "gpus", ("img",), {"net": "kind", "link": "kind"}, "net,link",
    ),
    "times with and without something": Case(
        "procs,t_wall_with_comm,t_wall_no_comm,volume_MB\n1,81.2,80.1,0.5\n2,43.9,41.2,12.1\n4,25.8,22.4,18.3\n",
        {"procs": "8"}, "procs", ("t_wall_with_comm", "t_wall_no_comm", "volume_MB"),
    ),
    "the time of one worker in each row is that of no other count": Case(
        "threads,serial (s),openmp (s),mpi (s)\n1,53.223,54.56,53.04\n2,53.223,25.82,26.79\n4,53.223,12.81,\n",
        {"threads": "8"}, "threads", ("openmp (s)", "mpi (s)", "serial (s)"),
    ),
    "a rate of one device makes that of all with an efficiency beside it": Case(
        "gpus,images_per_sec_single_gpu,efficiency\n1,390,100%\n8,390,96%\n16,390,94%\n", {"gpus": "64"}, "gpus",
        ("images per s",), {"images_per_sec_single_gpu": "constant"},
    ),
    "a size of the network in billions is not measured": Case(
        "gpus,model size,TFLOP/s/GPU\n32,1.7B,137\n64,3.6B,138\n128,7.5B,142\n", {"gpus": "256"}, "gpus",
        ("TFLOP/s/GPU",), {"model size": "setting"},
    ),
    "a phase is less than the time of a sample": Case(
        "gpus,forward_ms,optimizer_ms,loader_ms,memory_GiB,ms per sample\n1,43.4,24.1,1.6,8.1,22.4\n"
        "2,53.9,10.6,2.8,5.5,11.3\n4,54.2,10.9,2.9,5.4,5.9\n",
        {"gpus": "8"}, "gpus", ("ms per sample", "forward_ms", "optimizer_ms", "loader_ms", "memory_GiB"),
    ),
    "a column with the fewest empty cells comes first": Case(
        "gpus,one (ms),copies (ms),ring (ms)\n1,0.52,,0.54\n2,,0.31,0.28\n4,,0.18,0.15\n8,,0.14,0.08\n", {"gpus": "16"},
        "gpus", ("ring (ms)", "copies (ms)", "one (ms)"),
    ),
    "a linear speedup follows from the time, not from the count": Case(
        "cores,took (s),gain\n1,80.4,1.00\n2,40.2,2.00\n4,20.1,4.00\n", {"cores": "8"}, "cores", ("took (s)",),
        {"gain": "consequence"},
    ),
    "two rows": Case("gpus,images/s\n1,410.2\n2,792.5\n", {"gpus": "8"}, "gpus", ("images/s",)),
    "one row": Case("gpus,images/s\n8,2905.4\n", {"gpus": "64"}, "gpus", ("images/s",)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_meaning_of_each_column(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    (tmp_path / "runs.csv").write_text(case.text, encoding="utf-8")
    source = understood(str(tmp_path / "runs.csv"))
    reading = read_columns(source.columns, at=case.at, want=case.want, units=source.units)
    assert (reading.scale, reading.quantities) == (case.scale, case.quantities)
    assert {n: reading.table_columns[n].role for n in case.roles} == case.roles
    assert all(meaning.reasons for meaning in reading.table_columns.values())
    assert reading.roles.texts.get("group", "") == case.group


def test_a_table_of_another_library_is_read_as_a_frame() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    runs = {"gpus": [1, 2, 4, 8], "images/s": [410.2, 792.5, 1530.0, 2905.0]}
    pd.testing.assert_frame_equal(gp.read_table(pyarrow.table(runs)).frame, gp.read_table(pd.DataFrame(runs)).frame)


def test_names_that_tell_runs_of_the_same_numbers_apart_are_kinds() -> None:
    """A run of each device, up to four times as fast; three runs of one job, alike, are repeats of it."""
    devices = pd.DataFrame({"GPU": ["V100", "A100", "H100"], "gpus": 8, "step_s": [0.41, 0.19, 0.1]})
    assert gp.ask(devices, at={"GPU": "H100"}).answers[0].value == pytest.approx(0.1, rel=0.1)
    jobs = devices.assign(GPU=["run-a", "run-b", "run-c"], step_s=[0.41, 0.4, 0.42])
    assert gp.ask(jobs).answers[0].value == pytest.approx(0.41, rel=0.02)
