"""Create the Zarr store of predictions, with its coordinates."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import zarr

from stp.data.zarr_write import create_array, create_group

KEPT = ("dataset", "source", "release", "units", "variables")
"""Attributes that predictions share with the prepared data."""


def lead_numbers(recipe: Mapping[str, Any]) -> np.ndarray:
    """The lead times of a recipe's forecasts, int64, ascending.

    The result has the ``leads`` of the recipe, by default 1..``lead_times``; if these are
    ``interpolated``, also all lead times between them.
    """
    leads = recipe.get("leads") or range(1, recipe["lead_times"] + 1)
    if recipe.get("interpolated"):
        leads = range(leads[0], leads[-1] + 1)
    return np.asarray(leads, np.int64)


def create_predictions(
    out: Path,
    recipe: Mapping[str, Any],
    attrs: Mapping[str, Any],
    shape: tuple[int, ...],
    numbers: np.ndarray,
    **more: Any,
) -> zarr.Array[Any]:
    """Create ``predictions.zarr`` with its coordinates.

    Two attributes of the store are about lead times. ``leads`` lists those of the forecasts, in
    order; ``lead_times`` is the horizon of the test. A model that forecasts only some lead times
    has, for example, ``leads`` [1, 3, 5] and ``lead_times`` 6; all others have 1 to 6 and 6.

    Args:
        out: folder of the store.
        recipe: recipe of the forecasts.
        attrs: attributes of the prepared data.
        shape: shape of the forecasts of a clip, (members, lead times, C, H, W).
        numbers: indices of the clips in the split; the coordinate ``sample`` of the store.
        more: further attributes of the store.

    Returns:
        the empty array, (sample, lead, channel, y, x), or with several forecasts of each clip
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
            "lead_times": recipe["lead_times"],
            "leads": lead_numbers(recipe).tolist(),
        },
    )
    members = shape[0]
    coordinates = {"sample": numbers, "lead": lead_numbers(recipe)}
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
