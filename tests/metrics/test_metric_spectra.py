"""Power spectra: waves of one length, Parseval, and what blur and noise do to them."""

import numpy as np
import pytest
from conventions import convention
from scipy.ndimage import gaussian_filter

from stp.metrics.spectra import radial_spectrum
from stp.metrics.spectral_divergence import divergence
from stp.score.aggregate import values


def texture(seed: int = 0, size: tuple[int, int] = (32, 32)) -> np.ndarray:
    """Smooth frames, float32 (4, 2, 1, H, W)."""
    noise = np.random.default_rng(seed).normal(size=(4, 2, 1, *size))
    return gaussian_filter(noise, (0, 0, 0, 1, 1)).astype(np.float32)


@pytest.mark.parametrize(("height", "width"), [(32, 32), (32, 48), (31, 40), (33, 21)])
@pytest.mark.parametrize("along", ["height", "width"])
def test_a_wave_shows_at_its_wavenumber(height: int, width: int, along: str) -> None:
    # Wavenumbers count cycles across the shorter side, so that a wave has the same in both
    # directions.
    side = min(height, width)
    y, x = np.mgrid[:height, :width]
    length, place = (height, y) if along == "height" else (width, x)
    for cycles in (1, 3, 7):
        spectrum = radial_spectrum(np.sin(2 * np.pi * cycles * place / length) + 5)
        assert spectrum.shape == (side // 2,)
        k = int(np.floor(cycles * side / length + 0.5))
        assert spectrum.argmax() == k - 1
        assert np.delete(spectrum, k - 1).max() < 1e-20


@pytest.mark.parametrize("size", [(16, 16), (15, 22), (20, 13)])
def test_means_match_a_loop_over_all_coefficients(size: tuple[int, int]) -> None:
    frame = np.random.default_rng(0).normal(size=size)
    power = np.abs(np.fft.fft2(frame) / frame.size) ** 2
    side = min(size)
    rings: dict[int, list[float]] = {}
    for i, j in np.ndindex(*size):
        fy, fx = np.fft.fftfreq(size[0])[i], np.fft.fftfreq(size[1])[j]
        rings.setdefault(int(np.floor(side * np.hypot(fy, fx) + 0.5)), []).append(power[i, j])
    expected = [np.mean(rings[k]) for k in range(1, side // 2 + 1)]
    np.testing.assert_allclose(radial_spectrum(frame), expected, rtol=1e-12)


def test_divergence_by_hand() -> None:
    # Shares (1/2, 1/2) against (1/4, 3/4): ln 2 / 2 + ln(2/3) / 2 = ln(4/3) / 2.
    actual = divergence(np.array([3.0, 3.0]), np.array([1.0, 3.0]))
    assert actual == pytest.approx(np.log(4 / 3) / 2)
    assert divergence(np.array([1.0, 2.0]), np.array([10.0, 20.0])) == pytest.approx(0)
    # Shares (0, 1) against (1/2, 1/2): a share of 0 adds nothing.
    assert divergence(np.array([0.0, 2.0]), np.array([3.0, 3.0])) == pytest.approx(np.log(2))


def test_divergence_of_nothing_is_infinite_and_of_nan_is_nan() -> None:
    some = np.array([1.0, 2.0])
    assert divergence(0 * some, some) == np.inf
    assert divergence(some, 0 * some) == np.inf
    assert divergence(some, np.array([0.0, 1.0])) == np.inf
    assert np.isnan(divergence(some, some * np.nan))


def finest_tenth(predicted: np.ndarray, observed: np.ndarray) -> float:
    return convention("spectral_divergence.finest_tenth").statistics(predicted, observed).mean()


def detail(predicted: np.ndarray, observed: np.ndarray) -> float:
    metric = convention("spectral_power.fine_detail")
    return values(metric, metric.statistics(predicted, observed).mean(axis=0))[0]


def test_blur_is_seen_and_mean_squared_error_likes_it() -> None:
    truth, other = texture(0), texture(1)  # sharp, but somewhere else
    blurred = gaussian_filter(truth, (0, 0, 0, 2, 2))
    assert ((blurred - truth) ** 2).mean() < ((other - truth) ** 2).mean()
    assert detail(blurred, truth) < 0.1 < 0.8 < detail(other, truth) < 1.25
    assert detail(truth, truth) == pytest.approx(1)
    assert finest_tenth(truth, truth) == pytest.approx(0, abs=1e-12)
    assert finest_tenth(other, truth) < finest_tenth(blurred, truth)
