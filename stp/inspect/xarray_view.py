"""Read prepared clips as xarray arrays."""

from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from stp.core.errors import StpError
from stp.data.prepared import Prepared
from stp.data.zarr_read import array_dims, has_array, read_array
from stp.inspect.counts import prepared_folder
from stp.plan import config
from stp.plan.cells import Plan
from stp.plan.checked_config import CONFIG_FOLDER, check_known

KEPT = ("title", "source", "release", "units", "fps", "context", "horizon")
"""Attributes of the data that the array keeps; ``fps`` applies to the steps of the array."""


def clips(
    dataset: str | Path, split: str, most: int | None, configfile: str | Path | None
) -> xr.DataArray:
    """Read clips of a split, as `stp.load_data` returns them.

    Args:
        dataset: name of a prepared dataset of frames, or folder of prepared data.
        split: train, val, test, or another split of the dataset.
        most: maximum number of clips, from the first; None for all.
        configfile: scale file with which the dataset was prepared; None for that of the demo.

    Returns:
        clips, float32 (sample, step, channel, y, x) in the dataset's units, with coordinates.

    Raises:
        StpError: the dataset is unknown, not prepared or damaged, or has no such split.
    """
    folder = Path(dataset)
    if not (folder / "frames.zarr").is_dir():
        folder = _frames_folder(str(dataset), Path(configfile or CONFIG_FOLDER / "demo.yaml"))
    data = Prepared(folder)
    split_clips = data.clips(split)
    rows = np.arange(len(split_clips) if most is None else min(most, len(split_clips)))
    values = split_clips.read(rows)
    coordinates: dict[str, Any] = {"step": np.arange(values.shape[1]) - data.context + 1}
    if not split_clips.virtual:
        coordinates["clip"] = (
            "sample",
            split_clips.index["clip"].iloc[rows].astype(str).to_numpy(),
        )
    if names := data.attrs.get("variables"):
        coordinates["channel"] = list(names)
    frames = folder / "frames.zarr"
    coordinates |= {
        axis: (axis, read_array(frames / coordinate))
        for axis, coordinate in (("y", "lat"), ("x", "lon"))
        if has_array(frames, coordinate) and len(array_dims(frames / coordinate)) == 1
    }
    attrs = {key: data.attrs[key] for key in KEPT if data.attrs.get(key) is not None}
    strides: set[int] = (
        set() if split_clips.virtual else set(split_clips.index["stride"].iloc[rows].tolist())
    )
    if (fps := attrs.pop("fps", None)) is not None and len(strides) == 1:
        attrs["fps"] = fps / strides.pop()
    dims = ("sample", "step", "channel", "y", "x")
    return xr.DataArray(values, coordinates, dims, name=str(Path(dataset).name), attrs=attrs)


def _frames_folder(name: str, configfile: Path) -> Path:
    """The folder of a prepared dataset of frames."""
    plan = Plan(config.load(configfile))
    check_known(name, plan.config.datasets, "dataset", "stp.load_data")
    if plan.recipes.samples(name).pictures != "strips":
        folder = plan.store / plan.data(name).folder
        raise StpError(
            f"{name} has {plan.config.datasets[name].kind}",
            expected="a dataset of frames",
            remedy=f"its tables are Parquet files: pandas.read_parquet on those of {folder}",
        )
    return prepared_folder(plan, name)
