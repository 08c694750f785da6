"""Decode video files, for all readers; frames are rotated for display.

Frames are counted by packets, without decoding. A file that is cut off is refused if its format
reveals this.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import av
import numpy as np
from av.container import InputContainer
from av.sidedata.sidedata import Type
from av.video.reformatter import VideoReformatter

from stp.core.disk import require_regular
from stp.core.errors import StpError
from stp.core.limits import require_pixels

SUFFIXES = (
    *(".3gp", ".avi", ".flv", ".gif", ".m2ts", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg"),
    *(".mts", ".ogv", ".ts", ".webm", ".wmv"),
)
DEMUXERS = "asf,avi,flv,gif,m4v,matroska,mov,mpeg,mpegts,mpegvideo,ogg"
"""Names of allowed formats in FFmpeg. Others, such as concat and sdp, open further files or
addresses."""
TRANSPORT = (188, 192, 204)
"""Sizes of MPEG-TS packets: plain, with times, with checksums."""
EBML, SEGMENT = b"\x1a\x45\xdf\xa3", b"\x18\x53\x80\x67"
"""First bytes of the two parts of a Matroska file."""
GIF_END = b";"
DAMAGE = (av.FFmpegError, ValueError, IndexError, OSError)
"""Exceptions of PyAV for damaged videos."""


def open_film(file: Path | BinaryIO) -> InputContainer:
    """Open a video file; formats that refer to other files are refused.

    Args:
        file: a path, or an open seekable file.

    Raises:
        av.FFmpegError: the file is damaged, or not a video.
        StpError: the file is a pipe, a socket or a device.
    """
    if isinstance(file, Path):
        require_regular(file)
    named = str(file) if isinstance(file, Path) else file
    options = {"format_whitelist": DEMUXERS, "protocol_whitelist": "file"}
    return av.open(named, "r", options=options)


def video_stream(container: InputContainer, name: object) -> av.VideoStream:
    """The first video stream of a file, decoded by one thread, since jobs run one process per core.

    Args:
        name: name of the file, for errors.

    Raises:
        IndexError: the file has no video stream.
        ValueError: no decoder is available.
        StpError: the frames are too large.
    """
    stream = container.streams.video[0]
    if stream.codec_context is None:
        raise ValueError("an unknown codec")
    require_pixels(name, stream.codec_context.width, stream.codec_context.height)
    stream.codec_context.thread_count = 1
    return stream


def packets(path: Path, container: InputContainer, stream: av.VideoStream) -> Iterator[av.Packet]:
    """Yield all packets of a video, in the order of the file; the last packet is empty.

    Raises:
        ValueError: raised after the last packet if the file is cut off or has no frames.
    """
    count = 0
    for packet in container.demux(stream):
        if packet.is_corrupt:
            raise ValueError(f"cut off after {count} frames")
        count += bool(packet.size)
        yield packet
    if not count:
        raise ValueError("no frames")
    if _is_cut_off(path, container):
        raise ValueError(f"cut off after {count} frames")
    # Other containers may have more frames than they show.
    if container.format.name == "avi" and count < stream.frames:
        raise ValueError(f"{count} of {stream.frames} frames")


def decode_film(path: Path, stop: int | None = None, step: int = 1) -> Iterator[np.ndarray]:
    """Decode a video in colour, frame by frame, rotated for display.

    The rest of the file is checked without decoding, in the same pass.

    Args:
        path: path of the file.
        stop: index of the frame after the last one; by default, all frames are decoded.
        step: number of frames from one decoded frame to the next.

    Yields:
        frames, uint8 (H, W, 3), of equal size.

    Raises:
        StpError: the file is damaged, cut off, or not a video, or its frames differ in size.
    """
    number, first = 0, None
    converter = VideoReformatter()  # for all frames: a new one takes longer than a small frame
    try:
        with open_film(path) as container:
            stream = video_stream(container, path)
            for packet in packets(path, container, stream):
                if stop is not None and number >= stop:
                    continue
                for frame in packet.decode():
                    check_frame(path, frame, number, first)
                    first = first or frame
                    if number % step == 0 and (stop is None or number < stop):
                        yield apply_orientation(
                            frame, converter.reformat(frame, format="rgb24").to_ndarray()
                        )
                    number += 1
            if not number:
                raise ValueError("no frames")
    except DAMAGE as error:
        raise decoding_error(path, error) from error


def check_frame(
    path: Path, frame: av.VideoFrame, number: int, first: av.VideoFrame | None = None
) -> None:
    """Refuse a frame that is incomplete or too large.

    Args:
        number: index of the frame in the video.
        first: an earlier frame, which must have the same size.

    Raises:
        ValueError: a part of the frame is missing, or its size differs.
        StpError: the frame is too large.
    """
    if frame.is_corrupt:  # FFmpeg fills lost parts
        raise ValueError(f"a part of frame {number} is lost")
    require_pixels(path, frame.width, frame.height)  # the header may state fewer
    if first is not None and size_of(frame) != size_of(first):
        (height, width), (first_height, first_width) = size_of(frame), size_of(first)
        raise ValueError(
            f"frame {number} has {width} x {height} pixels, "
            f"those before {first_width} x {first_height}"
        )


def apply_orientation(frame: av.VideoFrame, picture: np.ndarray) -> np.ndarray:
    """Rotate and mirror a decoded frame according to the file, since telephones store frames
    unrotated.

    Args:
        frame: the decoded frame.
        picture: pixels of the frame, (H, W, ...).

    Returns:
        view of the same pixels; H and W are exchanged after a quarter turn.
    """
    across, down, is_turned = _orientation(frame)
    picture = picture.swapaxes(0, 1) if is_turned else picture
    return picture[:: -1 if down else 1, :: -1 if across else 1]


def size_of(frame: av.VideoFrame) -> tuple[int, int]:
    """Height and width of a frame after rotation for display, pixels."""
    is_turned = _orientation(frame)[2]
    return (frame.width, frame.height) if is_turned else (frame.height, frame.width)


def _orientation(frame: av.VideoFrame) -> tuple[bool, bool, bool]:
    """Whether a frame is mirrored across, mirrored down, and (before that) transposed.

    The display matrix maps the stored (x, y) to the shown (a x + c y, b x + d y); it is stored as
    the 32-bit integers a, b, u, c, d, v, ...
    """
    # The type stub of PyAV allows only names.
    stored: Any = frame.side_data.get(Type.DISPLAYMATRIX)  # type: ignore[call-overload]
    if stored is None:
        return False, False, False
    a, b, _, c, d = np.frombuffer(bytes(stored)[:20], np.int32).tolist()
    return (c < 0, b < 0, True) if abs(b) > abs(a) else (a < 0, d < 0, False)


def decode_grey(file: Path | BinaryIO, name: str) -> np.ndarray:
    """Decode the brightness of all frames of a video.

    Video stores brightness from 16 (black) to 235 (white). Values are stretched to 0..255, as in
    conversions to RGB, so they equal the values of picture files made from the video.

    Args:
        file: a path, or an open seekable file.
        name: name of the file, for errors.

    Returns:
        frames, uint8 (T, H, W).

    Raises:
        StpError: the file cannot be decoded or has no frames.
    """
    try:
        with open_film(file) as container:
            stream = video_stream(container, name)
            frames = [
                apply_orientation(frame, _to_grey(frame)) for frame in container.decode(stream)
            ]
        if not frames:
            raise ValueError("no frames")
        return np.stack(frames)  # raises ValueError for different sizes
    except DAMAGE as error:
        raise decoding_error(name, error) from error


_STRETCH = np.clip(np.rint((np.arange(256) - 16) * (255 / 219)), 0, 255).astype(np.uint8)


def _to_grey(frame: av.VideoFrame) -> np.ndarray:
    plane = frame.planes[0]  # Y of YUV: one byte a pixel, rows padded to line_size
    if not frame.format.name.startswith("yuv") or frame.format.components[0].bits != 8:
        raise ValueError(f"pixel format {frame.format.name} instead of 8-bit YUV")
    luma = np.frombuffer(memoryview(plane), np.uint8).reshape(-1, plane.line_size)
    luma = luma[: frame.height, : frame.width]
    is_full_range = frame.format.name.startswith("yuvj") or int(frame.color_range) == 2
    return luma.copy() if is_full_range else _STRETCH[luma]


def _is_cut_off(path: Path, container: InputContainer) -> bool:
    """Whether a file ends early, for formats in which FFmpeg does not detect this."""
    size, name = path.stat().st_size, container.format.name
    if name == "mpegts":  # packets of one size
        return all(size % packet for packet in TRANSPORT)
    if name == "asf":  # FFmpeg believes the duration of a whole file only
        return container.duration is None
    if name == "gif":
        with path.open("rb") as file:
            file.seek(max(0, size - 1024))
            return not file.read().rstrip(b"\0").endswith(GIF_END)
    return name == "matroska,webm" and size < _matroska_bytes(path)


def _matroska_bytes(path: Path) -> int:
    """Size in bytes that a Matroska file states; 0 if it is not stated, as in live recordings."""
    with path.open("rb") as file:
        while (kind := file.read(4)) in (EBML, SEGMENT):
            first = file.read(1)
            if not any(first):
                return 0
            more = 8 - first[0].bit_length()  # bytes, as many as there are zeros in front
            bits = 7 * (more + 1)
            size = int.from_bytes(first + file.read(more), "big") % (1 << bits)
            if kind == SEGMENT:
                return 0 if size == (1 << bits) - 1 else file.tell() + size
            file.seek(size, 1)
    return 0


def decoding_error(name: object, error: BaseException) -> StpError:
    """Make the error about a video that cannot be decoded."""
    return StpError(
        f"{name}: cannot be decoded ({error})",
        remedy="replace it, leave it out, or convert it: ffmpeg -i OLD NEW.mp4",
    )
