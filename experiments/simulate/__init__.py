"""Discrete-event simulations of distributed training, from first principles: what waits, and what queues where.

No time here is computed from a performance model: workers compute, messages queue at links, servers and storage
serve one request after another, and the times come out. They stand for measurements where none can be had.
"""
