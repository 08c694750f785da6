"""SSIM against scikit-image, which computes it in float64 from float64 frames."""

from pathlib import Path

import numpy as np
import pytest
from conventions import convention
from scipy.ndimage import gaussian_filter
from skimage.metrics import structural_similarity as reference

from stp.core.errors import StpError
from stp.metrics.comparison import Comparison, on_data
from stp.score.motion import PeopleData

RANGES = {1.0: convention("ssim.range1"), 2.0: convention("ssim.range2")}
SIZES = [(7, 7), (7, 30), (16, 16), (17, 23), (64, 64), (120, 160), (128, 128)]
KINDS = ["noise", "smooth", "constant", "flat halves", "digits", "outside [0, 1]"]


def frames(kind: str, size: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Predicted and observed frames, float32 (2, 2, 3, H, W)."""
    rng = np.random.default_rng(sum(map(ord, kind)))
    shape = (2, 2, 3, *size)
    noise = rng.random(shape, dtype=np.float32)
    if kind == "noise":
        return noise, rng.random(shape, dtype=np.float32)
    smooth = gaussian_filter(noise, (0, 0, 0, 2, 2)) * np.float32(2)
    if kind == "smooth":
        return smooth + np.float32(0.02) * noise, smooth
    if kind == "constant":
        return np.full(shape, 0.37, np.float32), np.full(shape, 0.83, np.float32)
    if kind == "flat halves":  # equal values everywhere: rounding does not average out
        low, high = np.full(shape, 0.37, np.float32), np.full(shape, 0.37, np.float32)
        low[..., size[1] // 2 :] = 0.71
        high[..., : size[1] // 2] = 0.93
        return low, high
    if kind == "digits":  # black, with a few bright strokes
        strokes = np.where(smooth > 1.1, noise, 0).astype(np.float32)
        return gaussian_filter(strokes, (0, 0, 0, 1, 1)), strokes
    return 5 * noise - 2, smooth


def reference_values(
    predicted: np.ndarray, observed: np.ndarray, data_range: float, **window: object
) -> np.ndarray:
    outer = predicted.shape[:2]
    pairs = zip(
        predicted.reshape(-1, *predicted.shape[2:]).astype(np.float64),
        observed.reshape(-1, *observed.shape[2:]).astype(np.float64),
        strict=True,
    )
    return np.reshape(
        [reference(p, o, channel_axis=0, data_range=data_range, **window) for p, o in pairs], outer
    )


@pytest.mark.parametrize("data_range", RANGES)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("kind", KINDS)
def test_ssim_matches_scikit_image(kind: str, size: tuple[int, int], data_range: float) -> None:
    predicted, observed = frames(kind, size)
    actual = RANGES[data_range].statistics(predicted, observed)
    assert actual.shape == (2, 1, 2)
    np.testing.assert_allclose(
        actual[:, 0], reference_values(predicted, observed, data_range), rtol=0, atol=1e-9
    )


@pytest.mark.parametrize("size", [size for size in SIZES if min(size) >= 11], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_the_window_of_the_paper_matches_scikit_image(kind: str, size: tuple[int, int]) -> None:
    predicted, observed = frames(kind, size)
    actual = convention("ssim.gaussian").statistics(predicted, observed)
    expected = reference_values(
        predicted, observed, 1.0,
        gaussian_weights=True, sigma=1.5, use_sample_covariance=False,
    )  # fmt: skip
    assert actual.shape == (2, 1, 2)
    np.testing.assert_allclose(actual[:, 0], expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("size", [(11, 11), (10, 64)])
def test_frames_smaller_than_the_window_of_the_paper_have_no_value(size: tuple[int, int]) -> None:
    data = PeopleData(Path(), {"units": "1"}, (1, *size), np.arange(1))
    bound = on_data(convention("ssim.gaussian"), Comparison(data, np.zeros((1, 1), np.int64)))
    assert bool(bound.reason) == (min(size) < 11)


def test_frames_smaller_than_the_window_are_refused() -> None:
    small = np.zeros((1, 1, 1, 6, 64), np.float32)
    with pytest.raises(StpError, match="6 x 64"):
        convention("ssim.range1").statistics(small, small)
