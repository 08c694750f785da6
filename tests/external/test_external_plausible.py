"""A bad forecast is no mistake: the checks of units, order and layout let it pass."""

import numpy as np
import pytest

from stp.external import sanity_checks
from stp.external.layout import LayoutCheck
from stp.external.sanity_checks import (
    SampleStatistics,
    find_misplaced,
    find_unit_mistake,
    is_wrong_order,
)
from stp.external.windows import ChannelStatistics

N, LEADS = 60, 3
RANDOM = np.random.default_rng(5)


def periodic(count: int) -> np.ndarray:
    """Frames of a day of 24 steps that comes again nearly alike, (count, 2, 10, 12): K and m/s."""
    t, y, x = np.ix_(np.arange(count), np.arange(10), np.arange(12))
    day = np.sin(2 * np.pi * t / 24 + x / 4) * (1 + y / 10)
    fields = np.stack([285 + 8 * day, 4 * np.cos(2 * np.pi * t / 24 + y / 3) + 0 * x], axis=1)
    return fields + RANDOM.normal(0, 0.05, fields.shape)


@pytest.fixture(scope="module")
def weather():
    """Windows that follow one another: latest frames, what came, and the frames that they take."""
    frames = periodic(7 * N + 10).astype(np.float32)
    starts = 7 * np.arange(N)
    latest = frames[starts + 3]
    truth = np.stack([frames[starts + 4 + lead] for lead in range(LEADS)], axis=1)
    return latest, truth, starts, starts + 4 + LEADS


def described(latest, normalisation=None):
    values = ChannelStatistics(latest.shape[1])
    values.add(latest[:, None])
    return {
        "shape": list(latest.shape[1:]),
        "units": "various",
        "values": values.describe(),
        "normalisation": normalisation or {"offset": [285.0, 0.0], "scale": [8.0, 3.0]},
        "variables": ["t2m", "u10"],
    }


def judged(weather, forecasts):
    """The mistakes of units, order and layout in forecasts (N, T, C, H, W)."""
    latest, truth, starts, stops = weather
    about = described(latest)
    names = sanity_checks.channel_names(about)
    tables = SampleStatistics(len(latest), about)
    layout = LayoutCheck(len(latest), latest.shape[1:], names)
    for start in range(0, N, 7):  # in blocks, as they are read
        rows = slice(start, start + 7)
        tables.add(start, forecasts[rows, None], latest[rows], truth[rows, 0])
        layout.add(start, forecasts[rows, None], truth[rows, 0], latest[rows], truth[rows, -1])
    return find_unit_mistake(tables, names), find_misplaced(tables, starts, stops), layout.mistake()


def blurred(frames):
    return np.broadcast_to(frames.mean(axis=(-1, -2), keepdims=True), frames.shape)


BAD = {
    "perfect": lambda latest, truth: truth,
    "persistence": lambda latest, truth: np.repeat(latest[:, None], LEADS, axis=1),
    "climatology": lambda latest, truth: np.broadcast_to(truth.mean((0, 1)), truth.shape),
    "one value": lambda latest, truth: np.full_like(truth, 285.0) * [[[1]], [[0]]],
    "far too smooth": lambda latest, truth: 0.2 * truth + 0.8 * truth.mean((0, 1)),
    "blurred": lambda latest, truth: blurred(truth),
    "noisy": lambda latest, truth: truth + RANDOM.normal(0, 6, truth.shape),
    "biased": lambda latest, truth: truth + 5,
    "half a step late": lambda latest, truth: 0.5 * truth + 0.5 * latest[:, None],
    "noise": lambda latest, truth: (
        truth.mean((0, 1, 3, 4), keepdims=True) + RANDOM.normal(0, 6, truth.shape)
    ),
    "next to it": lambda latest, truth: np.roll(truth, 1, axis=-1),
    "in a quarter": lambda latest, truth: np.roll(truth, 3, axis=-1),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_forecasts_are_accepted(weather, name):
    latest, truth = weather[:2]
    forecasts = np.asarray(BAD[name](latest, truth), np.float32)
    in_units, in_order, in_layout = judged(weather, forecasts)
    assert in_units is None and in_layout is None
    assert in_order is None or not is_wrong_order(in_order, N)


def test_each_mistake_is_named_in_a_channel_alone(weather):
    truth = weather[1].copy()
    truth[:, :, 0] -= 273.15
    mistake = judged(weather, truth)[0].what
    assert "Celsius" in mistake and "t2m" in mistake
    truth = weather[1].copy()
    truth[:, :, 1] /= 3  # as the constants of training say; its mean was 0 before
    problem = judged(weather, truth)[0]
    assert "normalised" in problem.what and "u10" in problem.what
    assert (problem.sample, problem.others) == (0, N - 1)


def test_a_few_samples_in_other_places_are_named(weather):
    truth = weather[1].copy()
    truth[[10, 14]] = truth[[14, 10]]  # 28 steps apart: another time of the day
    problem = judged(weather, truth)[1]
    assert problem.sample == 10 and problem.others >= 1
    assert not is_wrong_order(problem._replace(others=1), N)  # 2 of 60: a warning
    everything = judged(weather, np.roll(weather[1], 3, axis=0))[1]
    assert everything.sample == 0 and is_wrong_order(everything, N)


def test_few_or_overlapping_windows_are_not_compared(weather):
    latest, truth, starts, stops = weather
    overlapping = latest, truth, starts, stops + 7 * N
    assert judged(overlapping, np.roll(truth, 3, axis=0))[1] is None


def test_a_constant_channel_is_no_reason(weather):
    latest, truth = (part.copy() for part in weather[:2])
    latest[:, 1], truth[:, :, 1] = 7, 7
    forecasts = truth + np.float32(1e-4)
    assert judged((latest, truth, *weather[2:]), forecasts) == (None, None, None)
