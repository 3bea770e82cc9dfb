"""Roles guessed from the names of columns."""

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers import cases_in_text

import genperf as gp
from genperf.errors import TableError
from genperf.panel.evidence import measurement_of_column
from genperf.panel.options import Roles
from genperf.panel.reading import read_columns
from genperf.table.opened import understood

NUMBERS = [1.0, 2.0, 4.0, 8.0]


STEP = {"gpus": NUMBERS, "step_s": NUMBERS}
LAYOUT = {"gpus": NUMBERS, "dp": NUMBERS, "gbs": NUMBERS, "samples/s": [93.1, 85.2, 71.3, 60.4]}
RATES = {"gpus": NUMBERS, "train_runtime": NUMBERS, "train_samples_per_second": NUMBERS}
LINES = {"iteration": [1, 2, 1, 2], "gpus": [8, 8, 16, 16], "iter_time": NUMBERS}
HOURS = {"gpus": [4, 4, 8, 16, 16], "mbs": [8, 16, 8, 8, 16], "wall (h)": [2.4, 2.4, 1.4, 0.9, 0.9]}
SHARES = {"gpus": [1, 2, 4], "a TFLOP/s/GPU": [1024.4, 1007.7, 985.2], "b / a": ["99.7 %", "102.3 %", "103.4 %"]}
SIZES = {"n": [64, 64, 128, 128], "threads": [1, 2, 1, 2], "time_s": [1.12, 0.63, 2.31, 1.24]}


#: What columns are → the columns, and the roles that they get; a role of None is not there.
@cases_in_text("case, columns, roles")
def test_columns_have_roles(case: str, columns: Any, roles: Any) -> None:
    guessed = read_columns(columns).roles.texts
    assert {role: guessed.get(role) for role in roles} == roles


def test_kinds_of_columns() -> None:
    columns = {
        "world_size": NUMBERS,
        "hosts": [1, 1, 1, 2],
        "micro_batch": [1, 2, 1, 2],
        "params": [1e9, 1e9, 7e9, 7e9],
        "gpu": ["A100", "H100", "A100", "H100"],
        "name": ["r1", "r2", "r3", "r4"],
        "mfu": NUMBERS,
        "tokens_per_s": NUMBERS,
        "seed": [0, 1, 0, 1],
    }
    guess = read_columns(columns)
    assert guess.roles.texts == {
        "throughput": "tokens_per_s",
        "extrinsic": "world_size,hosts",
        "intrinsic": "micro_batch,params",
        "categorical": "gpu",
        "repeat": "seed",
    }
    assert guess.scale == "world_size"
    assert guess.left_out == ("name", "mfu")


def test_where_a_run_was_written_down_is_no_factor() -> None:
    columns = {
        "gpus": NUMBERS,
        "layers": [2, 4, 2, 4],
        "network": ["vgg", "bert", "vgg", "bert"],
        "source": ["a.md", "b.md", "b.md", "a.md"],
        "step_s": NUMBERS,
    }
    guess = read_columns(columns)
    assert guess.roles.texts["categorical"] == "network"
    assert guess.left_out == ("source",)
    # It may tell series apart.
    several = {"network": [n for n in ("vgg", "bert") for _ in range(8)], "source": (["a.md"] * 4 + ["b.md"] * 4) * 2}
    series = {"gpus": NUMBERS * 4, "step_s": NUMBERS * 4, **several}
    assert read_columns(series).roles.texts["group"] == "network,source"
    # Not where each run was written down in a place of its own: 2 networks x 8 lines are 16 runs.
    lines = [f"a.md:{line}" for line in range(8)] * 2
    assert read_columns({**series, "source": lines}).roles.texts["group"] == "network"


def test_batches_name_series_only_beside_what_names_them() -> None:
    """A folder of a file for each count is read as one table of the same rows."""
    counts, batches = [1, 2, 4, 8] * 2, [16] * 4 + [32] * 4
    columns = {"gpus": counts, "batch_per_gpu": batches, "step_s": [0.1 + 0.01 * n for n in range(8)]}
    files = {"file": [f"bench_{count}" for count in counts], **columns}
    for read in (columns, files):
        roles = read_columns(read).roles.texts
        assert (roles["intrinsic"], "group" in roles) == ("batch_per_gpu", False)


def test_what_other_columns_tell_is_no_factor() -> None:
    columns = {
        "gpus": [1, 2, 4] * 4,
        "net": ["a", "b"] * 6,
        "gpu": (["x"] * 6 + ["y"] * 6),
        "config": [f"{net}-{gpu}" for net, gpu in zip(["a", "b"] * 6, ["x"] * 6 + ["y"] * 6, strict=True)],
        "run_set": ["main", "again", "main"] * 4,
        "xla": [0, 1, 1, 0] * 3,
        "batch": [16, 32, 64, 16, 32, 64] * 2,
        "layers": [2, 4, 2, 2] * 3,
        "threads_left_empty": [""] * 9 + [1, 2, 4],
        "step_s": [1.0 + 0.1 * k for k in range(12)],
        "overlap_s": [0.1] * 12,
    }
    columns["global_batch"] = [b * n for b, n in zip(columns["batch"], columns["gpus"], strict=True)]
    guess = read_columns(columns)
    assert guess.roles.texts == {
        "time": "step_s",
        "extrinsic": "gpus",
        "intrinsic": "batch,layers",
        "categorical": "net,gpu,xla",
    }
    assert set(guess.left_out) == {"config", "run_set", "threads_left_empty", "overlap_s", "global_batch"}
    # What a question names is a factor all the same.
    asked = read_columns(columns, at={"config": "x-y", "global_batch": "64"})
    assert "config" in asked.roles.texts["categorical"].split(",")
    # But the machine has the batch of all, and a question of it changes no reading.
    assert "global_batch" not in asked.roles.columns


@cases_in_text("name, cells, options")
def test_a_ratio_alone_is_read_as_a_throughput(name: str, cells: list[float], options: str) -> None:
    gpus = [1, 2, 4, 8]
    assert options in read_columns({"gpus": gpus, name: cells}).options
    # Beside a time it stays what is computed from it.
    assert "--time t" in read_columns({"gpus": gpus, name: cells, "t": [9.0, 4.8, 2.6, 1.4]}).options


@cases_in_text("names, derived")
def test_tokens_per_second_of_a_layout_are_a_step(names: list[str], derived: str) -> None:
    cells = {name: [1.0, 2.0, 4.0, 8.0] for name in names} | {names[-1]: [93.1, 85.2, 71.3, 60.4]}
    guess = read_columns(cells)
    assert guess.roles.texts["time"] == "step_time_s"
    # Nodes do not count the devices, which are the scale.
    assert guess.derived == {"step_time_s": derived, **({"devices": "dp*pp"} if "nodes" in names else {})}
    assert guess.scale == ("devices" if "nodes" in names else "gpus")


def test_rates_in_other_units_are_rates_a_second() -> None:
    assert measurement_of_column("tokens/day (B)", [], "gpus")[1] == {
        "tokens per second": "`tokens/day (B)`*1e+09/86400"
    }
    assert measurement_of_column("s/kimg", [], "gpus")[1] == {"images per second": "1000.0/`s/kimg`"}


def test_the_batch_of_a_pass_is_that_of_a_worker_where_no_step_has_several() -> None:
    columns = {"gpus": NUMBERS, "per_device_train_batch_size": [4, 4, 4, 4], "step_s": NUMBERS}
    assert read_columns(columns).roles.texts["intrinsic"] == "per_device_train_batch_size"
    networks = {n: cells * 4 for n, cells in columns.items()} | {"model": ["a"] * 8 + ["b"] * 8}
    networks["per_device_train_batch_size"] = ([4] * 4 + [8] * 4) * 2
    assert read_columns(networks).roles.texts["group"] == "model,per_device_train_batch_size"


@cases_in_text("columns, roles, left_out")
def test_what_stands_beside_a_step(columns: dict, roles: dict[str, str], left_out: list[str]) -> None:
    guess = read_columns(columns)
    assert guess.roles.texts == {"time": "step_s", "extrinsic": "gpus", **roles}
    assert [*guess.left_out] == left_out


@cases_in_text("names, taken")
def test_of_several_statistics_one_is_measured(names: tuple[str, ...], taken: str) -> None:
    roles = read_columns({"gpus": NUMBERS, **dict.fromkeys(names, NUMBERS)}).roles.texts
    assert {roles.get("time"), roles.get("throughput")} == {taken, None}


def test_what_is_asked_and_given_is_read() -> None:
    # Where sizes of a network alone vary, all ran on one worker.
    sizes = {"image": [64, 128, 64, 128], "patch": [8, 16, 16, 8], "lstm_units": [16, 16, 32, 32]}
    assert read_columns({**sizes, "step_s": NUMBERS}).roles.texts["intrinsic"] == "image,patch,lstm_units"
    columns = {"cluster_size": NUMBERS, **STEP}
    assert read_columns(columns, at={"cluster_size": "16"}).scale == "gpus"
    given = {"skip_bad_rows": True, "let": ("x=2*gpus",), "failed": ("state=oom",), "work": "32*gpus"}
    roles = read_columns(STEP, Roles.of(given)).roles.texts
    assert roles == {"time": "step_s", "failed": "state=oom", "extrinsic": "gpus"}
    # Options are quoted for a shell.
    options = read_columns({"world size": NUMBERS, "Time per epoch (s)": NUMBERS}).options
    assert options == "--time 'Time per epoch (s)' --extrinsic 'world size'"
    # The throughput of one worker is that of all over their number.
    guess = read_columns({"# GPUs": NUMBERS, "Tokens/sec/GPU": NUMBERS})
    assert guess.derived == {"tokens per second": "`Tokens/sec/GPU`*`# GPUs`"}
    assert (guess.roles.texts["throughput"], guess.left_out) == ("tokens per second", ())


@cases_in_text("columns, message, hint")
def test_what_cannot_be_read_is_told_what_to_write(columns: dict[str, list], message: str, hint: str) -> None:
    with pytest.raises(TableError, match=message) as caught:
        read_columns(columns)
    assert hint in str(caught.value.hint)


def test_a_number_that_several_sizes_give_is_no_setting() -> None:
    layers, hidden, batch = (np.array(values) for values in zip(*product((2, 4), (16, 32), (8, 16)), strict=True))
    sizes = {"layers": layers, "hidden": hidden, "batch": batch, "weights": layers * hidden**2 + 10 * hidden}
    columns = {name: values.tolist() for name, values in sizes.items()} | {
        "step_s": (0.17 + 1e-5 * layers * hidden * batch).tolist()
    }
    assert read_columns(columns).roles.texts["intrinsic"] == "layers,hidden,batch"
    # A question that names it asks for it.
    assert "weights" in read_columns(columns, at={"weights": "5000"}).roles.columns


def test_a_share_of_two_columns_or_a_sequential_time_is_not_what_was_measured() -> None:
    source = understood(pd.DataFrame(SHARES))
    reading = read_columns(source.columns, units=source.units)
    assert (reading.quantities[0], reading.table_columns["b / a"].role) == ("a TFLOP/s/GPU", "ratio")
    reading = read_columns({"threads": [1, 2, 4], "Serial (s)": [6.6, 15.4, 30.8], "OpenMP (s)": [6.5, 7.5, 7.2]})
    assert reading.quantities == ("OpenMP (s)", "Serial (s)")


def test_steps_of_slurm_jobs_are_no_runs() -> None:
    columns = {"JobID": ["7", "7.batch", "8", "8.batch"], "NNodes": [2, 1, 4, 1], "Elapsed": ["00:10:00"] * 4}
    source = understood(pd.DataFrame(columns))
    assert source.cells["JobID"].tolist() == ["7", "8"]
    assert source.steps[-1].text == "2 steps of jobs beside the jobs left out"
    assert understood(pd.DataFrame({**columns, "JobID": [7.0, 8.0, 9.0, 10.0]})).steps == ()


@pytest.mark.parametrize(
    ("numbers", "role"), [([1, 2, 4, 8, 16], "setting"), ([4711, 4712, 4713, 4714, 4715], "label")]
)
def test_numbers_that_double_beside_a_count_that_stays_are_no_names(numbers: list[int], role: str) -> None:
    reading = read_columns({"inflight": numbers, "gpus": [8] * 5, "req_per_s": [54.4, 106.0, 204.0, 384.0, 695.0]})
    assert reading.columns["inflight"].role == role
    assert reading.scale == ("inflight" if role == "setting" else "gpus")


def test_names_that_tell_runs_of_the_same_numbers_apart_are_compared_as_they_were_measured() -> None:
    times = {"p3.8xlarge": (4, 31.2), "p3.16xlarge": (8, 16.0), "p4d.24xlarge": (8, 7.6), "g5.48xlarge": (8, 14.1)}
    runs = pd.DataFrame([(name, *of) for name, of in times.items()], columns=["instance", "GPUs", "epoch (min)"])
    for over in (None, "instance"):
        ranked = gp.compare(runs, over=over).table
        assert list(ranked["instance"]) == sorted(times, key=lambda name: times[name][1])
        assert list(ranked["time"]) == pytest.approx(sorted(60 * minutes for _, minutes in times.values()), rel=0.01)


def test_an_epoch_of_as_many_steps_at_every_count_is_no_work_that_all_share() -> None:
    runs = pd.DataFrame({"npus": [8, 16, 32, 64], "epoch (s)": [230.4, 232.1, 234.9, 237.4]})
    runs["step (ms)"] = runs["epoch (s)"] / 625 * 1000
    answer = gp.ask(runs, npus=128)
    assert answer.answers[0].quantity == "step (ms)"
    assert answer.numbers["efficiency"] > 0.9


GRID = {"topology": ["2x2x2", "2x2x4", "2x4x4", "4x4x4"], "chips": [8, 16, 32, 64], "step_s": [1.3, 1.33, 1.37, 1.42]}
NAMED = {
    "resolution": ["ne30"] * 4 + ["ne120"] * 4,
    "nodes": [8, 16, 32, 64] * 2,
    "SYPD": [3.8, 7.2, 12.7, 20.3, 0.2, 0.4, 0.78, 1.55],
}


@cases_in_text("columns, asked, alike")
def test_a_count_is_asked_for_by_any_of_its_names(
    columns: dict[str, list[object]], asked: dict[str, object], alike: dict[str, object]
) -> None:
    runs = pd.DataFrame(columns)
    answer, other = gp.ask(runs, at=asked), gp.ask(runs, at=alike)
    assert answer.value == pytest.approx(other.value)
    assert answer.facts.growth.target.count == other.facts.growth.target.count


def test_an_amount_that_is_put_in_is_a_setting() -> None:
    rows = [(n, tb, tb * 160 / n + 5) for n in (10, 20, 40, 80) for tb in (1, 2)]
    runs = pd.DataFrame(rows, columns=["executors", "input TB", "runtime (min)"])
    assert gp.ask(runs).reading.roles.intrinsic == ("input TB",)


def test_a_mapped_column_is_a_factor_even_of_one_value() -> None:
    runs = {
        "crew": [1, 2, 4, 8],
        "rows": [16] * 4,
        "payload": [1e6] * 4,
        "other": [3] * 4,
        "step_s": [1.0, 1.2, 1.5, 2],
    }
    reading = read_columns(runs, mapping={"workers": "crew", "batch": "rows", "bytes": "payload"})
    assert reading.roles.intrinsic == ("payload",)
    assert {*reading.roles.extrinsic} == {"crew", "rows"}
    assert str(reading.columns["payload"].role) == "setting"
