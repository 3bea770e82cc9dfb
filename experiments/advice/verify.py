"""How often `genperf verify` raises a false alarm, and what it finds, in drawn worlds; beside fixed thresholds.

A world has a history of 20 sessions (nights, commits), each with one run at four counts, and a new session. Runs have
log-normal noise of 1, 3 or 10 %. Sessions are alike, or differ by as much as runs do, or drift: a random walk of three
tenths of the noise a session. The new session is slower by a step of 0 to 20 %, or by three times the noise. A fixed
threshold raises an alarm where the mean of the new runs is slower than that of the earlier ones by more than it.
The last part draws tables, and calls `genperf.verify` with them: a fit a world.
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pandas as pd

import genperf as gp
from experiments.shared import IMAGES, page, pyplot
from genperf import verification
from genperf.verification import History, alarm_of

SESSIONS, RUNS, LEVEL = 20, 4, 0.01
THRESHOLDS = (0.05, 0.10, 0.20)
#: Name → standard deviation of the sessions, and of a step of their random walk, in units of the noise.
WORLDS = {"sessions alike": (0.0, 0.0), "sessions differ": (1.0, 0.0), "drift": (0.0, 0.3)}
#: Sessions that differ by so little that a history does not show it.
LITTLE = {"sessions differ a little": (0.55, 0.0)}
NOISES, STEPS = (0.01, 0.03, 0.10), (0.0, 0.02, 0.05, 0.10, 0.20)

#: What is taken for known of two new runs beside their history → the constants of `genperf.verification` that do it.
KNOWN = {
    "nothing": {},
    "slow runs are never alone": {"EACH": 0.0},
    "noise is normal": {"SKEWED": np.inf},
    "sessions are alike": {"NONE": 1.0 - 1e-12},
}
KNOWN["all three"] = {name: value for constants in KNOWN.values() for name, value in constants.items()}
KNOWN |= {f"sessions are alike in {100 * of:.0f} %": {"NONE": of} for of in (0.5, 0.8, 0.9)}

#: The quantile of a normal distribution that an alarm at the level needs.
ALARM_AT = NormalDist().inv_cdf(1.0 - LEVEL)


def drawn(
    rng: np.random.Generator, noise: float, kind: str, step: float, runs: int = RUNS, new: int = RUNS
) -> tuple[np.ndarray, np.ndarray]:
    """Return ln T of the earlier sessions, shape (sessions, runs), and of the new one, at as many of the counts."""
    day, walk = (noise * size for size in (WORLDS | LITTLE)[kind])
    levels = rng.normal(0.0, day, SESSIONS + 1) + np.cumsum(rng.normal(0.0, walk, SESSIONS + 1))
    earlier = levels[:SESSIONS, None] + rng.normal(0.0, noise, (SESSIONS, runs))
    return earlier, levels[SESSIONS] + rng.normal(0.0, noise, new) + np.log1p(step)


def judged(earlier: np.ndarray, new: np.ndarray, sessions: bool = True) -> dict[str, bool]:
    """Return which alarms are raised."""
    count = earlier.shape[1]
    residuals = earlier - earlier.mean(axis=0)
    freedom = float(residuals.size - count)
    rows = (residuals.ravel(), np.repeat(np.arange(len(earlier)), count)) if sessions else ()
    sd = float(np.sqrt(np.sum(residuals**2) / freedom))
    history = History(earlier.mean(axis=0), np.full(count, float(len(earlier))), sd, *rows)
    nothing = (new, np.ones(len(new)))
    alarm = alarm_of(history, np.arange(len(new)) % count, new, nothing, LEVEL)
    slower = float(np.mean(new) - np.mean(earlier))
    fixed = {f"over {100 * limit:g} %": slower > np.log1p(limit) for limit in THRESHOLDS}
    tests = {name: value <= LEVEL for name, value in alarm.tests.items()}
    return {"verify": alarm.raised, "mean": tests.get("mean", tests["each"]), "each": tests["each"], **fixed}


def shares(worlds: int, noise: float, kind: str, step: float) -> dict[str, float]:
    """Return how often each alarm is raised, in %."""
    rng = np.random.default_rng([int(1e4 * noise), list(WORLDS).index(kind), int(1e4 * step)])
    rows = []
    for _ in range(worlds):
        earlier, new = drawn(rng, noise, kind, step)
        rows.append({**judged(earlier, new), "without sessions": judged(earlier, new, sessions=False)["verify"]})
    return {name: 100.0 * float(value) for name, value in pd.DataFrame(rows).mean().items()}


def three_times(worlds: int, noise: float = 0.03) -> pd.DataFrame:
    """Return how often a slowdown of three times the noise is found, by the number of new runs."""
    rows = []
    for new in (1, 2, 3, 4, 8):
        first, one = np.random.default_rng([2, new]), np.where(np.arange(new) == 0, 1.0, 0.0)
        cases = {"none is": (0.0, RUNS), "all are": (1.0, RUNS), "one is": (one, RUNS), "all are, of few": (1.0, new)}
        row: dict[str, float] = {"new runs": new}
        for (name, (slower, runs)), rng in zip(cases.items(), first.spawn(len(cases)), strict=True):
            found = 0
            for _ in range(worlds):
                earlier, after = drawn(rng, noise, "sessions alike", 0.0, runs, new)
                found += judged(earlier, after + 3.0 * noise * slower)["verify"]
            row[name] = 100.0 * found / worlds
        rows.append(row)
    return pd.DataFrame(rows)


def with_more_known(worlds: int, noise: float = 0.03) -> pd.DataFrame:
    """Return how often two new runs raise an alarm where more is taken for known than `verify` does."""
    columns = {"found": ("sessions alike", 3.0 * noise, 2), "false alarms": ("sessions alike", 0.0, 2)}
    columns["false alarms of drift"] = ("drift", 0.0, 2)
    columns["of four runs that differ a little"] = ("sessions differ a little", 0.0, RUNS)
    rows = []
    for known, constants in KNOWN.items():
        usual = {name: getattr(verification, name) for name in constants}
        for name, value in constants.items():
            setattr(verification, name, value)
        row: dict[str, object] = {"taken for known": known}
        for column, (kind, slower, new) in columns.items():
            rng, raised = np.random.default_rng([len(column), 2]), 0
            for _ in range(worlds):
                earlier, after = drawn(rng, noise, kind, 0.0, RUNS, new)
                raised += judged(earlier, after + slower)["verify"]
            row[column] = 100.0 * raised / worlds
        for name, value in usual.items():
            setattr(verification, name, value)
        rows.append(row)
    return pd.DataFrame(rows)


def with_a_fit(worlds: int, noise: float = 0.02) -> pd.DataFrame:
    """Return how often `gp.verify` raises an alarm on drawn tables."""
    rows = []
    for at, counts in (("measured", (1, 4, 8)), ("never measured", (2, 2, 2))):
        for step in (0.0, 3.0 * noise):
            raised, count = 0, worlds if step else 4 * worlds
            for world in range(count):
                rng = np.random.default_rng([world, len(at)])

                def runs(gpus: tuple[int, ...], more: float, rng: np.random.Generator = rng) -> pd.DataFrame:
                    times = [(1.0 + 0.05 * np.log2(n)) * np.exp(noise * rng.normal() + more) for n in gpus]
                    return pd.DataFrame({"gpus": gpus, "step_s": times})

                history = pd.concat([runs((1, 4, 8), 0.0).assign(commit=f"c{day}") for day in range(8)])
                raised += gp.verify(history.reset_index(drop=True), runs(counts, step)).alarm.raised
            rows.append((at, f"{100 * step:g} %", count, 100.0 * raised / count))
    return pd.DataFrame(rows, columns=["new runs at", "slower by", "tables", "alarms"])


def in_short(every: pd.DataFrame) -> pd.DataFrame:
    """Return false alarms and what is found where sessions drift, by the noise."""
    rows = every[(every["world"] == "drift") & every["step"].isin((0.0, 0.05, 0.10))]
    names = {0.0: "false alarms", 0.05: "5 % slower", 0.10: "10 % slower"}
    out = []
    for noise, of_noise in rows.groupby("noise", sort=False):
        for judge in ("verify", *(f"over {100 * limit:g} %" for limit in THRESHOLDS)):
            found = {names[step]: value for step, value in zip(of_noise["step"], of_noise[judge], strict=True)}
            out.append({"noise": noise, "an alarm by": judge, **found})
    return pd.DataFrame(out)


def picture(steps: pd.DataFrame, path: Path) -> None:
    """Draw what is found by the step, for each noise."""
    figure, axes = pyplot().subplots(1, len(NOISES), figsize=(9.0, 2.8), sharey=True, layout="constrained")
    for ax, noise in zip(axes, NOISES, strict=True):
        rows = steps[(steps["noise"] == f"{100 * noise:g} %") & (steps["world"] == "sessions alike")]
        for name, style in {"verify": "-", "over 5 %": "--", "over 10 %": "-.", "over 20 %": ":"}.items():
            ax.plot(100 * np.array(STEPS), rows[name], style, color="k" if name == "verify" else "0.5", label=name)
        ax.set(title=f"noise {100 * noise:g} %", xlabel="slower by, %")
    axes[0].set_ylabel("alarms, %")
    axes[-1].legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=110)


def run(worlds: int = 4000, fits: int = 120) -> str:
    """Draw the worlds and return the page; the picture is docs/images/verify.png."""
    rows = []
    for kind in WORLDS:
        for noise in NOISES:
            for step in STEPS:
                found = shares(worlds if step == 0.0 else worlds // 4, noise, kind, step)
                rows.append({"world": kind, "noise": f"{100 * noise:g} %", "step": step, **found})
                print(rows[-1], file=sys.stderr, flush=True)
    every = pd.DataFrame(rows)
    false = every[every["step"] == 0.0].drop(columns="step")
    steps = every[every["step"] > 0.0].drop(columns=["mean", "each", "without sessions"])
    steps = steps.assign(step=[f"{100 * step:g} %" for step in steps["step"]])
    picture(every, IMAGES / "verify.png")
    three = three_times(5 * worlds)
    most = {n: 100.0 * NormalDist().cdf(3.0 * n**0.5 - ALARM_AT) for n in (1, 2, 3)}
    return page(
        "verify",
        globals(),
        best=", ".join(f"{share:.1f} % for n = {n}" for n, share in most.items()),
        known=100.0 * NormalDist().cdf(3.0 / (1.0 + 1.0 / SESSIONS) ** 0.5 - ALARM_AT),
        worlds=worlds,
        drawn=worlds // 4,
        more_known=with_more_known(2 * worlds),
        short=in_short(every),
        false_alarms=false,
        steps=steps,
        three=three,
        enough=int(three.loc[three["all are"] >= 95.0, "new runs"].min()),
        by_two=float(three.loc[three["new runs"] == 2, "all are"].iloc[0]),
        fitted=with_a_fit(fits),
    )
