"""What can go wrong in a measurement: one line that says what, and what to do."""

from __future__ import annotations


class MeasureError(Exception):
    """A measurement cannot be made; the message is for the user."""
