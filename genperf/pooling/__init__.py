"""Pooling between groups: what a group may borrow from groups that were measured to larger scales."""

from genperf.pooling.curves import could_name
from genperf.pooling.loans import LOANS, Borrowed, Loan, pool

__all__ = ["LOANS", "Borrowed", "Loan", "could_name", "pool"]
