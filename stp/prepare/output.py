"""What every reader writes besides frames: group attributes and the index of clips."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from stp.data.raw_files import RawFiles
from stp.errors import StpError

SPLITS = ("train", "val", "test")

PIXELS: dict[str, Any] = {
    "units": "1",
    "stored_scale": 1 / 255,
    "stored_offset": 0.0,
    "normalisation": {"offset": 0.0, "scale": 1.0, "method": "none", "from": "train split"},
    "phases": 1,
    "variables": None,
}
"""Attributes of video that is stored as bytes: brightness 0..1, used as it is."""


class Clip(NamedTuple):
    """One row of the index.

    Attributes:
        split: train, val or test.
        clip: readable and unique within the split.
        start: first frame, counted through all frames in the store.
        stride: frames from one frame of the clip to the next.
        length: frames that the clip has.
        cluster: what is statistically dependent carries the same name.
        phase: of the first frame (calendar month from 0), or 0.
    """

    split: str
    clip: str
    start: int
    stride: int
    length: int
    cluster: str
    phase: int = 0


def attributes(recipe: dict[str, Any], raw: RawFiles, **of_the_data: Any) -> dict[str, Any]:
    """Attributes of the Zarr group: what the recipe says, the raw checksums, `of_the_data`."""
    named = ("dataset", "source", "release", "shape", "context", "horizon")
    return {**{k: recipe[k] for k in named}, "raw": raw.checksums(), **of_the_data}


def write_index(out: Path, clips: Iterable[Clip], *, virtual: Sequence[str] = ()) -> dict[str, Any]:
    """Write ``index.parquet``, ordered by split and then as given.

    Args:
        out: folder of the prepared data.
        clips: all clips.
        virtual: splits whose clips are rendered on demand and so have no rows.

    Returns:
        Number of clips and of clusters in each split that has rows.

    Raises:
        StpError: a split has no clips.
    """
    table = pd.DataFrame(list(clips), columns=list(Clip._fields))
    table["split"] = pd.Categorical(table["split"], SPLITS, ordered=True)
    table = table.sort_values("split", kind="stable", ignore_index=True)
    types = {"start": np.int64, "stride": np.int32, "length": np.int32, "phase": np.int32}
    table = table.astype({"split": "str", "clip": "str", "cluster": "str", **types})
    counts: dict[str, Any] = {"clips": {}, "clusters": {}}
    for split in SPLITS:
        if split in virtual:
            continue
        rows = table[table["split"] == split]
        if rows.empty:
            raise StpError(
                f"the {split} split has no clips",
                expected="at least one window of the required length in every split",
                remedy="change the splits, the window length (span) or the raw files",
            )
        assert rows["clip"].is_unique, f"clip names in {split} repeat"
        counts["clips"][split] = len(rows)
        counts["clusters"][split] = int(rows["cluster"].nunique())
    table.to_parquet(out / "index.parquet", index=False)
    return counts
