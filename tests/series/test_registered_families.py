"""A family of `genperf.models` takes part in `auto` on a series by being registered."""

import numpy as np
import pandas as pd
import pytest

import genperf as gp
from genperf.models import MODELS, Family, Overhead, family_named
from genperf.models.family import Need
from genperf.result import FitResult
from genperf.series.families import registered_overheads
from genperf.series.prior import NAMES, PRIOR, STEP_BESIDE_DOUBLING

#: Messages of m nodes that meet in one switch: they wait for one another in pairs.
CONGESTION = Overhead("congestion", "k", "k*(nodes - 1)**2", "between", 64.0)


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Family:
    family = Family(
        name="switch",
        equation="a + k·(nodes − 1)²",
        source="this test",
        purpose="nodes that share one switch",
        needs=(Need("nodes"),),
        build=family_named("topology").build,
        overheads=(CONGESTION,),
    )
    monkeypatch.setitem(MODELS, family.name, family)
    return family


def fitted() -> FitResult:
    nodes = np.array([1.0, 2.0, 3.0, 4.0, 6.0, 8.0])
    frame = pd.DataFrame({"devices": 4.0 * nodes, "nodes": nodes, "s": 0.1 + 0.004 * (nodes - 1.0) ** 2})
    result = gp.fit(gp.read_table(frame, time="s", extrinsic="devices,nodes", scaling="weak"))
    assert isinstance(result, FitResult)
    return result


def test_every_learned_overhead_belongs_to_a_registered_family() -> None:
    assert {*registered_overheads()} == {*NAMES} - {STEP_BESIDE_DOUBLING}
    names = [overhead.name for family in MODELS.values() for overhead in family.overheads]
    assert len(names) == len({*names})


def test_a_registered_family_is_a_member_and_wins_on_its_own_data(registered: Family) -> None:
    member = fitted().members[0]
    assert member.label == "switch"
    assert member.weight > 0.5
    assert [term.name for term in member.expression.terms] == ["computation", "congestion"]


def test_without_it_the_others_stay_as_they_were() -> None:
    labels = {member.label for member in fitted().members}
    assert "switch" not in labels


def test_an_unlearned_overhead_has_the_prior_of_any(registered: Family) -> None:
    means, roots = PRIOR.moments(("latency", "congestion"), (False, False))
    plain = PRIOR.moments(("latency",), (False,))
    np.testing.assert_allclose(means[:, 0], plain[0][:, 0])
    np.testing.assert_allclose(np.exp(means[:, 1]), PRIOR.unlearned_median)
    np.testing.assert_allclose(roots[:, 1], [[0.0, PRIOR.unlearned_spread]] * len(PRIOR.settings))
