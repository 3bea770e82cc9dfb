"""Draw how the members of a stack and their pool go on beyond the measured counts: docs/images/how-auto-works.svg.

    python -m experiments how_auto_works_picture

The rows are those of `server_knee.csv` on one server: the model knows those up to 8 workers. The same files give the
same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import pandas as pd

import genperf as gp
from experiments.shared import IMAGES
from genperf.prediction import stack_of
from genperf.prediction.member import log_times

OUT = IMAGES / "how-auto-works.svg"
COLOURS = ("#1b7a5a", "#b3541e", "#4a5fb0", "#8a3b86")


@dataclass(frozen=True)
class Frame:
    """The picture's size in pixels, and the ranges of workers and seconds."""

    width: float = 720.0
    height: float = 330.0
    left: float = 60.0
    bottom: float = 46.0
    right: float = 190.0
    counts: tuple[float, float] = (1.0, 32.0)
    seconds: tuple[float, float] = (0.3, 6.0)

    def x(self, workers: float) -> float:
        """Return the place of a count."""
        return self.left + (self.width - self.left - self.right) * np.log2(workers) / np.log2(self.counts[1])

    def y(self, seconds: float) -> float:
        """Return the place of a time."""
        low, high = np.log(self.seconds)
        share = (np.log(np.clip(seconds, *self.seconds)) - low) / (high - low)
        return self.height - self.bottom - (self.height - self.bottom - 14.0) * share


FRAME = Frame()


def path(counts: np.ndarray, seconds: np.ndarray, style: str) -> str:
    points = " ".join(f"{FRAME.x(n):.1f},{FRAME.y(s):.1f}" for n, s in zip(counts, seconds, strict=True))
    return f'<polyline points="{points}" fill="none" {style}/>'


def text(x: float, y: float, words: str, extra: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {extra}>{escape(words)}</text>'


def axes() -> list[str]:
    base = FRAME.height - FRAME.bottom
    parts = [f'<line x1="{FRAME.left}" y1="{base}" x2="{FRAME.x(32)}" y2="{base}" stroke="#555"/>']
    parts += [text(FRAME.x(n), base + 16, str(n), 'text-anchor="middle"') for n in (1, 2, 4, 8, 16, 32)]
    for s in (0.5, 1, 2, 4):
        parts.append(text(FRAME.left - 8, FRAME.y(s) + 4, f"{s:g} s", 'text-anchor="end"'))
        parts.append(
            f'<line x1="{FRAME.left}" y1="{FRAME.y(s):.1f}" x2="{FRAME.x(32)}" y2="{FRAME.y(s):.1f}" stroke="#eee"/>'
        )
    parts.append(text(FRAME.x(5.6), FRAME.height - 8, "workers", 'text-anchor="middle"'))
    edge = FRAME.x(8)
    parts.append(f'<line x1="{edge:.1f}" y1="14" x2="{edge:.1f}" y2="{base}" stroke="#999" stroke-dasharray="3 3"/>')
    parts.append(text(edge + 6, 26, "measured up to here"))
    return parts


def picture() -> str:
    table = gp.datasets.load("server_knee")
    rows = np.asarray(table.columns["workers"]) <= 8
    result = gp.fit(table.take(rows))
    counts = np.exp(np.linspace(0.0, np.log(32.0), 80))
    at = {"workers": counts, "servers": np.ones(80), "compute_s": np.full(80, 0.3)}
    out = result.predict(pd.DataFrame(at))
    members = sorted(zip(result.members, log_times(result.members, at), strict=True), key=lambda pair: -pair[0].weight)
    stack = stack_of(result.members)
    assert stack is not None
    beyond = next(b for b in stack.beyond if b.factor == "workers")
    band = [*zip(counts, out.lower, strict=True), *reversed(list(zip(counts, out.upper, strict=True)))]
    corners = " ".join(f"{FRAME.x(n):.1f},{FRAME.y(s):.1f}" for n, s in band)
    parts = [f'<polygon points="{corners}" fill="#cfe3dc" stroke="none"/>', *axes()]
    labels: list[tuple[str, str]] = [("pool and its 90 % interval", "#111")]
    for colour, (member, logarithms) in zip(COLOURS, members, strict=False):
        parts.append(path(counts, np.exp(logarithms), f'stroke="{colour}" stroke-width="1.5" stroke-dasharray="6 3"'))
        place = member.process.place if member.process is not None else 0
        labels.append((f"{member.label}: {member.weight:.2f}, beyond {beyond.weights[place]:.2f}", colour))
    parts.append(path(counts, out.time.to_numpy(), 'stroke="#111" stroke-width="2"'))
    parts += points(table)
    for k, (words, colour) in enumerate(labels):
        parts.append(text(FRAME.x(32) + 10, 40 + 18 * k, words, f'fill="{colour}"'))
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {FRAME.width:g} {FRAME.height:g}" font-size="11"'
    return f'{head} font-family="sans-serif">\n' + "\n".join(parts) + "\n</svg>\n"


def points(table: gp.Table) -> Sequence[str]:
    """Return the measured times: filled where the model knows them."""
    medians = table.medians()
    columns = medians.columns
    chosen = (np.asarray(columns["servers"]) == 1) & (np.asarray(columns["compute_s"]) == 0.3)
    pairs = zip(np.asarray(columns["workers"])[chosen], medians.measured[chosen], strict=True)
    places = [(FRAME.x(n), FRAME.y(s), "#111" if n <= 8 else "#fff") for n, s in pairs]
    return [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{fill}" stroke="#111"/>' for x, y, fill in places]


def run() -> None:
    OUT.write_text(picture(), encoding="utf-8")
