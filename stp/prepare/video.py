"""Decoding of video files."""

from pathlib import Path
from typing import BinaryIO

import av
import numpy as np
from av.container import InputContainer

from stp.core.errors import StpError
from stp.core.limits import require_pixels

DEMUXERS = "asf,avi,flv,gif,m4v,matroska,mov,mpeg,mpegts,mpegvideo,ogg"
"""Names of FFmpeg. Others open whatever further files or addresses a file names: concat, sdp."""


def open_film(file: Path | BinaryIO) -> InputContainer:
    """Open a video file, in whatever format that holds the frames itself.

    Args:
        file: a path, or an open file that can seek.

    Raises:
        av.FFmpegError: it is damaged, or something else.
    """
    named = str(file) if isinstance(file, Path) else file
    options = {"format_whitelist": DEMUXERS, "protocol_whitelist": "file"}
    return av.open(named, "r", options=options)


def decode_grey(file: Path | BinaryIO, name: str) -> np.ndarray:
    """Decode the brightness of all frames of a video.

    Video keeps brightness as 16 (black) .. 235 (white); it is stretched to 0..255 as every
    conversion to RGB does, so that the values are those of picture files made from the video.

    Args:
        file: a path, or an open file that can seek.
        name: what to call it in an error.

    Returns:
        uint8 (T, H, W).

    Raises:
        StpError: the file cannot be decoded or holds no frames.
    """
    try:
        with open_film(file) as container:
            stream = container.streams.video[0]
            if stream.codec_context is None:
                raise ValueError("an unknown codec")
            require_pixels(name, stream.codec_context.width, stream.codec_context.height)
            frames = [_grey(frame) for frame in container.decode(stream)]
        if not frames:
            raise ValueError("no frames")
        return np.stack(frames)  # of one size, or it is refused
    except (av.FFmpegError, ValueError, IndexError) as error:
        raise StpError(
            f"{name}: cannot be decoded ({error})",
            expected="a complete video file",
            remedy="fetch it again, or leave it out of the raw files",
        ) from error


_STRETCH = np.clip(np.rint((np.arange(256) - 16) * (255 / 219)), 0, 255).astype(np.uint8)


def _grey(frame: av.VideoFrame) -> np.ndarray:
    plane = frame.planes[0]  # Y of YUV: one byte a pixel, rows padded to line_size
    if not frame.format.name.startswith("yuv") or frame.format.components[0].bits != 8:
        raise ValueError(f"pixel format {frame.format.name} instead of 8-bit YUV")
    luma = np.frombuffer(memoryview(plane), np.uint8).reshape(-1, plane.line_size)
    luma = luma[: frame.height, : frame.width]
    is_full_range = frame.format.name.startswith("yuvj") or int(frame.color_range) == 2
    return luma.copy() if is_full_range else _STRETCH[luma]
