"""The form of predictions in the store, whoever made them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import zarr

from stp.data.zarr_write import create_array, create_group

KEPT = ("dataset", "source", "release", "units", "variables")
"""Attributes of the prepared data that predictions have as well."""


def create_predictions(
    out: Path,
    recipe: Mapping[str, Any],
    attrs: Mapping[str, Any],
    shape: tuple[int, ...],
    numbers: np.ndarray,
    **more: Any,
) -> zarr.Array[Any]:
    """Create ``predictions.zarr`` with its coordinates.

    Args:
        out: the folder for it.
        recipe: of the forecasts.
        attrs: of the prepared data.
        shape: of the forecasts of a clip, (members, lead times, C, H, W).
        numbers: of the clips that it will hold.
        more: attributes besides.

    Returns:
        the empty array, (sample, lead, channel, y, x); with several forecasts of each clip
        (sample, member, lead, channel, y, x).
    """
    group = create_group(
        out / "predictions.zarr",
        {
            **{key: attrs[key] for key in KEPT if key in attrs},
            "model": recipe["model"],
            **more,
            "split": recipe["split"],
            "interval": recipe.get("interval", 1),
            "context": recipe["context"],
        },
    )
    members, leads = shape[:2]
    coordinates = {"sample": numbers, "lead": np.arange(1, leads + 1)}
    outer: tuple[str, ...] = ("lead",)
    if members > 1:
        coordinates["member"] = np.arange(members)
        outer = ("member", "lead")
    else:
        shape = shape[1:]
    for name, values in coordinates.items():
        array = create_array(group, name, values.shape, np.int64, (name,), values.shape)
        array[:] = values
    stored = create_array(
        group,
        "predictions",
        (len(numbers), *shape),
        np.float32,
        ("sample", *outer, "channel", "y", "x"),
        (1, *shape),
    )
    stored.attrs["units"] = attrs.get("units", "")
    return stored
