"""Errors of whole frames, summed over pixels in float64: the ground of MSE, MAE, RMSE and PSNR."""

import math

import numpy as np


def frame_size(frames: np.ndarray) -> int:
    """C * H * W of frames (N, T, C, H, W)."""
    return math.prod(frames.shape[2:])


def squared_errors(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Sum over C, H, W of the squared errors: two arrays (N, T, C, H, W) to float64 (N, T)."""
    sums = np.empty(predicted.shape[:2])
    for n, (p, o) in enumerate(zip(predicted, observed, strict=True)):
        error = _difference(p, o)
        np.einsum("tx,tx->t", error, error, out=sums[n])
    return sums


def absolute_errors(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Sum over C, H, W of the absolute errors: two arrays (N, T, C, H, W) to float64 (N, T)."""
    sums = np.empty(predicted.shape[:2])
    for n, (p, o) in enumerate(zip(predicted, observed, strict=True)):
        error = _difference(p, o)
        np.abs(error, out=error).sum(axis=1, out=sums[n])
    return sums


def _difference(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """One sample (T, C, H, W) each, to its errors, float64 (T, C * H * W)."""
    leads = len(predicted)
    error = predicted.reshape(leads, -1).astype(np.float64)
    error -= observed.reshape(leads, -1)
    return error
