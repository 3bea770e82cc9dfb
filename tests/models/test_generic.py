"""The generic expression's parts: counts that follow others."""

from genperf.models.generic import Structure, generic
from genperf.table import Factor


def test_a_count_that_follows_another_has_a_step_in_every_structure() -> None:
    devices = Factor("devices", "extrinsic", 1, 16, centre=4.0, distinct=5, integer=True, positive=True)
    nodes = Factor("nodes", "extrinsic", 1, 2, centre=1.4, distinct=2, integer=True, positive=True)
    for name in ("separable", "per-term", "product"):
        names = generic([devices, nodes], Structure(name), following={"nodes"}).constant_names
        assert any(n.endswith("_nodes") and n.startswith("d") for n in names), name
        assert not any(n.endswith("_nodes") and n.startswith("q") for n in names), name
