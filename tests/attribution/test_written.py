"""A generic expression as a person reads it: its numbers are those of the model."""

import itertools
import re

import numpy as np
import pandas as pd
import pytest

import genperf as gp
from genperf.attribution import written_lines

NETS = ("bert", "resnet", "vgg")


def table(slow: float = 1.0) -> gp.Table:
    """T = 0.02·batch^0.8·workers^0.1, three times as long for vgg, and `slow` times for vgg with fp16."""
    rows = list(itertools.product((8, 16, 32, 64), (2, 4, 8), NETS, ("fp16", "fp32")))
    frame = pd.DataFrame(rows, columns=["batch", "workers", "net", "precision"])
    time = 0.02 * frame.batch**0.8 * frame.workers**0.1 * frame.net.map({"bert": 1.0, "resnet": 1.0, "vgg": 3.0})
    time = time * np.where((frame.net == "vgg") & (frame.precision == "fp16"), slow, 1.0)
    noise = np.exp(np.random.default_rng(0).normal(0.0, 0.005, len(frame)))
    return gp.read_table(
        frame.assign(t=time * noise), time="t", intrinsic="batch", extrinsic="workers", categorical="net,precision"
    )


def test_a_term_has_its_powers_and_its_levels() -> None:
    result = gp.fit(table(), "generic", structure="separable", draws=5)
    head, line = written_lines(result)
    assert head == "time (s) ="
    matched = re.fullmatch(r"  (\S+) \* \(batch/22.6\)\^(\S+) \* \(workers/4\)\^(\S+) \* \[net: (.*)\]", line)
    assert matched is not None, line
    values = result.best.values
    assert float(matched[1]) == pytest.approx(values["a_batch"], rel=0.005)
    assert float(matched[2]) == pytest.approx(0.8, abs=0.02)
    assert float(matched[3]) == pytest.approx(0.1, abs=0.02)
    assert dict(part.split() for part in matched[4].split(", "))["vgg"].startswith(("2.9", "3"))


def test_interactions_stand_below_the_terms() -> None:
    lines = written_lines(gp.fit(table(1.5), "generic", structure="grown", draws=5))
    below = lines.index("every term but a constant one times")
    assert any("net = vgg and precision = fp16" in line for line in lines[below + 1 :])
    assert not any("net = vgg and precision = fp16" in line for line in lines[:below])


def test_what_changes_nothing_is_left_out() -> None:
    result = gp.fit(table(), "generic", structure="separable", draws=5)
    text = "\n".join(written_lines(result))
    assert "precision" not in text
    assert not re.search(r"\^-?0\.00", text)


def test_another_family_has_its_own_formula() -> None:
    runs = pd.DataFrame({"workers": [1, 2, 4, 8], "t": [8.0, 4.0, 2.0, 1.0]})
    assert written_lines(gp.fit(gp.read_table(runs, time="t", extrinsic="workers"), "amdahl", draws=5)) == []


def test_the_written_numbers_give_the_prediction() -> None:
    result = gp.fit(table(), "generic", structure="separable", draws=5)
    run = {"batch": 16.0, "workers": 8.0, "net": "vgg", "precision": "fp32"}
    total = 0.0
    for line in written_lines(result)[1:]:
        value = 1.0
        for part in line.strip().removeprefix("+ ").split(" * "):
            power = re.fullmatch(r"\((\w+)/([\d.]+)\)(?:\^(.+))?", part)
            levels = re.fullmatch(r"\[(\w+): (.*)\]", part)
            if power is not None:
                value *= (float(run[power[1]]) / float(power[2])) ** float(power[3] or 1.0)
            elif levels is not None:
                value *= float(dict(one.split() for one in levels[2].split(", ")).get(str(run[levels[1]]), 1.0))
            else:
                value *= float(part)
        total += value
    assert total == pytest.approx(float(result.predict(run)["time"].iloc[0]), rel=0.02)
