"""Small files of every kind, made here with known values, for tests of own data."""

import io
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import xarray as xr
from PIL import Image

THIRDS: dict[str, Any] = {"train": 0.5, "val": 0.25, "test": 0.25}


def level(recording: int, frame: int) -> int:
    """The grey level of a frame: tells which one it is."""
    return 20 + 40 * recording + frame


def video(
    path: Path,
    levels: list[int],
    size: tuple[int, int] = (16, 24),
    codec: str = "ffv1",
    **options: Any,
) -> None:
    """A video of even grey frames, without loss unless another codec is named.

    With ``times``, frame k is shown at ``times[k] / 12`` seconds.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    muxer = {"live": "1"} if options.pop("live", False) else {}
    with av.open(str(path), "w", options=muxer) as container:
        stream = container.add_stream(codec, rate=options.pop("rate", 12))
        stream.height, stream.width = size
        stream.pix_fmt = options.pop("pix_fmt", "yuv420p")
        rotate = options.pop("rotate", None)
        times = options.pop("times", None)
        if rotate:
            stream.set_display_rotation(rotate)
        stream.options = {name: str(value) for name, value in options.items()}
        for number, value in enumerate(levels):
            picture = np.full((*size, 3), value, np.uint8)
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            if times:
                frame.pts, frame.time_base = times[number], Fraction(1, 12)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def video_of_two_sizes(path: Path) -> None:
    """Two frames, and then two that are larger, as no camera writes them."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mjpeg", rate=12)
        stream.height, stream.width, stream.pix_fmt = 16, 24, "yuvj420p"
        larger = av.CodecContext.create("mjpeg", "w")
        larger.height, larger.width, larger.pix_fmt = 32, 48, "yuvj420p"
        larger.time_base = Fraction(1, 12)
        for number, coder in enumerate((stream, stream, larger, larger)):
            picture = np.full((coder.height, coder.width, 3), 90, np.uint8)
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24").reformat(format="yuvj420p")
            frame.pts, frame.time_base = number, Fraction(1, 12)
            for packet in coder.encode(frame):
                packet.stream = stream
                container.mux(packet)


def picture(path: Path, values: np.ndarray | int, size: tuple[int, int] = (16, 24)) -> None:
    """A picture file of these values, or of one grey level."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(values, int):
        values = np.full(size, values, np.uint8)
    Image.fromarray(values).save(path)


def picture_bytes(value: int) -> bytes:
    """The content of a picture file."""
    content = io.BytesIO()
    Image.fromarray(np.full((16, 24), value, np.uint8)).save(content, "PNG")
    return content.getvalue()


def times(start: str, count: int, step: str = "6h") -> np.ndarray:
    """Dates in steady steps."""
    number, unit = int(step[:-1]), step[-1]
    return np.datetime64(start, "ns") + np.arange(count) * np.timedelta64(number, unit)


def grid(when: np.ndarray, height: int = 4, width: int = 6) -> xr.Dataset:
    """Two variables, one of them on levels; values tell where and when they are.

    t2m is 1000 k + 10 row + column at time k; z at level p is p + k.
    """
    k = np.arange(len(when))[:, None, None]
    row, column = np.arange(height)[:, None], np.arange(width)
    levels = np.array([500.0, 850.0])
    t2m = (1000 * k + 10 * row + column).astype(np.float32)
    z = np.broadcast_to(levels[:, None, None] + k[:, None], (len(when), 2, height, width))
    return xr.Dataset(
        {
            "t2m": (("time", "lat", "lon"), t2m, {"units": "K"}),
            "z": (("time", "level", "lat", "lon"), z.astype(np.float32), {"units": "m2 s-2"}),
        },
        {
            "time": when,
            "lat": np.linspace(60, 30, height),
            "lon": np.arange(width) * 2.0,
            "level": levels,
        },
    )
