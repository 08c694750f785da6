"""What all kinds of own data have in common: options, and what a look at the files finds."""

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
        kind: videos, pictures, arrays or grids.
        splits: who gets what, see stp.prepare.own.splits.
        span: frames of a window, at least context + horizon, which it is unless set.
        stride: frames between the starts of windows, for all splits or by split; unless set,
            windows do not overlap.
        frame_step: a window takes every so many frames.
        group: regular expression; what its first group finds in the name of a sequence names what
            belongs together, such as a person: it comes into one split, and is one cluster.
        cluster_frames: windows of one sequence that start in the same block of so many frames are
            one cluster; unless set, all of a sequence are.
        normalisation: what models see is (value - offset) / scale, by channel: {method: none},
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
        given = self.stride if isinstance(self.stride, dict) else {"stride": self.stride}
        require(bool(given), "stride", self.stride, "a number, or one for each split")
        for stride in given.values():
            ok = stride is None or whole(stride, 1)
            require(ok, "stride", self.stride, "whole numbers from 1")
        if self.group is not None:
            require(_has_a_group(self.group), "group", self.group, "an expression with one (group)")
        require(_is_normalisation(self.normalisation), "normalisation", self.normalisation,
                f"{{method: {' or '.join(METHODS)}}}; fixed with offset and scale > 0")  # fmt: skip

    def stride_of(self, split: str, reach: int) -> int:
        """Frames between the starts of the windows of a split; `reach` is their length."""
        stride = self.stride.get(split) if isinstance(self.stride, dict) else self.stride
        return stride or reach

    def cluster_of(self, name: str) -> str | None:
        """What the expression `group` finds in the name of a sequence; None if there is none.

        Raises:
            StpError: it finds nothing.
        """
        if self.group is None:
            return None
        match = re.search(self.group, name)
        found = match[1] if match else None
        require(found is not None, "group", self.group, f"an expression that {name} has")
        return str(found)


class Recording(NamedTuple):
    """Frames that follow one another: a video, a folder of pictures, a run of a field.

    Attributes:
        name: readable, and like no other.
        file: what it comes from: a raw file, or a folder of them.
        frames: how many.
        cuts: frames before which something is missing: no window has both sides.
        times: ISO dates of all frames, where they are known.
        raw_bytes: of all frames.
    """

    name: str
    file: str
    frames: int
    cuts: Sequence[int] = ()
    times: Sequence[str] = ()
    raw_bytes: int = 0


class Coordinate(NamedTuple):
    """Values along an axis of the frames; along "frame", those of all recordings in order."""

    name: str
    dim: str
    values: np.ndarray
    attrs: dict[str, Any]


@dataclass(frozen=True)
class RawContents:
    """What a look at the raw files finds.

    Attributes:
        recordings: in the order of their names.
        task: ``task(recording, first, stop)``: what the decoder needs for some frames.
        decode: see stp.prepare.frames. It may note that the last frames do not exist, by the number
            of those that do.
        dtype: of the stored values.
        frame_bytes: memory that a frame takes while it is decoded.
        attrs: of the Zarr group.
        coordinates: of the frames.
        phases: number of phases, and ``phase(recording, frame)``.
        extras: for the receipt.
        unmarked: numbers of the channels of which nobody said what stands for missing values.
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
    """The raw files of a kind, without hidden ones.

    Raises:
        StpError: there is none.
    """
    found = [
        name
        for name in names
        if name.lower().endswith(suffixes) and not name.rpartition("/")[2].startswith(".")
    ]
    if not found:
        raise StpError(
            f"none of the {len(names)} raw files is of the kind {kind}",
            expected=f"files that end with {', '.join(suffixes)}",
            remedy="change the option kind, or the files of the release",
        )
    return found


def _has_a_group(pattern: object) -> bool:
    try:
        return isinstance(pattern, str) and re.compile(pattern).groups >= 1
    except re.error:
        return False


def _is_normalisation(given: dict[str, Any]) -> bool:
    if not isinstance(given, dict) or given.get("method") not in METHODS:
        return False
    if given["method"] != "fixed":
        return set(given) == {"method"}
    if set(given) != {"method", "offset", "scale"}:
        return False
    try:
        scale = np.asarray(given["scale"], float)
        return bool((scale > 0).all() and np.isfinite(np.asarray(given["offset"], float)).all())
    except (TypeError, ValueError):
        return False


def split_names(splits: dict[str, Any]) -> list[str]:
    """Training, validation and test, and then those that a list adds."""
    known = {"by", "seed", "gap"}
    return [*SPLITS, *(name for name in splits if name not in {*SPLITS, *known})]
