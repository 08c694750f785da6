"""Scores of ChaosBench's finest wavenumbers: of each field, or of the mean of successive starts."""

from collections.abc import Callable
from functools import cache, partial

import numpy as np

from stp.metrics.batches import batch_weights
from stp.metrics.comparison import Comparison
from stp.metrics.globe import Area, groups
from stp.metrics.latitude import per_variable, weights_of
from stp.metrics.metric import Metric, every_component, needs_data
from stp.metrics.spectra import finest_bins, finest_spectrum

Score = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""(observed, predicted) spectra (..., bins) to a score (...), infinite where there is none."""


def of_fields(score: Score) -> Metric:
    """A convention of each variable of each frame."""
    return _convention(partial(_on, score=score))


def of_batches(score: Score, size: int) -> Metric:
    """A convention of the mean field of successive samples, then the mean over such batches.

    Args:
        score: of spectra.
        size: samples of a batch, counted from the first one; the last batch may be shorter.
    """
    bound = _convention(partial(_in_batches, score=score, size=size))
    return bound._replace(numbered=True, together=size)


def _convention(on_data: Callable[[Metric, Comparison], Metric]) -> Metric:
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
        return score(observed, predicted).swapaxes(1, 2)

    return bound._replace(statistics=statistics, transform=_spectra(tuple(weights.tolist())))


@cache
def _spectra(weights: tuple[float, ...]) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Makes `finest_spectrum` of frames, float64 (N, T, C, bins); one for equal weights."""

    def transform(frames: np.ndarray, observed: np.ndarray) -> np.ndarray:
        found = np.empty((*frames.shape[:3], finest_bins(*frames.shape[3:])))
        for n, t, here in groups(frames.shape):
            area = Area(np.array(weights), observed[n, t, here])
            found[n, t, here] = finest_spectrum(area.filled(frames[n, t, here]))
        return found

    return transform


def _in_batches(metric: Metric, compared: Comparison, score: Score, size: int) -> Metric:
    bound = _on(metric, compared, score)
    weights = weights_of(compared.data)
    if bound.reason or weights is None:
        return bound
    every = batch_weights(len(compared.frames), size)

    def mean(frames: np.ndarray, observed: np.ndarray) -> np.ndarray:
        each = (Area(weights, o).filled(f) for f, o in zip(frames, observed, strict=True))
        return np.asarray(sum(fields.astype(np.float64) for fields in each) / len(frames))

    def statistics(
        predicted: np.ndarray, observed: np.ndarray, numbers: np.ndarray, _: np.ndarray
    ) -> np.ndarray:
        samples, leads, channels = observed.shape[:3]
        found = np.empty((samples, channels, leads))
        for first in range(0, samples, size):
            batch = slice(first, first + size)
            for t, c in np.ndindex(leads, channels):
                truth = observed[batch, t, c : c + 1]
                fields = (truth, predicted[batch, t, c : c + 1])
                spectra = (finest_spectrum(mean(some, truth)) for some in fields)
                found[batch, c, t] = score(*spectra)
        return found * every[numbers, None, None]

    return bound._replace(statistics=statistics, transform=None)
