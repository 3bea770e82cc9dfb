"""Predictions beside what was then measured: how many intervals held, and whether runs have become slower."""

from genperf.verification.verify import Checked, Verification, verify
