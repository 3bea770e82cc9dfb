"""The partitioned campaign: its layouts, the training of real parts, and a tiny run."""

import socket
import subprocess
from pathlib import Path

import pandas as pd
import process_memory
import pytest
from environments import interpreter
from partition_design import DEVICES, FULL, TINY, Layout, Shape, cases, layouts, of_case
from test_campaigns import needs, ran

import genperf as gp

GRADIENTS = Path(__file__).parent / "workers" / "partitioned_gradients.py"


@pytest.mark.parametrize("shape", [*FULL, *TINY])
def test_every_layout_is_possible_and_there_once(shape: Shape) -> None:
    for devices in DEVICES:
        held = list(layouts(shape, devices))
        assert len(set(held)) == len(held)
        for layout in held:
            assert layout.devices == devices
            assert shape.layers % layout.stages == shape.heads % layout.shards == 0
            assert shape.batch % (layout.replicas * layout.micro) == 0


def test_the_campaign_has_the_layouts_of_the_protocol() -> None:
    assert [sum(len(list(layouts(shape, devices))) for devices in DEVICES) for shape in FULL] == [85, 85]


def test_devices_of_a_layout_are_numbered_once() -> None:
    layout = Layout(replicas=2, stages=4, shards=3, micro=1)
    places = [layout.place(rank) for rank in range(layout.devices)]
    assert [layout.rank(*place) for place in places] == list(range(24))
    # Shards are neighbours; the first six devices are the first stage.
    assert places[:4] == [(0, 0, 0), (0, 0, 1), (0, 0, 2), (0, 1, 0)]


def test_a_case_says_its_shape_and_layout() -> None:
    (first, *_), expected = cases(TINY, 2), next(layouts(TINY[0], 2))
    assert of_case({**first, "slowdown": 6.0}) == (TINY[0], expected)


def test_parameters_of_a_transformer_counted_by_hand() -> None:
    # A layer of width 2: norms 8; inward 2·6 + 6, outward 4 + 2; wider 2·8 + 8, narrower 16 + 2.
    # Tokens and scores 2·3·2, positions 4·2, the last norm 4.
    shape = Shape("one", layers=1, width=2, heads=1, sequence=4, vocabulary=3, batch=1)
    assert shape.parameters() == (8 + 18 + 6 + 24 + 18) + 12 + 8 + 4


def test_the_peak_of_a_process_is_counted_anew() -> None:
    process_memory.reset()
    before = process_memory.peak()
    held = b"x" * 50_000_000
    assert process_memory.peak() - before == pytest.approx(50, abs=5)
    del held
    process_memory.reset()
    assert process_memory.peak() == pytest.approx(process_memory.resident(), abs=5)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@needs("pytorch")
@pytest.mark.parametrize("ways", [(1, 1, 1, 2), (2, 1, 1, 1), (1, 2, 2, 1)])
def test_the_gradients_of_the_parts_are_those_of_the_whole(ways: tuple[int, ...]) -> None:
    layout = Layout(*ways)
    port = free_port()
    arguments = [interpreter("pytorch"), GRADIENTS, *map(str, ways)]
    processes = [
        subprocess.Popen([*arguments, str(rank), str(port)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for rank in range(layout.devices)
    ]
    for process in processes:
        out, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        assert float(out) < 1e-5


@pytest.mark.usefixtures("emulation")
@needs("pytorch")
def test_a_tiny_transformer_in_every_layout_of_two_hosts(tmp_path: Path) -> None:
    out = tmp_path / "t.csv"
    ran("campaigns.py", "partitioned", "--out", out, "--tiny", "--devices", "1,2", "--seconds", 0.01)
    frame = pd.read_csv(out)
    expected = sum(len(list(layouts(TINY[0], devices))) for devices in (1, 2))
    assert frame.groupby("repeat").size().tolist() == [expected] * 3
    assert (frame.data_parallel * frame.tensor_parallel * frame.pipeline_parallel == frame.devices).all()
    ways = ["data_parallel", "tensor_parallel", "pipeline_parallel"]
    table = gp.read_table(out, time="step_time_s", extrinsic=ways, intrinsic=["micro_batch"], repeat="repeat")
    assert len(table.medians()) == expected
