"""Encode clips as sprite sheets: all frames of a clip in one picture, side by side."""

import base64
import io
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

QUALITIES = (None, 95, 90, 85, 80, 70)
"""Qualities of JPEG, from the best; None is lossless WebP."""

BLOCK = 8  # pixels; JPEG works in such blocks, which must not hold parts of two frames


class Sheet(NamedTuple):
    """A sprite sheet: all frames of a clip in one picture, side by side in rows.

    Attributes:
        uri: the picture as a data URI.
        frames: number of frames.
        columns: number of frames in a row.
    """

    uri: str
    frames: int
    columns: int


def pitch(side: int) -> int:
    """Distance in pixels from one frame of a sprite sheet to the next, in a row or in a column.

    It is the side of a frame, rounded up to a multiple of `BLOCK` (8 pixels): frames are padded to
    whole blocks of 8 x 8 pixels, the units in which JPEG compresses.

    Args:
        side: width or height of a frame, in pixels.
    """
    return -(-side // BLOCK) * BLOCK


def sheet(frames: np.ndarray, quality: int | None) -> Sheet:
    """Lay out the frames of a clip as a sprite sheet, and encode it.

    Equal frames give identical files, since they contain pixels only.

    Args:
        frames: frames of the clip, uint8 (T, H, W, 3).
        quality: quality of JPEG, such as 90; None for lossless WebP.
    """
    picture, columns = laid_out(frames)
    file = io.BytesIO()
    if quality is None:
        # More effort takes four times as long and saves nothing.
        picture.save(file, format="WEBP", lossless=True, quality=20, method=1)
        kind = "webp"
    else:
        picture.save(file, format="JPEG", quality=quality, subsampling=0, optimize=True)
        kind = "jpeg"
    return Sheet(_uri(file.getvalue(), kind), len(frames), columns)


def webp(frames: np.ndarray, quality: int | None) -> str:
    """Lay out frames as a sprite sheet and encode it as WebP, half the size of JPEG.

    Args:
        frames: frames of a clip, uint8 (T, H, W, 3).
        quality: quality of the encoding, 0..100; None for lossless.

    Returns:
        the picture as a data URI; `columns_of` gives its number of columns.
    """
    file = io.BytesIO()
    options: dict[str, Any] = {"quality": quality, "method": 4}
    if quality is None:
        options = {"quality": 20, "method": 1, "lossless": True}
    laid_out(frames)[0].save(file, format="WEBP", **options)
    return _uri(file.getvalue(), "webp")


def columns_of(count: int) -> int:
    """Number of frames in a row of a sprite sheet of ``count`` frames."""
    return int(np.ceil(np.sqrt(count)))


def laid_out(frames: np.ndarray) -> tuple[Image.Image, int]:
    """Arrange frames, uint8 (T, H, W, 3), in one picture; return it with its number of columns."""
    count, height, width = frames.shape[:3]
    high, wide = pitch(height), pitch(width)
    columns = columns_of(count)
    rows = -(-count // columns)
    # Padding repeats the edge, which avoids ringing.
    padded = np.pad(frames, ((0, 0), (0, high - height), (0, wide - width), (0, 0)), mode="edge")
    canvas = np.zeros((rows * columns, high, wide, 3), np.uint8)
    canvas[:count] = padded
    tiles = canvas.reshape(rows, columns, high, wide, 3).swapaxes(1, 2)
    return Image.fromarray(tiles.reshape(rows * high, columns * wide, 3)), columns


def _uri(data: bytes, kind: str) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(data).decode('ascii')}"
