"""MSE, MAE, RMSE and PSNR: hand-made frames, scikit-image, NumPy, and properties."""

import numpy as np
import pytest
from conventions import convention
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from skimage.metrics import mean_squared_error, peak_signal_noise_ratio

from stp.metrics.metric import Metric
from stp.score.aggregate import values

SHAPE = (2, 3, 2, 4, 5)  # N, T, C, H, W
FRAMES = arrays(np.float32, SHAPE, elements=st.floats(-2, 2, width=32))
CONVENTIONS = {
    "mse.pixel_sum": convention("mse.pixel_sum"),
    "mse.pixel_mean": convention("mse.pixel_mean"),
    "mae.pixel_sum": convention("mae.pixel_sum"),
    "mae.pixel_mean": convention("mae.pixel_mean"),
    "rmse.per_frame": convention("rmse.per_frame"),
    "rmse.per_frame_sum": convention("rmse.per_frame_sum"),
    "rmse.pooled": convention("rmse.pooled"),
}


def overall(metric: Metric, predicted: np.ndarray, observed: np.ndarray) -> float:
    return values(metric, metric.statistics(predicted, observed).mean(axis=0))[0]


def per_lead(metric: Metric, predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    return values(metric, metric.statistics(predicted, observed).mean(axis=0))[1:]


def hand_made() -> tuple[np.ndarray, np.ndarray]:
    """One sample, two lead times, frames of 2 pixels; errors (3, 4) and (0, 2)."""
    observed = np.zeros((1, 2, 1, 1, 2), np.float32)
    predicted = np.array([[3, -4], [0, 2]], np.float32).reshape(observed.shape)
    return predicted, observed


@pytest.mark.parametrize(
    ("convention", "leads", "total"),
    [
        ("mse.pixel_sum", [25, 4], 14.5),
        ("mse.pixel_mean", [12.5, 2], 7.25),
        ("mae.pixel_sum", [7, 2], 4.5),
        ("mae.pixel_mean", [3.5, 1], 2.25),
        ("rmse.per_frame", [np.sqrt(12.5), np.sqrt(2)], (np.sqrt(12.5) + np.sqrt(2)) / 2),
        ("rmse.per_frame_sum", [5, 2], 3.5),
        # Lead times are pooled under the root: sqrt((12.5 + 2) / 2).
        ("rmse.pooled", [np.sqrt(12.5), np.sqrt(2)], np.sqrt(7.25)),
    ],
)
def test_errors_by_hand(convention: str, leads: list[float], total: float) -> None:
    metric = CONVENTIONS[convention]
    np.testing.assert_allclose(per_lead(metric, *hand_made()), leads, rtol=1e-12)
    np.testing.assert_allclose(overall(metric, *hand_made()), total, rtol=1e-12)


def test_samples_stand_under_the_root_of_the_pooled_rmse_only() -> None:
    # Two samples of one pixel with errors 1 and 7: mean of roots 4, root of the mean sqrt(25) = 5.
    predicted = np.array([1, 7], np.float32).reshape(2, 1, 1, 1, 1)
    assert overall(
        convention("rmse.per_frame"), predicted, np.zeros_like(predicted)
    ) == pytest.approx(4)
    assert overall(convention("rmse.pooled"), predicted, np.zeros_like(predicted)) == pytest.approx(
        5
    )


@given(FRAMES, FRAMES)
def test_errors_match_numpy_and_scikit_image(predicted: np.ndarray, observed: np.ndarray) -> None:
    exact, truth = predicted.astype(np.float64), observed.astype(np.float64)
    assert overall(convention("mse.pixel_mean"), predicted, observed) == pytest.approx(
        mean_squared_error(truth, exact), rel=1e-6, abs=1e-12
    )
    assert overall(convention("mae.pixel_mean"), predicted, observed) == pytest.approx(
        np.abs(exact - truth).mean(), rel=1e-6, abs=1e-12
    )
    pixels = SHAPE[2] * SHAPE[3] * SHAPE[4]
    for name in ("mse", "mae"):
        of_sum, of_mean = (convention(f"{name}.pixel_{over}") for over in ("sum", "mean"))
        assert overall(of_sum, predicted, observed) == pytest.approx(
            pixels * overall(of_mean, predicted, observed), rel=1e-12
        )


def test_psnr_by_hand() -> None:
    # Constant errors 0.1 and 0.01: MSE 1e-2 and 1e-4, so 20 dB and 40 dB.
    observed = np.zeros((1, 2, 1, 4, 4))
    predicted = observed + np.array([0.1, 0.01]).reshape(1, 2, 1, 1, 1)
    np.testing.assert_allclose(
        per_lead(convention("psnr.per_frame"), predicted, observed), [20, 40], rtol=1e-9
    )
    assert overall(convention("psnr.per_frame"), predicted, observed) == pytest.approx(30)
    # Pooled: the mean MSE is 0.00505, 10 log10(1 / 0.00505) = 22.967 dB.
    assert overall(convention("psnr.pooled"), predicted, observed) == pytest.approx(
        22.967, abs=1e-3
    )


def test_psnr_matches_scikit_image() -> None:
    rng = np.random.default_rng(0)
    observed = rng.random(SHAPE, dtype=np.float32)
    predicted = observed + rng.normal(0, 0.1, SHAPE).astype(np.float32)
    reference = [
        [
            peak_signal_noise_ratio(o.astype(float), p.astype(float), data_range=1)
            for p, o in zip(ps, os, strict=True)
        ]
        for ps, os in zip(predicted, observed, strict=True)
    ]
    actual = convention("psnr.per_frame").statistics(predicted, observed)[:, 0]
    np.testing.assert_allclose(actual, reference, rtol=0, atol=1e-6)


def test_psnr_of_an_exact_frame_is_infinite_but_does_not_disturb_the_pooled_one() -> None:
    observed = np.zeros((2, 1, 1, 2, 2), np.float32)
    predicted = observed.copy()
    predicted[1] = 0.5  # MSE 0.25 in one of two frames: pooled 0.125, 9.03 dB
    assert overall(convention("psnr.per_frame"), predicted, observed) == np.inf
    assert overall(convention("psnr.pooled"), predicted, observed) == pytest.approx(
        10 * np.log10(8)
    )
    assert overall(convention("psnr.pooled"), observed, observed) == np.inf
