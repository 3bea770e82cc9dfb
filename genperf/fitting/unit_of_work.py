"""Times that were made from a throughput: a fit that does not depend on the unit of the work.

A throughput tells the seconds of a step up to the unit of the work alone. What a fit knows of the seconds of usual
steps then means nothing, so that the series is fitted as one of usual length, and the result is put in seconds after.
"""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np

from genperf.pooling import Borrowed
from genperf.prediction import Member
from genperf.series import Series
from genperf.series.prior import PRIOR
from genperf.table import Target

#: Decimals of a logarithm that a unit does not change.
UNIT_DIGITS = 12


def unit_of(series: Series, target: Target) -> float:
    """Return the unit in which the times of a series are fitted, in seconds: 1 where true seconds were measured.

    Otherwise the largest scale takes the usual time of a step.
    """
    if target.true_seconds or not target.is_time:
        return 1.0
    last = int(np.argmax(series.values(series.scale)))
    return float(np.exp(series.logarithms[last]) / PRIOR.usual_time)


def in_unit(series: Series, unit: float) -> Series:
    """Return a series of seconds in another unit, without the rounding errors that depend on the unit."""
    if unit == 1.0:
        return series
    return replace(series, logarithms=np.round(series.logarithms - np.log(unit), UNIT_DIGITS))


def borrowed_in_unit(borrowed: Borrowed, unit: float) -> Borrowed:
    """Return borrowed values of seconds in another unit."""
    if unit == 1.0:
        return borrowed
    loans = tuple(replace(loan, points=loan.points - np.log(unit)) for loan in borrowed.loans)
    return replace(borrowed, loans=loans)


def member_in_seconds(member: Member, unit: float) -> Member:
    """Return a member of a series, whose constants are all coefficients, in seconds."""
    discrepancy = member.discrepancy
    if unit == 1.0 or discrepancy is None:
        return member
    logarithms = discrepancy.logarithms + np.log(unit)
    return replace(
        member,
        constants=member.constants * unit,
        draws=member.draws * unit,
        discrepancy=msgspec.structs.replace(discrepancy, logarithms=logarithms),
    )
