"""Partly overlapped computation and synchronisation, as a p-norm of the two."""

from collections.abc import Sequence

from genperf.expression import Constant, Expression
from genperf.models.compose import with_computation
from genperf.models.family import Family
from genperf.panel import Panel

#: The order γ: 1 is no overlap, infinity is complete overlap. 10 is within 8 % of complete overlap: the two parts are
#: at most 2^(1/10) of the larger one.
ORDER = Constant("gamma", "shape", 1.0, 10.0, start=2.0, penalised=False)


def build(factors: Panel, growing: bool = True, overlapping: bool = True) -> Expression:
    """Write the step time that Pollux's goodput is made of.

        T = (T_grad^γ + T_sync^γ)^(1/γ)
        T_grad = c + a·w
        T_sync = 0 for n = 1, α_r + β_r·(n−2) inside one node, α_n + β_n·(n−2) across nodes

    Qiao et al. (2021), "Pollux: co-adaptive cluster scheduling for goodput-optimized deep learning", section 3.2;
    w is one worker's work. Without nodes there is one T_sync for all n > 1; β_n is left out where the nodes have two
    values. Few configurations do not determine all constants, so that the authors fit all batches of a job at once:
    without `growing` β is 0, as theirs is until a job was run on more than two devices, and without `overlapping` γ
    is 1.

    Examples
    --------
    >>> from genperf.panel.options import roles_of
    >>> print(build(roles_of({"extrinsic": "workers, batch"}).panel))
    ((c + a*batch)**gamma + where(workers > 1, alpha_n + beta_n*(workers - 2), 0)**gamma)**(1/gamma)
    >>> print(build(roles_of({"extrinsic": "workers, batch"}).panel, False, False))
    c + a*batch + where(workers > 1, alpha_n, 0)
    """
    per_worker = {name: f" + beta_{name}*(workers - 2)" if growing else "" for name in "rn"}
    sync = {"synchronisation": f"where(workers > 1, alpha_n{per_worker['n']}, 0)"}
    if factors.has("nodes"):
        inside = f"where(workers > 1 and nodes <= 1, alpha_r{per_worker['r']}, 0)"
        between = f"where(nodes > 1, alpha_n{per_worker['n'] if factors.varies('nodes', 3) else ''}, 0)"
        sync = {"inside nodes": inside, "between nodes": between}
    parts = " + ".join(f"`{name}`" for name in sync)
    total = f"((constant + compute)**gamma + ({parts})**gamma)**(1/gamma)" if overlapping else None
    return with_computation("goodput", factors, sync, total=total, shapes=[ORDER])


def candidates(factors: Panel) -> Sequence[Expression]:
    """Return the whole expression, then those with fewer constants."""
    return [build(factors), build(factors, growing=False), build(factors, growing=False, overlapping=False)]


FAMILY = Family(
    name="goodput",
    equation="((c + a·batch)^γ + (α + β·(workers − 2))^γ)^(1/γ), α and β of the node or of the network",
    source="Qiao et al. 2021",
    purpose="computation and synchronisation that overlap in part",
    uses=("nodes", "batch", "work"),
    build=candidates,
    choice="largest",
)
