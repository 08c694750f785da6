"""Write pictures and videos reproducibly: equal frames give equal files."""

import io
from typing import Any

import av
import numpy as np
from av.codec.context import Flags
from PIL import Image


def encode_picture(picture: np.ndarray, form: str = "PNG", **options: Any) -> bytes:
    """Encode uint8 (H, W) or (H, W, 3) as a picture file; options are those of Pillow."""
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, form, **options)
    return buffer.getvalue()


def encode(pictures: np.ndarray, *, form: str = "mp4", rate: int = 10) -> bytes:
    """Encode frames as a video file; equal frames give equal files.

    Args:
        pictures: frames, uint8 (T, H, W, 3), H and W even.
        form: format, mp4 (H.264) or avi (MPEG-4).
        rate: frames per second.
    """
    buffer = io.BytesIO()
    with av.open(buffer, "w", format=form, options={"fflags": "+bitexact"}) as container:
        if form == "mp4":
            # The look-ahead of constant quality (crf) gave different files for equal planes once
            # in some hundred times; a constant quantiser (qp) never did.
            stream = container.add_stream("libx264", rate=rate, options={"qp": "25"})
        else:
            stream = container.add_stream("mpeg4", rate=rate)
            stream.codec_context.bit_rate = 1_000_000
        stream.height, stream.width = pictures.shape[1:3]
        stream.pix_fmt = "yuv420p"
        stream.codec_context.thread_count = 1
        stream.codec_context.flags |= Flags.bitexact
        for picture in pictures:
            frame = av.VideoFrame.from_ndarray(_planes(picture), format="yuv420p")
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return buffer.getvalue()


# From RGB to Y, Cb and Cr of video (ITU-R BT.601). FFmpeg's own conversion gave different planes
# for equal frames once in some hundred times.
_YCBCR = (
    np.array([[65.481, 128.553, 24.966], [-37.797, -74.203, 112.0], [112.0, -93.786, -18.214]])
    / 255
)


def _planes(picture: np.ndarray) -> np.ndarray:
    """Convert RGB, uint8 (H, W, 3), to planes Y, Cb and Cr in one array (3 H / 2, W); H, W even."""
    height, width = picture.shape[:2]
    y, cb, cr = np.einsum("ij,hwj->ihw", _YCBCR, picture.astype(float)) + np.array(
        [16, 128, 128]
    ).reshape(3, 1, 1)
    halves = [c.reshape(height // 2, 2, width // 2, 2).mean(axis=(1, 3)) for c in (cb, cr)]
    planes = np.concatenate([plane.ravel() for plane in (y, *halves)])
    return np.rint(planes).astype(np.uint8).reshape(height * 3 // 2, width)
