"""Assign recordings, or parts of them, to splits, and cut them into windows.

    {by: file, train: 0.7, val: 0.15, test: 0.15, seed: 0}      all of a file in one split
    {by: sequence, train: 0.7, val: 0.15, test: 0.15, seed: 0}  all of a recording in one split
    {by: list, train: [a.avi, b*.avi], val: [c.avi], test: test.txt}
    {by: time, train: 0.7, val: 0.15, test: 0.15, gap: 0}       early frames first
    {by: time, train: ["1979", "2015"], val: ["2016", "2016"], test: ["2017", "2018-06"]}

    {by: action_lists, ...}, {by: clip_table, ...}   see stp.prepare.own.published_lists

A name in a list is the end of the path of a file, or a folder; ``*`` matches any text. Names may
also be listed in a text file among the raw files, one per line. Dates include their last day, month
or year. Between splits by time, `gap` frames are left out.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np

from stp.core.errors import StpError
from stp.core.options import check_keys, number, require, whole
from stp.data.windows import blocks, starts
from stp.prepare.output import SPLITS, Clip
from stp.prepare.own.options import Common, RawContents, Recording, split_names
from stp.prepare.own.published_lists import FORMATS
from stp.prepare.own.published_lists import check as check_lists
from stp.prepare.random_order import deal_by_name

KEYS = {
    "file": {"seed"},
    "sequence": {"seed"},
    "list": set[str](),
    "time": {"gap"},
}
DATE = re.compile(
    r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01])(T([01]\d|2[0-3])(:[0-5]\d){0,2})?)?)?", re.ASCII
)
"""Pattern of an ISO date or its beginning; dates are compared as text."""


class Part(NamedTuple):
    """Consecutive frames of a recording that belong to a split.

    Attributes:
        split: name of the split.
        recording: index of the recording.
        first: index of the first frame.
        stop: index of the frame after the last one.
        cluster: name of the cluster of the windows.
    """

    split: str
    recording: int
    first: int
    stop: int
    cluster: str


def check_splits(splits: dict[str, Any]) -> None:
    """Check the option ``splits``, before any file is read.

    Args:
        splits: the option, such as ``{by: file, train: 0.7, val: 0.15, test: 0.15}``.

    Raises:
        StpError: a key is unknown, a split is missing, or a fraction is out of range.
    """
    by = splits.get("by") if isinstance(splits, dict) else None
    require(by in (*KEYS, *FORMATS), "splits.by", by, " or ".join((*KEYS, *FORMATS)))
    assert isinstance(by, str)
    if by in FORMATS:
        check_lists(splits)
        return
    for name in SPLITS:
        require(name in splits, f"splits: {name}", None, f"a value for the {name} split")
    if by != "list":
        check_keys("splits", splits, {"by", *SPLITS, *KEYS[by]})
    for key in KEYS[by]:
        require(whole(splits.get(key, 0), 0), f"splits.{key}", splits.get(key), "0 or more")
    values = {name: splits[name] for name in SPLITS}
    if by == "list":
        for name in split_names(splits):
            value = splits[name]
            ok = isinstance(value, str) or (
                isinstance(value, list) and bool(value) and all(isinstance(v, str) for v in value)
            )
            require(ok, f"splits.{name}", value, "a list of names, or a text file with names")
    elif by == "time" and any(isinstance(value, list) for value in values.values()):
        for name, value in values.items():
            ok = isinstance(value, list) and len(value) == 2
            ok = ok and all(map(DATE.fullmatch, map(_date, value))) and _is_before(*value)
            require(
                ok, f"splits.{name}", value,
                "[first date, last date], each 2015, 2015-06, 2015-06-30 or 2015-06-30T12:00",
            )  # fmt: skip
    else:
        for name, value in values.items():
            ok = number(value) and 0 < value < 1
            require(ok, f"splits.{name}", value, "a fraction between 0 and 1")
        shares = [*values.values()]
        require(sum(shares) <= 1 + 1e-9, "splits", shares, "fractions whose sum is at most 1")


def _date(value: object) -> str:
    """A date as in the names of times, with a T before the time of day."""
    return str(value).replace(" ", "T")


def _is_before(first: object, last: object) -> bool:
    """Whether a day, month or year does not begin after the end of another one."""
    return _date(first)[: len(_date(last))] <= _date(last)


def assign_splits(
    data: RawContents, options: Common, read_list: Callable[[str], Iterable[str]]
) -> list[Part]:
    """Assign recordings, or parts of them, to splits.

    Args:
        data: the recordings.
        options: the options `splits` and `group`.
        read_list: function that reads the names in a raw file.

    Returns:
        parts in the order of the recordings; recordings that no split uses are left out.

    Raises:
        StpError: a name in a list matches no recording, or a recording of another split; or a split
            is empty.
    """
    splits, recordings = options.splits, data.recordings
    by = splits["by"]
    clusters = [
        options.cluster_of(recording.name) or (recording.file if by == "file" else recording.name)
        for recording in recordings
    ]
    if by == "time":
        parts = _by_time(recordings, clusters, splits)
    else:
        if by == "list":
            chosen = _by_list(recordings, splits, read_list)
            _require_whole_groups(chosen, clusters, splits)
        else:
            split_of = _by_fraction(sorted(set(clusters)), splits, by)
            chosen = [split_of.get(cluster) for cluster in clusters]
        parts = [
            Part(split, i, 0, recordings[i].frames, clusters[i])
            for i, split in enumerate(chosen)
            if split is not None
        ]
    return parts


def require_no_copies(
    recordings: Sequence[Recording], parts: Sequence[Part], checksums: Mapping[str, str]
) -> None:
    """Refuse equal files in different splits.

    Args:
        recordings: all recordings.
        parts: parts of the recordings in splits.
        checksums: checksums of the raw files, by name.

    Raises:
        StpError: two files in different splits have the same content.
    """
    firsts: dict[str, Part] = {}
    for part in parts:
        file = recordings[part.recording].file
        first = firsts.setdefault(checksums.get(file, file), part)
        if first.split != part.split and (copy := recordings[first.recording].file) != file:
            raise StpError(
                f"splits: {copy} in {first.split} and {file} in {part.split} have the same content",
                remedy="remove one of them, or put both into one split",
            )


def _by_fraction(names: list[str], splits: dict[str, Any], by: str) -> dict[str, str]:
    n, fractions = len(names), [splits[name] for name in SPLITS]
    counts = [max(1, round(fraction * n)) for fraction in fractions]
    if sum(fractions) > 1 - 1e-9:  # everything is used: training gets the rest
        counts[0] = n - counts[1] - counts[2]
    if counts[0] < 1 or sum(counts) > n:
        raise StpError(
            f"splits: {n} {'files' if by == 'file' else 'sequences'} or groups, split as "
            f"{' / '.join(map(str, fractions))}, leave a split empty",
            expected="at least one in each of train, val and test",
            remedy="add files, or split by: sequence or by: time",
        )
    return deal_by_name(names, list(zip(SPLITS, counts, strict=True)), splits.get("seed", 0))


def _by_list(
    recordings: Sequence[Recording],
    splits: dict[str, Any],
    read_list: Callable[[str], Iterable[str]],
) -> list[str | None]:
    chosen: list[str | None] = [None] * len(recordings)
    numbers_of = _by_parts_of_names(recordings)
    for split in split_names(splits):
        listed = splits[split]
        for pattern in read_list(listed) if isinstance(listed, str) else listed:
            matches = _matches(numbers_of, pattern.strip("/"))
            if not matches:
                raise StpError(
                    f"splits.{split}: none of the {len(recordings)} sequences is called "
                    f"{pattern!r}",
                    expected=f"names such as {recordings[0].name}",
                    remedy=f"did you mean {_closest_name(pattern, numbers_of)}?",
                )
            for i in matches:
                if chosen[i] not in (None, split):
                    raise StpError(
                        f"splits: {recordings[i].name} is in {chosen[i]} and in {split}",
                        remedy="make the names in the lists more precise",
                    )
                chosen[i] = split
    return chosen


def _by_parts_of_names(recordings: Sequence[Recording]) -> dict[str, list[int]]:
    """Indices of recordings, by each sequence of consecutive components of their paths."""
    numbers_of: dict[str, list[int]] = {}
    for i, recording in enumerate(recordings):
        parts = recording.name.split("/")
        names = {
            recording.file,
            *("/".join(parts[a:b]) for a, b in combinations(range(len(parts) + 1), 2)),
        }
        # An array in a file, data.npz:train, is found by the name of the file as well.
        parts = recording.file.split("/")
        names |= {"/".join(parts[a:]) for a in range(len(parts))}
        for name in names:
            numbers_of.setdefault(name, []).append(i)
    return numbers_of


def _matches(numbers_of: dict[str, list[int]], pattern: str) -> list[int]:
    if not any(sign in pattern for sign in "*?["):
        return numbers_of.get(pattern, [])
    matches = (numbers for name, numbers in numbers_of.items() if fnmatchcase(name, pattern))
    return sorted({i for numbers in matches for i in numbers})


def _closest_name(pattern: str, names: Iterable[str]) -> str:
    candidates = list(names)[:10000]
    return next(iter(get_close_matches(pattern, candidates, n=1)), candidates[0])


def _require_whole_groups(
    chosen: list[str | None], clusters: list[str], splits: dict[str, Any]
) -> None:
    split_of: dict[str, str] = {}
    for split, cluster in zip(chosen, clusters, strict=True):
        if split is not None and split_of.setdefault(cluster, split) != split:
            raise StpError(
                f"splits: the group {cluster} is in {split_of[cluster]} and in {split}",
                expected="all sequences of a group (option group) in one split",
                remedy="change the lists, or the expression `group`",
            )


def _by_time(
    recordings: Sequence[Recording], clusters: list[str], splits: dict[str, Any]
) -> list[Part]:
    parts: list[Part] = []
    for i, recording in enumerate(recordings):
        if isinstance(splits["train"], list):
            ranges = [(*_frames_between(recording, *map(_date, splits[s])), s) for s in SPLITS]
        else:
            shares = np.cumsum([0.0, *(splits[split] for split in SPLITS)])
            edges = [round(share * recording.frames) for share in shares.clip(max=1.0).tolist()]
            ranges = [(a, b, s) for (a, b), s in zip(pairwise(edges), SPLITS, strict=True)]
        stop = 0
        for first, last, split in sorted(ranges):
            if first >= last:  # the recording has no frames in this range of dates
                continue
            if first < stop:
                raise StpError(
                    f"splits: {split} and {parts[-1].split} share frames of {recording.name}",
                    remedy="change the dates",
                )
            begins = max(first, stop + splits.get("gap", 0)) if stop else first
            if begins < last:
                parts.append(Part(split, i, begins, last, clusters[i]))
            stop = max(stop, last)
    return parts


def _frames_between(recording: Recording, first: str, last: str) -> tuple[int, int]:
    """The range of frames from the beginning of a day, month or year to the end of another one."""
    if not recording.times:
        raise StpError(
            f"splits: {recording.name} has no dates",
            expected="fractions for train, val and test",
            remedy="use by: time with fractions",
        )
    begins = sum(time[: len(first)] < first for time in recording.times)
    ends = sum(time[: len(last)] <= last for time in recording.times)
    return begins, ends


def cut_windows(
    data: RawContents,
    parts: Sequence[Part],
    options: Common,
    span: int,
    lost: Sequence[tuple[int, int, int]] = (),
) -> list[Clip]:
    """Cut parts (consecutive frames of a recording in one split) into windows.

    The frames of the parts are stored one after the other, in the given order.

    Args:
        data: the recordings.
        parts: parts of the recordings in splits.
        options: the options `stride`, `frame_step` and `cluster_frames`.
        span: number of frames in a window.
        lost: ranges of frames that turned out not to exist when they were decoded: index of the
            part, first frame, and the frame after the last one.
    """
    reach = (span - 1) * options.frame_step + 1
    missing: dict[int, list[tuple[int, int]]] = {}
    for i, first, stop in lost:
        missing.setdefault(i, []).append((first, stop))
    clips = []
    base = 0
    for i, part in enumerate(parts):
        recording = data.recordings[part.recording]
        stride = options.stride_of(part.split, reach)
        for first, stop in _stretches(part, recording.cuts, missing.get(i, [])):
            at = starts(first, stop, reach, stride)
            numbers = blocks(at, options.cluster_frames or max(recording.frames, 1))
            for start, block in zip(at.tolist(), numbers.tolist(), strict=True):
                time = recording.times[start] if recording.times else f"frame-{start:06d}"
                in_block = f"/block-{block:03d}" if options.cluster_frames else ""
                clips.append(
                    Clip(
                        part.split,
                        f"{recording.name}/{time}",
                        base + start - part.first,
                        options.frame_step,
                        span,
                        f"{part.cluster}{in_block}",
                        data.phase(part.recording, start) if data.phase else 0,
                    )
                )
        base += part.stop - part.first
    return clips


def _stretches(
    part: Part, cuts: Sequence[int], missing: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Divide the frames of a part into ranges without gaps."""
    edges = [part.first, *(c for c in cuts if part.first < c < part.stop), part.stop]
    stretches = list(pairwise(edges))
    for a, b in missing:
        stretches = [
            piece
            for first, stop in stretches
            for piece in ((first, min(stop, a)), (max(first, b), stop))
            if piece[0] < piece[1]
        ]
    return stretches


def require_windows(
    data: RawContents, parts: Sequence[Part], clips: Sequence[Clip], options: Common, span: int
) -> None:
    """Check, before frames are decoded, that every split has at least one window.

    Args:
        data: the recordings.
        parts: parts of the recordings in splits.
        clips: windows that `cut_windows` found in the parts.
        options: the options `splits` and `frame_step`.
        span: number of frames in a window.

    Raises:
        StpError: a split has no window, since its parts are shorter than a window.
    """
    splits = {clip.split for clip in clips}
    for split in split_names(options.splits):
        if split in splits:
            continue
        inside = [part for part in parts if part.split == split]
        longest = max(
            (
                stop - first
                for part in inside
                for first, stop in _stretches(part, data.recordings[part.recording].cuts, [])
            ),
            default=0,
        )
        step = f", taking every frame in {options.frame_step}" if options.frame_step > 1 else ""
        raise StpError(
            f"the {split} split has no clips: it has {len(inside)} sequences, the longest of "
            f"{longest} frames, and windows are {span} frames long{step}",
            remedy="shorten context or horizon, change the splits, or add data",
        )
