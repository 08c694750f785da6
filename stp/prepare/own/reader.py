"""Read user data (docs/own_data.md): videos, pictures, arrays and grids.

Each kind of input finds the recordings in the raw files. Splits, windows, frames in pieces,
normalisation and the index are the same for all kinds.
"""

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import zarr

from stp.core.errors import RawFileError, StpError, suggest_name
from stp.core.job import Extras, Job
from stp.core.options import build, require, whole
from stp.data.raw_files import RawFiles
from stp.prepare.frames import Piece, Statistics, Written, write_frames
from stp.prepare.output import attributes, write_coordinate, write_index
from stp.prepare.own import arrays, grids, pictures, published_lists, videos
from stp.prepare.own.far_values import far_error, far_value, fill_by_channel, require_near_fill
from stp.prepare.own.options import Common, RawContents
from stp.prepare.own.splits import (
    Part,
    assign_splits,
    check_splits,
    cut_windows,
    require_no_copies,
    require_windows,
)
from stp.prepare.own.temperatures import CELSIUS, KELVIN, TEMPERATURE, in_other_unit

NAMES = "the names of the sequences of a split, one per line"
VALUES = ("arrays", "grids")
"""Kinds whose values may be any number; values of other kinds are brightness."""
DECLARE = (
    "set `missing: {value}`, and `fill` to the value that replaces it; if {value} is a real value, "
    "set `missing: []`"
)
PIECE_BYTES = 1 << 26
"""Size of the frames of a piece in memory, bytes; decoding needs a few copies."""


class Kind(NamedTuple):
    """A kind of input, such as videos: its options, and the function that finds recordings.

    Attributes:
        options: dataclass of the options.
        raw_contents: ``raw_contents(raw, options, shape, folder)`` describes the recordings in the
            raw files. `shape` is channels, height and width of frames; `folder` is for unpacked
            files.
    """

    options: type[Common]
    raw_contents: Callable[[RawFiles, Any, tuple[int, int, int], Path], RawContents]


KINDS = {
    "videos": Kind(videos.VideoOptions, videos.raw_contents),
    "pictures": Kind(pictures.PictureOptions, pictures.raw_contents),
    "arrays": Kind(arrays.ArrayOptions, arrays.raw_contents),
    "grids": Kind(grids.GridOptions, grids.raw_contents),
}


def run(job: Job) -> Extras:
    """Write the frames (``frames.zarr``) and the clips (``index.parquet``) of user data.

    Returns:
        facts for the receipt (record of the preparation), such as numbers of clips.

    Raises:
        StpError: an option or a raw file is wrong, or a split has no clips.
    """
    recipe = job.recipe
    options = build_options(recipe["options"])
    least = recipe["context"] + recipe["horizon"]
    span = options.span or least
    require(whole(span, least), "span", span, f"at least context + horizon = {least}")
    channels, height, width = recipe["shape"]
    raw = RawFiles(job.inputs["raw"], job.runtime["raw_roots"])
    folder = job.state / "unpacked"
    try:
        data = KINDS[options.kind].raw_contents(raw, options, (channels, height, width), folder)
        _require_constants(options, channels)
        extras, by = dict(data.extras), options.splits["by"]
        if by in published_lists.FORMATS:
            drawn = published_lists.draw(raw, data.recordings, options.splits)
            options = replace(options, splits=drawn.splits)
            extras |= drawn.extras
        parts = assign_splits(data, options, lambda name: _names(raw, name))
        if by not in ("time", *published_lists.FORMATS):  # published lists are kept as they are
            require_no_copies(data.recordings, parts, raw.checksums())
        require_windows(data, parts, cut_windows(data, parts, options, span), options, span)
        pieces, owners = _pieces(data, parts)
        written = write_frames(
            job,
            raw,
            pieces,
            data.decode,
            attrs=attributes(recipe, raw, **_attributes(data, recipe["units"])),
            dtype=data.dtype,
            unit="pieces",
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    group = written.group
    names = data.attrs.get("variables") or [f"channel {c}" for c in range(channels)]
    if options.kind == "pictures" and written.statistics.high.max() == 1:
        raise StpError(
            f"{recipe['dataset']}: the brightest pixel of all pictures is 1 of 255, nearly black",
            expected="brightness from 0 to 255",
            remedy="write masks as 0 and 255, or use kind: arrays, which keeps 0 and 1",
        )
    if by_value := options.kind in VALUES:
        fills = fill_by_channel(getattr(options, "fill", None), channels)
        _require_no_far_values(data, written, pieces, names, fills)
        ends = (written.statistics.low.min(), written.statistics.high.max())
        stored: dict[str, Any] = dict(group.attrs)
        group.attrs["values"] = [
            float(end) * stored["stored_scale"] + stored["stored_offset"] for end in ends
        ]
    group.attrs["normalisation"] = _normalisation(
        options.normalisation,
        written.statistics,
        [i for i, owner in enumerate(owners) if parts[owner].split == "train"],
        dict(group.attrs),
    )
    _write_coordinates(group, data, parts)
    lost, short = [], {}
    for piece, owner, note in zip(pieces, owners, written.notes, strict=True):
        if note is not None and note < piece.frames:
            first, stop = _range(piece)
            lost.append((owner, first + note, stop))
            short[piece.name] = piece.frames - note
    used = {part.recording for part in parts}
    return {
        **write_index(job.out, cut_windows(data, parts, options, span, lost)),
        **written.extras,
        **extras,
        "sequences": len(data.recordings),
        "sequences in no split": [
            recording.name for i, recording in enumerate(data.recordings) if i not in used
        ][:100],
        "frames that do not exist": short,
        **({"range of values": _ranges(written.statistics, names)} if by_value else {}),
    }


def _ranges(statistics: Statistics, names: list[str]) -> dict[str, list[float]]:
    """Minimum and maximum of the stored values of each channel."""
    low, high = statistics.low.min(axis=0), statistics.high.max(axis=0)
    return {name: [float(low[c]), float(high[c])] for c, name in enumerate(names)}


def _require_no_far_values(
    data: RawContents,
    written: Written,
    pieces: list[Piece],
    names: list[str],
    fills: Sequence[float | None],
) -> None:
    """Refuse a fill far from all other values, mixed units of temperature, and, in channels
    without a declared missing value, a single value far from all others.

    Raises:
        StpError: a channel has such a value.
    """
    frames, statistics = written.group["frames"], written.statistics
    assert isinstance(frames, zarr.Array)
    rows = max(1, PIECE_BYTES // max(data.frame_bytes, 1))
    units = data.attrs.get("variable_units", ())

    for channel, fill in enumerate(fills):

        def blocks(channel: int = channel) -> Iterator[np.ndarray]:
            for first in range(0, frames.shape[0], rows):
                yield np.asarray(frames[first : first + rows, channel])

        low, high = statistics.low[:, channel], statistics.high[:, channel]
        if fill is not None and frames.dtype.type(fill) in (low.min(), high.max()):
            require_near_fill(names[channel], blocks(), fill)
        is_temperature = channel < len(units) and TEMPERATURE.fullmatch(units[channel])
        if is_temperature and low.min() < CELSIUS[1] and high.max() > KELVIN[0]:
            means = [np.nanmean(np.where(f == fill, np.nan, f)) for b in blocks() for f in b]
            _require_one_unit(names[channel], np.array(means), pieces)
        if channel not in data.unmarked:
            continue
        far = far_value(blocks, float(low.min()), float(high.max()), fill)
        if far is not None:
            where = pieces[int(low.argmin() if far[0] < far[1] else high.argmax())].name
            raise far_error(f"{where}: {names[channel]}", far, DECLARE)


def _require_one_unit(name: str, means: np.ndarray, pieces: list[Piece]) -> None:
    """Refuse frames of a grid in kelvin beside frames in degrees Celsius, by their means, (T,)."""
    others = in_other_unit(means)
    if not len(others):
        return
    offset = int(others[0])
    for path, first, stop in (part for piece in pieces for part in piece.task.stretches):
        if offset < stop - first:
            raise RawFileError(
                path,
                f"{name} has the mean {means[others[0]]:.4g} at time {first + offset}; so have "
                f"{len(others) - 1} more of {len(means)} frames, and the others "
                f"{np.delete(means, others).mean():.4g}",
                expected="one unit of temperature, kelvin or degrees Celsius",
                remedy="convert these frames (273.15 apart); or state the unit of what is no "
                "temperature",
            )
        offset -= stop - first


def _attributes(data: RawContents, units: str) -> dict[str, Any]:
    """Attributes of the Zarr group; those of the kind of input override the defaults."""
    stated = set(data.attrs.get("variable_units", ()))
    if units == "1" and stated:  # the configuration states no units
        # A mean over variables of different units is meaningless: metrics keep them apart.
        units = stated.pop() if len(stated) == 1 else "physical"
    return {
        "units": units,
        "stored_scale": 1.0,
        "stored_offset": 0.0,
        "variables": None,
        **data.attrs,
        "phases": data.phases,
        "normalisation": {},
    }


def build_options(values: dict[str, Any]) -> Common:
    """Check the options of a dataset with user data, and make the object that holds them.

    Args:
        values: options by name, as in the file of the dataset. The option ``kind`` is the kind of
            files, a key of `KINDS`: videos, pictures, arrays or grids.

    Returns:
        an object of the class of options for this kind.

    Raises:
        StpError: ``kind`` is unknown, or an option is wrong or does not exist for this kind.
    """
    kind = values.get("kind")
    if kind not in KINDS:
        raise StpError(
            f"prepare options: kind is {kind!r}",
            expected=" or ".join(KINDS),
            remedy=suggest_name(str(kind), KINDS),
        )
    options = build(KINDS[kind].options, values, f"prepare options of {kind}")
    check_splits(options.splits)
    return options


def _names(raw: RawFiles, name: str) -> Iterable[str]:
    """The names in a text file, one per line, without empty lines and comments (#)."""
    matches = [file for file in raw.names if file == name or file.endswith(f"/{name}")]
    path = raw.find(matches[0] if matches else name)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise RawFileError(
            path,
            f"not a UTF-8 text file ({error})",
            expected=NAMES,
            remedy="name another file in splits",
        ) from error
    names = [line.partition("#")[0].strip() for line in lines]
    if not any(names):
        raise RawFileError(path, "holds no names", expected=NAMES, remedy="add them")
    return [name for name in names if name]


def _pieces(data: RawContents, parts: list[Part]) -> tuple[list[Piece], list[int]]:
    """Divide parts into pieces that fit into memory; also return the index of each piece's part."""
    frames = max(1, PIECE_BYTES // max(data.frame_bytes, 1))
    pieces, owners = [], []
    for number, part in enumerate(parts):
        recording = data.recordings[part.recording]
        for first in range(part.first, part.stop, frames):
            stop = min(first + frames, part.stop)
            pieces.append(
                Piece(
                    f"{recording.name} frames {first}-{stop - 1}",
                    stop - first,
                    data.task(part.recording, first, stop),
                    recording.raw_bytes * (stop - first) // max(recording.frames, 1),
                )
            )
            owners.append(number)
    return pieces, owners


def _range(piece: Piece) -> tuple[int, int]:
    first = int(piece.name.rpartition(" ")[2].partition("-")[0])
    return first, first + piece.frames


def _require_constants(options: Common, channels: int) -> None:
    """Check that a fixed normalisation and fill have one constant, or one per channel."""
    for key in ("normalisation.offset", "normalisation.scale", "fill"):
        value = options.normalisation.get(key.partition(".")[2], getattr(options, key, 0))
        ok = not isinstance(value, list) or len(value) == channels
        require(ok, key, value, f"one number, or {channels}: one per channel")


def _normalisation(
    option: dict[str, Any], statistics: Statistics, training: list[int], attrs: dict[str, Any]
) -> dict[str, Any]:
    """Compute offset and scale of the normalisation, in the dataset's units.

    Raises:
        StpError: a channel is constant in the training frames.
    """
    method = option["method"]
    if method == "fixed":
        return {**option, "from": "configuration"}
    if method == "none":
        return {"offset": 0.0, "scale": 1.0, "method": "none", "from": "configuration"}
    moments = statistics.of(training)
    low = np.array(moments["min"] if method == "minmax" else moments["mean"])
    scale = np.array(moments["max"]) - low if method == "minmax" else np.array(moments["std"])
    if not (scale > 0).all():
        channel = int(np.flatnonzero(~(scale > 0))[0])
        name = (attrs["variables"] or {channel: f"number {channel}"})[channel]
        raise StpError(
            f"normalisation: the channel {name} is {low[channel]:g} in all training frames",
            expected=f"values that differ, for the method {method}",
            remedy="remove the channel, or use the method none or fixed",
        )
    unit = attrs["stored_scale"]
    return {
        "offset": (low * unit + attrs["stored_offset"]).tolist(),
        "scale": (scale * unit).tolist(),
        "method": method,
        "from": "train split",
    }


def _write_coordinates(group: zarr.Group, data: RawContents, parts: list[Part]) -> None:
    firsts = np.cumsum([0, *(recording.frames for recording in data.recordings)])
    for name, dim, values, attrs in data.coordinates:
        if dim == "frame":
            values = np.concatenate(
                [
                    values[firsts[p.recording] + p.first : firsts[p.recording] + p.stop]
                    for p in parts
                ]
            )
        write_coordinate(group, name, dim, values, **attrs)
    frames = {"units": group.attrs["units"]}
    if data.coordinates:
        frames["coordinates"] = " ".join(coordinate.name for coordinate in data.coordinates)
    group["frames"].attrs.update(frames)
