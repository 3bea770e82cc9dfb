import bz2
import gzip
import io
import lzma
import sys

import pandas as pd
import pytest
from helpers import cases_in_text

from genperf.errors import TableError
from genperf.table.opened import open_files, open_source, understood


def write(folder, content, name="runs.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refused(source, **options):
    with pytest.raises(TableError) as caught:
        open_source(source, **options)
    return caught.value


@cases_in_text("text, columns")
def test_headers(tmp_path, text, columns):
    assert list(open_source(write(tmp_path, text)).cells) == columns


def test_line_numbers_are_those_of_the_file(tmp_path):
    text = '# host a\nn,t\n\n1,2\r\n# pause\n"two\nlines, one cell",3\n\n\n4,"# no comment"\n5\n6,7,8\n'
    source = open_source(write(tmp_path, text))
    assert source.lines.tolist() == [4, 6, 10]
    assert source.cells["t"].tolist() == ["2", "3", "# no comment"]
    assert [(r.line, r.reason) for r in source.ragged] == [
        (11, "1 field where the header has 2"),
        (12, "3 fields where the header has 2"),
    ]


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed_files_are_told_by_content(tmp_path, compress):
    plain = b"n,t\n1,2\n3,4\n"
    assert open_source(write(tmp_path, compress(plain))).cells["n"].tolist() == ["1", "3"]
    cut = write(tmp_path, compress(plain)[:-6], "cut.csv.gz")
    assert "damaged or cut off" in str(refused(cut))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings(tmp_path, encoding):
    source = open_source(write(tmp_path, "größe,t\n1,2\n".encode(encoding)))
    assert list(source.cells) == ["größe", "t"]


def test_parquet(tmp_path):
    frame = pd.DataFrame({"n": [1, 2], "name": ["a", None]})
    frame.to_parquet(tmp_path / "runs.bin")
    source = open_source(tmp_path / "runs.bin")
    assert source.unit == "row"
    assert source.lines.tolist() == [0, 1]
    pd.testing.assert_frame_equal(pd.DataFrame(source.cells), frame, check_dtype=False)


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    pd.DataFrame({"n": [1]}).to_parquet(tmp_path / "runs.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert 'pip install "genperf[parquet]"' in str(refused(tmp_path / "runs.parquet"))


@pytest.mark.parametrize("stream", [io.TextIOWrapper(io.BytesIO(b"n,t\n1,2\n")), io.StringIO("n,t\n1,2\n")])
def test_standard_input(monkeypatch, stream):
    monkeypatch.setattr(sys, "stdin", stream)
    source = open_source("-")
    assert source.name == "standard input"
    assert source.cells["t"].tolist() == ["2"]


def test_a_named_index_of_a_frame_is_a_column():
    frame = pd.DataFrame({"t": [1.0]}, index=pd.Index([8], name="n"))
    assert list(open_source(frame).cells) == ["n", "t"]
    assert list(open_source(frame.rename_axis(None)).cells) == ["t"]


def test_a_frame_of_levels_units_or_durations_is_read_as_a_file_is():
    levels = pd.MultiIndex.from_tuples([("config", "n"), ("t", "")])
    in_levels = pd.DataFrame([[1, 2.0], [2, 1.5]], columns=levels)
    assert list(open_source(in_levels).cells) == ["config.n", "t"]
    of_units = pd.DataFrame({"n": [None, 1, 2], "t": ["ms", 2.0, 1.5]})
    assert {n: c.tolist() for n, c in open_source(of_units).cells.items()} == {"n": [1, 2], "t (ms)": [2.0, 1.5]}
    durations = pd.DataFrame({"n": [1, 2], "t": pd.to_timedelta([2000, 1500], unit="ms")})
    # The unit tells a time from a count.
    assert open_source(durations).cells["t"].tolist() == ["2.0 s", "1.5 s"]


def test_an_index_that_is_a_column_too_is_read_once():
    frame = pd.DataFrame({"n": [8.0, 4.0], "t": [1.0, 2.0]}).set_index("n", drop=False)
    assert pd.DataFrame(open_source(frame).cells).to_dict("list") == {"n": [8.0, 4.0], "t": [1.0, 2.0]}


def test_a_comment_behind_a_list_is_its_unit_and_without_one_it_keeps_its_name(tmp_path):
    text = "gpus = [1, 2, 4]\ntok_s = [90, 170, 330]\nspeed = [9, 17, 33]  # img/s\n"
    source = understood(open_files([write(tmp_path, text, "runs.py")]))
    assert list(source.cells) == ["gpus", "tok_s", "speed (img/s)"]
