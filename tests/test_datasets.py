import numpy as np
import pandas as pd
import pytest

from experiments.tables import compile_dlperf
from genperf import datasets
from genperf.errors import TableError

KEY = ["config", "batch_per_device", "nodes", "devices"]
#: Rows and configurations of each table.
ROWS = {
    "allreduce_vs_server": (918, 306),
    "bigscience": (259, 125),
    "causes": (216, 108),
    "core_experiment": (1440, 480),
    "dlperf": (953, 468),
    "dlperf_gpt": (50, 46),
    "dlperf_insightface": (128, 104),
    "dlperf_widedeep": (202, 198),
    "gpu_cnn": (1152, 576),
    "gpu_transformer": (288, 144),
    "initialisation": (144, 48),
    "libai": (84, 84),
    "links": (15, 3),
    "overlap": (348, 116),
    "partitioned": (510, 170),
    "pytorch_cpu": (759, 253),
    "rubick": (535, 522),
    "server_knee": (96, 32),
    "single_worker": (576, 192),
    "whole_jobs": (252, 126),
}
#: Rows that a load leaves out: the source does not state their layout.
#: A transformer's shape and batch tell how many micro-batches and layers a step has, also where they never vary.
CONSTANT = {"partitioned": ("num_layers", "global_batch")}
LEFT_OUT = {"bigscience": 57, "rubick": 6}
TIMES = {"initialisation": "startup_s", "links": "transfer_s", "whole_jobs": "job_s"}


def test_every_table_is_listed():
    assert set(datasets.names()) == set(ROWS)
    shipped = {p.stem for p in datasets.path("dlperf").parent.glob("*.csv")}
    assert shipped == {*datasets.names(), "columns"}


@pytest.mark.parametrize("name", ROWS)
def test_a_table_loads_whole_and_every_column_and_its_source_are_explained(name):
    table, frame, dictionary = datasets.load(name), datasets.frame(name), datasets.columns(name)
    text = datasets.describe(name)
    rows, configurations = ROWS[name]
    assert len(table) + LEFT_OUT.get(name, 0) == rows == len(frame)
    assert len(table.medians()) == configurations
    assert table.rejected == ()
    assert table.constant == CONSTANT.get(name, ())
    assert table.source == f"{name}.csv"
    assert dictionary["column"].tolist() == list(frame.columns)
    assert (dictionary["meaning"] != "").all()
    units, time = dictionary.set_index("column")["unit"], TIMES.get(name, "step_time_s")
    assert units[time] == "s"
    assert (units[[f.name for f in table.numeric]] != "").all()
    assert text.startswith(name + "\n\n")
    assert len(text.partition("\n\nColumns\n")[0]) > 200
    assert f"  {time} [s]: " in text


def test_an_unknown_table_is_named():
    for act in (datasets.load, datasets.frame, datasets.path, datasets.describe):
        with pytest.raises(TableError, match="did you mean 'dlperf'"):
            act("dlpref")


def test_roles_can_be_replaced():
    table = datasets.load("dlperf", categorical="", group="config,batch_per_device", where="framework == 'mxnet'")
    assert table.categorical == ()
    assert set(table.frame["framework"]) == {"mxnet"}
    by_speed = datasets.load("dlperf", time=None, throughput="samples_per_s", work="global_batch")
    assert by_speed.measured == pytest.approx(datasets.load("dlperf").measured, rel=1e-7)


def test_the_roles_leave_nothing_but_repeats():
    table = datasets.load("dlperf")
    configurations = table.frame.groupby(table.configuration)
    assert configurations["config"].nunique().max() == 1
    assert not any(note.kind == "configuration_mixed" for note in table.notes)
    assert table.noise() < 0.02


def test_published_runs_stand_where_they_match():
    frame = datasets.frame("dlperf")
    figures = frame[frame["run_set"] == "table"]
    assert len(figures) == 370
    assert (figures["repeat"] == 0).all()
    assert (figures["samples_per_s"] == figures["table_samples_per_s"]).all()
    assert (frame[frame["run_set"] != "table"]["repeat"] > 0).all()


def test_runs_replace_only_the_figures_they_match():
    summary = pd.DataFrame(
        {
            "config": ["a", "b", "c"],
            "loader_workers": ["", "8", ""],
            "batch_per_device": "8",
            "nodes": "1",
            "devices": "2",
            "samples_per_s": ["160", "150", "140"],
            "global_batch": "16",
            "step_time_s": ["0.1", "0.1066", "0.1143"],
            "source": "README.md",
        }
    )
    runs = summary.loc[[0, 0, 0, 2]].assign(
        run_set="logs",
        repeat=["3", "1", "2", "1"],
        samples_per_s=["160", "80", "320", "1"],
        step_time_s=["0.1", "0.2", "0.05", "16"],
        matches_table=["1", "1", "1", "0"],
    )
    joined = compile_dlperf.join(summary, runs)
    assert joined["config"].tolist() == ["a", "a", "a", "b", "c"]
    assert joined["repeat"].tolist() == ["3", "1", "2", "0", "0"]
    assert joined["step_time_s"].tolist() == ["0.1", "0.2", "0.05", "0.1066", "0.1143"]
    assert joined["run_set"].tolist() == ["logs"] * 3 + ["table"] * 2
    assert joined["table_samples_per_s"].tolist() == ["160"] * 3 + ["150", "140"]
    assert joined["loader_workers"].tolist() == ["unspecified"] * 3 + ["8", "unspecified"]


def test_joining_again_gives_the_same_table(tmp_path, capsys):
    """The joined table taken apart and joined again is itself."""
    joined = pd.read_csv(datasets.path("dlperf"), dtype=str, keep_default_na=False)
    runs = joined[joined["run_set"] != "table"]
    first = joined.drop_duplicates(KEY)
    step = first["global_batch"].astype(float) / first["table_samples_per_s"].astype(float)
    times = np.where(first["run_set"] == "table", first["step_time_s"], step.map(repr))
    summary = first.assign(samples_per_s=first["table_samples_per_s"], step_time_s=times)
    summary.drop(columns=["run_set", "repeat", "table_samples_per_s"]).to_csv(tmp_path / "summary.csv", index=False)
    runs.drop(columns="table_samples_per_s").assign(matches_table="1").to_csv(tmp_path / "repeats.csv", index=False)
    compile_dlperf.run(*(tmp_path / n for n in ("summary.csv", "repeats.csv", "out.csv")))
    assert (tmp_path / "out.csv").read_text() == datasets.path("dlperf").read_text()
    assert "468 figures, 583 runs in the place of 98; 953 rows" in capsys.readouterr().out
