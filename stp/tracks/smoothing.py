"""Box filters over tracks."""

from dataclasses import replace

import numpy as np

from stp.tracks.gaps import unlike
from stp.tracks.tracks import Tracks


def box(positions: np.ndarray, width: int) -> np.ndarray:
    """Average over ``width`` samples around each; what has no full window stays as it is.

    Args:
        positions: (..., n, 2).
        width: odd; 0 leaves everything as it is.

    Returns:
        the same shape.
    """
    n, half = positions.shape[-2], width // 2
    if width == 0 or n <= width:
        return positions
    windows = np.lib.stride_tricks.sliding_window_view(positions, width, axis=-2)
    smooth = positions.copy()
    smooth[..., half : n - half, :] = windows.mean(axis=-1)
    return smooth


def whole_tracks(tracks: Tracks, width: int) -> Tracks:
    """Smooth each track as a whole, before it is cut into what is seen and what follows.

    So does the released code of Atlas: the last positions that a predictor sees then hold some of
    the future, and the truth is smoothed too. Of a track with gaps that were too long to fill, each
    piece is smoothed for itself, and the last one is not.

    Args:
        tracks: by person, see `stp.tracks.gaps.filled`.
        width: of the filter, in samples; 0 leaves everything as it is.
    """
    if width == 0:
        return tracks
    position = tracks.position.copy()
    for rows in tracks.people().values():
        if len(rows) < 3:
            continue
        ends = unlike(tracks.frame[rows])
        pieces = np.split(rows, ends + 1)[:-1] if len(ends) else [rows]
        for piece in pieces:
            position[piece] = box(tracks.position[piece], width)
    return replace(tracks, position=position)
