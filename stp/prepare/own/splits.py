"""Who gets what: recordings, or stretches of them, dealt out to splits; and the windows in them.

    {by: file, train: 0.7, val: 0.15, test: 0.15, seed: 0}      all of a file in one split
    {by: sequence, train: 0.7, val: 0.15, test: 0.15, seed: 0}  all of a recording in one split
    {by: list, train: [a.avi, b*.avi], val: [c.avi], test: test.txt}
    {by: time, train: 0.7, val: 0.15, test: 0.15, gap: 0}       first the early frames
    {by: time, train: ["1979", "2015"], val: ["2016", "2016"], test: ["2017", "2018-06"]}

    {by: action_lists, ...}, {by: clip_table, ...}   see stp.prepare.own.published_lists

Names in a list may end the path of a file, or name a folder; ``*`` stands for anything. A text file
among the raw files may hold them, one a line. Dates include their last day, month or year. Between
the splits by time, `gap` frames are left out.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np

from stp.core.errors import StpError
from stp.core.options import check_keys, require, whole
from stp.data.windows import blocks, starts
from stp.prepare.output import SPLITS, Clip
from stp.prepare.own.options import Common, RawContents, Recording, split_names
from stp.prepare.own.published_lists import FORMATS
from stp.prepare.own.published_lists import check as check_lists

KEYS = {
    "file": {"seed"},
    "sequence": {"seed"},
    "list": set[str](),
    "time": {"gap"},
}
DATE = re.compile(
    r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01])(T([01]\d|2[0-3])(:[0-5]\d){0,2})?)?)?", re.ASCII
)
"""The beginning of an ISO date, of any length: dates are compared as text."""


class Part(NamedTuple):
    """A stretch of a recording that belongs to a split.

    Attributes:
        split: its name.
        recording: its number.
        first: frame.
        stop: the frame after its last one.
        cluster: what its windows depend on.
    """

    split: str
    recording: int
    first: int
    stop: int
    cluster: str


def check_splits(splits: dict[str, Any]) -> None:
    """Refuse splits that mean nothing, before any file is looked at.

    Raises:
        StpError: an unknown key, a missing split, or fractions out of range.
    """
    by = splits.get("by") if isinstance(splits, dict) else None
    require(by in (*KEYS, *FORMATS), "splits.by", by, " or ".join((*KEYS, *FORMATS)))
    assert isinstance(by, str)
    if by in FORMATS:
        check_lists(splits)
        return
    for name in SPLITS:
        require(name in splits, f"splits: {name}", None, f"what the {name} split gets")
    if by != "list":
        check_keys("splits", splits, {"by", *SPLITS, *KEYS[by]})
    for key in KEYS[by]:
        require(whole(splits.get(key, 0), 0), f"splits.{key}", splits.get(key), "0 or more")
    given = [splits[name] for name in SPLITS]
    if by == "list":
        for name in split_names(splits):
            value = splits[name]
            ok = isinstance(value, str) or (
                isinstance(value, list) and bool(value) and all(isinstance(v, str) for v in value)
            )
            require(ok, f"splits.{name}", value, "a list of names, or a text file that holds one")
    elif by == "time" and any(isinstance(value, list) for value in given):
        for name, value in zip(SPLITS, given, strict=True):
            ok = isinstance(value, list) and len(value) == 2
            ok = ok and all(map(DATE.fullmatch, map(_date, value))) and _is_before(*value)
            require(
                ok, f"splits.{name}", value,
                "[first date, last date], each 2015, 2015-06, 2015-06-30 or 2015-06-30T12:00",
            )  # fmt: skip
    else:
        for name, value in zip(SPLITS, given, strict=True):
            ok = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1
            require(ok, f"splits.{name}", value, "a fraction between 0 and 1")
        require(sum(given) <= 1 + 1e-9, "splits", given, "fractions that are 1 together, or less")


def _date(value: object) -> str:
    """A date as in the names of times, which have a T before the time of day."""
    return str(value).replace(" ", "T")


def _is_before(first: object, last: object) -> bool:
    """Whether a day, month or year begins before another one ends."""
    return _date(first)[: len(_date(last))] <= _date(last)


def deal(
    found: RawContents, options: Common, read_list: Callable[[str], Iterable[str]]
) -> list[Part]:
    """Deal recordings out, in their order; those in no split are left out.

    Args:
        found: the recordings.
        options: for splits, groups.
        read_list: reads the names in a raw file of that name.

    Raises:
        StpError: a name in a list is that of nothing, or in two splits; or a split stays empty.
    """
    splits, recordings = options.splits, found.recordings
    by = splits["by"]
    clusters = [
        options.cluster_of(one.name) or (one.file if by == "file" else one.name)
        for one in recordings
    ]
    if by == "time":
        parts = _by_time(recordings, clusters, splits)
    else:
        if by == "list":
            chosen = _by_list(recordings, splits, read_list)
            _require_whole_groups(chosen, clusters, splits)
        else:
            share = _by_fraction(sorted(set(clusters)), splits, by)
            chosen = [share.get(cluster) for cluster in clusters]
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
        recordings: all of them.
        parts: of them.
        checksums: of raw files, by name.

    Raises:
        StpError: two files in different splits have the same bytes.
    """
    seen: dict[str, Part] = {}
    for part in parts:
        file = recordings[part.recording].file
        first = seen.setdefault(checksums.get(file, file), part)
        if first.split != part.split and (copy := recordings[first.recording].file) != file:
            raise StpError(
                f"splits: {copy} in {first.split} and {file} in {part.split} are the same file",
                expected="different data in different splits",
                remedy="take one of them away, or put both into one split",
            )


def _by_fraction(names: list[str], splits: dict[str, Any], by: str) -> dict[str, str]:
    """Who gets which name. A name's place depends on the seed and itself, not on its neighbours."""
    seed = splits.get("seed", 0)
    order = sorted(names, key=lambda name: hashlib.sha256(f"{seed}:{name}".encode()).digest())
    n, fractions = len(names), [splits[name] for name in SPLITS]
    counts = [max(1, round(fraction * n)) for fraction in fractions]
    if sum(fractions) > 1 - 1e-9:  # everything is used: training gets the rest
        counts[0] = n - counts[1] - counts[2]
    if counts[0] < 1 or sum(counts) > n:
        raise StpError(
            f"splits: {n} {'files' if by == 'file' else 'sequences'} or groups of them, shared as "
            f"{' / '.join(map(str, fractions))}, leave a split empty",
            expected="at least one in each of train, val and test",
            remedy="add files, or deal out by: sequence or by: time",
        )
    share: dict[str, str] = {}
    first = 0
    for split, count in zip(SPLITS, counts, strict=True):
        share |= dict.fromkeys(order[first : first + count], split)
        first += count
    return share


def _by_list(
    recordings: Sequence[Recording],
    splits: dict[str, Any],
    read_list: Callable[[str], Iterable[str]],
) -> list[str | None]:
    chosen: list[str | None] = [None] * len(recordings)
    named = _by_parts_of_names(recordings)
    for split in split_names(splits):
        given = splits[split]
        for pattern in read_list(given) if isinstance(given, str) else given:
            hits = _hits(named, pattern.strip("/"))
            if not hits:
                raise StpError(
                    f"splits.{split}: there is no {pattern!r} among {len(recordings)} sequences",
                    expected=f"names such as {recordings[0].name}",
                    remedy=f"did you mean {_like(pattern, named)}?",
                )
            for i in hits:
                if chosen[i] not in (None, split):
                    raise StpError(
                        f"splits: {recordings[i].name} is in {chosen[i]} and in {split}",
                        expected="every sequence in one split at most",
                        remedy="make the names in the lists more precise",
                    )
                chosen[i] = split
    return chosen


def _by_parts_of_names(recordings: Sequence[Recording]) -> dict[str, list[int]]:
    """Recordings by whatever may name them: any folders of the path that follow one another."""
    found: dict[str, list[int]] = {}
    for i, one in enumerate(recordings):
        parts = one.name.split("/")
        names = {
            one.file,
            *("/".join(parts[a:b]) for a, b in combinations(range(len(parts) + 1), 2)),
        }
        # An array in a file, data.npz:train, is found by the name of the file as well.
        names |= {"/".join(one.file.split("/")[a:]) for a in range(one.file.count("/") + 1)}
        for name in names:
            found.setdefault(name, []).append(i)
    return found


def _hits(named: dict[str, list[int]], pattern: str) -> list[int]:
    if not any(sign in pattern for sign in "*?["):
        return named.get(pattern, [])
    return sorted({i for name, of in named.items() if fnmatchcase(name, pattern) for i in of})


def _like(pattern: str, named: dict[str, list[int]]) -> str:
    near = get_close_matches(pattern, list(named)[:10000], n=1)
    return near[0] if near else next(iter(named))


def _require_whole_groups(
    chosen: list[str | None], clusters: list[str], splits: dict[str, Any]
) -> None:
    seen: dict[str, str] = {}
    for split, cluster in zip(chosen, clusters, strict=True):
        if split is not None and seen.setdefault(cluster, split) != split:
            raise StpError(
                f"splits: the group {cluster} is in {seen[cluster]} and in {split}",
                expected="what belongs together (option group) in one split",
                remedy="change the lists, or the expression `group`",
            )


def _by_time(
    recordings: Sequence[Recording], clusters: list[str], splits: dict[str, Any]
) -> list[Part]:
    parts: list[Part] = []
    for i, one in enumerate(recordings):
        if isinstance(splits["train"], list):
            ranges = [(*_between(one, *map(_date, splits[split])), split) for split in SPLITS]
        else:
            shares = np.cumsum([0.0, *(splits[split] for split in SPLITS)])
            edges = [round(share * one.frames) for share in shares.clip(max=1.0).tolist()]
            ranges = [(a, b, s) for (a, b), s in zip(pairwise(edges), SPLITS, strict=True)]
        stop = 0
        for first, last, split in sorted(ranges):
            if first >= last:  # nothing: this recording lies elsewhere in time
                continue
            if first < stop:
                raise StpError(
                    f"splits: {split} and {parts[-1].split} share frames of {one.name}",
                    expected="times that do not overlap",
                    remedy="change the dates",
                )
            begins = max(first, stop + splits.get("gap", 0)) if stop else first
            if begins < last:
                parts.append(Part(split, i, begins, last, clusters[i]))
            stop = max(stop, last)
    return parts


def _between(one: Recording, first: str, last: str) -> tuple[int, int]:
    """The frames from the beginning of a day, month or year to the end of another."""
    if not one.times:
        raise StpError(
            f"splits: {one.name} has no dates",
            expected="fractions for train, val and test, where the files say nothing of time",
            remedy="use by: time with fractions",
        )
    begins = sum(time[: len(first)] < first for time in one.times)
    ends = sum(time[: len(last)] <= last for time in one.times)
    return begins, ends


def cut(
    found: RawContents,
    parts: Sequence[Part],
    options: Common,
    span: int,
    lost: Sequence[tuple[int, int, int]] = (),
) -> list[Clip]:
    """The windows of all parts, whose frames lie one after the other in the given order.

    Args:
        found: the recordings.
        parts: of them.
        options: for strides and clusters.
        span: frames of a window.
        lost: stretches (part, first, stop) of which the frames turned out not to exist.
    """
    reach = (span - 1) * options.frame_step + 1
    missing: dict[int, list[tuple[int, int]]] = {}
    for number, first, stop in lost:
        missing.setdefault(number, []).append((first, stop))
    clips = []
    base = 0
    for number, part in enumerate(parts):
        one = found.recordings[part.recording]
        stride = options.stride_of(part.split, reach)
        for first, stop in _stretches(part, one.cuts, missing.get(number, [])):
            at = starts(first, stop, reach, stride)
            numbers = blocks(at, options.cluster_frames or max(one.frames, 1))
            for start, block in zip(at.tolist(), numbers.tolist(), strict=True):
                named = one.times[start] if one.times else f"frame-{start:06d}"
                in_block = f"/block-{block:03d}" if options.cluster_frames else ""
                clips.append(
                    Clip(
                        part.split,
                        f"{one.name}/{named}",
                        base + start - part.first,
                        options.frame_step,
                        span,
                        f"{part.cluster}{in_block}",
                        found.phase(part.recording, start) if found.phase else 0,
                    )
                )
        base += part.stop - part.first
    return clips


def _stretches(
    part: Part, cuts: Sequence[int], missing: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """The frames of a part without gaps."""
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
    found: RawContents, parts: Sequence[Part], clips: Sequence[Clip], options: Common, span: int
) -> None:
    """Refuse splits without windows before anything is decoded.

    Raises:
        StpError: a split has none.
    """
    have = {clip.split for clip in clips}
    for split in split_names(options.splits):
        if split in have:
            continue
        own = [part for part in parts if part.split == split]
        longest = max(
            (
                stop - first
                for part in own
                for first, stop in _stretches(part, found.recordings[part.recording].cuts, [])
            ),
            default=0,
        )
        step = f", taking every frame in {options.frame_step}" if options.frame_step > 1 else ""
        raise StpError(
            f"the {split} split has no clips: it has {len(own)} sequences, the longest of "
            f"{longest} frames, and windows are {span} frames long{step}",
            expected="at least one window in every split",
            remedy="shorten context or horizon, change the splits, or add data",
        )
