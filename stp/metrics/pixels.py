"""Errors of frames, summed over pixels in float64: the basis of MSE, MAE, RMSE and PSNR."""

import math

import numpy as np


def frame_size(frames: np.ndarray) -> int:
    """Number of values in each of the frames (N, T, C, H, W): C * H * W."""
    return math.prod(frames.shape[2:])


def squared_errors(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Sum over C, H, W of the squared errors: two arrays (N, T, C, H, W) to float64 (N, T)."""
    return _sums(predicted, observed, np.square)


def absolute_errors(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Sum over C, H, W of the absolute errors: two arrays (N, T, C, H, W) to float64 (N, T)."""
    return _sums(predicted, observed, np.abs)


def _sums(predicted: np.ndarray, observed: np.ndarray, function: np.ufunc) -> np.ndarray:
    """Sum a function of the errors of each frame, float64 (N, T).

    Errors keep the precision of the frames, which is twice as fast: float32 rounds each error by at
    most a factor of 6e-8, and a sum of thousands by 1e-9. Frames are processed one by one, because
    a frame fits the processor's cache.
    """
    sums = np.empty(predicted.shape[:2])
    for n, t in np.ndindex(sums.shape):
        error = predicted[n, t] - observed[n, t]
        sums[n, t] = function(error, out=error).sum(dtype=np.float64)
    return sums
