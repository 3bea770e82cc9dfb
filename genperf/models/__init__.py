"""The families of execution-time expressions: registered here once.

The command line, the documentation's table, `auto` and the tests read `MODELS`; adding a family is a file and a line.
"""

from genperf.errors import ModelError, known_name
from genperf.models import (
    exchanges,
    generic,
    jobs,
    laws,
    pmnf,
    s_sgd,
    transformer,
)
from genperf.models.family import Choice, Family, Overhead, held_at
from genperf.vocabulary.names import ALIASES

_REGISTERED = (
    *(generic.FAMILY, laws.AMDAHL, laws.USL, laws.ERNEST, laws.LOGARITHMIC, laws.POWER_LAW, laws.TOPOLOGY),
    *(exchanges.RING_ALLREDUCE, exchanges.PARAMETER_SERVER, exchanges.PEER_TO_PEER),
    *(s_sgd.FAMILY, *s_sgd.OVERLAPS.values(), jobs.CNTK, jobs.ADAM, exchanges.GOODPUT),
    *(pmnf.FAMILY, transformer.FAMILY, transformer.MEMORY),
)
MODELS: dict[str, Family] = {family.name: family for family in _REGISTERED}


def family_named(name: str) -> Family:
    """Return a family by its name.

    >>> family_named("amdahl").equation
    'c + a/workers, or c + s·batch·workers + a·batch'
    """
    return MODELS[known_name("family", name, MODELS, ModelError)]
