"""Where the windows of a sequence start, and which of them belong together."""

from collections.abc import Sequence

import numpy as np


def starts(first: int, stop: int, span: int, stride: int) -> np.ndarray:
    """First frames of all windows that fit into a sequence.

    ``range(first, stop - span + 1, stride)``: the last window may end with the last frame.

    Args:
        first: first frame of the sequence.
        stop: the frame after its last one.
        span: frames in a window, >= 1.
        stride: frames between the starts of consecutive windows, >= 1.

    Returns:
        int64, ascending; empty when no window fits.
    """
    return np.arange(first, stop - span + 1, stride, dtype=np.int64)


def starts_from_the_end(numbers: Sequence[int], span: int, stride: int) -> np.ndarray:
    """Windows of consecutive frame numbers, searched from the last frame backwards.

    This is the rule by which the KTH clips of PredRNN, OpenSTL and PredBench are cut: step back one
    frame at a time; where a window of consecutive numbers ends, take it and step back by `stride`.

    Args:
        numbers: the frame numbers in the order in which the frames are kept; a jump is a cut.
        span: frames in a window, >= 1.
        stride: steps after a window that was taken, >= 1.

    Returns:
        int64 positions in `numbers` (not frame numbers) of the first frames, ascending.
    """
    values = np.asarray(numbers, dtype=np.int64)
    # Two positions belong to the same uncut run when the same number of cuts precedes them.
    cuts_before = np.concatenate([[0], np.cumsum(np.diff(values) != 1)])
    found = []
    last = len(values) - 1
    while last >= span - 1:
        if cuts_before[last] == cuts_before[last - span + 1]:
            found.append(last - span + 1)
            last -= stride
        else:
            last -= 1
    return np.array(found[::-1], dtype=np.int64)


def blocks(window_starts: np.ndarray, length: int) -> np.ndarray:
    """Number of the block of `length` frames in which each window starts, int64 from 0."""
    return np.asarray(window_starts, dtype=np.int64) // length
