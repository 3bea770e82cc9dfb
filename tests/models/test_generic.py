"""The generic expression's parts: exponents of levels, and counts that follow others."""

import numpy as np
import pytest

from genperf.models.generic import Structure, generic
from genperf.table import Factor


def test_levels_may_have_exponents_that_the_penalty_pulls_toward_the_shared_ones() -> None:
    batch = Factor("batch", "intrinsic", 8, 64, centre=32.0, distinct=4, positive=True)
    net = Factor("net", "categorical", distinct=3, levels=("a", "b", "c"))
    expression = generic([batch, net], Structure("product", 1, varied=0.1))
    deviations = [c for c in expression.constants if c.size == 0.1]
    assert [c.name for c in deviations] == [f"p_batch_net[{level}]" for level in "abc"]
    # Three held constants of a tenth each beside C, p, a and two levels.
    assert expression.freedom == pytest.approx(5.3)
    values = {c.name: 0.0 for c in expression.constants} | {"a1": 2.0, "p1_batch": 1.0, "p_batch_net[b]": 0.5}
    columns = {"batch": np.array([64.0, 64.0]), "net": np.array(["a", "b"], object)}
    assert expression.evaluate(columns, values) == pytest.approx([4.0, 2.0 * 2.0**1.5])


def test_a_count_that_follows_another_has_a_step_in_every_structure() -> None:
    devices = Factor("devices", "extrinsic", 1, 16, centre=4.0, distinct=5, integer=True, positive=True)
    nodes = Factor("nodes", "extrinsic", 1, 2, centre=1.4, distinct=2, integer=True, positive=True)
    for name in ("separable", "per-term", "product"):
        names = generic([devices, nodes], Structure(name), following={"nodes"}).constant_names
        assert any(n.endswith("_nodes") and n.startswith("d") for n in names), name
        assert not any(n.endswith("_nodes") and n.startswith("q") for n in names), name
