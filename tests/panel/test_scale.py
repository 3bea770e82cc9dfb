"""What is the scale of a table: the cases of series, of groups that share constants, and of efficiency."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers import cases_in_text, panel_with, runs_of
from msgspec.structs import replace

import genperf as gp
from genperf.asking.tables import ask
from genperf.errors import ModelError
from genperf.formula import parse, render
from genperf.panel import Panel, WorkFormula, limits, read_table
from genperf.panel.configurations import completed, fills_nodes, moved
from genperf.panel.panel import Median, Target
from genperf.table import Role
from genperf.table.cells import measure

CONSTANT, SHARED = WorkFormula("1", False), WorkFormula("1/workers", False)


def panel(columns: dict[str, list[float]], role: Role = "extrinsic") -> Panel:
    return panel_with([measure(name, role, values) for name, values in columns.items()])


def name_of(panel: Panel) -> str | None:
    """Return the name of the column of scale."""
    return None if panel.axis.factor is None else panel.axis.factor.name


# --- the column ---------------------------------------------------------------------------------------------------


@cases_in_text("columns, column, canonical, assumed")
def test_which_column_is_the_scale(
    columns: dict[str, list[float]], column: str | None, canonical: str, assumed: bool
) -> None:
    made = panel(columns)
    assert (name_of(made), made.axis.canonical, made.axis.assumed) == (column, canonical, assumed)
    counted = made.with_axis.find(canonical)
    assert (None if counted is None else counted.name) == column


def test_only_extrinsic_columns_count_workers_unless_they_are_named_so() -> None:
    assert name_of(panel({"layers": [1, 2, 4]}, "intrinsic")) is None
    assert name_of(panel({"cores": [1, 2, 4]}, "categorical")) is None
    assert name_of(panel({"gpus": [1, 2, 4]}, "intrinsic")) == "gpus"


def test_the_mapping_decides() -> None:
    world = panel({"world": [1, 2, 4], "cores": [8, 4, 2]})
    mapped = replace(world, mapping={"workers": "world"})
    assert (name_of(mapped), mapped.axis.assumed) == ("world", False)
    # A column that the mapping names as something else is not the workers; the one that is left is.
    assert name_of(replace(world, mapping={"servers": "world"})) == "cores"
    # Workers of the mapping's stay, also where they do not vary and another column does.
    mapping = {"workers": "world"}
    assert name_of(replace(panel({"world": [8, 8], "cores": [1, 2]}), mapping=mapping)) == "world"
    assert name_of(replace(panel({"world": [0, 8], "cores": [1, 2]}), mapping=mapping)) is None
    with pytest.raises(ModelError, match="no family has a factor 'wrkers'"):
        panel_with(world.factors, {"wrkers": "world"})


# --- the nodes ----------------------------------------------------------------------------------------------------


@cases_in_text("columns, nodes")
def test_nodes_are_a_formula_over_the_columns(columns: dict[str, list[float]], nodes: str | None) -> None:
    node = panel(columns).with_axis.node("nodes")
    assert (None if node is None else render(node)) == nodes
    if nodes is not None:
        assert parse(nodes).evaluate({name: values[1] for name, values in columns.items()}) in (2.0, 4.0)


# --- one worker's work --------------------------------------------------------------------------------------------


@cases_in_text("columns, group, works")
def test_what_one_worker_does(columns: dict[str, list[float]], group: list[str], works: list[list[object]]) -> None:
    assert [[*work] for work in replace(panel(columns), group=tuple(group)).work_of_worker] == works


# --- where it may end ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "ends"),
    [
        *(("gpus", False), ("Machine", False), ("nodes", False), ("MPI ranks", False), ("workers", False)),
        *(("Threads", True), ("procs", True), ("cores", True), ("users", True), ("tp", True)),
    ],
)
def test_what_shares_a_machine_may_exhaust_it(column: str, ends: bool) -> None:
    counts = limits(panel({column: [1, 2, 2.5, 4, 8]}), np.array([1.0, 2.0, 2.5, 4.0, 8.0]))
    assert [count for count, _ in counts if count <= 8.0] == ([1.0, 2.0, 4.0] if ends else [])
    # Six doublings from 1 to 64, each the last one with a probability of 0.2.
    assert sum(chance for _, chance in counts) == pytest.approx(1.0 - 0.8**6 if ends else 0.0)


@pytest.mark.parametrize(("nodes", "ends"), [([1, 1, 1, 1], True), ([1, 1, 2, 4], False)])
def test_processes_on_several_nodes_exhaust_no_machine(nodes: list[int], ends: bool) -> None:
    scale = panel({"procs": [1, 2, 4, 8], "nodes": nodes})
    assert bool(limits(scale, np.array([1.0, 2.0, 4.0, 8.0]))) is ends


# --- what follows -------------------------------------------------------------------------------------------------


def test_a_count_that_is_varied_is_settled_by_no_other() -> None:
    # Without a column of the devices, the data-parallel ways count the workers.
    layout = panel({"dp": [1, 2, 4], "tp": [2, 2, 2]})
    assert layout.workers.name == "dp"
    columns = {"dp": np.array([1.0, 8.0]), "tp": np.full(2, 2.0)}
    assert moved(layout, columns, {"dp": 2.0 * columns["dp"]})["tp"].tolist() == [2.0, 2.0]


@cases_in_text("columns, group, samples")
def test_samples_of_a_step(columns: dict[str, list[float]], group: dict[str, str], samples: str | None) -> None:
    node = replace(panel(columns).within(group), target=Target("seconds")).step.total
    assert (None if node is None else render(node)) == samples


@cases_in_text("gpus, nodes, held")
def test_a_full_node_holds_the_same_workers_wherever_it_is_needed(
    gpus: list[int], nodes: list[int], held: float
) -> None:
    runs = tuple(Median((float(n), float(m)), 1.0, 1.0, 1.0, 1) for n, m in zip(gpus, nodes, strict=True))
    known = replace(panel({"gpus": gpus, "nodes": nodes}), medians=runs)
    asked = {"gpus": held * np.array([1.0, 2.0, 3.0])}
    assert known.node_size() == held
    assert known.workers is not None
    assert completed(known, asked, 3)[0]["nodes"].tolist() == [1.0, 2.0, 3.0]
    both = {"gpus": np.append(asked["gpus"], 2.5 * held), "nodes": np.array([1.0, 2.0, 3.0, 3.0])}
    assert fills_nodes(known, both).tolist() == [True, True, True, False]
    assert panel({"gpus_per_node": gpus}).machine.size() is None


# --- weak and strong scaling in one table -----------------------------------------------------------------------------

COUNTS = (1, 2, 4, 8, 16)
#: The batch of all and the seconds of a step by the count, and the efficiency at 64, of the law that draws a block.
BLOCKS = {
    "weak": (lambda n: 64 * n, lambda n: 1.5 + 0.03 * np.log2(n), 1.5 / 1.68),
    "strong": (lambda n: 1024, lambda n: 23.5 / n + 0.5 + 0.03 * np.log2(n), 24.0 / 64 / (23.5 / 64 + 0.68)),
}
FORMS = {
    "times": ("gpus,step_time_s", lambda n, batch, seconds: (n, seconds)),
    "times of a batch": ("gpus,batch,step_time_s", lambda n, batch, seconds: (n, batch, seconds)),
    "a throughput": ("gpus,batch,images_per_s", lambda n, batch, seconds: (n, batch, batch / seconds)),
}


def page(form: str, as_one: bool) -> str:
    """Write both blocks as one table with a column of blocks, or as a page of two tables in Markdown."""
    header, cells = FORMS[form]
    rows = {block: [cells(n, batch(n), seconds(n)) for n in COUNTS] for block, (batch, seconds, _) in BLOCKS.items()}
    texts = {block: [[f"{cell:.5g}" for cell in row] for row in runs] for block, runs in rows.items()}
    if as_one:
        return "\n".join([f"block,{header}", *(",".join([b, *row]) for b, runs in texts.items() for row in runs)])
    names = header.split(",")
    lines = []
    for block, runs in texts.items():
        table = [names, ["---"] * len(names), *runs]
        lines += [f"## {block} scaling", "", *(f"| {' | '.join(row)} |" for row in table), ""]
    return "\n".join(lines)


@pytest.mark.parametrize("as_one", [True, False])
@pytest.mark.parametrize("form", FORMS)
def test_each_block_has_its_kind_of_scaling(form: str, as_one: bool, tmp_path: Path) -> None:
    path = tmp_path / ("runs.csv" if as_one else "page.md")
    path.write_text(page(form, as_one))
    for block, (_, _, efficiency) in BLOCKS.items():
        answer = ask(path, at={"gpus": 64, "block" if as_one else "table": block})
        assert answer.numbers["efficiency"] == pytest.approx(efficiency, rel=0.1), block
        assert answer.numbers["efficiency_lower"] <= efficiency <= answer.numbers["efficiency_upper"]
        assert (
            not any("falls as gpus grows" in note or "too much for" in note for note in answer.notes)
            or block == "strong"
        )


def test_a_kind_by_group_is_that_of_the_whole_table_without_groups() -> None:
    runs = pd.DataFrame({"gpus": COUNTS, "step_time_s": [BLOCKS["strong"][1](n) for n in COUNTS]})
    table = read_table(runs, time="step_time_s", extrinsic="gpus", scaling="group")
    assert (table.scaling, table.scaled_by_group) == ("strong", False)


#: Batches of all, of which 0 is 64 for each of the devices; and the seconds of a step that no device shares.
@pytest.mark.parametrize(("batches", "fixed"), [((512,), 0.08), ((512, 1024), 0.08), ((512, 0), 1.5)])
def test_a_batch_that_stays_while_the_steps_take_shorter_is_that_of_all(batches: tuple[int, ...], fixed: float) -> None:
    rows = [(n, b or 64 * n, fixed + 14.5 / 512 * (b or 64 * n) / n) for b in batches for n in (8, 16, 32)]
    runs = pd.DataFrame(rows, columns=["gpus", "batch", "step_s"])
    answer = gp.ask(runs, gpus=64, batch=512)
    assert answer.answers[0].value == pytest.approx(fixed + 14.5 / 64, rel=0.1)
    assert answer.facts.growth.target.rate == pytest.approx(512 / (fixed + 14.5 / 64), rel=0.1)


def test_a_micro_batch_says_nothing_of_steps_of_fewer_passes() -> None:
    runs = pd.DataFrame({"gpus": [8, 16, 32], "micro_batch": 4, "step_s": [1.9, 1.0, 0.55]})
    answer = gp.ask(runs, gpus=64)
    assert answer.answers[0].value == gp.ask(runs[["gpus", "step_s"]], gpus=64).answers[0].value
    assert answer.answers[0].value == pytest.approx(0.33, rel=0.05)


#: Exponents of the data-parallel ways: each brings its own work, or all share one.
@pytest.mark.parametrize(("shared", "scaling"), [(0.0, None), (1.0, "strong")])
def test_how_steps_scale_is_read_at_one_split_of_the_network(shared: float, scaling: str | None) -> None:
    rows = [(pp * dp, pp, dp, 4.1 / pp / dp**shared + 0.02 * pp) for pp in (1, 2, 4) for dp in (1, 2, 4, 8)]
    runs = pd.DataFrame(rows, columns=["nodes", "PP", "DP", "step_s"])
    answer = gp.ask(runs, PP=4, DP=16)
    assert answer.reading is not None
    assert (answer.reading.roles.scaling or None) == scaling


def test_the_samples_of_a_job_follow_from_its_iterations() -> None:
    """Jobs of 50 iterations of a batch each: twice the workers do twice the work, and in the same time all of it."""
    levels = {"workers": [1, 2, 4, 8], "batch_per_worker": [16], "iterations": [50, 100]}
    runs = runs_of(lambda f: f.iterations * 0.1, levels, column="job_s")
    result = gp.fit(runs, "cntk", time="job_s", extrinsic="workers", intrinsic="batch_per_worker,iterations", draws=5)
    curve = gp.explain(result, {"iterations": 50}, knee=True).scaling
    assert curve.kind == "weak"
    assert curve.curve["efficiency"].to_numpy() == pytest.approx(1.0, rel=0.02)
    # A data set that is as large in every job is read for its size, and is no work.
    sized = gp.fit(runs_of(lambda f: f.iterations * 0.1, {**levels, "samples": [400]}, column="job_s"), time="job_s")
    assert gp.explain(sized, {"iterations": 50}, knee=True).scaling.kind == "weak"
    assert "its samples are iterations*(batch_per_worker*workers)" in " ".join(note.text for note in result.notes)
