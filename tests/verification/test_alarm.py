"""The alarm keeps its rate of false alarms in drawn worlds, and finds slower runs."""

import numpy as np
import pytest

from genperf.verification.alarm import History, alarm_of, one_step_errors

NOTHING = (np.zeros(4), np.ones(4), np.zeros(4))


def raised(worlds: int, day: float, shift: float, sessions: bool) -> float:
    """Return how often four runs of one new session raise the alarm, after 20 sessions of four, noise 1."""
    rng = np.random.default_rng(0)
    count = 0
    for _ in range(worlds):
        runs = rng.normal(0.0, 1.0, (21, 4)) + rng.normal(0.0, day, (21, 1)) if day else rng.normal(0.0, 1.0, (21, 4))
        earlier, new = runs[:20], runs[20] + shift
        residuals = earlier - earlier.mean(axis=0)
        sd = float(np.sqrt(np.sum(residuals**2) / 76))
        rows = (residuals.ravel(), np.repeat(np.arange(20), 4)) if sessions else ()
        history = History(earlier.mean(axis=0), np.full(4, 20.0), sd, 76.0, *rows)
        count += alarm_of(history, np.arange(4), new, NOTHING, 0.01).raised
    return count / worlds


@pytest.mark.parametrize(("day", "sessions"), [(0.0, False), (0.0, True), (1.0, True)])
def test_false_alarms_are_as_rare_as_stated(day: float, sessions: bool) -> None:
    # Of 1,500 worlds 1 % are 15 ± 4.
    assert 0.003 <= raised(1500, day, 0.0, sessions) <= 0.016


def test_days_that_differ_need_sessions() -> None:
    # Runs of a day that are slower together look like a slowdown where nothing says that days differ.
    assert raised(500, 1.0, 0.0, sessions=False) > 0.05


def test_a_slowdown_of_three_times_the_noise_is_found() -> None:
    assert raised(500, 0.0, 3.0, sessions=True) >= 0.95


def test_one_slow_run_among_many_is_named() -> None:
    history = History(np.zeros(1), np.array([50.0]), 0.01, 49.0)
    times = np.zeros(8)
    times[5] = 0.05
    alarm = alarm_of(history, np.zeros(8, dtype=int), times, NOTHING, 0.01)
    assert (alarm.raised, alarm.slower) == (True, (5,))
    assert alarm.probability == 2.0 * min(alarm.tests.values())


def test_a_level_follows_a_drift() -> None:
    drifting = np.linspace(0.0, 3.0, 31)
    assert one_step_errors(drifting)[1] > 2.5
    noise = np.random.default_rng(1).normal(size=31)
    assert one_step_errors(noise)[1] == pytest.approx(noise.mean())
