"""A series that borrows: the loans at the donors' scales, the group's families between and beyond them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec
import numpy as np
import numpy.typing as npt

from genperf.errors import Note
from genperf.pooling import LOANS, Borrowed, Loan
from genperf.prediction import Member
from genperf.series.measured import Series

Array = npt.NDArray[np.float64]

#: Where the points of a loan lie in its distribution.
LEVELS = (np.arange(LOANS.points) + 0.5) / LOANS.points
#: The smallest variance of a loan that is divided by.
TINY = 1e-300


def with_loans(series: Series, loans: Sequence[Loan]) -> Series:
    """Return a series with the borrowed values beside the measured ones, as measurements of so much less precision."""
    columns = {name: np.array([loan.columns[name] for loan in loans]) for name in series.columns}
    medians = np.array([np.median(loan.points) for loan in loans])
    return series.with_borrowed(columns, medians, np.array([loan.variance for loan in loans]))


def led(member: Member, loans: Sequence[Loan], noise: float) -> Member:
    """Lead every draw exactly through one quantile of what was borrowed, flat curves through the low ones.

    At the donors' scales the draws then spread as the loans do, whatever the families hold.

    Parameters
    ----------
    member : Member
        Fitted to the series with the loans.
    noise : float
        Standard deviation of ln T of repeats.
    """
    discrepancy = member.discrepancy
    assert discrepancy is not None
    ranks = (np.arange(len(member.draws)) + 0.5) / len(member.draws)
    # What a new run adds is in the loans already: the draws spread by so much less.
    run = float(np.mean(discrepancy.run_variance(noise)))
    offsets = []
    for loan in loans:
        share = np.sqrt(max(0.0, 1.0 - run / max(loan.variance, TINY)))
        offsets.append(share * np.interp(ranks, LEVELS, loan.points - np.median(loan.points)))
    variances = np.concatenate([discrepancy.variances[: -len(loans)], np.zeros(len(loans))])
    stacked = np.stack(offsets, axis=1)
    return replace(member, discrepancy=msgspec.structs.replace(discrepancy, variances=variances, offsets=stacked))


def borrowing_note(borrowed: Borrowed) -> Note:
    """Say what a group borrowed, and from which groups."""
    last = borrowed.loans[-1]
    scales = ", ".join(f"{loan.scale:g}" for loan in borrowed.loans)
    nearest = "; ".join(", ".join(donor) for donor in last.donors[:3])
    return Note(
        f"beyond {borrowed.along}={borrowed.base:g} its times, at {scales}, are borrowed from {last.among} "
        f"group{'s' * (last.among != 1)} (most like it: {nearest}); pooled share {100.0 * last.share:.0f} %",
        "pooled",
    )


def borrowing_options(borrowed: Borrowed) -> dict[str, str | float | None]:
    """Return what was borrowed, for the model file."""
    last = borrowed.loans[-1]
    return {
        "pooled_share": round(last.share, 3),
        "borrowed_to": last.scale,
        "donors": "; ".join(", ".join(donor) for donor in last.donors),
    }
