"""What is the scale of a table: the cases of series, of groups that share constants, and of efficiency."""

import pytest

from genperf.errors import ModelError
from genperf.formula import parse
from genperf.panel import Work, scale_of
from genperf.table import Factor
from genperf.table.factor import Role, measure

CONSTANT, SHARED = Work("1", False), Work("1/workers", False)


def factors(columns: dict[str, list[float]], role: Role = "extrinsic") -> list[Factor]:
    return [measure(name, role, values) for name, values in columns.items()]


# --- the column ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "column", "canonical", "assumed"),
    [
        ({"workers": [1, 2, 4]}, "workers", "workers", False),
        ({"GPUs": [1, 2, 4]}, "GPUs", "workers", False),
        ({"hosts": [1, 2, 4]}, "hosts", "nodes", False),
        ({"gpus": [8, 16, 32], "hosts": [1, 2, 4]}, "gpus", "workers", False),
        # An unknown name counts the workers if no other column does.
        ({"cores": [1, 2, 4]}, "cores", "workers", True),
        ({"cores": [4, 4, 4]}, "cores", "workers", True),
        ({"cores": [1, 2, 4], "batch": [8, 16, 32]}, "cores", "workers", True),
        ({"cores": [1, 2, 4], "gpus_per_node": [4, 4, 4]}, "cores", "workers", True),
        ({"cores": [1, 2, 4], "sockets": [2, 2, 2]}, "cores", "workers", True),
        ({"cores": [1, 2, 4], "sockets": [1, 1, 2]}, None, "workers", False),
        ({"cores": [2, 2, 2], "sockets": [1, 1, 1]}, None, "workers", False),
        # A count that does not vary gives way to one that does.
        ({"gpus": [8, 8, 8], "hosts": [1, 2, 4]}, "hosts", "nodes", False),
        ({"gpus": [8, 8, 8], "instances": [1, 2, 4]}, "instances", "workers", True),
        ({"nodes": [1, 1, 1], "instances": [1, 2, 4]}, "instances", "workers", True),
        ({"gpus": [8, 8, 8], "hosts": [2, 2, 2]}, "gpus", "workers", False),
        # Known names of other counts stand for the workers where nothing else does, and amounts never do.
        ({"servers": [1, 2, 4]}, "servers", "workers", True),
        ({"threads": [1, 2, 4]}, "threads", "workers", True),
        ({"workers": [8, 8, 8], "servers": [1, 2, 4]}, "workers", "workers", False),
        ({"cores": [1, 2, 4], "servers": [1, 1, 2]}, "cores", "workers", True),
        ({"cores": [2, 2, 2], "servers": [1, 2, 4]}, "servers", "workers", True),
        ({"cores": [2, 2, 2], "servers": [1, 1, 1]}, "cores", "workers", True),
        ({"batch": [1, 2, 4]}, None, "workers", False),
        ({"gpus": [8, 8, 8], "batch": [1, 2, 4]}, "gpus", "workers", False),
        # A column that goes down to zero counts no workers.
        ({"gpus": [0, 1, 2]}, None, "workers", False),
        ({"cores": [0, 1, 2]}, None, "workers", False),
        ({}, None, "workers", False),
    ],
)
def test_which_column_is_the_scale(
    columns: dict[str, list[float]], column: str | None, canonical: str, assumed: bool
) -> None:
    scale = scale_of(factors(columns))
    assert (scale.column, scale.canonical, scale.axis.assumed) == (column, canonical, assumed)
    counted = scale.factors.find(canonical)
    assert (None if counted is None else counted.name) == column


def test_only_extrinsic_columns_count_workers_unless_they_are_named_so() -> None:
    assert scale_of(factors({"layers": [1, 2, 4]}, "intrinsic")).column is None
    assert scale_of(factors({"cores": [1, 2, 4]}, "categorical")).column is None
    assert scale_of(factors({"gpus": [1, 2, 4]}, "intrinsic")).column == "gpus"


@pytest.mark.parametrize(("column", "other"), [("servers", True), ("Threads", True), ("cores", False), ("gpus", False)])
def test_a_column_that_counts_something_else_is_told_apart(column: str, other: bool) -> None:
    assert scale_of(factors({column: [1, 2, 4]})).counts_other == other


def test_the_mapping_decides() -> None:
    world = factors({"world": [1, 2, 4], "cores": [8, 4, 2]})
    scale = scale_of(world, {"workers": "world"})
    assert (scale.column, scale.axis.assumed) == ("world", False)
    # A column that the mapping names as something else is not the workers; the one that is left is.
    assert scale_of(world, {"servers": "world"}).column == "cores"
    # Workers of the mapping's stay, also where they do not vary and another column does.
    assert scale_of(factors({"world": [8, 8], "cores": [1, 2]}), {"workers": "world"}).column == "world"
    assert scale_of(factors({"world": [0, 8], "cores": [1, 2]}), {"workers": "world"}).column is None
    with pytest.raises(ModelError, match="no family has a factor 'wrkers'"):
        scale_of(world, {"wrkers": "world"})


def test_groups_may_vary_other_columns_than_the_whole_table() -> None:
    # Two groups, one on 8 workers and one on 16, each on 1, 2 and 4 instances.
    table = factors({"gpus": [8, 8, 8, 16, 16, 16], "instances": [1, 2, 4, 1, 2, 4]})
    assert scale_of(table).column == "gpus"
    assert scale_of(table, varying={"instances"}).column == "instances"


def test_a_factor_that_is_not_measured_yet_may_be_the_scale() -> None:
    assert scale_of([Factor("gpus", "extrinsic")]).column == "gpus"
    assert scale_of([Factor("cores", "extrinsic")]).column == "cores"


# --- the nodes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "nodes"),
    [
        ({"gpus": [8, 16], "hosts": [1, 2]}, "hosts"),
        ({"gpus": [8, 16], "gpus_per_node": [8, 8]}, "ceil(gpus/gpus_per_node)"),
        ({"cores": [8, 16], "nodes": [2, 2]}, "nodes"),
        ({"cores": [8, 16], "devices_per_node": [4, 4]}, "ceil(cores/devices_per_node)"),
        ({"hosts": [1, 2]}, "hosts"),
        ({"gpus": [8, 16]}, None),
    ],
)
def test_nodes_are_a_formula_over_the_columns(columns: dict[str, list[float]], nodes: str | None) -> None:
    scale = scale_of(factors(columns))
    assert scale.nodes == nodes
    if nodes is not None:
        assert parse(nodes).evaluate({name: values[1] for name, values in columns.items()}) in (2.0, 4.0)


# --- one worker's work --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "group", "works"),
    [
        ({"gpus": [1, 2]}, (), (CONSTANT, SHARED)),
        ({"gpus": [1, 2], "batch": [32, 32]}, (), (Work("batch", True),)),
        ({"gpus": [1, 2], "global_batch": [64, 64]}, (), (Work("global_batch/workers", True),)),
        ({"gpus": [1, 2], "batch": [32, 32], "global_batch": [32, 64]}, (), (Work("global_batch/workers", True),)),
        ({"gpus": [1, 2]}, ("model", "Global_Batch"), (SHARED,)),
        ({"gpus": [1, 2]}, ("batch_per_device",), (CONSTANT,)),
        ({"gpus": [1, 2]}, ("model",), (CONSTANT, SHARED)),
        ({"gpus": [1, 2], "batch": [32, 16]}, ("global_batch",), (Work("batch", True),)),
        ({"hosts": [1, 2]}, (), (CONSTANT, Work("1/nodes", False))),
        ({"hosts": [1, 2], "global_batch": [64, 64]}, (), (Work("global_batch/nodes", True),)),
        ({"cores": [1, 2], "global_batch": [64, 64]}, (), (Work("global_batch/workers", True),)),
        # As many workers on more nodes: the share of one of them stays.
        ({"gpus": [8, 8], "hosts": [1, 2]}, (), (CONSTANT,)),
        # Without a scale nothing can be shared.
        ({"batch": [1, 2]}, (), (Work("batch", True),)),
        ({}, (), (CONSTANT,)),
    ],
)
def test_what_one_worker_does(columns: dict[str, list[float]], group: tuple[str, ...], works: tuple[Work, ...]) -> None:
    assert scale_of(factors(columns), group=group).works == works


def test_formulas_over_canonical_names_are_written_over_the_columns() -> None:
    scale = scale_of(factors({"cores": [1, 2], "total_batch": [64, 64]}))
    assert scale.over_columns(scale.works[0].formula) == "total_batch/cores"
    assert scale.over_columns("a*batch + c") == "a*(total_batch/cores) + c"
