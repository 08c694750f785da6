"""Crop and resize pictures to the size of the dataset."""

from typing import Any

import numpy as np

from stp.core.errors import StpError
from stp.core.options import require, whole
from stp.prepare.resize import bilinear


def check_crop(crop: Any) -> None:
    """Check the option ``crop``: None, "centre", or [top, left, height, width].

    Raises:
        StpError: `crop` is none of these.
    """
    numbers = isinstance(crop, list) and len(crop) == 4
    ok = crop in (None, "centre") or (
        numbers and all(whole(n, 0) for n in crop) and crop[2] > 0 and crop[3] > 0
    )
    require(ok, "crop", crop, "centre, or [top, left, height, width]")


def fit(picture: np.ndarray, height: int, width: int, crop: Any, name: str) -> np.ndarray:
    """Crop a picture, then resize it.

    Args:
        picture: picture, uint8 (H, W, C).
        height: height of the result, pixels.
        width: width of the result, pixels.
        crop: None; "centre" (the largest middle part with the aspect ratio of the result); or [top,
            left, height, width] in pixels of the picture.
        name: name of the file, for errors.

    Returns:
        frame, uint8 (C, height, width).

    Raises:
        StpError: the crop reaches beyond the picture.
    """
    h, w = picture.shape[:2]
    top, left, tall, wide = 0, 0, h, w
    if crop == "centre":
        # The largest part with this aspect ratio; products, so that nothing is rounded.
        tall, wide = (
            (h, h * width // height) if w * height > h * width else (w * height // width, w)
        )
        tall, wide = max(tall, 1), max(wide, 1)
        top, left = (h - tall) // 2, (w - wide) // 2
    elif crop is not None:
        top, left, tall, wide = crop
        if top + tall > h or left + wide > w:
            raise StpError(
                f"{name}: the crop {crop} reaches beyond a picture of {h} x {w} pixels",
                expected="[top, left, height, width] within the picture",
                remedy="change the option crop",
            )
    part = picture[top : top + tall, left : left + wide]
    # Channels apart in memory: four times as fast.
    return bilinear(np.ascontiguousarray(np.moveaxis(part, -1, 0)), height, width)
