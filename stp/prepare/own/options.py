"""Options that all kinds of user data share, and the description of what their raw files contain.

Each kind (videos, pictures, arrays, grids) adds options to `Common`, and describes the recordings
that it finds as `RawContents`, from which `stp.prepare.own.reader` writes prepared data.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from pydantic import PositiveInt

from stp.core.errors import StpError
from stp.core.options import require, whole
from stp.prepare.frames import Decode
from stp.prepare.output import SPLITS

METHODS = ("none", "minmax", "zscore", "fixed")


@dataclass(frozen=True, kw_only=True)
class Common:
    """Options of the reader for data of any kind.

    Attributes:
        kind: kind of files: videos, pictures, arrays or grids.
        splits: how recordings (videos, folders of pictures, time series) are assigned to splits,
            such as ``{by: file, train: 0.7, val: 0.15, test: 0.15}``; stp.prepare.own.splits lists
            all forms.
        span: number of frames in a window; minimum and default are context + horizon.
        stride: number of frames between the starts of windows, for all splits or by split; by
            default, windows do not overlap.
        frame_step: number of frames from one frame of a window to the next.
        group: regular expression whose first group matches a part of the names of recordings, such
            as the number of a person. Recordings with the same match are in the same split and the
            same cluster (a set of statistically dependent windows).
        cluster_frames: number of frames of a block; windows of a recording that start in the same
            block are one cluster. By default, all windows of a recording are one cluster.
        normalisation: rule for offset and scale, with which each channel is mapped to (value -
            offset) / scale as input of models: {method: none},
            {method: minmax} (lowest value and range of the training frames), {method: zscore}
            (their mean and standard deviation) or {method: fixed, offset: .., scale: ..}.
    """

    kind: str
    splits: dict[str, Any]
    span: PositiveInt | None = None
    stride: Any = None
    frame_step: PositiveInt = 1
    group: str | None = None
    cluster_frames: PositiveInt | None = None
    normalisation: dict[str, Any] = field(default_factory=lambda: {"method": "none"})

    def __post_init__(self) -> None:
        strides = self.stride if isinstance(self.stride, dict) else {"stride": self.stride}
        require(bool(strides), "stride", self.stride, "a number, or one for each split")
        for stride in strides.values():
            ok = stride is None or whole(stride, 1)
            require(ok, "stride", self.stride, "whole numbers from 1")
        if self.group is not None:
            expected = "a regular expression with a (group)"
            require(_has_a_group(self.group), "group", self.group, expected)
        require(_is_normalisation(self.normalisation), "normalisation", self.normalisation,
                f"{{method: {' or '.join(METHODS)}}}; fixed with offset and scale > 0")  # fmt: skip

    def stride_of(self, split: str, reach: int) -> int:
        """Number of frames between the starts of consecutive windows of a split.

        Args:
            split: name of the split.
            reach: number of stored frames from the first to the last frame of a window.

        Returns:
            the option `stride` for the split; if it is not set, ``reach``, with which windows do
            not overlap.
        """
        stride = self.stride.get(split) if isinstance(self.stride, dict) else self.stride
        return stride or reach

    def cluster_of(self, name: str) -> str | None:
        """Find the cluster of a recording in the name of the recording, by the option `group`.

        For example, with the group ``(person[0-9]+)``, "person03_walk.avi" belongs to "person03".

        Args:
            name: name of the recording.

        Returns:
            the text that the first group of the expression matches; None without the option.

        Raises:
            StpError: the expression does not match the name.
        """
        if self.group is None:
            return None
        match = re.search(self.group, name)
        cluster = match[1] if match else None
        require(cluster is not None, "group", self.group, f"an expression that matches {name}")
        return cluster


class Recording(NamedTuple):
    """Consecutive frames: a video, a folder of pictures, or a time series of fields.

    Attributes:
        name: unique, readable name.
        file: name of the raw file or folder.
        frames: number of frames.
        cuts: indices of the frames that follow a gap; windows do not cross gaps.
        times: ISO dates of all frames; empty if they are unknown.
        raw_bytes: size of all frames in the raw files, in bytes.
    """

    name: str
    file: str
    frames: int
    cuts: Sequence[int] = ()
    times: Sequence[str] = ()
    raw_bytes: int = 0


class Coordinate(NamedTuple):
    """A coordinate of the frames, such as the times of all frames.

    Attributes:
        name: name of the coordinate.
        dim: axis of the coordinate: frame, channel, y or x.
        values: a value for each index of the axis; along "frame", recordings follow one another.
        attrs: attributes such as units.
    """

    name: str
    dim: str
    values: np.ndarray
    attrs: dict[str, Any]


@dataclass(frozen=True)
class RawContents:
    """Recordings in the raw files, and how they are decoded.

    Attributes:
        recordings: recordings, sorted by name.
        task: ``task(recording, first, stop)`` returns what the decoder needs to read the frames
            first..stop - 1 of the recording with this index.
        decode: ``decode(raw, task)`` returns the frames (T, C, H, W), see `stp.prepare.frames`. If
            the last frames do not exist, it also returns the number of existing ones as a note.
        dtype: data type of the stored values.
        frame_bytes: size that a frame takes in memory while it is decoded, in bytes.
        attrs: attributes of the Zarr group of prepared data.
        coordinates: coordinates of the frames.
        phases: number of phases of the cycle of the climatology, such as 12 months; 1 without a
            cycle.
        phase: ``phase(recording, frame)`` returns the phase, from 0; None without a cycle.
        extras: facts for the receipt.
        unmarked: indices of the channels without a declared code for missing values.
    """

    recordings: list[Recording]
    task: Callable[[int, int, int], Any]
    decode: Decode
    dtype: Any
    frame_bytes: int
    attrs: dict[str, Any]
    coordinates: list[Coordinate] = field(default_factory=list)
    phases: int = 1
    phase: Callable[[int, int], int] | None = None
    extras: dict[str, Any] = field(default_factory=dict)
    unmarked: Sequence[int] = ()


def files_of(names: Sequence[str], kind: str, suffixes: tuple[str, ...]) -> list[str]:
    """Select the raw files of a kind by their suffixes, without hidden files.

    Args:
        names: names of all raw files.
        kind: kind of data, such as ``arrays``, for the error.
        suffixes: possible ends of the names in lower case, such as ``.npy``.

    Raises:
        StpError: there are no files of this kind.
    """
    files = [
        name
        for name in names
        if name.lower().endswith(suffixes) and not name.rpartition("/")[2].startswith(".")
    ]
    if not files:
        raise StpError(
            f"none of the {len(names)} raw files is of the kind {kind}",
            expected=f"file names that end in {', '.join(suffixes)}",
            remedy="change the option kind, or the files of the release",
        )
    return files


def _has_a_group(pattern: object) -> bool:
    try:
        return isinstance(pattern, str) and re.compile(pattern).groups >= 1
    except re.error:
        return False


def _is_normalisation(option: dict[str, Any]) -> bool:
    if not isinstance(option, dict) or option.get("method") not in METHODS:
        return False
    if option["method"] != "fixed":
        return set(option) == {"method"}
    if set(option) != {"method", "offset", "scale"}:
        return False
    try:
        scale = np.asarray(option["scale"], float)
        return bool((scale > 0).all() and np.isfinite(np.asarray(option["offset"], float)).all())
    except (TypeError, ValueError):
        return False


def split_names(splits: dict[str, Any]) -> list[str]:
    """List the splits of the option ``splits``: train, val and test, then its other keys."""
    options = {"by", "seed", "gap"}
    return [*SPLITS, *(name for name in splits if name not in {*SPLITS, *options})]
