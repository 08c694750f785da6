"""Read small arrays of the store as a whole, such as coordinates, and check their checksums.

Large arrays are read in parts by ``stp.data.zarr_rows.MappedRows``, which checks each chunk. No
other module opens arrays of ours (``tests/data/test_data_zarr.py`` checks this), since the Zarr
library checks nothing and reads a missing chunk as zeros.
"""

from pathlib import Path
from typing import Any

import numpy as np

from stp.core.errors import ArtefactError
from stp.data.receipt_checksums import check_recorded
from stp.data.zarr_rows import MappedRows, is_mapped, read_metadata


def has_array(store: Path, name: str) -> bool:
    """Whether a group has an array of this name."""
    return (store / name / "zarr.json").is_file()


def array_names(store: Path) -> list[str]:
    """The names of the arrays of a group, sorted."""
    return sorted(path.parent.name for path in store.glob("*/zarr.json"))


def array_attributes(folder: Path) -> dict[str, Any]:
    """The attributes of an array.

    Raises:
        StpError: the metadata are missing or damaged.
    """
    return dict(read_metadata(folder, "array").get("attributes") or {})


def array_dims(folder: Path) -> tuple[str, ...]:
    """The names of the axes of an array; empty if it has none.

    Raises:
        StpError: the metadata are missing or damaged.
    """
    return tuple(read_metadata(folder, "array").get("dimension_names") or ())


def read_array(folder: Path) -> np.ndarray:
    """Read a whole array.

    Args:
        folder: folder of the array inside its group, e.g. ``frames.zarr/time``.

    Raises:
        StpError: the array is missing or damaged.
    """
    if is_mapped(read_metadata(folder, "array")):
        rows = MappedRows(folder)
        return np.array(rows.read(0, len(rows)))
    import zarr

    check_recorded(folder)
    try:
        return np.asarray(zarr.open_array(str(folder), mode="r", zarr_format=3)[...])
    except (OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
        raise ArtefactError(
            folder, f"cannot be read ({error})", expected="a Zarr v3 array"
        ) from error


def read_decoded(folder: Path) -> np.ndarray:
    """Read a coordinate and decode it by the CF conventions: times become datetime64.

    Args:
        folder: folder of the coordinate inside its group, e.g. ``frames.zarr/time``.

    Raises:
        StpError: the array is missing or damaged.
    """
    import xarray as xr

    variable = xr.Variable(array_dims(folder), read_array(folder), array_attributes(folder))
    decoded: np.ndarray = xr.decode_cf(xr.Dataset({"decoded": variable}))["decoded"].to_numpy()
    return decoded
