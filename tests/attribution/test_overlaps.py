"""What each overlap hides, against cases worked by hand."""

import json
import re
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers import shell_of
from worked_models import member, model

from genperf.attribution import compare
from genperf.attribution.terms import HIDDEN

TERMS = {"input": "i*workers", "forward": "f", "backward": "2*f", "exchange": "e*workers"}
FULL = "max(input, forward + max(backward, exchange))"
OUTER, INNER = "input | forward + backward + exchange", "backward | exchange"


def test_an_overlap_hides_the_shorter_branch() -> None:
    # At 4 workers input 2, forward 1, backward 2, exchange 4: T = max(2, 1 + 4) = 5 hides 2 s twice.
    # At 8: input 4, exchange 8: T = max(4, 1 + 8) = 9 hides 4 s and 2 s.
    whole = model(member(TERMS, {"i": 0.5, "f": 1.0, "e": 1.0}, total=FULL))
    found = compare(whole, {"workers": 4}, {"workers": 8})
    rows = found.hidden.set_index("overlap")
    assert rows["a"].to_dict() == pytest.approx({OUTER: -2.0, INNER: -2.0})
    assert rows["b"].to_dict() == pytest.approx({OUTER: -4.0, INNER: -2.0})
    hidden = found.terms.set_index("term").loc[HIDDEN]
    assert rows[["a", "b", "change"]].sum().to_dict() == pytest.approx(hidden[["a", "b", "change"]].to_dict())


def test_a_model_without_an_overlap_hides_nothing_there() -> None:
    constants = {"i": 0.5, "f": 1.0, "e": 1.0}
    one = model(member(TERMS, constants, total=FULL))
    other = model(member(TERMS, constants, total="input + forward + max(backward, exchange)"))
    found = compare(one, {"workers": 4}, {"workers": 4}, other=other)
    changes = found.hidden.set_index("overlap")["change"].to_dict()
    assert changes == pytest.approx({OUTER: 2.0, INNER: 0.0})
    assert found.change == pytest.approx(2.0)


def test_an_overlap_in_part_hides_its_part() -> None:
    # Backward 2 and exchange 4 at 4 workers, 2 and 8 at 8: three quarters of what a maximum would hide.
    total = "input + forward + s*(backward + exchange) + (1 - s)*max(backward, exchange)"
    part = model(member(TERMS, {"i": 0.5, "f": 1.0, "e": 1.0, "s": 0.25}, total=total))
    found = compare(part, {"workers": 4}, {"workers": 8})
    assert found.hidden.iloc[0].to_dict() == pytest.approx({"overlap": INNER, "a": -1.5, "b": -1.5, "change": 0.0})
    assert found.terms.set_index("term").loc[HIDDEN, "a"] == pytest.approx(-1.5)


def test_a_maximum_of_counts_is_no_overlap() -> None:
    # At 4 workers: max(1 + 4/4, 4) = 4 where the sum is 6.
    terms, total = {"compute": "a", "server": "e*workers"}, "max(compute + server/max(workers, 1), server)"
    found = compare(model(member(terms, {"a": 1.0, "e": 1.0}, total=total)), {"workers": 4}, {"workers": 8})
    assert found.hidden["overlap"].tolist() == ["compute + server | server"]


def test_a_sum_has_no_overlap() -> None:
    plain = model(member(TERMS, {"i": 0.5, "f": 1.0, "e": 1.0}))
    assert compare(plain, {"workers": 4}, {"workers": 8}).hidden.empty


def test_explain_shows_what_each_overlap_hides(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two groups, of which one does not prefetch; every phase is measured."""
    frame = pd.DataFrame(product(("ahead", "asked"), (2, 4, 8), (2, 4)), columns=["reader", "workers", "batch"])
    frame = frame.assign(
        io_s=0.02 * frame.batch,
        forward_s=0.03 * frame.batch,
        backward_s=0.06 * frame.batch,
        exchange_s=0.2 * (1 - 1 / frame.workers),
        update_s=0.001,
    )
    rest = frame.forward_s + np.maximum(frame.backward_s, frame.exchange_s) + frame.update_s
    ahead = frame.reader == "ahead"
    frame["step_s"] = np.where(ahead, np.maximum(frame.io_s, rest), frame.io_s + rest)
    frame.to_csv(tmp_path / "runs.csv", index=False)
    shell, file = shell_of(capsys), str(tmp_path / "m.json")
    roles = ("--time", "step_s", "--intrinsic", "batch", "--extrinsic", "workers", "--group", "reader")
    status, _, errors = shell("fit", str(tmp_path / "runs.csv"), *roles, "--model", "s-sgd", "-o", file)
    assert status == 0, errors
    asked = ("explain", file, "--group", "ahead", "--at", "workers=4", "--at", "batch=4", "--versus", "reader=asked")
    status, output, errors = shell(*asked, "--json")
    assert status == 0, errors
    changes = {row["overlap"]: row["change"] for row in json.loads(output)["comparison"]["hidden"]}
    prefetched = next(label for label in changes if {"input", "transfer"} & {*label.split(" | ")[0].split(" + ")})
    assert changes.pop(prefetched) == pytest.approx(0.08, rel=0.05)
    assert changes == pytest.approx(dict.fromkeys(changes, 0.0), abs=0.002)
    printed = shell(*asked)[1]
    assert "what each overlap hides" in printed
    assert re.search(r"and less overlap \+0\.0\d+ s\n", printed)
