"""Boxes of the globe against loops over their points, and terciles against their equation."""

import itertools
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from conventions import convention

from stp.metrics import acc, latitude, regions
from stp.metrics.comparison import Comparison, on_data
from stp.metrics.regions import BOXES
from stp.metrics.rpss import rps_terciles
from stp.metrics.weeks import mean_at
from stp.score.conventions import build
from stp.score.motion import PeopleData

LATITUDES, LONGITUDES = np.arange(90, -91, -15.0), np.arange(0, 360, 10.0)
SHAPE = (2, len(LATITUDES), len(LONGITUDES))


def compared(monkeypatch: pytest.MonkeyPatch, **coordinates: np.ndarray) -> Comparison:
    for module in (latitude, regions):
        monkeypatch.setattr(module, "coordinate", lambda data, name: coordinates.get(name))
    data = PeopleData(
        Path("nowhere"), {"units": "physical", "variables": ["a", "b"]}, SHAPE, np.arange(2)
    )
    return Comparison(data, np.zeros((1, 1), np.int64))


def test_the_boxes_are_those_of_weatherbench_2() -> None:
    assert BOXES == {  # south, north, west, east
        "tropics": (-20, 20, 0, 360),
        "northern_extratropics": (20, 90, 0, 360),
        "southern_extratropics": (-90, -20, 0, 360),
        "europe": (35, 75, -12.5, 42.5),
        "north_america": (25, 60, -120, -75),
    }


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("region", BOXES)
def test_a_region_is_the_points_in_its_box(
    region: str, turned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    latitudes = LATITUDES[::-1] if turned else LATITUDES
    longitudes = LONGITUDES - 180 if turned else LONGITUDES
    here = compared(monkeypatch, lat=latitudes, lon=longitudes)
    rng = np.random.default_rng(0)
    predicted, observed = rng.normal(size=(2, 1, 1, *SHAPE)).astype(np.float32)
    observed[0, 0, 1, 6] = np.nan
    bound = on_data(convention(f"wrmse.pooled_{region}"), here)
    assert not bound.reason
    actual = bound.statistics(predicted, observed)[0, :, 0]
    box, points = BOXES[region], 0
    total, weights = np.zeros(2), np.zeros(2)
    for (i, y), (j, x) in itertools.product(enumerate(latitudes), enumerate(longitudes)):
        inside = box.south <= y <= box.north
        if not inside or not any(box.west <= x + turn <= box.east for turn in (-360, 0, 360)):
            continue
        points += 1
        for c in range(2):
            if not np.isnan(observed[0, 0, c, i, j]):
                weight = np.cos(np.deg2rad(y))
                error = float(predicted[0, 0, c, i, j]) - float(observed[0, 0, c, i, j])
                total[c] += weight * error**2
                weights[c] += weight
    assert 3 < points < SHAPE[1] * SHAPE[2]
    np.testing.assert_allclose(actual, total / weights, rtol=1e-12)


def test_anomalies_are_pooled_from_three_components(monkeypatch: pytest.MonkeyPatch) -> None:
    here = compared(monkeypatch, lat=LATITUDES, lon=LONGITUDES)
    monkeypatch.setattr(acc, "Climatology", lambda *_: SimpleNamespace(missing_of=lambda _: "none"))
    for metric, names in (
        (convention("acc.per_frame"), ("value",)),
        (convention("acc.pooled"), ("po", "pp", "oo")),
    ):
        assert on_data(metric, here).components == names


def test_a_region_without_longitudes_or_points_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for reason, given in (
        ("lon", {"lat": LATITUDES}),
        ("lon", {"lat": LATITUDES, "lon": LONGITUDES[1:]}),
        ("lon", {"lat": LATITUDES, "lon": np.linspace(100, 170, 36)}),
        ("lat", {"lon": LONGITUDES}),
        ("lat", {"lat": LATITUDES[1:], "lon": LONGITUDES}),
    ):
        bound = on_data(convention("wrmse.pooled_europe"), compared(monkeypatch, **given))
        assert reason in bound.reason


def test_a_region_fits_conventions_that_have_none_of_their_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Bias, an ensemble, errors of pixels: of the box alone, and as many series as before."""
    here = compared(monkeypatch, lat=LATITUDES, lon=LONGITUDES)._replace(members=3)
    rows, columns = np.abs(LATITUDES) <= 20, slice(None)
    rng = np.random.default_rng(0)
    members = rng.normal(size=(2, 3, 1, *SHAPE)).astype(np.float32)
    observed = rng.normal(size=(2, 1, *SHAPE)).astype(np.float32)
    weights = np.cos(np.deg2rad(LATITUDES[rows]))[:, None] * np.ones(len(LONGITUDES))
    error = (members.astype(float) - observed[:, None])[..., rows, columns]

    def of(definition: dict[str, Any], predicted: np.ndarray) -> np.ndarray:
        bound = on_data(build("own.own", {**definition, "region": "tropics"}), here)
        assert not bound.reason
        return np.asarray(bound.statistics(predicted, observed))

    bias = np.average(
        error[:, 0, 0], axis=(-2, -1), weights=np.broadcast_to(weights, error[:, 0, 0].shape)
    )
    np.testing.assert_allclose(of({"function": "bias"}, members[:, 0])[..., 0], bias, rtol=1e-6)
    outside = ((error > 0).all(axis=1) | (error < 0).all(axis=1))[:, 0]
    share = np.average(outside, axis=(-2, -1), weights=np.broadcast_to(weights, outside.shape))
    actual = of({"function": "rank_histogram.outliers"}, members)[..., 0]
    np.testing.assert_allclose(actual, share * 4 / 2, rtol=1e-9)
    squares = (error[:, 0] ** 2).mean(axis=(-3, -2, -1))
    actual = of({"function": "mse", "over_pixels": "mean"}, members[:, 0])[:, 0]
    np.testing.assert_allclose(actual, squares, rtol=1e-6)


def test_members_are_scored_apart_or_as_their_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    here = compared(monkeypatch, lat=LATITUDES, lon=LONGITUDES)._replace(members=3)
    rng = np.random.default_rng(0)
    members = rng.normal(size=(2, 3, 1, *SHAPE)).astype(np.float32)
    observed = rng.normal(size=(2, 1, *SHAPE)).astype(np.float32)
    definition = {"function": "mse", "over_pixels": "mean"}
    for value, expected in (
        ("mean_of_scores", ((members - observed[:, None]) ** 2).mean(axis=(1, 2, 3, 4, 5))),
        ("score_of_mean", ((members.mean(axis=1) - observed) ** 2).mean(axis=(1, 2, 3, 4))),
    ):
        bound = on_data(build("own.own", {**definition, "members": value}), here)
        assert bound.ensemble
        actual = bound.statistics(members, observed)[:, 0, 0]
        np.testing.assert_allclose(actual, expected, rtol=1e-5)


def test_the_climatology_of_a_window_is_the_mean_of_its_days() -> None:
    days = np.random.default_rng(0).normal(size=(20, *SHAPE)).astype(np.float32)
    climatology, frames = SimpleNamespace(read=lambda day: days[day]), np.arange(4, 20)
    for lead, windows, expected in (
        (9, (), days[13]),
        (9, ((3, 10),), days[6:14].mean(axis=0, dtype=float)),
        (4, ((1, 5), (6, 10)), days[4:9].mean(axis=0, dtype=float)),
    ):
        actual = mean_at(climatology, frames, lead, windows)
        assert actual.dtype == np.float32
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)


def test_windows_may_be_any_lead_times() -> None:
    metric = build("own.own", {"function": "wrmse", "root": "pooled", "windows": [[1, 5], [6, 10]]})
    assert metric.windows == ((1, 5), (6, 10))
    assert convention("wrmse.weekly").windows == ((1, 7), (8, 14), (15, 28), (29, 42))


def test_rps_is_its_equation_and_the_fair_one_is_right_on_average() -> None:
    rng = np.random.default_rng(0)
    truth = rng.normal(size=4000)
    lower, upper = np.full_like(truth, -0.43), np.full_like(truth, 0.43)
    many = rng.normal(size=(400, 4000))
    members = many[:3]
    biased, usual = rps_terciles(members, truth, lower, upper, fair=False)
    for k in range(3):
        shares = [(members[:, k] < -0.43).mean(), (members[:, k] <= 0.43).mean()]
        events = [truth[k] < -0.43, truth[k] <= 0.43]
        expected = sum((f - o) ** 2 for f, o in zip(shares, events, strict=True))
        assert biased[k] == pytest.approx(expected)
        middle = events == [False, True]
        assert usual[k] == pytest.approx(2 / 9 if middle else 5 / 9)
    fair = rps_terciles(members, truth, lower, upper, fair=True)[0]
    large = rps_terciles(many, truth, lower, upper, fair=True)[0]
    # Three members of the distribution of the truth: no skill, and none is made up or lost.
    assert biased.mean() > 1.25 * large.mean()
    assert fair.mean() == pytest.approx(large.mean(), abs=0.02)
    one: Any = rps_terciles(members[:1], truth, lower, upper, fair=True)[0]
    np.testing.assert_array_equal(
        one, rps_terciles(members[:1], truth, lower, upper, fair=False)[0]
    )
    for n in range(16):  # whatever is missing of the four
        given = [np.where([n >> k & 1], np.nan, [0.1 * k]) for k in range(4)]
        value = rps_terciles(given[0][None], *given[1:], fair=False)[0]
        assert np.isnan(value[0]) == (n > 0)
    members[1, 5] = np.nan
    assert np.flatnonzero(np.isnan(rps_terciles(members, truth, lower, upper, fair=True)[0])) == [5]
