"""The words of names and headers."""

import ast
import re
from collections.abc import Iterable, Iterator

import pandas as pd
import pytest
from helpers import cases_in_text, nodes

from genperf.panel import read_table
from genperf.vocabulary import any_of, section, words_of
from genperf.vocabulary.headers import Header, bare, header_of, unit_of
from genperf.vocabulary.names import ALIASES, canonical_of, column_of, noun_of

SECTIONS = ("factors", "transformer", "time", "phases", "counted", "headers", "columns", "cells")
#: Names by which code calls a meaning are no words of a person; nor are the words that the files of one tool write.
CALLED = {*ALIASES, *section("phases"), *section("time"), *section("headers"), "h", "min", "s", "ms", "us", "ns"}
#: Options of commands and keys of answers are genperf's own.
OWN = {
    *("throughput", "total", "machines", "repeat", "status", "result", "source", "failed", "notes", "aggregate"),
    *("efficiency", "cluster", "series", "nan", "<na>", "model", "summary", "path", "metrics", "seed", "not", "max"),
    *("fits", "at", "limit", "sd", "rows"),
    # Symbols of equations.
    *("w", "x"),
}
SPELLED = {word for name in SECTIONS for listed in section(name).values() for word in listed} - CALLED - OWN
#: Where a list of such words names something else than columns: levels of a factor, units, an outside format.
ELSEWHERE = re.compile(r"(vocabulary|table/importers|importers|models)/|formula/amounts\.py|datasets\.py")


def lists_of_words(syntax: Iterable[ast.AST]) -> Iterator[list[str]]:
    """Yield the literals that hold three or more words of the table: a collection, or a pattern of alternatives."""
    for node in syntax:
        listed: list[object] = []
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            listed = [getattr(one, "value", None) for one in node.elts]
        elif isinstance(node, ast.Dict):
            listed = [getattr(one, "value", None) for one in node.keys]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.count("|") > 1:
            listed = re.split(r"[|()]", node.value)
        words = [one for one in listed if isinstance(one, str) and one.lower() in SPELLED]
        if len({*words}) > 2:
            yield words


def test_no_other_file_lists_words_of_roles() -> None:
    assert not {
        path: listed
        for path, syntax in nodes().items()
        if not ELSEWHERE.match(path) and (listed := list(lists_of_words(syntax)))
    }


def test_the_search_finds_what_it_looks_for() -> None:
    tree = ast.parse("a = ('gpus', 'ranks', 'np'); b = r'(mfu|elapsed|tiempo|zeit)'; c = ('workers', 'nodes', 'batch')")
    assert [*lists_of_words(ast.walk(tree))] == [["gpus", "ranks", "np"], ["elapsed", "tiempo", "zeit"]]


@pytest.mark.parametrize("name", ["factors", "transformer"])
def test_each_name_means_one_factor(name: str) -> None:
    listed = [word for words in section(name).values() for word in words]
    assert len(listed) == len(set(listed))
    meant = {word: canonical for canonical, words in section(name).items() for word in words}
    # Where no column shows several passes, the batch of a pass is that of a worker.
    assert {word: canonical_of(word) for word in meant} | {"micro_batch": meant.get("micro_batch")} == meant | {
        "micro_batch": meant.get("micro_batch")
    }


@pytest.mark.parametrize(
    ("word", "unit"), [(word, unit) for unit, words in section("time").items() for word in words if word != "min."]
)
def test_each_unit_of_time_is_one(word: str, unit: str) -> None:
    assert unit_of(word) == unit_of(unit)


def test_patterns_compile() -> None:
    for name in ("headers", "columns"):
        for meaning in section(name):
            assert re.compile(any_of(f"{name}.{meaning}")), words_of(f"{name}.{meaning}")


# --- what a column's header says: kind, unit, what is counted, whether it is that of one worker or of a whole job ----


@pytest.mark.parametrize(
    ("column", "header"),
    [
        ("iter_time_ms", Header("time", "ms", of="step")),
        ("Step time [ms]", Header("time", "ms", of="step")),
        ("sec/batch", Header("time", "s", of="step")),
        ("s/it", Header("time", "s", of="step")),
        ("speed [s/it]", Header("time", "s", of="step")),
        ("elapsed time per iteration (ms)", Header("time", "ms", of="step")),
        ("stepTimeMs", Header("time", "ms", of="step")),
        ("Time/epoch (min)", Header("time", "min", of="job")),
        ("Time (sec/epoch)", Header("time", "s", of="job")),
        ("Time to train (min)", Header("time", "min", of="job")),
        ("latency", Header("time", "s")),
        ("images/s", Header("rate", "s", "images")),
        ("Bilder pro Sekunde", Header("rate", "s", "images")),
        ("throughput (img/s)", Header("rate", "s", "images")),
        ("train_samples_per_second", Header("rate", "s", "samples")),
        ("samples/min", Header("rate", "min", "samples")),
        ("tokens_per_s_per_gpu", Header("rate", "s", "tokens", shared=True)),
        ("throughput [samples/s/GPU]", Header("rate", "s", "samples", shared=True)),
        *((f"throughput_{w}_s", Header("rate", "s", n)) for w, n in (("img", "images"), ("mcells", "mcells"))),
        ("tokens_sec", Header("rate", "s", "tokens")),
        ("samples_s", Header("rate", "s", "samples")),
        ("sample_s", Header("time", "s")),
        ("throughput per device", Header("rate", "s", "", shared=True)),
        ("TGS", Header("rate", "s", "tokens", shared=True)),
        ("peak memory (GB)", Header("quantity", "GB")),
        ("max_mem_allocated_GiB", Header("quantity", "GiB")),
        ("power_w", Header("quantity", "W")),
        ("joules_per_step", Header("quantity", "J")),
        ("energy_kwh", Header("quantity", "kWh")),
        ("Number of sequences processed per second", Header("rate", "s", "sequences")),
    ],
)
def test_headers_of_measurements(column: str, header: Header) -> None:
    assert header_of(column) == header


@cases_in_text("canonical, columns")
def test_a_factor_is_found_in_other_words(canonical: str, columns: dict[str, bool]) -> None:
    assert {column: column_of(canonical, [column]) == column for column in columns} == columns


@cases_in_text("said, columns")
def test_what_rarer_headers_say(said: dict[str, object], columns: list[str]) -> None:
    for column in columns:
        assert {name: getattr(header_of(column), name) for name in said} == said, column


@cases_in_text("column, plain")
def test_sections_of_a_tracker_and_statistics_say_nothing(column: str, plain: str) -> None:
    assert header_of(column) == header_of(plain)
    assert header_of(column).kind


@pytest.mark.parametrize(
    "column",
    [
        *("gpus", "message_mb", "model_size_gb", "learning_rate", "epochs", "layers", "tflops_per_gpu"),
        *("AllReduce (GB/s)", "net_gb_s", "GB/s"),
    ],
)
def test_headers_of_settings(column: str) -> None:
    assert header_of(column) == Header()


def test_the_symbol_of_formulas_behind_a_name_says_nothing() -> None:
    assert header_of("Speed-up") == header_of("Speedup, S")


@pytest.mark.parametrize("column", ["ms_per_image", "ms per sample", "time per image (ms)"])
def test_a_time_of_one_sample_is_no_time_of_a_step(column: str) -> None:
    header = header_of(column)
    assert (header.kind, header.unit.partition("/")[0]) == ("quantity", "ms")


def test_units_are_no_part_of_a_name() -> None:
    assert [bare(n) for n in ("# GPUs", "No. of GPUs", "time (s)", "size (small)")] == [
        "num GPUs",
        "num GPUs",
        "time",
        "size (small)",
    ]


@cases_in_text("column, canonical, noun")
def test_names_in_other_words(column: str, canonical: str | None, noun: str) -> None:
    assert canonical_of(column) == canonical
    assert noun_of(column) == noun


def test_a_name_as_it_is_comes_before_one_in_other_words() -> None:
    assert column_of("batch", ["bs", "local_batch"]) == "local_batch"


@pytest.mark.parametrize(("unit", "seconds"), [({}, 0.1), ({"unit": "ms"}, 0.1), ({"unit": "s"}, 100.0)])
def test_times_are_in_the_unit_of_their_name_unless_another_is_given(unit: dict[str, str], seconds: float) -> None:
    runs = pd.DataFrame({"gpus": [1, 2, 4], "step_ms": [100.0, 110.0, 120.0]})
    assert read_table(runs, time="step_ms", extrinsic="gpus", **unit).measured[0] == seconds


@pytest.mark.parametrize("prefix", ["k", "K", "M", "G", "T", "P"])
def test_every_prefix_has_a_size_in_tens_and_in_twos(prefix: str) -> None:
    (kind, plain, _), (_, binary, _) = unit_of(f"{prefix}B"), unit_of(f"{prefix}iB")
    assert kind == "B"
    assert 1.0 < binary / plain < 1.13
