"""The families of execution-time expressions: one small file each, registered here once.

The command line, the documentation's table, `auto` and the tests read `MODELS`; adding a family is a file and a line.
"""

from genperf.errors import ModelError, known_name
from genperf.models import (
    adam,
    amdahl,
    cntk,
    ernest,
    generic,
    goodput,
    logarithmic,
    parameter_server,
    peer_to_peer,
    pmnf,
    power_law,
    ring_allreduce,
    s_sgd,
    topology,
    transformer,
    transformer_memory,
    usl,
)
from genperf.models.family import Choice, Family, Overhead, held_at
from genperf.vocabulary.names import ALIASES

_REGISTERED = (
    *(generic.FAMILY, amdahl.FAMILY, usl.FAMILY, ernest.FAMILY, logarithmic.FAMILY, power_law.FAMILY, topology.FAMILY),
    *(ring_allreduce.FAMILY, parameter_server.FAMILY, peer_to_peer.FAMILY, s_sgd.FAMILY, *s_sgd.OVERLAPS.values()),
    *(cntk.FAMILY, adam.FAMILY, goodput.FAMILY, pmnf.FAMILY, transformer.FAMILY, transformer_memory.FAMILY),
)
MODELS: dict[str, Family] = {family.name: family for family in _REGISTERED}


def family_named(name: str) -> Family:
    """Return a family by its name.

    Raises
    ------
    ModelError
        For an unknown name.

    Examples
    --------
    >>> family_named("amdahl").equation
    'c + a/workers, or c + s·batch·workers + a·batch'
    """
    return MODELS[known_name("family", name, MODELS, ModelError)]
