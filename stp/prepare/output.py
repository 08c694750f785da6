"""Write group attributes, coordinates and the index of clips, for all readers."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import zarr

from stp.core.errors import StpError
from stp.data.raw_files import RawFiles
from stp.data.zarr_write import create_array

SPLITS = ("train", "val", "test")

MOST_CHECKSUMS = 100
PIXELS: dict[str, Any] = {
    "units": "1",
    "stored_scale": 1 / 255,
    "stored_offset": 0.0,
    "normalisation": {"offset": 0.0, "scale": 1.0, "method": "none", "from": "train split"},
    "phases": 1,
    "variables": None,
}
"""Attributes of video that is stored as uint8: brightness 0..1, not normalised."""


class Clip(NamedTuple):
    """A clip (consecutive frames for training or test): a row of ``index.parquet``.

    Attributes:
        split: train, val, test, or the name of a subset. A clip in several splits has several rows.
        clip: readable name of the clip, unique within the split.
        start: index of the first frame in the store.
        stride: number of frames of the store from one frame of the clip to the next.
        length: number of frames of the clip.
        cluster: name of the cluster, which statistically dependent clips share.
        phase: phase of the first frame, such as the calendar month, from 0; 0 without phases.
    """

    split: str
    clip: str
    start: int
    stride: int
    length: int
    cluster: str
    phase: int = 0


def attributes(recipe: Mapping[str, Any], raw: RawFiles, **of_the_data: Any) -> dict[str, Any]:
    """Make the attributes of the Zarr group of prepared data.

    Args:
        recipe: settings of the preparation, such as shape, context and horizon.
        raw: the raw files, whose checksums become attributes.
        of_the_data: further attributes that only the reader knows, such as units.

    For many raw files, only the checksum of their checksums is stored, since attributes are read
    whenever the group is opened.
    """
    named = ("dataset", "source", "release", "shape", "context", "horizon")
    checksums: dict[str, Any] = dict(raw.checksums())
    if len(checksums) > MOST_CHECKSUMS:
        lines = "".join(f"{checksum}  {name}\n" for name, checksum in checksums.items())
        digest = hashlib.sha256(lines.encode()).hexdigest()
        checksums = {"files": len(checksums), "sha256 of `sha256sum` over all": digest}
    return {**{k: recipe[k] for k in named}, "raw": checksums, **of_the_data}


def write_coordinate(
    group: zarr.Group, name: str, dim: str, values: np.ndarray, **attrs: Any
) -> None:
    """Write a CF coordinate, such as ``lat`` along y.

    xarray opens it as a coordinate if the attribute ``coordinates`` of the array names it:
    ``frames.attrs["coordinates"] = "lat lon"``.

    Args:
        group: Zarr group of the prepared data.
        name: name of the coordinate: lat, lon, time, level, variable, ...
        dim: axis of the coordinate: frame, channel, y or x.
        values: numbers or texts, one for each index of the axis.
        attrs: units, standard_name, calendar, ...
    """
    if values.dtype.kind in "OU":
        array = group.create_array(
            name, shape=values.shape, dtype="str", chunks=values.shape, dimension_names=(dim,)
        )
    else:
        array = create_array(group, name, values.shape, values.dtype, (dim,), values.shape)
    array[:] = values
    array.attrs.update(attrs)


def write_index(
    out: Path,
    clips: Iterable[Clip],
    *,
    virtual: Sequence[str] = (),
    required: Sequence[str] = SPLITS,
    blocks: Mapping[str, tuple[int, int]] | None = None,
) -> dict[str, Any]:
    """Write ``index.parquet``, sorted by split (subsets last), otherwise in the given order.

    Args:
        out: folder of the prepared data.
        clips: all clips.
        virtual: splits that may have no clips here, since theirs are rendered on demand.
        required: splits that must have clips.
        blocks: if clusters are blocks of time, the first frame and the length in frames of each, by
            name; scoring merges them into longer blocks (`stp.score.blocks`).

    Returns:
        facts for the receipt: numbers of clips and of clusters in each split that has rows.

    Raises:
        StpError: a required split has no clips.
    """
    table = pd.DataFrame(list(clips), columns=list(Clip._fields))
    order = list(dict.fromkeys([*SPLITS, *table["split"]]))
    table["split"] = pd.Categorical(table["split"], order, ordered=True)
    table = table.sort_values("split", kind="stable", ignore_index=True)
    types = {"start": np.int64, "stride": np.int32, "length": np.int32, "phase": np.int32}
    table = table.astype({"split": "str", "clip": "str", "cluster": "str", **types})
    if blocks is not None:
        bounds = np.array([blocks[cluster] for cluster in table["cluster"]], np.int64)
        bounds = bounds.reshape(-1, 2)
        table = table.assign(cluster_start=bounds[:, 0], cluster_length=bounds[:, 1])
    counts: dict[str, Any] = {"clips": {}, "clusters": {}}
    for split in order:
        rows = table[table["split"] == split]
        if rows.empty:
            if split in required and split not in virtual:
                raise StpError(
                    f"the {split} split has no clips",
                    remedy="change the splits, the window length (span) or the raw files",
                )
            continue
        assert rows["clip"].is_unique, f"clip names in {split} repeat"
        counts["clips"][split] = len(rows)
        counts["clusters"][split] = int(rows["cluster"].nunique())
    table.to_parquet(out / "index.parquet", index=False, write_page_checksum=True)
    return counts
