"""Latitude weights, RMSE, ACC and moments by hand; test_metric_globe_reference.py has a library."""

import numpy as np
import pytest

from stp.metrics.acc import anomaly_products, correlation
from stp.metrics.globe import Area, moments
from stp.metrics.latitude import cosine_weights

LATITUDES = np.array([-78.75, -56.25, -33.75, -11.25, 11.25, 33.75, 56.25, 78.75])
SHAPE = (3, 2, 2, 8, 16)  # N, T, C, H, W


def fields(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Forecast, truth and climatology in kelvin, float32."""
    rng = np.random.default_rng(seed)
    climate = 280 + 10 * np.cos(np.deg2rad(LATITUDES))[:, None] + rng.normal(0, 1, SHAPE)
    truth = climate + rng.normal(1, 4, SHAPE)
    forecast = climate + 0.7 * (truth - climate) + rng.normal(0, 2, SHAPE)
    return tuple(a.astype(np.float32) for a in (forecast, truth, climate))


def test_the_climatology_has_no_acc_of_its_own() -> None:
    # Infinite, the mark of a frame without a value; NaN is kept for bad data.
    _, truth, climate = fields()
    weights = cosine_weights(LATITUDES)
    flat = anomaly_products(climate, truth, lambda n, t: climate[n, t], weights)
    assert np.isposinf(correlation(flat)).all()
    bad = truth.copy()
    bad[1, 0, 1, 2, 3] = np.nan
    actual = correlation(anomaly_products(bad, truth, lambda n, t: climate[n, t], weights))
    assert np.isnan(actual[1, 1, 0])
    assert np.isnan(actual).sum() == 1


def test_what_was_not_observed_is_filled_with_the_mean_of_the_rest() -> None:
    weights = np.array([1.0, 3.0])
    fields = np.array([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]])
    assert Area(weights, fields).fill_unobserved(fields) is fields
    observed = fields.copy()
    observed[1, 0, 0] = np.nan
    expected = fields.copy()
    expected[1, 0, 0] = (6 + 3 * 7 + 3 * 8) / 7
    np.testing.assert_allclose(Area(weights, observed).fill_unobserved(fields), expected)


@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_moments_are_weighted_means_of_what_was_observed(precision: type) -> None:
    forecast, truth, climate = (a[0].astype(precision) for a in fields(2))
    truth[:, 1, 2:5, :7] = np.nan
    truth[1, 0] = np.nan  # nowhere
    weights = cosine_weights(LATITUDES)
    centre = climate[0]  # (C, H, W), of both lead times
    there = np.where(np.isnan(truth), 0, weights[:, None])
    p, o = (np.nan_to_num(a - centre.astype(np.float64)) for a in (forecast, truth))
    with np.errstate(invalid="ignore"):
        expected = [
            (there * a).sum(axis=(-2, -1)) / there.sum(axis=(-2, -1))
            for a in (p, o, p * p, p * o, o * o)
        ]
    actual = moments(forecast, truth, centre, weights)
    np.testing.assert_allclose(actual, expected, rtol=1e-12)
    assert np.isnan(actual[:, 1, 0]).all()
    # Arrays that lie otherwise in memory, or cannot be written, as mapped files.
    strided = np.asfortranarray(forecast)
    frozen = truth.copy()
    frozen.flags.writeable = False
    np.testing.assert_array_equal(moments(strided, frozen, centre, weights), actual)
    forecast[0, 0, 3, 3] = np.inf
    assert np.isposinf(moments(forecast, truth, centre, weights)[[0, 2], 0, 0]).all()
    with pytest.raises(ValueError, match="shape"):
        moments(forecast[:1], truth, centre, weights)


@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_centred_acc_of_a_uniform_anomaly_has_no_value(precision: type) -> None:
    """Rounding leaves a variance of any sign there."""
    _, truth, climate = (a.astype(precision) for a in fields())
    climate[:] = 281.3
    weights = cosine_weights(LATITUDES)
    for error in (0.1, 1.0, 1e4):
        products = anomaly_products(
            climate + precision(error), truth, lambda n, t: climate[n, t], weights, centred=True
        )
        assert np.isposinf(correlation(products)).all()
