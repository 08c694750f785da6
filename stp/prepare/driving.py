"""Cut recordings of cameras in cars into pieces and windows, and write their times."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import zarr
from pydantic import PositiveInt

from stp.core.errors import RawFileError
from stp.core.job import Job
from stp.core.options import require
from stp.data.raw_files import RawFiles
from stp.data.windows import starts
from stp.prepare.frames import Decode, Piece, Written
from stp.prepare.output import Clip, write_coordinate
from stp.prepare.pixels import write_pixels

WITHOUT_GAPS = "without_gaps"
RECORDING = "recording"
BLOCK = re.compile(r"block-([1-9]\d{0,3})s", re.ASCII)
PER_PIECE = 500  # frames, 30 MB as 3 x 128 x 160


@dataclass(frozen=True)
class Drive:
    """A recording of a camera in a car.

    Attributes:
        split: train, val or test.
        name: name of the recording.
        length: number of frames.
        times: times of the frames, (length,) int64, microseconds since 1970; None if unknown.
    """

    split: str
    name: str
    length: int
    times: np.ndarray | None = None


Size = tuple[PositiveInt, PositiveInt]
"""An option that holds a height and a width in pixels."""


def require_crop(resize: tuple[int, int], height: int, width: int) -> None:
    """Refuse the option ``resize`` if resized pictures are smaller than the crop.

    Args:
        resize: height and width of resized pictures, pixels.
        height: height of the crop, pixels.
        width: width of the crop, pixels.

    Raises:
        StpError: ``resize`` is too small.
    """
    ok = height <= resize[0] and width <= resize[1]
    require(ok, "resize", resize, f"at least {height} x {width}, the crop")


def require_clusters(value: object) -> None:
    """Check the option ``clusters``.

    Raises:
        StpError: `value` is neither ``recording`` nor blocks of seconds, such as ``block-60s``.
    """
    ok = value == RECORDING or (isinstance(value, str) and BLOCK.fullmatch(value) is not None)
    require(ok, "clusters", value, "recording, or block-60s or another number of seconds")


def cut_windows(
    drives: Iterable[Drive],
    strides: Mapping[str, int],
    span: int,
    *,
    fps: float,
    subsets: Mapping[str, int] | None = None,
    gap_s: float | None = None,
    clusters: str = RECORDING,
) -> list[Clip]:
    """Cut recordings, whose frames are stored one after the other, into windows.

    Windows start at ``range(0, length - span, stride)`` as in PredBench, which never uses the
    window that ends with the last frame.

    Args:
        drives: the recordings.
        strides: number of frames between the starts of windows, by split.
        span: number of frames in a window.
        fps: frames per second, for recordings without times.
        subsets: further test subsets with longer windows: number of frames of a window, by name.
        gap_s: longest allowed step from frame to frame, in seconds, in the subset ``without_gaps``:
            test windows without a longer step also form this subset. Recordings whose times are
            unknown add no windows to it. None without this subset.
        clusters: ``recording``: all windows of a recording are one cluster; ``block-60s``: windows
            that start within the same 60 s of a recording, counted from its first frame, are one
            cluster.
    """
    clips = []
    base = 0
    for drive in drives:
        spans = {drive.split: span, **(subsets or {} if drive.split == "test" else {})}
        for split, frames in spans.items():
            for start in starts(0, drive.length - 1, frames, strides[drive.split]).tolist():
                clip = f"{drive.name}/{start:05d}"
                cluster = _cluster(drive, start, fps, clusters)
                clips.append(Clip(split, clip, base + start, 1, frames, cluster))
                if split == "test" and gap_s is not None and drive.times is not None:
                    steps = np.diff(drive.times[start : start + frames])
                    if (steps <= gap_s * 1e6).all():
                        clips.append(clips[-1]._replace(split=WITHOUT_GAPS))
        base += drive.length
    return clips


def _cluster(drive: Drive, start: int, fps: float, clusters: str) -> str:
    block = BLOCK.fullmatch(clusters)
    if block is None:
        return drive.name
    times = drive.times
    seconds = start / fps if times is None else (times[start] - times[0]) / 1e6
    return f"{drive.name}/{clusters}-{int(seconds // int(block[1])):04d}"


def make_pieces(drive: Drive, tasks: Sequence[Any], raw_bytes: Sequence[int]) -> list[Piece]:
    """Divide a recording into pieces of up to 500 frames, which fit into memory.

    Args:
        drive: the recording.
        tasks: for each frame, what the decoder needs to read it, such as the file of the picture.
        raw_bytes: for each frame, the size of its raw data, bytes.

    Returns:
        pieces in the order of the frames; the task of a piece is the list of the ``tasks`` of its
        frames.
    """
    return [
        Piece(
            f"{drive.split}/{drive.name}/{start:05d}",
            len(tasks[start : start + PER_PIECE]),
            list(tasks[start : start + PER_PIECE]),
            sum(raw_bytes[start : start + PER_PIECE]),
        )
        for start in range(0, drive.length, PER_PIECE)
    ]


def write_drives(
    job: Job,
    raw: RawFiles,
    recordings: Iterable[tuple[Drive, Sequence[Any], Sequence[int]]],
    decode: Decode,
    **attrs: Any,
) -> Written:
    """Write ``frames.zarr`` with all recordings, one after the other, and their times if known.

    Args:
        job: job of the stage that prepares data.
        raw: the raw files.
        recordings: for each recording, the recording itself; what the decoder needs to read each of
            its frames, such as the file of the picture; and the raw size of each frame, bytes.
        decode: function ``decode(raw, tasks)`` that returns the frames of one piece, uint8 (T, C,
            H, W). A piece is up to 500 consecutive frames of a recording; ``tasks`` is a list of
            what `recordings` has for each of these T frames.
        attrs: further attributes of the Zarr group.

    Raises:
        StpError: a picture cannot be decoded.
    """
    recordings = list(recordings)
    pieces = [piece for recording in recordings for piece in make_pieces(*recording)]
    written = write_pixels(job, raw, pieces, decode, "pieces", **attrs)
    drives = [drive for drive, _, _ in recordings]
    if all(drive.times is not None for drive in drives):
        write_times(written.group, drives)
    return written


def check_times(name: str, times: np.ndarray, remedy: str | None = None) -> None:
    """Refuse times that do not increase from frame to frame.

    Args:
        name: source of the times, for the error.
        times: times of the frames, int64 (frames,), microseconds.
        remedy: remedy in the error; by default, the remedy of `RawFileError`.

    Raises:
        StpError: a time repeats or runs backwards.
    """
    wrong = np.flatnonzero(np.diff(times) <= 0)
    if len(wrong):
        problem = f"the time of frame {wrong[0] + 1} is not after that of frame {wrong[0]}"
        raise RawFileError(name, problem, remedy=remedy)


def count_gaps(drives: Iterable[Drive], gap_s: float) -> dict[str, int]:
    """Count the long steps in time in each recording.

    Args:
        drives: the recordings.
        gap_s: time between two frames, in seconds, above which a step counts as long.

    Returns:
        number of long steps, by name of the recording, without recordings that have none.
    """
    gaps = {
        d.name: int((np.diff(d.times) > gap_s * 1e6).sum()) for d in drives if d.times is not None
    }
    return {name: number for name, number in gaps.items() if number}


def write_times(group: zarr.Group, drives: Iterable[Drive]) -> None:
    """Write the times of all frames, one recording after the other, as coordinate ``time``.

    Args:
        group: Zarr group of the frames.
        drives: recordings in the order of the store, all with times.
    """
    times = np.concatenate([drive.times for drive in drives if drive.times is not None])
    write_coordinate(
        group,
        "time",
        "frame",
        times,
        units="microseconds since 1970-01-01",
        standard_name="time",
        calendar="proleptic_gregorian",
    )
    group["frames"].attrs.update(units="1", coordinates="time")
