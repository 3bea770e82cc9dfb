"""The alarm keeps its rate of false alarms in drawn worlds, and finds slower runs."""

import numpy as np
import pytest
from scipy.stats import cauchy

from genperf.verification import Alarm, History, alarm_of


def judged(history: History, configuration: np.ndarray, logarithms: np.ndarray) -> Alarm:
    """Return the alarm at 1 %; no model predicted the runs."""
    unknown = np.zeros(len(logarithms)), np.ones(len(logarithms))
    return alarm_of(history, configuration, logarithms, unknown, 0.01)


def raised(
    worlds: int, day: float, shift: float, sessions: bool, shape: tuple[int, int] = (20, 4), stragglers: float = 0.0
) -> float:
    """Return how often the runs of one new session raise the alarm, after some sessions of as many, noise 1."""
    rng, (count, runs) = np.random.default_rng(0), shape
    alarms = 0
    for _ in range(worlds):
        drawn = rng.normal(0.0, 1.0, (count + 1, runs)) + day * rng.normal(0.0, 1.0, (count + 1, 1))
        drawn += 6.0 * (rng.random(drawn.shape) < stragglers)
        earlier, after = drawn[:count], drawn[count] + shift
        residuals = earlier - earlier.mean(axis=0)
        freedom = float((count - 1) * runs)
        rows = (residuals.ravel(), np.repeat(np.arange(count), runs)) if sessions else ()
        sd = float(np.sqrt(np.sum(residuals**2) / freedom))
        history = History(earlier.mean(axis=0), np.full(runs, float(count)), sd, *rows)
        alarms += judged(history, np.arange(runs), after).raised
    return alarms / worlds


@pytest.mark.parametrize(("day", "sessions"), [(0.0, False), (0.0, True), (1.0, True)])
def test_false_alarms_are_as_rare_as_stated(day: float, sessions: bool) -> None:
    # Of 1,000 worlds 1 % are 10 ± 3.
    assert 0.003 <= raised(1000, day, 0.0, sessions) <= 0.017


def test_runs_that_straggle_now_and_then_are_no_slowdown() -> None:
    # Of 24 runs about one is slower by six times the noise, as one in 33 of the history was: normal noise says 27 %.
    assert raised(300, 0.0, 0.0, sessions=True, shape=(40, 24), stragglers=0.03) <= 0.04


def test_days_that_differ_need_sessions() -> None:
    # Runs of a day that are slower together look like a slowdown where nothing says that days differ.
    assert raised(500, 1.0, 0.0, sessions=False) > 0.05


def test_a_slowdown_of_three_times_the_noise_is_found() -> None:
    assert raised(500, 0.0, 3.0, sessions=True) >= 0.98
    # With 8 sessions of 3 runs it is 95 %, of 500 worlds ± 1.
    assert raised(500, 0.0, 3.0, sessions=True, shape=(8, 3)) >= 0.93


def test_one_slow_run_among_many_is_named() -> None:
    history = History(np.zeros(1), np.array([50.0]), 0.01)
    times = np.zeros(8)
    times[5] = 0.05
    alarm = judged(history, np.zeros(8, dtype=int), times)
    assert (alarm.raised, alarm.slower) == (True, (5,))
    # Of eight runs *each* has the weight of the *mean*, whose test finds them faster than 0.99 at most.
    quantiles = [cauchy.isf(min(value, 0.99)) for value in alarm.tests.values()]
    assert alarm.probability == pytest.approx(cauchy.sf(np.mean(quantiles)), rel=1e-12)


def test_a_level_follows_a_drift() -> None:
    rng = np.random.default_rng(1)
    sessions, noise = np.repeat(np.arange(31), 4), 0.1 * rng.normal(size=124)

    def level(residuals: np.ndarray) -> float:
        history = History(np.zeros(1), np.array([124.0]), 1.0, residuals, sessions)
        centre, *_, weight = history.next_level
        return float((weight @ centre).item())

    assert level(0.1 * sessions + noise) > 2.8
    # Without a drift it is the mean of all.
    assert level(noise) == pytest.approx(noise.mean(), abs=0.01)


def test_a_run_of_a_session_whose_kind_was_measured_once_is_no_surprise() -> None:
    rng = np.random.default_rng(2)
    residuals, sessions = 0.01 * rng.normal(size=40), np.repeat(np.arange(10), 4)
    history = History(np.zeros(2), np.array([40.0, 1.0]), 0.01, residuals, sessions)
    often, once = (judged(history, np.array([place]), np.array([0.025])) for place in (0, 1))
    assert often.probability < 0.5 * once.probability


@pytest.mark.parametrize("sessions", [(), (np.zeros(24), np.repeat(np.arange(8), 3))])
def test_times_that_never_differ_are_no_fault(sessions: tuple[np.ndarray, ...]) -> None:
    history = History(np.zeros(3), np.full(3, 8.0), 0.0, *sessions)
    same, slower = (judged(history, np.arange(3), np.full(3, value)) for value in (0.0, 0.01))
    assert (same.raised, slower.raised) == (False, True)


def test_of_a_long_history_the_last_sessions_count() -> None:
    rng = np.random.default_rng(3)
    sessions = np.repeat(np.arange(600), 2)
    residuals = np.where(sessions < 300, -1.0, 1.0) + 0.01 * rng.normal(size=1200)
    history = History(np.zeros(2), np.full(2, 600.0), 1.0, residuals, sessions)
    for value, slow in ((1.0, False), (1.1, True)):
        assert judged(history, np.arange(2), np.full(2, value)).raised == slow
