"""Guess the settings of a new dataset (frame size, options, metrics) from the user's first file."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from PIL import Image

from stp.core.errors import FileError, StpError
from stp.data.raw_files import RawFiles, UnlockedFiles
from stp.inspect.own_files import VIDEO_SUFFIXES
from stp.plan.checked_config import in_order
from stp.prepare.own import arrays, grids, pictures, videos
from stp.prepare.own.axis_names import USUAL_NAMES, coordinate_name

LONGEST_SIDE = 128
"""Maximum side of a frame in a draft, pixels."""
PIXEL_METRICS = ["mse.pixel_sum", "mae.pixel_sum", "ssim.range1", "psnr.per_frame"]
FIELD_METRICS = ["mse.pixel_mean", "mae.pixel_mean", "rmse.per_frame"]
GLOBE_METRIC = "wrmse.per_frame"
MOST_COLUMNS = 6
"""Maximum number of variables in the table of a draft; all variables are scored."""
NEIGHBOURS = 4
"""Numbers of sequences and frames that are compared to distinguish both axes."""
MORE_ALIKE = 0.8
"""Ratio of differences below which neighbours along an axis count as more similar."""
FEW_CHANNELS = 4
"""Maximum length of an axis that may be the axis of channels."""

Metrics = Sequence[str | dict[str, str]]


class FirstLook(NamedTuple):
    """Settings guessed from a file of a dataset.

    Attributes:
        shape: channels, height, width of a frame.
        options: options of the reader, without ``kind``.
        metrics: columns of the table: conventions (exact definitions of metrics, such as
            ``psnr.per_frame``), or a convention with a variable.
        notes: remarks by option of the reader or key of the dataset.
    """

    shape: list[int]
    options: dict[str, Any]
    metrics: Metrics
    notes: dict[str, str]


def look_at_videos(raw: RawFiles) -> FirstLook:
    """Guess the frame size and the metrics of a new dataset from its first video."""
    path = raw.find(videos.files_of(raw.names, "videos", VIDEO_SUFFIXES)[0])
    videos.probe(path)  # raises errors that name the problem
    height, width = videos.size(path)
    notes = {"shape": f"channels (1: grey), height, width; {path.name} has {height} x {width}"}
    return FirstLook([3, *_shrink_size(height, width)], {}, PIXEL_METRICS, notes)


def look_at_pictures(raw: RawFiles) -> FirstLook:
    """Guess the frame size, colours and metrics of a new dataset from its first picture."""
    path = raw.find(raw.names[0])
    height, width, _ = pictures.decode_picture(path.read_bytes(), str(path), "RGB").shape
    with Image.open(path) as picture:
        grey = picture.mode == "L"
    notes = {"shape": f"channels (1: grey), height, width; {path.name} has {height} x {width}"}
    return FirstLook([1 if grey else 3, *_shrink_size(height, width)], {}, PIXEL_METRICS, notes)


def _shrink_size(height: int, width: int) -> list[int]:
    """A smaller size with about the same proportions, in multiples of 8, as networks need."""
    scale = min(1.0, LONGEST_SIDE / max(height, width))
    return [max(8, round(side * scale / 8) * 8) for side in (height, width)]


def look_at_arrays(raw: RawFiles) -> FirstLook:
    """Guess axes, frame size and metrics of a new dataset from the first file's largest array."""
    name = arrays.files_of(raw.names, "arrays", arrays.SUFFIXES)[0]
    contents = arrays.contents(raw.find(name))
    large = {array: about for array, about in contents.items() if len(about[0]) in (3, 4, 5)}
    if not large:
        listed = ", ".join(f"{array} {shape}" for array, (shape, _) in contents.items())
        raise FileError(
            raw.find(name),
            f"no array of frames; it has {listed or 'nothing'}",
            expected="3 to 5 axes: time, rows, columns, perhaps recordings and channels",
        )
    array = max(large, key=lambda candidate: int(np.prod(large[candidate][0])))
    shape, dtype = large[array]
    axes = guess_axes(shape)
    lengths = dict(zip(axes, shape, strict=True))
    options: dict[str, Any] = {"axes": axes}
    frame = (lengths.get("C", 1), lengths["H"], lengths["W"])
    alike = [other for other in large if large[other][0][1:] == shape[1:]]
    if array:
        options["array"] = alike if len(alike) > 1 else array
    if set(axes[:2]) == {"N", "T"} and _is_time_along_n(raw.find(name), array, axes, frame):
        options["axes"] = axes[1] + axes[0] + axes[2:]
    notes = {
        "axes": f"guessed from {PurePosixPath(name).name}: {shape}, {dtype}; N recordings, T time, "
        "C channels, H rows, W columns",
        "shape": "channels, height, width",
    }
    if len(contents) > 1:
        listed = ", ".join(f"{key} {key_shape}" for key, (key_shape, _) in contents.items())
        notes["array"] = f"the file has {listed}"
    # The metrics are chosen later, from the values.
    return FirstLook(list(frame), options, FIELD_METRICS, notes)


def _is_time_along_n(path: Path, array: str, axes: str, frame: tuple[int, int, int]) -> bool:
    """Whether N is the time: neighbours along N are more similar than neighbours along T."""
    splits = {"by": "sequence", "train": 0.5, "val": 0.25, "test": 0.25}
    options = arrays.ArrayOptions(kind="arrays", splits=splits, axes=axes, array=array or None)
    raw = UnlockedFiles(path.parent, [path.name])
    with tempfile.TemporaryDirectory() as folder:
        contents = arrays.raw_contents(raw, options, frame, Path(folder))
        frames = min(NEIGHBOURS, contents.recordings[0].frames)
        tasks = [contents.task(n, 0, frames) for n in range(len(contents.recordings[:NEIGHBOURS]))]
        try:
            decoded = [contents.decode(raw, task._replace(fill=np.nan)) for task in tasks]
        except StpError:  # missing integers
            return False
    values = np.stack(decoded).astype(np.float32)
    if min(values.shape[:2]) < 2:
        return False
    along_n, along_t = (np.nanmean(np.abs(np.diff(values, axis=axis))) for axis in (0, 1))
    return bool(along_n < MORE_ALIKE * along_t)


def guess_axes(shape: Sequence[int]) -> str:
    """Guess the order of the axes of an array from their lengths.

    An axis of at most 4 positions (`FEW_CHANNELS`) is taken for the channels, if it is where
    channels usually are. Of four axes without channels, the first is the time if it is shorter than
    the second and has at most 50 positions; otherwise, it counts sequences.

    Args:
        shape: lengths of three, four or five axes.

    Returns:
        a letter for each axis, such as "THWC": N sequences, T times, C channels, H rows, W columns.
    """
    if len(shape) == 3:
        return "THW"
    if len(shape) == 4:
        if shape[3] <= FEW_CHANNELS:
            return "THWC"
        if shape[1] <= FEW_CHANNELS:
            return "TCHW"
        if shape[2] <= FEW_CHANNELS:
            return "HWCT"
        return "TNHW" if shape[0] < shape[1] and shape[0] <= 50 else "NTHW"
    if shape[4] <= FEW_CHANNELS:
        return "NTHWC"
    return "NCTHW" if shape[1] <= FEW_CHANNELS < shape[2] else "NTCHW"


def look_at_grids(raw: RawFiles) -> FirstLook:
    """Guess variables, axes and metrics of a new dataset from its first NetCDF or Zarr file."""
    path = grids.raw_path(raw, grids.names_of(raw)[0])
    variables: dict[str, list[float] | None] = {}
    units: dict[str, str] = {}
    dims: dict[str, str] = {}
    size: list[int] = []
    select: dict[str, Any] = {}
    left_out = []
    is_merged, is_weighted = False, False
    with grids.open_grid(path) as dataset:
        for label, column in dataset.data_vars.items():
            axes = _axes(column)
            others = [
                dim
                for dim in column.dims
                if dim not in {*axes.values(), grids.EXPVER} and column.sizes[dim] > 1
            ]
            is_merged |= column.sizes.get(grids.EXPVER, 1) > 1
            if {"time", "y", "x"} - set(axes) or any(dim not in column.coords for dim in others):
                left_out.append(f"{label} ({', '.join(map(str, column.dims))})")
                continue
            dims |= axes
            select |= {str(dim): column[dim].values.reshape(-1)[0].item() for dim in others}
            size = [column.sizes[axes["y"]], column.sizes[axes["x"]]]
            units[str(label)] = str(column.attrs.get("units", "no unit"))
            levels = dataset[axes["level"]].values.tolist() if "level" in axes else None
            variables[str(label)] = levels and [int(v) if v == int(v) else v for v in levels]
            rows = dims["y"]
            is_weighted = rows in column.coords and coordinate_name(rows, column[rows]) == "lat"
    if not variables:
        raise FileError(
            path,
            f"no variable over time, rows and columns; it has {', '.join(left_out)}",
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
    metrics: Metrics = FIELD_METRICS
    if is_weighted:
        metrics = _globe_metrics(variables)
        notes["metrics"] = "weighted by the cosine of latitude; each in units of its own: "
    elif len(set(units.values())) > 1:
        notes["metrics"] = (
            "CHECK: means over variables in different units, as rows are no latitudes in degrees: "
        )
    if "metrics" in notes:
        notes["metrics"] += ", ".join(f"{name} {unit}" for name, unit in units.items())
    return FirstLook([channels, *size], options, metrics, notes)


def _axes(column: xr.DataArray) -> dict[str, str]:
    return {
        axis: str(dim) for axis, usual in USUAL_NAMES.items() for dim in column.dims if dim in usual
    }


def _globe_metrics(variables: Mapping[str, list[float] | None]) -> Metrics:
    options = in_order({"kind": "grids", "splits": {}, "variables": variables})
    channels = grids.GridOptions(**options).channels()
    return [{"convention": GLOBE_METRIC, "variable": name} for name in channels[:MOST_COLUMNS]]


FIRST_LOOKS = {
    "videos": look_at_videos,
    "pictures": look_at_pictures,
    "arrays": look_at_arrays,
    "grids": look_at_grids,
}
"""Functions that guess settings, by kind of input."""
