"""Draft the configuration of a dataset from the user's own files of frames.

The draft contains guesses, with comments. Its settings are tested immediately with the reader's
code, so the number of clips of each split is known before any file is decoded completely.
"""

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from stp.core.errors import StpError
from stp.data.raw_files import UnlockedFiles
from stp.inspect import more_clusters
from stp.inspect.first_look import FIRST_LOOKS, PIXEL_METRICS, Metrics
from stp.inspect.own_files import (
    dataset_name,
    members_of,
    release_entries,
    root_of,
)
from stp.plan.checked_config import in_order
from stp.prepare.output import SPLITS, Clip
from stp.prepare.own import videos
from stp.prepare.own.calendar import DAY
from stp.prepare.own.far_values import far_error, far_value
from stp.prepare.own.options import RawContents
from stp.prepare.own.reader import KINDS, PIECE_BYTES, VALUES, build_options
from stp.prepare.own.splits import assign_splits, cut_windows, require_windows
from stp.score.jackknife import FEWEST_CLUSTERS

SPLIT_WORDS = {
    "train": ("train", "training"),
    "val": ("val", "valid", "validation"),
    "test": ("test",),
}
FRACTIONS = {"train": 0.7, "val": 0.15, "test": 0.15}
TEST_SHARES = (0.15, 0.2, 0.25, 0.3, 0.33)
"""Candidates for the share of the test; the first one with enough clusters for a confidence
interval is used."""
MOST_FRAMES = 20
"""Maximum number of frames of a window in a draft."""
FEW_LEVELS = 64
"""Grey level; a draft contains a remark if the maximum value is lower."""
SAMPLED_PARTS = 16
"""Number of parts, evenly spread over the data, whose values are read."""
DECLARE = (
    "declare it in the files (the attribute missing_value: ncatted -a missing_value,NAME,c,f,"
    "{value} FILE) or write NaN; if the value is meant, state valid_range; or write the YAML by "
    "hand, with the option missing (docs/own_data.md)"
)


@dataclass
class Draft:
    """A dataset with guessed settings.

    Attributes:
        name: name of the dataset.
        root: folder of raw files; names of raw files are relative to it.
        files: entries of the release, which list the raw files.
        kind: kind of the user's files: videos, pictures, arrays or grids.
        shape: channels, height, width of a frame.
        options: options of the reader, except the option ``kind``.
        metrics: columns of the table: conventions (exact definitions of metrics, such as
            ``psnr.per_frame``), or a convention with a variable.
        notes: remarks by option of the reader or key of the dataset.
        clips: number of clips by split.
        clusters: number of clusters (sets of dependent clips, such as those of a video) by split.
        frames: number of frames in all files.
        context: number of observed frames of a window.
        horizon: number of predicted frames of a window.
        units: units of the values.
        more_clusters: if the test split has too few clusters for a confidence interval: settings
            that would give it enough, as YAML; None if there are none, or if they are not needed.
    """

    name: str
    root: Path
    files: list[dict[str, Any]]
    kind: str
    shape: list[int]
    options: dict[str, Any]
    metrics: Metrics
    notes: dict[str, str] = field(default_factory=dict)
    clips: dict[str, int] = field(default_factory=dict)
    clusters: dict[str, int] = field(default_factory=dict)
    frames: int = 0
    context: int = 10
    horizon: int = 10
    units: str = "1"
    more_clusters: str | None = None

    def all_options(self) -> dict[str, Any]:
        """All options of the reader, as a recipe (settings of a job) has them.

        The option ``kind``, which says what the files are, such as "grids", is added. The option
        ``variables`` maps names of variables to their levels, such as pressures. It becomes a list,
        so that the order of the channels is kept: ``{"z": [500, 850], "t2m": None}`` becomes
        ``[{"name": "z", "levels": [500, 850]}, {"name": "t2m", "levels": []}]``.
        """
        return in_order({"kind": self.kind, **self.options})


def draft_dataset(path: Path, name: str | None = None) -> Draft:
    """Draft a dataset from a file or a folder of files.

    Args:
        path: path of the file or folder.
        name: name of the dataset; None to make it from the path.

    Raises:
        StpError: no file can be read, files are damaged, or there are too few frames.
    """
    path = path.resolve()
    kind, members = members_of(path)
    root = root_of(path)
    names = [member.relative_to(root).as_posix() for member in members]
    raw = UnlockedFiles(root, names)
    draft = Draft(
        dataset_name(path, name),
        root,
        list(release_entries(names, path.relative_to(root).as_posix(), path.is_file())),
        kind,
        *FIRST_LOOKS[kind](raw),
    )
    _choose_windows_and_splits(draft, raw)
    return draft


def _choose_windows_and_splits(draft: Draft, raw: UnlockedFiles) -> None:
    channels, height, width = draft.shape
    by_time = draft.kind == "grids"
    splits = {"by": "time" if by_time else "file", **FRACTIONS}
    options = build_options(in_order({"kind": draft.kind, **draft.options, "splits": splits}))
    with tempfile.TemporaryDirectory() as folder:  # for compressed arrays
        contents = KINDS[draft.kind].raw_contents(
            raw, options, (channels, height, width), Path(folder)
        )
        if draft.kind in VALUES:
            _look_at_values(draft, raw, contents)
    lengths = sorted(recording.frames for recording in contents.recordings)
    guessed = draft.options

    def clips_of(test_share: float) -> list[Clip]:
        draft.options = {"splits": _splits(contents, by_time, test_share), **guessed}
        return _cut_windows(draft, contents, lengths)

    clips = clips_of(TEST_SHARES[0])
    if not _has_interval(clips):
        for share in TEST_SHARES[1:]:
            with suppress(StpError):  # too little would be left for training
                clips = clips_of(share)
                if _has_interval(clips):
                    break
        else:
            clips = clips_of(TEST_SHARES[0])
    if draft.kind == "grids" and (cycle := _cycle(contents, draft.options["splits"])):
        draft.options["cycle"] = cycle
        draft.notes["cycle"] = "what the climatology repeats: year, day or day_of_year"
    if uneven := _uneven_rates(contents):
        draft.notes["kind"] = f"CHECK: frames are not resampled, and {uneven}"
    draft.frames = sum(lengths)
    draft.units = str(contents.attrs.get("units", draft.units))
    draft.notes["splits"] = f"{len(contents.recordings)} sequences, {sum(lengths)} frames"
    for split in SPLITS:
        clusters = [clip.cluster for clip in clips if clip.split == split]
        draft.clips[split], draft.clusters[split] = len(clusters), len(set(clusters))
    if not _has_interval(clips):
        options_so_far = {"kind": draft.kind, **draft.options}
        span = draft.context + draft.horizon
        draft.more_clusters = more_clusters.edit(contents, options_so_far, span)


def _has_interval(clips: Sequence[Clip]) -> bool:
    return len({clip.cluster for clip in clips if clip.split == "test"}) >= FEWEST_CLUSTERS


def _look_at_values(draft: Draft, raw: UnlockedFiles, contents: RawContents) -> None:
    """Add the value range of each channel to the draft; choose metrics and normalisation."""
    blocks = list(_some_frames(raw, contents))
    names = contents.attrs.get("variables") or [f"channel {c}" for c in range(draft.shape[0])]
    ranges, means = {}, []
    for channel, name in enumerate(names):
        parts = [block[:, channel] for block in blocks]
        finite = np.concatenate([np.empty(0), *(part[np.isfinite(part)] for part in parts)])
        if finite.size:
            low, high = float(finite.min()), float(finite.max())
            ranges[name] = low, high
            means.append(float(f"{finite.mean():.6g}"))
            if channel in contents.unmarked and (far := far_value(lambda: [finite], low, high)):  # noqa: B023
                raise far_error(f"{draft.files[0]['path']}: {name}", far, DECLARE)
    listed = ", ".join(f"{name} {low:g} to {high:g}" for name, (low, high) in ranges.items())
    key = "variables" if draft.kind == "grids" else "axes"
    draft.notes[key] += f"; in {sum(map(len, blocks))} frames: {listed or 'no values'}"
    missing = [np.isnan(block) for block in blocks if block.dtype.kind == "f"]
    is_constant = len(means) == draft.shape[0] and all(
        (part == missing[0][0]).all() for part in missing
    )
    if is_constant and any(map(np.any, missing)):
        masked = [f"{int(mask.sum())} of {mask.size}" for mask in missing[0][0]]
        draft.options["fill"] = means if len(means) > 1 else means[0]
        draft.notes["fill"] = (
            f"CHECK: {', '.join(masked)} points are missing in all of these frames, as on land; "
            "fill, the mean of the others, replaces them, and models and scores include them"
        )
    elif not blocks or any(map(np.any, missing)):
        draft.notes[key] += "; CHECK: some values are missing, and fill says what replaces them"
    if draft.kind == "grids":
        return
    if all(np.isin(block, (0, 1)).all() for block in blocks) and any(map(np.any, blocks)):
        draft.metrics = PIXEL_METRICS
        draft.notes[key] += "; black and white, as they are"
    elif contents.dtype == np.uint8:
        draft.options["divide_by"], draft.metrics = 255, PIXEL_METRICS
        largest = max((high for _, high in ranges.values()), default=255.0)
        if largest < FEW_LEVELS:
            draft.notes["divide_by"] = f"CHECK: values reach only {largest:g} of 255"
    else:
        draft.options["normalisation"] = {"method": "zscore"}


def _some_frames(raw: UnlockedFiles, contents: RawContents) -> Iterator[np.ndarray]:
    """Yield frames (T, C, H, W) spread over the data, with NaN for missing values."""
    most = max(1, PIECE_BYTES // SAMPLED_PARTS // max(contents.frame_bytes, 1))
    parts = [
        (number, first, min(first + most, recording.frames))
        for number, recording in enumerate(contents.recordings)
        for first in range(0, recording.frames, most)
    ]
    sampled = np.linspace(0, len(parts) - 1, min(SAMPLED_PARTS, len(parts))).astype(int)
    for number in sorted({*sampled}):
        task = contents.task(*parts[number])
        try:
            yield np.asarray(contents.decode(raw, task._replace(fill=np.nan)))
        except StpError:  # missing integers, or damage, which prepare names
            continue


def _uneven_rates(contents: RawContents) -> str:
    """Text about videos of different frame rates, where lead times differ; empty if all agree."""
    uneven = contents.extras.get(videos.UNEVEN)
    rates = contents.extras.get("frames per second", [])
    if uneven:
        return f"those of {uneven[0]} are at uneven times (videos that are so: {len(uneven)})"
    if len(rates) > 1:
        return f"the videos have {', '.join(f'{rate:g}' for rate in rates)} a second"
    return ""


def _cut_windows(draft: Draft, contents: RawContents, lengths: list[int]) -> list[Clip]:
    parts = assign_splits(contents, build_options(draft.all_options()), lambda name: [])
    longest = [max((p.stop - p.first for p in parts if p.split == s), default=0) for s in SPLITS]
    span = max(2, min(MOST_FRAMES, lengths[len(lengths) // 4], *longest))
    draft.context, draft.horizon = span - span // 2, span // 2
    draft.options["stride"] = {"train": max(1, span // 4), "val": span, "test": span}
    if draft.options["splits"]["by"] == "time":
        draft.options["cluster_frames"] = 2 * span
        draft.notes["cluster_frames"] = (
            "windows that start in the same block of frames count as one for confidence intervals"
        )
    options = build_options(draft.all_options())
    clips = list(cut_windows(contents, parts, options, span))
    require_windows(contents, parts, clips, options, span)
    return clips


def _splits(contents: RawContents, by_time: bool, test_share: float) -> dict[str, Any]:
    """Guess the option ``splits``: by names of folders or files, or fractions of files or time."""
    train_share = round(1 - FRACTIONS["val"] - test_share, 2)
    shares = {**FRACTIONS, "train": train_share, "test": test_share}
    recordings = contents.recordings
    by_name = _splits_by_name([recording.name for recording in recordings])
    if by_name and not by_time:
        return {"by": "list", **by_name}
    if by_time:
        return {"by": "time", **(_dates(recordings[0].times, shares) or shares)}
    if len({recording.file for recording in recordings}) >= 3:
        return {"by": "file", **shares, "seed": 0}
    if len(recordings) >= 3:
        return {"by": "sequence", **shares, "seed": 0}
    return {"by": "time", **shares}


def _splits_by_name(names: Sequence[str]) -> dict[str, list[str]]:
    """File patterns by split, if a folder, file or array in each path is named like a split."""
    patterns: dict[str, list[str]] = {split: [] for split in SPLITS}
    for name in names:
        # The last word wins: train/test_01.avi is a test clip. Rows of an array are left out.
        text = re.sub(r"/\d{5}$", "", name)
        matches = [
            (match.start(), split)
            for split, words in SPLIT_WORDS.items()
            for match in re.finditer(rf"(?<![a-z])({'|'.join(words)})(?![a-z])", text.lower())
        ]
        if not matches:
            return {}
        start, split = max(matches)
        end = re.search(r"[/:]", text[start:])
        pattern = text[: start + end.start()] if end else text
        if pattern not in patterns[split]:
            patterns[split].append(pattern)
    return patterns if all(patterns.values()) else {}


def _dates(times: Sequence[str], shares: dict[str, float]) -> dict[str, list[str]]:
    """First and last day of each split, close to the given shares; empty with too few days."""
    days = list(dict.fromkeys(time[:10] for time in times))
    if len(days) < 10:
        return {}
    val = round(shares["train"] * len(days))
    test = round((shares["train"] + shares["val"]) * len(days))
    return {
        split: [days[first], days[stop - 1]]
        for split, first, stop in (("train", 0, val), ("val", val, test), ("test", test, len(days)))
    }


def _cycle(contents: RawContents, splits: dict[str, Any]) -> str | None:
    """The longest cycle of a climatology that the training data cover; None if there is none."""
    recording = contents.recordings[0]
    step = re.fullmatch(r"(\d+)(mon|d|h|min|s)", contents.attrs.get("time_step") or "")
    if step is None:
        return None
    size, unit = int(step[1]), step[2]
    train = splits["train"]
    if isinstance(train, list):
        frames = sum(train[0] <= time[:10] <= train[1] for time in recording.times)
    else:
        frames = int(train * recording.frames)
    if unit == "mon":
        return "year" if 12 % size == 0 and frames * size >= 12 else None
    seconds = size * {"d": DAY, "h": 3600, "min": 60, "s": 1}[unit]
    if DAY % seconds:
        return None
    days = frames * seconds / DAY
    return "day_of_year" if days >= 366 else "day" if seconds < DAY and days >= 2 else None
