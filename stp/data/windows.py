"""Windows of consecutive frames: where they start in a sequence, and in which block."""

from collections.abc import Sequence

import numpy as np


def starts(first: int, stop: int, span: int, stride: int) -> np.ndarray:
    """First frames of all windows that fit into a sequence.

    ``range(first, stop - span + 1, stride)``: the last window may end with the last frame.

    Args:
        first: first frame of the sequence.
        stop: the frame after its last one.
        span: number of frames of a window, >= 1.
        stride: number of frames between the starts of consecutive windows, >= 1.

    Returns:
        int64, ascending; empty if no window fits.
    """
    return np.arange(first, stop - span + 1, stride, dtype=np.int64)


def starts_from_the_end(numbers: Sequence[int], span: int, stride: int) -> np.ndarray:
    """Find windows of consecutive frame numbers, searching from the last frame backwards.

    This is the rule of the KTH clips of PredRNN, OpenSTL and PredBench: go back one frame at a
    time; if a window of consecutive numbers ends there, take it and go back by `stride`.

    Args:
        numbers: frame numbers in the order of the frames; a jump is a cut.
        span: number of frames of a window, >= 1.
        stride: number of frames to go back after a window, >= 1.

    Returns:
        positions in `numbers` of the first frames, int64, ascending.
    """
    values = np.asarray(numbers, dtype=np.int64)
    # Positions with the same number of cuts before them belong to the same run.
    cuts_before = np.concatenate([[0], np.cumsum(np.diff(values) != 1)])
    first_positions = []
    last = len(values) - 1
    while last >= span - 1:
        if cuts_before[last] == cuts_before[last - span + 1]:
            first_positions.append(last - span + 1)
            last -= stride
        else:
            last -= 1
    return np.array(first_positions[::-1], dtype=np.int64)


def blocks(window_starts: np.ndarray, length: int) -> np.ndarray:
    """Index of the block of `length` frames in which each window starts, int64 from 0."""
    return np.asarray(window_starts, dtype=np.int64) // length
