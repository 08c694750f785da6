"""Smoothing of tracks by box filters (moving averages)."""

from dataclasses import replace

import numpy as np

from stp.tracks.gaps import find_gaps
from stp.tracks.tracks import Tracks


def box(positions: np.ndarray, width: int) -> np.ndarray:
    """Moving average over ``width`` samples; positions without a full window stay unchanged.

    Args:
        positions: n consecutive positions of each person, (..., n, 2).
        width: odd number of samples; 0 for no smoothing.

    Returns:
        smoothed positions, (..., n, 2).
    """
    n, half = positions.shape[-2], width // 2
    if width == 0 or n <= width:
        return positions
    windows = np.lib.stride_tricks.sliding_window_view(positions, width, axis=-2)
    smooth = positions.copy()
    smooth[..., half : n - half, :] = windows.mean(axis=-1)
    return smooth


def whole_tracks(tracks: Tracks, width: int) -> Tracks:
    """Smooth whole tracks, as the released code of Atlas does before it cuts scenarios.

    The last observed positions are then averages that include future positions, and the truth is
    smoothed. If a track has gaps that were too long to fill, each piece between gaps is smoothed on
    its own. The piece after the last gap is not smoothed at all, as in the released code.

    Args:
        tracks: tracks by person, see `stp.tracks.gaps.fill_gaps`.
        width: width of the filter, samples; 0 for no smoothing.
    """
    if width == 0:
        return tracks
    position = tracks.position.copy()
    for rows in tracks.people().values():
        if len(rows) < 3:
            continue
        ends = find_gaps(tracks.frame[rows])
        pieces = np.split(rows, ends + 1)[:-1] if len(ends) else [rows]
        for piece in pieces:
            position[piece] = box(tracks.position[piece], width)
    return replace(tracks, position=position)
