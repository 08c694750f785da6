"""`stp new-dataset`: look at somebody's files and draft the YAML that makes a dataset of them.

The draft is a guess with comments. What it says is tried at once, with the reader's own code: how
many clips each split gets is known before anything is decoded.
"""

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

import numpy as np
import yaml
from PIL import Image

from stp.core.disk import require_regular, write_text, writing
from stp.core.errors import StpError
from stp.data.raw_files import RawFiles
from stp.inspect import guess_tracks, more_clusters
from stp.inspect import new_tracks as inspect_tracks
from stp.plan import config
from stp.plan.checked_config import CONFIG_FOLDER, in_order
from stp.plan.model import Size
from stp.plan.scale import Paths, folders
from stp.plan.suite import draft_for
from stp.prepare.output import SPLITS, Clip
from stp.prepare.own import arrays, grids, pictures, videos
from stp.prepare.own.calendar import DAY
from stp.prepare.own.far_values import far_error, far_value
from stp.prepare.own.options import RawContents
from stp.prepare.own.reader import KINDS, PIECE_BYTES, VALUES, build_options
from stp.prepare.own.splits import cut, deal, require_windows
from stp.prepare.video import SUFFIXES as FILMS
from stp.score.jackknife import FEWEST_CLUSTERS

SUFFIXES = {
    "videos": FILMS,
    "pictures": pictures.SUFFIXES,
    "arrays": arrays.SUFFIXES,
    "grids": grids.SUFFIXES,
}
WORDS = {"train": ("train", "training"), "val": ("val", "valid", "validation"), "test": ("test",)}
LONGEST_SIDE = 128
PIXEL_METRICS = ["mse.pixel_sum", "mae.pixel_sum", "ssim.range1", "psnr.per_frame"]
FIELD_METRICS = ["mse.pixel_mean", "mae.pixel_mean", "rmse.per_frame"]
GLOBE_METRIC = "wrmse.per_frame"
MOST_COLUMNS = 6
"""Variables in the table of a draft; all are scored."""
NETWORKS: dict[str, dict[str, Any]] = {
    "convlstm": {
        "num_hidden": [32],
        "filter_size": 3,
        "patch_size": 4,
        "scheduled_sampling": {"stop": 300, "rate": 0.00333},
    },
    "simvpv2": {"hid_s": 8, "hid_t": 64, "n_s": 4, "n_t": 3, "mlp_ratio": 2},
}
"""Options of the networks of a draft: small ones."""
MODELS = ["persistence", "climatology", "context_mean", "convlstm", "simvpv2"]


class Files(RawFiles):
    """Files that nobody has locked yet.

    Args:
        root: the folder that names are relative to.
        names: of the files.
    """

    def __init__(self, root: Path, names: Sequence[str]) -> None:
        self.root, self.names = root, sorted(names)

    def find(self, name: str) -> Path:
        return self.root / name


@dataclass
class Draft:
    """A dataset as far as its files tell.

    Attributes:
        name: of the dataset.
        root: the folder that raw paths are relative to.
        files: entries of the release.
        kind: of input.
        shape: of frames.
        options: of the reader, without kind.
        metrics: its columns.
        notes: remarks beside an option, or a key of the dataset.
        clips: of each split, with these settings.
        clusters: likewise.
        frames: of all files.
        context: frames.
        horizon: frames.
        units: of the values.
        more_clusters: the edit that gives the test ten clusters, where it has fewer.
    """

    name: str
    root: Path
    files: list[dict[str, Any]]
    kind: str
    shape: list[int]
    options: dict[str, Any]
    metrics: Sequence[str | dict[str, str]]
    notes: dict[str, str] = field(default_factory=dict)
    clips: dict[str, int] = field(default_factory=dict)
    clusters: dict[str, int] = field(default_factory=dict)
    frames: int = 0
    context: int = 10
    horizon: int = 10
    units: str = "1"
    more_clusters: str | None = None


def inspect(path: Path, name: str | None = None) -> Draft:
    """Look at a file or a folder of files.

    Args:
        path: what there is.
        name: of the dataset; by default made from the path.

    Raises:
        StpError: there is nothing that can be read, files are damaged, or they are too few frames.
    """
    path = path.resolve()
    kind, members = members_of(path)
    root = root_of(path)
    names = [member.relative_to(root).as_posix() for member in members]
    raw = Files(root, names)
    draft = Draft(
        _named(path, name),
        root,
        list(_patterns(names, path.relative_to(root).as_posix(), path.is_file())),
        kind,
        *LOOKS[kind](raw),
    )
    _try(draft, raw)
    return draft


def _named(path: Path, name: str | None) -> str:
    """The name of a dataset, made from the path unless given."""
    name = name or re.sub(r"\W+", "_", path.stem.lower()).strip("_") or "own"
    if not re.fullmatch("[a-z][a-z0-9_]*", name):
        raise StpError(
            f"{name!r} cannot be the name of a dataset",
            expected="small letters, digits and _, beginning with a letter",
            remedy="set --name",
        )
    return name


def members_of(path: Path) -> tuple[str, list[Path]]:
    """The kind of input that a file or folder holds, and its files.

    Raises:
        StpError: there is none, there are several kinds, or one is a named pipe or device.
    """
    if not path.exists():
        raise StpError(f"{path} does not exist", expected="a file, or a folder of files")
    inside = [require_regular(path)] if not path.is_dir() else sorted(path.rglob("*"))
    inside = [p for p in inside if p.exists() and not p.is_dir()]
    inside = [p for p in inside if not p.name.startswith(".") or ".zarr/" in p.as_posix()]
    found: dict[str, list[Path]] = {}
    for member in inside:
        in_store = any(parent.suffix == ".zarr" for parent in member.parents)
        for kind, suffixes in SUFFIXES.items():
            is_own = in_store if kind == "grids" and in_store else not in_store
            if is_own and (in_store or member.name.lower().endswith(suffixes)):
                found.setdefault(kind, []).append(require_regular(member))
        if member.name.lower().endswith(grids.GRIB):
            raise StpError(
                f"{member} is a GRIB file",
                expected="NetCDF or Zarr",
                remedy="convert it: cdo -f nc4 copy IN.grib OUT.nc, or grib_to_netcdf -o OUT.nc IN",
            )
    if len(found) != 1:
        counts = ", ".join(f"{len(members)} of {kind}" for kind, members in found.items())
        kinds = {**SUFFIXES, "detections of people": guess_tracks.SUFFIXES}
        known = "; ".join(f"{kind}: {' '.join(suffixes)}" for kind, suffixes in kinds.items())
        raise StpError(
            f"{path}: {counts or 'no files that could be read'}",
            expected=f"files of one kind ({known})",
            remedy="name a folder that holds one kind of data",
        )
    return next(iter(found.items()))


def root_of(path: Path) -> Path:
    """The folder of raw files that has it, or else the folder around it."""
    for folder in _raw_folders():
        if path.is_relative_to(folder) and path != folder:
            return folder
    return path.parent


def _raw_folders() -> list[Path]:
    found = folders(Paths())
    return [folder for key in ("raw", "mirror") if (folder := found[key]) is not None]


def _patterns(names: Sequence[str], top: str, is_file: bool) -> Iterator[dict[str, Any]]:
    """Entries of a release that stand for these files: one for each depth and ending."""
    if is_file:
        yield {"path": top}
        return
    seen: dict[str, None] = {}
    for name in names:
        store = next((p for p in PurePosixPath(name).parents if p.suffix == ".zarr"), None)
        if store is not None:
            seen[f"{store}/**/*"] = None
            continue
        inside = PurePosixPath(name).relative_to(top)
        stars = ["*"] * (len(inside.parts) - 1)
        seen["/".join([top, *stars, f"*{inside.suffix}"])] = None
    for pattern in seen:
        yield {"path": pattern, "many": True}


Look: TypeAlias = tuple[list[int], dict[str, Any], Sequence[str | dict[str, str]], dict[str, str]]
"""What files say: shape, options of the reader, columns, and notes on each key."""


def _look_at_videos(raw: RawFiles) -> Look:
    path = raw.find(videos.files_of(raw.names, "videos", FILMS)[0])
    videos.probe(path)  # which complains well
    height, width = videos.size(path)
    notes = {"shape": f"channels (1: grey), height, width; {path.name} has {height} x {width}"}
    return [3, *_smaller(height, width)], {}, PIXEL_METRICS, notes


def _look_at_pictures(raw: RawFiles) -> Look:
    path = raw.find(raw.names[0])
    height, width, _ = pictures.decode_picture(path.read_bytes(), str(path), "RGB").shape
    with Image.open(path) as picture:
        grey = picture.mode == "L"
    notes = {"shape": f"channels (1: grey), height, width; {path.name} has {height} x {width}"}
    return [1 if grey else 3, *_smaller(height, width)], {}, PIXEL_METRICS, notes


def _smaller(height: int, width: int) -> list[int]:
    """A size with about the same proportions; multiples of 8 suit networks."""
    scale = min(1.0, LONGEST_SIDE / max(height, width))
    return [max(8, round(side * scale / 8) * 8) for side in (height, width)]


def _look_at_arrays(raw: RawFiles) -> Look:
    name = arrays.files_of(raw.names, "arrays", arrays.SUFFIXES)[0]
    inside = arrays.contents(raw.find(name))
    large = {array: about for array, about in inside.items() if len(about[0]) in (3, 4, 5)}
    if not large:
        found = ", ".join(f"{array} {shape}" for array, (shape, _) in inside.items())
        raise StpError(
            f"{raw.find(name)}: no array of frames; it has {found or 'nothing'}",
            expected="3 to 5 axes: time, rows, columns, perhaps recordings and channels",
            remedy="bring the data into this form",
        )
    array = max(large, key=lambda one: int(np.prod(large[one][0])))
    shape, dtype = large[array]
    axes = guess_axes(shape)
    lengths = dict(zip(axes, shape, strict=True))
    options: dict[str, Any] = {"axes": axes}
    alike = [one for one in large if large[one][0][1:] == shape[1:]]
    if array:
        options["array"] = alike if len(alike) > 1 else array
    notes = {
        "axes": f"guessed from {PurePosixPath(name).name}: {shape}, {dtype}; N recordings, T time, "
        "C channels, H rows, W columns",
        "shape": "channels, height, width",
    }
    if len(inside) > 1:
        notes["array"] = "the file has " + ", ".join(f"{one} {s}" for one, (s, _) in inside.items())
    # Which metrics fit is seen from the values.
    return [lengths.get("C", 1), lengths["H"], lengths["W"]], options, FIELD_METRICS, notes


def guess_axes(shape: Sequence[int]) -> str:
    """The likeliest order of axes: few channels, rows and columns next to each other."""
    few = 4
    if len(shape) == 3:
        return "THW"
    if len(shape) == 4:
        if shape[3] <= few:
            return "THWC"
        if shape[1] <= few:
            return "TCHW"
        return "TNHW" if shape[0] < shape[1] and shape[0] <= 50 else "NTHW"
    if shape[4] <= few:
        return "NTHWC"
    return "NCTHW" if shape[1] <= few < shape[2] else "NTCHW"


def _look_at_grids(raw: RawFiles) -> Look:
    path = grids.raw_path(raw, grids.names_of(raw)[0])
    with grids.opened(path) as dataset:
        variables: dict[str, Any] = {}
        dims: dict[str, str] = {}
        size: list[int] = []
        select: dict[str, Any] = {}
        left_out = []
        is_merged, is_weighed = False, False
        units: dict[str, str] = {}
        for label, column in dataset.data_vars.items():
            known = {
                axis: str(dim)
                for axis in grids.KNOWN
                for dim in column.dims
                if dim in grids.KNOWN[axis]
            }
            apart = {*known.values(), grids.EXPVER}
            others = [d for d in column.dims if d not in apart and column.sizes[d] > 1]
            is_merged |= column.sizes.get(grids.EXPVER, 1) > 1
            if {"time", "y", "x"} - set(known) or any(d not in column.coords for d in others):
                left_out.append(f"{label} ({', '.join(map(str, column.dims))})")
                continue
            dims |= known
            select |= {str(dim): column[dim].values.reshape(-1)[0].item() for dim in others}
            size = [column.sizes[known["y"]], column.sizes[known["x"]]]
            levels = known.get("level")
            units[str(label)] = str(column.attrs.get("units", "no unit"))
            variables[str(label)] = (
                [int(v) if v == int(v) else v for v in dataset[levels].values.tolist()]
                if levels
                else None
            )
            rows = dims["y"]
            is_weighed = rows in column.coords and grids.named(rows, column[rows]) == "lat"
        if not variables:
            raise StpError(
                f"{path}: no variable over time, rows and columns; it has {', '.join(left_out)}",
                expected="dimensions such as time, lat, lon",
                remedy="write the YAML by hand, with time, y, x and select (docs/own_data.md)",
            )
    channels = sum(len(levels or [None]) for levels in variables.values())
    options = {"variables": variables, **dims, "normalisation": {"method": "zscore"}}
    notes = {"variables": "channels in this order; levels in brackets", "shape": "channels, y, x"}
    if select:
        options["select"] = select
        notes["select"] = "one value of each further dimension"
    if is_merged:
        notes["variables"] += f"; where {grids.EXPVER} 1 ends, the next one goes on"
    if left_out:
        notes["variables"] += f"; left out: {', '.join(left_out)}"
    metrics: Sequence[str | dict[str, str]] = FIELD_METRICS
    if is_weighed:
        given = in_order({"kind": "grids", "splits": {}, "variables": variables})
        named = grids.GridOptions(**given).channels()
        metrics = [{"convention": GLOBE_METRIC, "variable": name} for name in named[:MOST_COLUMNS]]
        notes["metrics"] = "weighted by the cosine of latitude; each in units of its own: " + (
            ", ".join(f"{name} {unit}" for name, unit in units.items())
        )
    elif len(set(units.values())) > 1:
        notes["metrics"] = (
            "CHECK: means over variables in different units, as rows are no latitudes in degrees: "
            + ", ".join(f"{name} {unit}" for name, unit in units.items())
        )
    return [channels, *size], options, metrics, notes


LOOKS = {
    "videos": _look_at_videos,
    "pictures": _look_at_pictures,
    "arrays": _look_at_arrays,
    "grids": _look_at_grids,
}


def _try(draft: Draft, raw: Files) -> None:
    """Choose windows and splits, and count the clips."""
    channels, height, width = draft.shape
    by_time = draft.kind == "grids"
    options: dict[str, Any] = {"kind": draft.kind, **draft.options}
    options["splits"] = {"by": "time" if by_time else "file", **FRACTIONS}
    with tempfile.TemporaryDirectory() as folder:  # for compressed arrays
        found = KINDS[draft.kind].raw_contents(
            raw, build_options(in_order(options)), (channels, height, width), Path(folder)
        )
        if draft.kind in VALUES:
            _look_at_values(draft, raw, found)
    lengths = sorted(one.frames for one in found.recordings)
    guessed = draft.options

    def shared(test: float) -> list[Clip]:
        draft.options = {"splits": _splits(found, by_time, test), **guessed}
        return _windows(draft, found, lengths)

    clips = shared(TEST_SHARES[0])
    if not _are_enough(clips):
        for share in TEST_SHARES[1:]:
            with suppress(StpError):  # too little would be left for training
                clips = shared(share)
                if _are_enough(clips):
                    break
        else:
            clips = shared(TEST_SHARES[0])
    if draft.kind == "grids" and (cycle := _cycle(found, draft.options["splits"])):
        draft.options["cycle"] = cycle
        draft.notes["cycle"] = "what the climatology repeats: year, day or day_of_year"
    if wrong := _odd_rates(found):
        draft.notes["kind"] = f"CHECK: frames are not resampled, and {wrong}"
    draft.frames = sum(lengths)
    draft.units = str(found.attrs.get("units", draft.units))
    draft.notes["splits"] = f"{len(found.recordings)} sequences, {sum(lengths)} frames"
    _count(draft, clips)
    if not _are_enough(clips):
        options = {"kind": draft.kind, **draft.options}
        draft.more_clusters = more_clusters.edit(found, options, draft.context + draft.horizon)


def _look_at_values(draft: Draft, raw: Files, found: RawContents) -> None:
    """Note the range of each channel in some of the frames, and choose what follows from it.

    Raises:
        StpError: a value stands alone, far from all others.
    """
    blocks = list(_some_frames(raw, found))
    seen = f"in {sum(map(len, blocks))} frames"
    names = found.attrs.get("variables") or [f"channel {c}" for c in range(draft.shape[0])]
    ranges = {}
    for channel, name in enumerate(names):
        parts = [block[:, channel] for block in blocks]
        finite = np.concatenate([part[np.isfinite(part)] for part in parts])
        if finite.size:
            low, high = float(finite.min()), float(finite.max())
            ranges[name] = low, high
            if channel in found.unmarked and (far := far_value(lambda: [finite], low, high)):  # noqa: B023
                raise far_error(f"{draft.files[0]['path']}: {name}", far, DECLARE)
    shown = ", ".join(f"{name} {low:g} to {high:g}" for name, (low, high) in ranges.items())
    key = "variables" if draft.kind == "grids" else "axes"
    draft.notes[key] += f"; {seen}: {shown or 'no values'}"
    if any(np.isnan(block).any() for block in blocks if block.dtype.kind == "f"):
        draft.notes[key] += "; CHECK: some values are missing, and fill says what replaces them"
    if draft.kind == "grids":
        return
    if all(np.isin(block, (0, 1)).all() for block in blocks) and any(map(np.any, blocks)):
        draft.metrics = PIXEL_METRICS
        draft.notes[key] += "; black and white, as they are"
    elif found.dtype == np.uint8:
        draft.options["divide_by"], draft.metrics = 255, PIXEL_METRICS
        most = max((high for _, high in ranges.values()), default=255.0)
        if most < FEW_LEVELS:
            draft.notes["divide_by"] = f"CHECK: values reach only {most:g} of 255"
    else:
        draft.options["normalisation"] = {"method": "zscore"}


FEW_LEVELS = 64
LOOKED_AT = 16
"""Parts of the data whose values are looked at, from the first to the last."""
DECLARE = (
    "declare it in the files (the attribute missing_value: ncatted -a missing_value,NAME,c,f,"
    "{value} FILE) or write NaN; if the value is meant, state valid_range; or write the YAML by "
    "hand, with the option missing (docs/own_data.md)"
)


def _some_frames(raw: Files, found: RawContents) -> Iterator[np.ndarray]:
    """Frames (T, C, H, W) of some places all over the data, NaN where values are missing."""
    most = max(1, PIECE_BYTES // LOOKED_AT // max(found.frame_bytes, 1))
    parts = [
        (number, first, min(first + most, one.frames))
        for number, one in enumerate(found.recordings)
        for first in range(0, one.frames, most)
    ]
    for at in sorted({*np.linspace(0, len(parts) - 1, min(LOOKED_AT, len(parts))).astype(int)}):
        task = found.task(*parts[at])
        try:
            yield np.asarray(found.decode(raw, task._replace(fill=np.nan)))
        except StpError:  # missing whole numbers, or damage, which prepare names
            continue


def _odd_rates(found: RawContents) -> str:
    """Why a lead time is not the same number of seconds in all videos; empty if it is."""
    uneven, rates = found.extras.get(videos.UNEVEN), found.extras.get("frames per second", [])
    if uneven:
        return f"those of {uneven[0]} are at uneven times (videos that are so: {len(uneven)})"
    if len(rates) > 1:
        return f"the videos have {', '.join(f'{rate:g}' for rate in rates)} a second"
    return ""


FRACTIONS = {"train": 0.7, "val": 0.15, "test": 0.15}
TEST_SHARES = (0.15, 0.2, 0.25, 0.3, 0.33)
"""Of a draft: the first that leaves enough clusters in the test for a confidence interval."""


def _are_enough(clips: Sequence[Clip]) -> bool:
    """Whether a confidence interval can be made of the test."""
    return len({clip.cluster for clip in clips if clip.split == "test"}) >= FEWEST_CLUSTERS


def _windows(draft: Draft, found: RawContents, lengths: list[int]) -> list[Clip]:
    """Choose the lengths of windows for some splits, and cut them."""
    built = build_options(in_order({"kind": draft.kind, **draft.options}))
    parts = deal(found, built, lambda name: [])
    longest = [max((p.stop - p.first for p in parts if p.split == s), default=0) for s in SPLITS]
    span = max(2, min(20, lengths[len(lengths) // 4], *longest))
    draft.context, draft.horizon = span - span // 2, span // 2
    draft.options["stride"] = {"train": max(1, span // 4), "val": span, "test": span}
    if draft.options["splits"]["by"] == "time":
        draft.options["cluster_frames"] = 2 * span
        draft.notes["cluster_frames"] = (
            "windows that start in the same block of frames count as one for confidence intervals"
        )
    built = build_options(in_order({"kind": draft.kind, **draft.options}))
    clips = cut(found, parts, built, span)
    require_windows(found, parts, clips, built, span)
    return list(clips)


def _count(draft: Draft, clips: Sequence[Clip]) -> None:
    for split in SPLITS:
        own = [clip for clip in clips if clip.split == split]
        draft.clips[split] = len(own)
        draft.clusters[split] = len({clip.cluster for clip in own})


def _splits(found: RawContents, by_time: bool, test: float) -> dict[str, Any]:
    """Folders or names that say train, val, test; else fractions of files; else of time."""
    shares = {**FRACTIONS, "train": round(1 - FRACTIONS["val"] - test, 2), "test": test}
    named = _named_splits([one.name for one in found.recordings])
    if named and not by_time:
        return {"by": "list", **named}
    if by_time:
        return {"by": "time", **(_dates(found.recordings[0].times, shares) or shares)}
    if len({one.file for one in found.recordings}) >= 3:
        return {"by": "file", **shares, "seed": 0}
    if len(found.recordings) >= 3:
        return {"by": "sequence", **shares, "seed": 0}
    return {"by": "time", **shares}


def _cycle(found: RawContents, splits: dict[str, Any]) -> str | None:
    """What a climatology may repeat: all of it has to be in the training."""
    one = found.recordings[0]
    step = re.fullmatch(r"(\d+)(mon|d|h|min|s)", found.attrs.get("time_step") or "")
    if step is None:
        return None
    size, unit = int(step[1]), step[2]
    given = splits["train"]
    if isinstance(given, list):
        frames = sum(given[0] <= time[:10] <= given[1] for time in one.times)
    else:
        frames = int(given * one.frames)
    if unit == "mon":
        return "year" if 12 % size == 0 and frames * size >= 12 else None
    seconds = size * {"d": DAY, "h": 3600, "min": 60, "s": 1}[unit]
    if DAY % seconds:
        return None
    days = frames * seconds / DAY
    return "day_of_year" if days >= 366 else "day" if seconds < DAY and days >= 2 else None


def _named_splits(names: Sequence[str]) -> dict[str, list[str]]:
    """Where a folder, a file or an array of each path says which split it is."""
    found: dict[str, list[str]] = {split: [] for split in SPLITS}
    for name in names:
        # The last word wins: train/test_01.avi is a test clip. Rows of an array are left out.
        parts = re.sub(r"/\d{5}$", "", name)
        words = [
            (match.start(), split)
            for split, known in WORDS.items()
            for match in re.finditer(rf"(?<![a-z])({'|'.join(known)})(?![a-z])", parts.lower())
        ]
        if not words:
            return {}
        at, split = max(words)
        ends = re.search(r"[/:]", parts[at:])
        pattern = parts[: at + ends.start()] if ends else parts
        if pattern not in found[split]:
            found[split].append(pattern)
    return found if all(found.values()) else {}


def _dates(times: Sequence[str], shares: dict[str, float]) -> dict[str, list[str]]:
    """Days that divide the times as the fractions would; nothing where there are too few."""
    days = list(dict.fromkeys(time[:10] for time in times))
    if len(days) < 10:
        return {}
    a = round(shares["train"] * len(days))
    b = round((shares["train"] + shares["val"]) * len(days))
    return {
        split: [days[first], days[stop - 1]]
        for split, first, stop in (("train", 0, a), ("val", a, b), ("test", b, len(days)))
    }


def dataset_text(draft: Draft) -> str:
    """The draft of config/datasets/<name>.yaml, with comments."""
    counted = ", ".join(
        f"{split} {draft.clips[split]} clips in {draft.clusters[split]} clusters"
        for split in SPLITS
    )
    lines = [
        f"# Drafted by `stp new-dataset` from {draft.root}. docs/own_data.md explains every key.",
        f"# With these settings: {counted}.",
        *(f"# {line}" for line in _interval_lines(draft)),
        f"title: {_flow(draft.name.replace('_', ' ').capitalize())}",
        f"shape: {_flow(draft.shape)}{_note(draft, 'shape')}",
        f"context: {draft.context} # frames that a model sees",
        f"horizon: {draft.horizon} # frames that it predicts",
        *([f"units: {_flow(draft.units)}"] if draft.units != "1" else []),
        f"metrics: {_flow(draft.metrics)} # columns of the table; all are in config/conventions/"
        + (f"; {draft.notes['metrics']}" if "metrics" in draft.notes else ""),
        "reader: own.reader",
        "prepare:",
        f"  kind: {draft.kind}{_note(draft, 'kind')}",
        *(f"  {key}: {_flow(value)}{_note(draft, key)}" for key, value in draft.options.items()),
        f"counts: {_flow({**draft.clips, 'frames': draft.frames})} # for estimates of `stp plan`",
        "release: own # other files of yours are another release",
        "releases:",
        "  own:",
        "    source: own",
        "    files:",
        *(f"      - {_flow(entry)}" for entry in draft.files),
    ]
    return "\n".join(lines) + "\n"


def _interval_lines(draft: Draft) -> Iterator[str]:
    """That there will be no confidence interval, and the edit that gives one."""
    if draft.clusters["test"] < FEWEST_CLUSTERS:
        yield (
            f"No confidence interval: the test has {draft.clusters['test']} clusters, and "
            f"{FEWEST_CLUSTERS} are needed."
        )
        if draft.more_clusters:
            yield f"To get them, change: {draft.more_clusters}"
        else:
            yield "More or longer recordings have more."


def _note(draft: Draft, key: str) -> str:
    return f" # {draft.notes[key]}" if key in draft.notes else ""


def _flow(value: object) -> str:
    """A value on one line of YAML."""
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10**6)
    return text.removesuffix("\n").removesuffix("\n...").replace(": null", ": ")


def scale_text(draft: Draft) -> str:
    """A scale file that trains a few small models on the dataset."""
    away, dimension = draft.root not in _raw_folders(), draft_for("frames")[1]
    lines = [
        f"# The dataset {draft.name}, with small models: a start.",
        "#",
        f"#     snakemake --profile local --configfile config/{draft.name}.yaml"
        f" -- results/tables/{dimension}.csv",
        f"scale: {draft.name.replace('_', '-')}",
        "seeds: [0]",
        *(
            [f"paths: {{mirror: {_flow(str(draft.root))}}} # where the raw files are"]
            if away
            else []
        ),
        "dimensions:",
        f"  {dimension}: {{datasets: [{draft.name}], models: {_flow(MODELS)}}}",
        "models:",
        "  convlstm:",
        f"    options: {_flow(NETWORKS['convlstm'])}",
        "    train: {batch_size: 4}",
        *_size(draft, "convlstm"),
        "  simvpv2:",
        f"    options: {_flow(NETWORKS['simvpv2'])}",
        *_size(draft, "simvpv2"),
        "train: {batch_size: 8, epochs: 10, lr: 0.003, schedule: onecycle, precision: float32,"
        " threads: 1}",
        "predict: {batch_size: 16, threads: 1}",
        "runtime: {device: auto, checkpoint_every_s: 60}",
    ]
    return "\n".join(lines) + "\n"


def _size(draft: Draft, model: str) -> Iterator[str]:
    """What one of the networks costs here, for `stp plan`; nothing where it cannot be made."""
    from stp.profiling.size import size
    from stp.run.costs.work import forecast_gmacs

    recipe = {
        "model": model,
        "options": NETWORKS[model],
        "shape": draft.shape,
        "context": draft.context,
        "horizon": draft.horizon,
    }
    try:
        counted = size(recipe)
    except StpError:  # a size of frames that it does not take, as its training will say
        return
    steps = config.load(CONFIG_FOLDER / "demo.yaml").models[model].size.steps
    # Figures of the configuration are those for Moving-MNIST: of here, converted back.
    here = forecast_gmacs(Size(gmacs=1.0, steps=steps), recipe, draft.horizon)
    gmacs = float(f"{counted.forecast / 1e9 / here:.4g}")
    yield (
        f"    size: {_flow({'parameters': counted.parameters, 'gmacs': gmacs})}"
        f" # {counted.forecast / 1e9:.3g} G multiply-adds of a forecast here"
    )


def new_dataset(
    path: Path, name: str | None, folder: Path = Path("config"), fps: float | None = None
) -> Iterator[str]:
    """Write the draft of a dataset and of a scale file; yields lines to print.

    Args:
        path: a file or a folder of files.
        name: of the dataset.
        folder: of the configuration.
        fps: frames per second of detections of people.

    Raises:
        StpError: the files cannot be read, there is a dataset of this name, or a rate is given for
            what are no detections of people.
    """
    if name and (folder / "datasets" / f"{name}.yaml").exists():
        raise _exists(folder / "datasets" / f"{name}.yaml")
    if _is_tracks(path):
        yield from _new_tracks(path.resolve(), name, folder, fps)
        return
    if fps is not None:
        raise StpError(
            f"--fps {fps:g} for {path}",
            expected="detections of people with frame numbers",
            remedy="leave out --fps: frames are taken as they are",
        )
    draft = inspect(path, name)
    yield from _written(folder, draft.name, dataset_text(draft), scale_text(draft))
    for split in SPLITS:
        yield f"  {split}: {draft.clips[split]} clips in {draft.clusters[split]} clusters"
    yield from (f"  {line}" for line in _interval_lines(draft))
    yield from _how_to_go_on(folder, draft.name, draft.root, draft_for("frames")[1])


def _is_tracks(path: Path) -> bool:
    """Are these detections of people, and nothing that could be frames?"""
    inside = [path] if path.is_file() else path.rglob("*")
    of_frames = any(
        one.name.lower().endswith(tuple(ends))
        for one in inside
        for ends in SUFFIXES.values()
        if one.name.lower() != "map.png"  # which may lie beside detections
    )
    return path.exists() and not of_frames and bool(guess_tracks.members(path))


def _new_tracks(path: Path, name: str | None, folder: Path, fps: float | None) -> Iterator[str]:
    """Write the draft of a dataset of tracks, and of a scale file."""
    root = root_of(path)
    names = [one.relative_to(root).as_posix() for one in guess_tracks.members(path)]
    name = _named(path, name)
    found = guess_tracks.guess(root, names, fps)
    options, others = inspect_tracks.around(root, path if path.is_dir() else path.parent)
    found.prepare.update(options)
    mirror = None if root in _raw_folders() else root
    text = inspect_tracks.dataset_text(name, root, [*names, *others], found)
    yield from _written(folder, name, text, inspect_tracks.scale_text(name, mirror, found))
    yield from inspect_tracks.count_lines(found)
    yield from _how_to_go_on(folder, name, root, draft_for("tracks")[1])


def _written(folder: Path, name: str, dataset: str, scale: str) -> Iterator[str]:
    """Write the two files, where there are none yet."""
    targets = {folder / "datasets" / f"{name}.yaml": dataset, folder / f"{name}.yaml": scale}
    for target in targets:
        if target.exists():
            raise _exists(target)
    for target, text in targets.items():
        with writing(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            write_text(target, text)
        yield f"wrote {target}"


def _how_to_go_on(folder: Path, name: str, root: Path, table: str) -> Iterator[str]:
    mirror = os.environ.get("STP_RAW_MIRROR")
    if root not in _raw_folders() and mirror:
        yield f"note: STP_RAW_MIRROR is {mirror} and wins over the scale file; unset it"
    scale = folder / f"{name}.yaml"
    yield "read the comments, change what is wrong, and then:"
    yield f"  stp fetch {name} --configfile {scale}"
    yield f"  stp prepare {name} --configfile {scale}"
    yield f"  stp show {name} --configfile {scale}"
    yield f"  snakemake --profile local --configfile {scale} -- results/tables/{table}.csv"


def _exists(path: Path) -> StpError:
    return StpError(
        f"{path} exists",
        expected="a new name",
        remedy="set --name, or remove the file",
    )
