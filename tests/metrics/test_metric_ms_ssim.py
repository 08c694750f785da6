"""MS-SSIM: one scale against scikit-image, several against the formula written out with SciPy."""

import numpy as np
import pytest
from conventions import convention
from scipy.ndimage import gaussian_filter
from scipy.signal import convolve2d
from skimage.metrics import structural_similarity

from stp.metrics import field_ms_ssim, ms_ssim
from stp.metrics.ms_ssim import WEIGHTS, multi_scale_similarity, smallest_side


def frames(size: int, channels: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Predicted and observed, float32 (1, 2, C, size, size) in about [0, 1]."""
    rng = np.random.default_rng(size)
    noise = rng.random((1, 2, channels, size, size))
    observed = gaussian_filter(noise, (0, 0, 0, 2, 2)) * 3 - 1
    predicted = observed + rng.normal(0, 0.05, observed.shape)
    return predicted.astype(np.float32), observed.astype(np.float32)


def test_one_scale_is_the_ssim_of_scikit_image_with_a_gaussian_window() -> None:
    predicted, observed = frames(64, channels=2)
    expected = [
        structural_similarity(
            p.astype(float),
            o.astype(float),
            channel_axis=0,
            data_range=1,
            gaussian_weights=True,
            sigma=1.5,
            use_sample_covariance=False,
        )
        for p, o in zip(predicted[0], observed[0], strict=True)
    ]
    actual = multi_scale_similarity(predicted, observed, data_range=1, scales=1)
    np.testing.assert_allclose(actual[0], expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize(("scales", "size"), [(3, 44), (3, 65), (5, 176)])
def test_several_scales_match_the_formula(scales: int, size: int) -> None:
    predicted, observed = frames(size)
    axis = np.arange(-5, 6)
    window = np.exp(-(axis[:, None] ** 2 + axis**2) / (2 * 1.5**2))
    window /= window.sum()
    weights = np.array(WEIGHTS[:scales]) / np.sum(WEIGHTS[:scales])
    expected = []
    for x, y in zip(predicted[0, :, 0].astype(float), observed[0, :, 0].astype(float), strict=True):
        value = 1.0
        for scale, weight in enumerate(weights):
            mx, my, xx, yy, xy = (
                convolve2d(a, window, mode="valid") for a in (x, y, x * x, y * y, x * y)
            )
            structure = (2 * (xy - mx * my) + 9e-4) / (xx - mx**2 + yy - my**2 + 9e-4)
            luminance = (2 * mx * my + 1e-4) / (mx**2 + my**2 + 1e-4)
            last = scale == scales - 1
            value *= (structure * luminance if last else structure).mean() ** weight
            box, even = np.full((2, 2), 0.25), slice(None, None, 2)
            x, y = (convolve2d(a, box, mode="valid")[even, even] for a in (x, y))
        expected.append(value)
    actual = multi_scale_similarity(predicted, observed, data_range=1, scales=scales)
    np.testing.assert_allclose(actual[0], expected, rtol=0, atol=1e-9)


def test_equal_frames_have_one_and_opposite_ones_zero() -> None:
    _, observed = frames(44)
    assert convention("ms_ssim.three_scales").statistics(observed, observed).min() == pytest.approx(
        1
    )
    # Anticorrelated everywhere: the averages are negative, and have no real power.
    assert convention("ms_ssim.three_scales").statistics(1 - observed, observed).max() == 0


def test_the_window_fits_at_the_coarsest_scale() -> None:
    assert (smallest_side(3), smallest_side(5)) == (44, 176)


@pytest.mark.parametrize("sides", [(10, 15), (15, 10), (11, 11), (9, 9), (70, 33)])
def test_an_axis_that_is_shorter_than_the_window_is_not_blurred(sides: tuple[int, int]) -> None:
    x, y = np.random.default_rng(0).random((2, 3, *sides))
    taps = np.exp(-(np.arange(-5, 6) ** 2) / (2 * 1.5**2))

    def blurred(fields: np.ndarray) -> np.ndarray:
        for axis, side in enumerate(sides, start=1):
            if side >= len(taps):
                fields = np.apply_along_axis(
                    np.convolve, axis, fields, taps / taps.sum(), mode="valid"
                )
        return fields

    mx, my = blurred(x), blurred(y)
    vx, vy, cxy = (blurred(a * b) - blurred(a) * blurred(b) for a, b in ((x, x), (y, y), (x, y)))
    terms = (2 * cxy + 9e-4) / (vx + vy + 9e-4)
    terms *= (2 * mx * my + 1e-4) / (mx**2 + my**2 + 1e-4)
    found = ms_ssim.similarity(x, y, 1.0, np.ones(1), ms_ssim._halved)
    np.testing.assert_allclose(found, terms.mean(axis=(1, 2)).clip(0), rtol=1e-12)


@pytest.mark.parametrize("sides", [(4, 6), (5, 6), (4, 7), (5, 7)])
def test_an_odd_row_or_column_is_left_out_or_paired(sides: tuple[int, int]) -> None:
    fields = np.random.default_rng(0).random((2, *sides))
    height, width = (side // 2 for side in sides)
    even = fields[:, : 2 * height, : 2 * width].reshape(2, height, 2, width, 2)
    np.testing.assert_allclose(ms_ssim._halved(fields), even.mean(axis=(2, 4)))
    for zero, mode in ((True, "constant"), (False, "edge")):
        padded = np.pad(fields, ((0, 0), (sides[0] % 2, 0), (sides[1] % 2, 0)), mode)
        paired = padded.reshape(2, padded.shape[1] // 2, 2, -1, 2).mean(axis=(2, 4))
        np.testing.assert_allclose(field_ms_ssim._halve_fields(fields, zero=zero), paired)
