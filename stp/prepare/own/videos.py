"""Read video files of any format that `stp.prepare.video` opens.

Long videos are decoded in parts, each from the key frame before it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import av
import numpy as np
from av.video.reformatter import VideoReformatter
from pydantic import PositiveFloat, PositiveInt

from stp.core.options import require
from stp.data.raw_files import RawFiles
from stp.prepare.frames import Decoded
from stp.prepare.output import PIXELS
from stp.prepare.own.options import Common, RawContents, Recording, files_of
from stp.prepare.own.size import check_crop, fit
from stp.prepare.video import (
    DAMAGE,
    SUFFIXES,
    apply_orientation,
    check_frame,
    decoding_error,
    open_film,
    packets,
    size_of,
    video_stream,
)

FORMATS = {1: "gray", 3: "rgb24"}
UNEVEN = "videos with frames at uneven times"
"""Key in the receipt for videos with uneven times."""


@dataclass(frozen=True, kw_only=True)
class VideoOptions(Common):
    """Options of the reader of the user's videos.

    Attributes:
        crop: crop before resizing: centre (the largest middle part with the aspect ratio of
            `shape`), or [top, left, height, width] in pixels of the video; none by default.
        fps: frames per second, if the videos do not state it or state a wrong value.
        frames: number of frames taken from the beginning of each video; all by default.
    """

    crop: Any = None
    fps: PositiveFloat | None = None
    frames: PositiveInt | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_crop(self.crop)


class Task(NamedTuple):
    """Some frames of a video to decode, and the size of the result.

    Attributes:
        name: name of the raw file.
        first: index of the first frame.
        frames: number of frames.
        begins: time of the first frame, in the unit of the stream; None if times are missing.
        ends: time of the frame after the last one; None at the end of the video.
        channels: number of channels, 1 or 3.
        height: height of a prepared frame, pixels.
        width: width of a prepared frame, pixels.
        crop: crop before resizing: "centre", [top, left, height, width] in pixels, or None.
    """

    name: str
    first: int
    frames: int
    begins: int | None
    ends: int | None
    channels: int
    height: int
    width: int
    crop: Any


def raw_contents(
    raw: RawFiles, options: VideoOptions, shape: tuple[int, int, int], _: Path
) -> RawContents:
    """Find the videos, count their frames, and describe each as a recording.

    Args:
        raw: the raw files.
        options: options of the reader.
        shape: required number of channels, 1 (grey) or 3 (RGB), height and width of frames.
        _: folder for unpacked files, which other kinds of data need.

    Raises:
        StpError: there are no videos, or a video is damaged.
    """
    channels, height, width = shape
    require(channels in FORMATS, "shape", list(shape), "1 (grey) or 3 (RGB) channels")
    names = files_of(raw.names, "videos", SUFFIXES)
    recordings, times, rates, uneven = [], [], set(), []
    for name in names:
        path = raw.find(name)
        stamps, rate = probe(path)
        frames = min(len(stamps), options.frames or len(stamps))
        read_bytes = path.stat().st_size * frames // len(stamps)
        recordings.append(Recording(name, name, frames, raw_bytes=read_bytes))
        usable = None not in stamps and len(set(stamps)) == len(stamps)
        times.append(sorted(stamps) if usable else None)  # type: ignore[type-var]
        rates.add(rate)
        if usable and _is_uneven(times[-1][:frames]):  # type: ignore[index]
            uneven.append(name)
    is_one = len(rates) == 1 and not uneven
    fps = options.fps or (float(next(iter(rates)) or 0) if is_one else None)

    def task(number: int, first: int, stop: int) -> Task:
        at, count = times[number], stop - first
        begins = at[first] if at else None
        ends = at[stop] if at and stop < len(at) else None
        return Task(names[number], first, count, begins, ends, *shape, options.crop)

    return RawContents(
        recordings,
        task,
        decode,
        np.uint8,
        channels * height * width,
        {**PIXELS, "fps": fps or None},
        extras={
            "frames per second": sorted({float(rate) if rate else 0.0 for rate in rates}),
            UNEVEN: uneven[:100],
        },
    )


def _is_uneven(times: list[int | None]) -> bool:
    """Whether the duration of a frame differs from the median by more than half; containers round
    times.
    """
    steps = np.diff(np.array(times, np.int64))
    usual = np.median(steps) if len(steps) else 0
    return bool((np.abs(steps - usual) > usual / 2).any())


def probe(path: Path) -> tuple[list[int | None], Fraction | None]:
    """Read the times of all frames and the frame rate of a video, without decoding it.

    Returns:
        times in the order of the file, in the unit of the stream, None where missing; and the
        stated frames per second, None if it is not stated.

    Raises:
        StpError: the file is damaged, cut off, or not a video.
    """
    try:
        with open_film(path) as container:
            stream = video_stream(container, path)
            stamps = [packet.pts for packet in packets(path, container, stream) if packet.size]
            return stamps, stream.average_rate
    except DAMAGE as error:
        raise decoding_error(path, error) from error


def size(path: Path) -> tuple[int, int]:
    """Height and width of the first frame after rotation for display, pixels.

    Raises:
        StpError: the frame cannot be decoded.
    """
    try:
        with open_film(path) as container:
            frame = next(container.decode(video_stream(container, path)), None)
            if frame is None:
                raise ValueError("no frames")
            return size_of(frame)
    except DAMAGE as error:
        raise decoding_error(path, error) from error


def decode(raw: RawFiles, task: Task) -> Decoded:
    """Decode some consecutive frames of a video.

    Frames were counted without decoding, as the packets of the file. In some formats, packets may
    contain no frame, so there may be fewer frames. The last frame then fills the missing places.

    Args:
        raw: the raw files.
        task: name of the video, range of frames, and channels, size and crop of the frames.

    Returns:
        frames, uint8 (T, C, H, W), with the number of existing frames as note.

    Raises:
        StpError: the video is damaged, or none of the frames exists.
    """
    path = raw.find(task.name)
    frames = np.empty((task.frames, task.channels, task.height, task.width), np.uint8)
    decoded, first = 0, None
    converter = VideoReformatter()  # for all frames: a new one takes longer than a small frame
    try:
        for frame in _frames(path, task):
            if decoded == task.frames:
                raise ValueError("more frames than packets")
            check_frame(path, frame, task.first + decoded, first)
            first = first or frame
            converted = converter.reformat(frame, format=FORMATS[task.channels])
            picture = apply_orientation(frame, converted.to_ndarray())
            picture = picture.reshape(*picture.shape[:2], task.channels)
            frames[decoded] = fit(picture, task.height, task.width, task.crop, str(path))
            decoded += 1
        if not decoded:
            raise ValueError(f"no frame from number {task.first} on")
    except DAMAGE as error:
        raise decoding_error(path, error) from error
    frames[decoded:] = frames[decoded - 1]
    return Decoded(frames, decoded)


def _frames(path: Path, task: Task) -> Iterator[av.VideoFrame]:
    """The frames of a task, in the order of presentation."""
    if task.begins is None:  # without times, frames are counted
        with open_film(path) as container:
            for number, frame in enumerate(container.decode(video_stream(container, path))):
                if number >= task.first + task.frames:
                    return
                if number >= task.first:
                    yield frame
        return
    with open_film(path) as container:
        stream = video_stream(container, path)
        frames: Iterator[av.VideoFrame] = container.decode(stream)
        if task.first and _can_seek(path, task.begins):
            container.seek(task.begins, stream=stream)
            frames = container.decode(stream)
        for frame in frames:
            if frame.pts is None:
                raise ValueError("a frame without a time")
            if task.ends is not None and frame.pts >= task.ends:
                return
            if frame.pts >= task.begins:
                yield frame


@cache
def _can_seek(path: Path, time: int) -> bool:
    """Whether seeking to a time leads to a frame at or before it."""
    try:
        with open_film(path) as container:
            stream = video_stream(container, path)
            container.seek(time, stream=stream)
            first = next(container.decode(stream), None)
            return first is not None and first.pts is not None and first.pts <= time
    except DAMAGE:
        return False
