"""Spectral scores over ChaosBench's finest wavenumbers, of single fields or of mean fields."""

from collections.abc import Callable
from functools import cache, partial

import numpy as np

from stp.metrics.batches import batches_in_time
from stp.metrics.comparison import Comparison
from stp.metrics.globe import Area, groups
from stp.metrics.latitude import per_variable, weights_of
from stp.metrics.metric import Batches, Metric, every_component, needs_data
from stp.metrics.spectra import finest_bins, finest_waves, spectrum_of

Score = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""(observed, predicted) spectra (..., bins) to a score (...), infinite where there is none."""


def of_fields(score: Score, starts: int | None = None) -> Metric:
    """A convention of each variable of each frame, or of mean fields.

    Args:
        score: function of two spectra.
        starts: number of successive days whose starts are averaged to one field; the value is the
            mean over such batches (`batches_in_time`). None: the score of each frame.
    """
    on_data = partial(_on, score=score)
    if starts is not None:
        on_data = partial(_in_batches, score=score, size=starts)
    return Metric(
        needs_data, finish=every_component, no_value="a field does not vary", on_data=on_data
    )


def _on(metric: Metric, compared: Comparison, score: Score) -> Metric:
    bound = per_variable(metric, compared)
    weights = weights_of(compared.data)
    if weights is None:
        return bound
    height, width = compared.data.shape[1:]
    if finest_bins(height, width) < 2:
        why = f"a grid of {height} x {width} has one bin of the finest wavenumbers"
        return bound._replace(reason=why)

    def statistics(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
        o, p = (spectrum_of(waves, height, width) for waves in (observed, predicted))
        return score(o, p).swapaxes(1, 2)

    return bound._replace(statistics=statistics, transform=_waves(tuple(weights.tolist())))


@cache
def _waves(weights: tuple[float, ...]) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """A transform of frames to `finest_waves`, complex128 (N, T, C, waves).

    Cached, so that conventions with equal weights share one transform, and what it computes.
    """

    def transform(frames: np.ndarray, observed: np.ndarray) -> np.ndarray:
        coefficients = []
        for n, t, channels in groups(frames.shape):
            area = Area(np.array(weights), observed[n, t, channels])
            coefficients.append(finest_waves(area.filled(frames[n, t, channels])))
        return np.concatenate(coefficients).reshape(*frames.shape[:3], -1)

    return transform


def _in_batches(metric: Metric, compared: Comparison, score: Score, size: int) -> Metric:
    bound = _on(metric, compared, score)
    if bound.reason:
        return bound
    height, width = compared.data.shape[1:]
    waves = finest_waves(np.zeros((height, width))).shape[-1]

    def statistics(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
        """Real and imaginary parts of the waves of both, (N, C * components, T)."""
        samples, leads = observed.shape[:2]
        pair = np.ascontiguousarray(np.stack([predicted, observed], axis=3))
        return np.moveaxis(pair.view(np.float64).reshape(samples, leads, -1), 1, -1)

    def of_means(means: np.ndarray) -> np.ndarray:
        """Scores of the waves of mean fields: (C * components, T) to (C, T)."""
        parts = np.ascontiguousarray(means.T).view(np.complex128)
        pair = parts.reshape(len(parts), -1, 2, waves)
        p, o = (spectrum_of(pair[:, :, k], height, width) for k in (0, 1))
        return score(o, p).T

    batches = Batches(batches_in_time(compared.frames, size), 4 * waves, of_means)
    return bound._replace(statistics=statistics, batches=batches)
