"""Advice: what to measure next, and which configuration is best."""
