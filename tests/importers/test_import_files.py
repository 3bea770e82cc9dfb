"""Several files as one table, factors from outside, and a CSV that reads back exactly."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genperf.errors import GenperfError
from genperf.importers import FORMATS, Imported, csv_lines, import_files
from genperf.importers.imported import factors_from_name
from genperf.table.opened import open_source

DATA = Path(__file__).parent / "data"
#: A file of each format.
EXAMPLES = {
    "hyperfine": "hyperfine_scan.json",
    "extra-p": "extra_p.json",
    "pytorch-profiler": "single_workers1.pt.trace.json",
    "mlperf": "mlperf_throughput.txt",
    "nccl-tests": "all_reduce_perf.txt",
    "pytest-benchmark": "pytest_benchmark.json",
    "tensorboard": "events.out.tfevents.example",
    "nsight": "nsight.sqlite",
}

Cells = st.one_of(st.text(), st.integers(-(10**15), 10**15), st.floats(allow_nan=False, allow_infinity=False))


@given(st.lists(st.tuples(Cells, Cells), min_size=1, max_size=5))
def test_a_written_table_reads_back(rows: list[tuple[str | int | float, str | int | float]]) -> None:
    import tempfile

    table = Imported(tuple({"source": "#1.json", "a": a, "b, c": b} for a, b in rows), "a", "b, c")
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        file.write("".join(csv_lines(table, raw=True)).encode())
        file.flush()
        frame = open_source(file.name).cells
    assert list(frame) == ["source", "a", "b, c"]
    for column, values in zip(("a", "b, c"), zip(*rows, strict=True), strict=True):
        for cell, value in zip(frame[column], values, strict=True):
            if isinstance(value, str):
                readable = value.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()
                # Blanks around a cell are nobody's.
                assert cell == readable.strip()
            else:
                assert type(value)(cell) == value


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_of_another_format_is_recognised(format: str) -> None:
    for other, file in EXAMPLES.items():
        if other == format:
            assert import_files(format, [str(DATA / file)]).rows
            continue
        with pytest.raises(GenperfError) as caught:
            import_files(format, [str(DATA / file)])
        assert caught.value.hint == f"genperf import {other} {DATA / file}"


def test_every_format_has_an_example() -> None:
    assert set(EXAMPLES) == set(FORMATS)


def test_files_are_put_together_with_the_union_of_their_columns() -> None:
    files = [str(DATA / "single_workers1.pt.trace.json"), str(DATA / "ddp_workers2_*")]
    table = import_files("pytorch-profiler", files, {"batch": "32"}, "*_workers{workers}*")
    assert list(table.columns[:4]) == ["source", "batch", "workers", "step"]
    assert "exchange_s" in table.columns
    assert [row["workers"] for row in table.rows] == ["1"] * 3 + [2] * 6
    assert table.factors == ("batch", "workers", "backend")
    assert len(table.values("source")) == 3
    # The same file twice is one.
    assert len(import_files("pytorch-profiler", files[:1] * 2).rows) == 3


def test_what_a_file_says_itself_goes_before_what_is_said_of_it() -> None:
    file = str(DATA / "ddp_workers2_rank0.pt.trace.json")
    table = import_files("pytorch-profiler", [file], {"workers": "8"})
    assert table.values("workers") == {2}
    assert [note.text for note in table.notes] == [f"{file}: 'workers' is 2 in the file, so 8 is not used"]
    assert not import_files("pytorch-profiler", [file], {"workers": "2"}).notes


def test_counts_that_some_files_lack_are_noted() -> None:
    files = [str(DATA / name) for name in ("single_workers1.pt.trace.json", "ddp_workers2_rank0.pt.trace.json")]
    (note,) = import_files("pytorch-profiler", files).notes
    assert note.text == f"'workers' is missing in {files[0]}: --set or --from-name fills it in"
    assert not import_files("pytorch-profiler", files, {"workers": "1"}).notes[1:]


@pytest.mark.parametrize(
    ("pattern", "path", "factors"),
    [
        ("run_{workers}_{batch}.json", "a/run_8_32.json", {"workers": "8", "batch": "32"}),
        ("{net}-{lr}.json", "resnet50-0.1.json", {"net": "resnet50", "lr": "0.1"}),
        ("{net}_{workers}.json", "big_net_8.json", {"net": "big_net", "workers": "8"}),
        ("n{nodes}/g{gpus}/*", "runs/n2/g8/trace.json", {"nodes": "2", "gpus": "8"}),
        ("a.b[{workers}]*", "a.b[4].json", {"workers": "4"}),
    ],
)
def test_names_tell_factors(pattern: str, path: str, factors: dict[str, str]) -> None:
    assert factors_from_name(pattern, path) == factors


@pytest.mark.parametrize("pattern", ["run.json", "{}", "{a}_{a}", "{a", "a}", ""])
def test_a_pattern_that_names_no_factor_is_refused(pattern: str) -> None:
    with pytest.raises(GenperfError, match="must name each factor once"):
        factors_from_name(pattern, "run.json")


@pytest.mark.parametrize(
    ("format", "files", "settings", "pattern", "said"),
    [
        ("hyprfine", ["x"], {}, None, "did you mean 'hyperfine'?"),
        ("csv", ["x"], {}, None, "one of hyperfine, extra-p, pytorch-profiler, mlperf"),
        ("hyperfine", ["none.json"], {}, None, "none.json: no such file"),
        ("hyperfine", ["none*.json"], {}, None, "no file matches"),
        (
            "hyperfine",
            [str(DATA / "hyperfine_scan.json")],
            {"time_s": "1"},
            None,
            "'time_s' is a column of the table itself",
        ),
        (
            "hyperfine",
            [str(DATA / "hyperfine_scan.json")],
            {},
            "run_{n}.json",
            "the file's name does not match 'run_{n}.json'",
        ),
    ],
)
def test_what_cannot_be_imported_is_said(
    format: str, files: list[str], settings: dict[str, str], pattern: str | None, said: str
) -> None:
    with pytest.raises(GenperfError) as caught:
        import_files(format, files, settings, pattern)
    assert said in str(caught.value)
