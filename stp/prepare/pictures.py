"""Decode, resize and crop pictures (PNG, JPEG)."""

import io
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from PIL import Image, ImageOps

from stp.core.errors import RawFileError, StpError
from stp.core.limits import require_pixels
from stp.data.raw_files import RawFiles
from stp.prepare.members import Member, member_location, read
from stp.prepare.resize import bilinear

FORMATS = ("PNG", "JPEG")
MODES = ("1", "L", "LA", "RGB", "P", "RGBA")
"""Modes of Pillow with eight bits per channel. Others, such as 16-bit grey, would lose
precision."""
PNG_BITS = 24
"""Offset of the number of bits per channel in a PNG file."""
EXPECTED = f"a complete, opaque {' or '.join(FORMATS)} picture with 8 bits a channel"
TO_8_BITS = (
    "convert it to 8 bits a channel, grey or RGB (ImageMagick: magick IN -depth 8 OUT); or write "
    "the frames as an array of 16 bits (.npy, kind: arrays), whose range divide_by states"
)
OPAQUE = "paint it on a background (ImageMagick: magick IN -background black -flatten OUT)"
SINGLE = "write each frame as a picture of its own, or the animation as a film"


def decode_picture(content: bytes, name: str, mode: Literal["RGB", "L"]) -> np.ndarray:
    """Decode a picture, and rotate it according to its EXIF data.

    Args:
        content: content of a PNG or JPEG file.
        name: name of the file, for errors.
        mode: RGB (a grey picture gives three equal channels) or L (grey; a coloured picture gives
            its luma, ITU-R 601).

    Returns:
        picture, uint8 (H, W, C) with C = 3 or 1.

    Raises:
        StpError: the file is empty, cut off, damaged or very large, is not PNG or JPEG, has
            transparency, or does not have 8 bits per channel.
    """
    try:
        with Image.open(io.BytesIO(content), formats=FORMATS) as picture:
            picture.verify()  # the checksums of a PNG, which decoding ignores; then it is used up
        with Image.open(io.BytesIO(content), formats=FORMATS) as picture:
            if picture.mode not in MODES:
                raise _picture_error(name, f"pixels of kind {picture.mode}", TO_8_BITS)
            # Pillow gives the upper halves of 16-bit colours, and calls them RGB.
            if picture.format == "PNG" and content[PNG_BITS] > 8:
                raise _picture_error(
                    name, f"pixels of {content[PNG_BITS]} bits a channel", TO_8_BITS
                )
            if picture.format == "PNG" and getattr(picture, "is_animated", False):
                raise _picture_error(name, "an animation of several frames", SINGLE)
            # The colour of a transparent pixel is arbitrary, and what lies behind it is unknown.
            alpha = (
                picture.convert("RGBA").getchannel("A") if picture.has_transparency_data else None
            )
            if alpha is not None and np.asarray(alpha).min() < 255:
                raise _picture_error(name, "transparent pixels", OPAQUE)
            require_pixels(name, picture.width, picture.height)
            ImageOps.exif_transpose(picture, in_place=True)  # telephones turn pictures that way
            values = np.asarray(picture.convert(mode))
    # The decoders of Pillow raise almost anything for damaged files: OSError, SyntaxError,
    # ValueError, struct.error, zlib.error, EOFError, Image.DecompressionBombError ...
    except StpError:
        raise
    except Exception as error:
        raise RawFileError(
            name,
            f"cannot be decoded ({error or type(error).__name__})",
            expected=EXPECTED,
        ) from error
    return values.reshape(*values.shape[:2], -1)


def _picture_error(name: str, problem: str, remedy: str) -> RawFileError:
    return RawFileError(name, problem, expected=EXPECTED, remedy=remedy)


def read_pictures(
    raw: RawFiles, members: Sequence[Member], convert: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Decode the pictures of a video, in colour.

    Args:
        raw: the raw files.
        members: files of the video, in the order of the frames.
        convert: function that converts a picture, uint8 (H, W, 3), to a frame, uint8 (C, H, W).

    Returns:
        frames, uint8 (T, C, H, W).

    Raises:
        StpError: a picture is missing or damaged, or differs in size from the first.
    """
    frames: list[np.ndarray] = []
    size: tuple[int, ...] = ()
    for member in members:
        name = member_location(raw, member)
        picture = decode_picture(read(raw, member), name, "RGB")
        size = size or picture.shape
        if picture.shape != size:
            raise RawFileError(
                name,
                f"{picture.shape[1]} x {picture.shape[0]} pixels",
                expected=f"{size[1]} x {size[0]}, as {members[0]} has",
            )
        frames.append(convert(picture))
    return np.stack(frames)


def resize_and_crop(
    picture: np.ndarray, resize: tuple[int, int], crop: tuple[int, int]
) -> np.ndarray:
    """Resize a picture by linear interpolation, then crop the centre.

    Args:
        picture: picture, uint8 (H, W, C).
        resize: height and width before the crop, pixels.
        crop: height and width of the result, pixels.

    Returns:
        frame, uint8 (C, height, width).

    Raises:
        StpError: the crop is larger than `resize`.
    """
    return centre_crop(bilinear(np.moveaxis(picture, -1, 0), *resize), *crop)


def centre_crop(frames: np.ndarray, height: int, width: int) -> np.ndarray:
    """Crop the centre of frames; a crop that would begin between two pixels begins at the even one.

    This is the rounding of mmcv's ``CenterCrop``.

    Args:
        frames: frames, (..., H, W).
        height: height of the crop, at most H, pixels.
        width: width of the crop, at most W, pixels.

    Returns:
        view of the cropped frames, (..., height, width).

    Raises:
        StpError: the frames are smaller than the crop.
    """
    h, w = frames.shape[-2:]
    if height > h or width > w:
        raise StpError(
            f"frames of {w} x {h} pixels cannot be cropped to {width} x {height}",
            expected="frames at least as large as the crop",
            remedy="change the size of the resizing or of the crop",
        )
    top, left = round((h - height) / 2), round((w - width) / 2)
    return frames[..., top : top + height, left : left + width]


def lanczos(frame: np.ndarray, height: int, width: int) -> np.ndarray:
    """Resize a frame by Pillow's Lanczos filter, which smooths when it shrinks.

    Args:
        frame: frame, uint8 (C, H, W), C = 3 or 1.
        height: height of the result, pixels.
        width: width of the result, pixels.

    Returns:
        resized frame, uint8 (C, height, width).
    """
    picture = np.ascontiguousarray(np.moveaxis(frame, 0, -1))
    image = Image.fromarray(picture[..., 0] if len(frame) == 1 else picture)
    resized = np.asarray(image.resize((width, height), Image.Resampling.LANCZOS))
    return np.moveaxis(resized.reshape(height, width, -1), -1, 0)
