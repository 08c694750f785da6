"""Moving-MNIST: digits that drift across a square and bounce off its edges.

The motion is that of Srivastava et al. 2015 (https://arxiv.org/abs/1502.04681), section 4.1, in the
form of later work: positions are fractions of the free canvas, a step has a fixed length in a
random direction, a digit that crosses an edge is put on the edge and reverses, and where digits
overlap the brighter pixel wins. The first frame is drawn after the first step.
"""

import math

import numpy as np

from stp.data.random_stream import uniform


def render(
    digits: np.ndarray,
    rows: np.ndarray,
    *,
    seed: int,
    epoch: int,
    length: int,
    size: int = 64,
    n_digits: int = 2,
    step: float = 0.1,
    directions: int | None = None,
    stream: int = 0,
) -> np.ndarray:
    """Draw clips, each of which depends on (seed, stream, epoch, row) only.

    Args:
        digits: pictures to choose from, uint8 (N, h, w).
        rows: B clip numbers, >= 0.
        seed: seed of the data set, >= 0.
        epoch: epoch, >= 0, which changes all clips.
        length: number of frames T.
        size: height and width of a frame, pixels.
        n_digits: number of digits in a clip, drawn with replacement.
        step: movement per frame, as a fraction of the free canvas (size - digit size).
        directions: number of equally spaced directions of motion, the first to the right; None for
            any direction.
        stream: stream of random numbers of a split (training 0, validation 1, test 2), >= 0.

    Returns:
        frames, uint8 (B, T, 1, size, size).
    """
    draws = uniform(rows, n_digits * 4, seed=seed, stream=stream, epoch=epoch)
    draws = draws.reshape(-1, n_digits, 4)
    chosen = (draws[..., 0] * len(digits)).astype(np.int64)
    turn = draws[..., 3]
    if directions is not None:
        turn = np.floor(turn * directions) / directions
    x, y = _paths(draws[..., 1], draws[..., 2], turn * (2 * math.pi), length, step)
    height, width = digits.shape[1:]
    left = (x * (size - width)).astype(np.int64)
    top = (y * (size - height)).astype(np.int64)

    frames = np.zeros((len(draws), length, size, size), np.uint8)
    # A view of all windows of a digit's size: one assignment draws a digit in all frames.
    windows = np.lib.stride_tricks.sliding_window_view(
        frames, (height, width), axis=(2, 3), writeable=True
    )
    clip, time = np.ogrid[: len(draws), :length]
    for k in range(n_digits):
        at = (clip, time, top[:, k], left[:, k])
        windows[at] = np.maximum(windows[at], digits[chosen[:, k]][:, None])
    return frames[:, :, None]


def _paths(
    x: np.ndarray, y: np.ndarray, angle: np.ndarray, length: int, step: float
) -> tuple[np.ndarray, np.ndarray]:
    """Positions (B, K, T) in [0, 1] from starting points and directions (B, K)."""
    # The rounding of NumPy's cos may depend on the size of the batch, unlike math.cos.
    step_x = np.array([math.cos(a) for a in angle.flat]).reshape(angle.shape) * step
    step_y = np.array([math.sin(a) for a in angle.flat]).reshape(angle.shape) * step
    path_x, path_y = (np.empty((*x.shape, length)) for _ in range(2))
    for t in range(length):
        x, step_x = _bounce(x + step_x, step_x)
        y, step_y = _bounce(y + step_y, step_y)
        path_x[..., t], path_y[..., t] = x, y
    return path_x, path_y


def _bounce(position: np.ndarray, step: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    outside = (position <= 0) | (position >= 1)
    return np.clip(position, 0, 1), np.where(outside, -step, step)
