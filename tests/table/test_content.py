"""What stands in a file: zstd, formats that are no text, bounds."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from genperf.errors import TableError
from genperf.panel import large, read_table
from genperf.table import content
from genperf.table.content import read_content
from genperf.table.opened import open_source

TEXT = "workers,seconds\n1,9\n2,5\n4,3\n"


def test_zstd_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arrow = pytest.importorskip("pyarrow")
    packed = bytes(arrow.Codec("zstd").compress(TEXT.encode()))
    (tmp_path / "runs.csv").write_bytes(packed)
    assert open_source(tmp_path / "runs.csv").columns["seconds"].tolist() == ["9", "5", "3"]
    (tmp_path / "cut.csv").write_bytes(packed[:-6])
    with pytest.raises(TableError, match="damaged or cut off"):
        open_source(tmp_path / "cut.csv")
    monkeypatch.setattr(content, "MAX_FILE_BYTES", 5)
    with pytest.raises(TableError, match="holds more than 0 MB when it is decompressed"):
        open_source(tmp_path / "runs.csv")


def test_zstd_without_a_reader_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "runs.csv").write_bytes(b"\x28\xb5\x2f\xfdrest")

    def no_module(name: str) -> object:
        if name == "lzma":
            return __import__("lzma")
        raise ImportError(name)

    monkeypatch.setattr(content, "import_module", no_module)
    with pytest.raises(TableError, match="is compressed with zstd, which is not read here"):
        open_source(tmp_path / "runs.csv")


def test_the_delimiter_that_a_spreadsheet_names(tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text("sep=;\nworkers;seconds\n1;9\n2;x\n4;3\n")
    assert list(open_source(tmp_path / "runs.csv").columns) == ["workers", "seconds"]
    with pytest.raises(TableError, match="line 4, column 'seconds'"):
        read_table(tmp_path / "runs.csv", time="seconds", extrinsic="workers")


def test_a_name_with_a_comma(tmp_path: Path) -> None:
    frame = pd.DataFrame({"layers, hidden": [1, 2, 4], "workers": [1, 2, 4], "s": [3.0, 2.0, 1.0]})
    table = read_table(frame, time="s", extrinsic='workers, "layers, hidden"')
    assert [f.name for f in table.factors] == ["workers", "layers, hidden"]
    with pytest.raises(TableError, match='"layers, hidden"'):
        read_table(frame, time="s", extrinsic="layers")


def test_parquet_is_judged_by_its_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame({"workers": np.tile([1, 2, 4], 40), "seconds": np.tile([9.0, 5.0, 3.0], 40)})
    frame.to_parquet(tmp_path / "runs.parquet")
    path = str(tmp_path / "runs.parquet")
    assert not large.worth_aggregating(path)
    monkeypatch.setattr(large, "AGGREGATION_MIN_ROWS", 100)
    assert large.worth_aggregating(path)
    monkeypatch.setattr(content, "MAX_PARQUET_CELLS", 239)
    with pytest.raises(TableError, match="holds 120 rows of 2 columns; at most 239 cells are read into memory"):
        read_table(path, time="seconds", extrinsic="workers", aggregate=False)


@pytest.mark.parametrize("path", ["http://127.0.0.1:9/runs.csv", "s3://bucket/runs.parquet"])
def test_no_network(path: str) -> None:
    with pytest.raises(TableError, match="no network is used"):
        read_content(path)
    with pytest.raises(TableError, match="no network is used"):
        read_table(path, time="s", extrinsic="n", aggregate=True)
