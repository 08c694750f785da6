"""SSIM and PSNR of data that are not frames in [0, 1], and means of batches."""

from typing import Any

import numpy as np
import pytest
from conventions import convention
from scipy.ndimage import gaussian_filter
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

from stp.metrics.batches import compose
from stp.metrics.comparison import Comparison, on_data
from stp.metrics.metric import Metric
from stp.metrics.scale import unit_range


class Data:
    """All that these conventions look at."""

    def __init__(self, **attrs: Any) -> None:
        self.attrs = attrs


def fixed(offset: float | list[float], scale: float | list[float], method: str = "fixed") -> Data:
    normalisation = {"offset": offset, "scale": scale, "method": method}
    return Data(units="x", normalisation=normalisation)


def of(metric: Metric, data: Data, samples: int = 3) -> Metric:
    return on_data(metric, Comparison(data, np.zeros((samples, 2), np.int64)))  # type: ignore[arg-type]


def frames() -> tuple[np.ndarray, np.ndarray]:
    """Frames in [0, 1]: float32 (3, 2, 2, 16, 16)."""
    rng = np.random.default_rng(0)
    observed = gaussian_filter(rng.random((3, 2, 2, 16, 16)), (0, 0, 0, 1, 1))
    predicted = observed + rng.normal(0, 0.05, observed.shape)
    return predicted.astype(np.float32), observed.astype(np.float32)


@pytest.mark.parametrize(
    "metric",
    [
        convention("ssim.range1"),
        convention("ssim.range2"),
        convention("psnr.per_frame"),
        convention("psnr.pooled"),
    ],
)
def test_frames_in_units_are_scaled_by_their_normalisation(metric: Metric) -> None:
    # Taxis / 1250, radar codes / 255, (degC + 16.5) / 26.7; a range for each channel works, too.
    predicted, observed = frames()
    expected = metric.statistics(predicted, observed)
    for data in (fixed(0.0, 1250.0), fixed(-16.5, 26.7, "minmax"), fixed([0.0, 5.0], [4.0, 8.0])):
        offset, scale = (
            np.reshape(data.attrs["normalisation"][key], (-1, 1, 1)) for key in ("offset", "scale")
        )
        in_units = [(a * scale + offset).astype(np.float32) for a in (predicted, observed)]
        actual = of(metric, data).statistics(*in_units)
        np.testing.assert_allclose(actual, expected, rtol=1e-4)


def test_traffic_is_printed_as_if_scaled() -> None:
    # PredBench, Table 17: TaxiBJ has RMSE 15.29 taxis and PSNR 39.08 dB. Only in [0, 1], scaled by
    # 1250, do these go together: the pooled PSNR is 38.25, the mean over frames not below it.
    metric = of(convention("psnr.pooled"), fixed(0.0, 1250.0))
    observed = np.zeros((1, 1, 2, 8, 8), np.float32)
    actual = metric.finish(metric.statistics(observed + np.float32(15.29), observed).mean(axis=0))[
        0
    ]
    assert actual == pytest.approx(38.25, abs=0.01)
    assert actual < 39.08


@pytest.mark.parametrize(
    ("attrs", "known"),
    [
        ({"units": "1"}, True),
        ({"units": "1", "values": [-0.1, 1.2]}, True),
        ({"units": "1", "values": [0.0, 255.0]}, False),
        ({"units": "1", "values": [-1.0, 1.0]}, False),
        ({"units": "1", "normalisation": {"offset": 0.0, "scale": 1.0, "method": "none"}}, True),
        ({"units": "K", "normalisation": {"offset": 0.0, "scale": 1.0, "method": "none"}}, False),
        ({"units": "K", "normalisation": {"offset": 1.0, "scale": 2.0, "method": "zscore"}}, False),
        ({"units": "K", "normalisation": {"offset": 1.0, "scale": 2.0, "method": "fixed"}}, True),
    ],
)
def test_only_a_fixed_range_maps_to_zero_and_one(attrs: dict[str, Any], known: bool) -> None:
    assert (unit_range(attrs) is not None) == known
    metric = of(convention("ssim.range1"), Data(**attrs))
    assert bool(metric.reason) != known


@pytest.mark.parametrize("offset", [0.0, 280.0])
def test_the_range_of_the_observed_frame_matches_scikit_image(offset: float) -> None:
    predicted, observed = (np.float64(a) * 30 + offset for a in frames())
    similar, signal = convention("ssim.frame_range"), convention("psnr.frame_range")
    for n, t in np.ndindex(3, 2):
        p, o = predicted[n, t], observed[n, t]
        lows, spans = o.min(axis=(1, 2)), np.ptp(o, axis=(1, 2))
        expected = np.mean(
            [
                structural_similarity(p[c] - lows[c], o[c] - lows[c], data_range=spans[c])
                for c in (0, 1)
            ]
        )
        one = predicted[n : n + 1, t : t + 1], observed[n : n + 1, t : t + 1]
        assert similar.statistics(*one)[0, 0, 0] == pytest.approx(expected, abs=1e-6)
        expected = peak_signal_noise_ratio(o, p, data_range=np.ptp(o))
        assert signal.statistics(*one)[0, 0, 0] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("metric", [convention("ssim.frame_range"), convention("psnr.frame_range")])
def test_a_constant_frame_has_no_range_and_nan_is_something_else(metric: Metric) -> None:
    predicted, observed = frames()
    observed[1, 0] = 0.5
    predicted[2, 1, 0, 4, 4] = np.nan
    actual = metric.statistics(predicted, observed)[:, 0]
    assert np.isinf(actual[1, 0])
    assert np.isnan(actual[2, 1])
    assert np.isfinite(actual).sum() == 4
    observed[2, 1] = 0.5
    assert np.isnan(metric.statistics(predicted, observed)[2, 0, 1])
    predicted[1, 0] = 0.5  # exact as well
    assert np.isinf(metric.statistics(predicted, observed)[1, 0, 0])


def test_batches_count_alike_however_short_the_last_one_is() -> None:
    # Seven samples in batches of three: the last batch is a single sample.
    rng = np.random.default_rng(0)
    observed = rng.random((7, 2, 1, 4, 4), dtype=np.float32)
    predicted = rng.random((7, 2, 1, 4, 4), dtype=np.float32)
    metric = of(compose(convention("rmse.per_frame"), 3), Data(), samples=7)
    assert metric.numbered
    plain = convention("rmse.per_frame").statistics(predicted, observed).mean(axis=-1)[:, 0]
    expected = np.mean([plain[:3].mean(), plain[3:6].mean(), plain[6]])
    parts = [
        metric.statistics(predicted[at], observed[at], np.arange(7)[at], np.arange(2))
        for at in (slice(0, 2), slice(2, 7))
    ]
    value = metric.finish(np.concatenate(parts).mean(axis=0)).mean()
    assert value == pytest.approx(expected, rel=1e-12)
    assert plain.mean() != pytest.approx(expected, rel=1e-3)
