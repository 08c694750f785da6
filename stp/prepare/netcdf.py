"""Opening of NetCDF files, with errors that name the file."""

from pathlib import Path

import xarray as xr

from stp.core.errors import StpError

# What xarray and the NetCDF library raise for damaged files depends on what is damaged.
DAMAGE = (
    *(OSError, RuntimeError, ValueError, KeyError, IndexError, TypeError, AttributeError),
    *(ArithmeticError, MemoryError),
)


def open_field(path: Path, variable: str, dims: tuple[str, ...]) -> xr.DataArray:
    """One variable of a file, not yet read, with its axes in the order of `dims`.

    Raises:
        StpError: the file is damaged, or has no such variable, or it has other dimensions.
    """
    try:
        dataset = xr.open_dataset(path, engine="netcdf4")
    except DAMAGE as error:
        raise StpError(
            f"{path}: cannot be read as NetCDF ({error})",
            expected="a complete NetCDF file",
            remedy="fetch it again",
        ) from error
    if variable not in dataset.data_vars:
        raise StpError(
            f"{path}: no variable {variable!r}; it has {', '.join(map(str, dataset.data_vars))}",
            expected=f"{variable}({', '.join(dims)})",
            remedy="check that this is the file meant by the configuration of the dataset",
        )
    field = dataset[variable]
    if set(field.dims) != set(dims):
        raise StpError(
            f"{path}: {variable} has dimensions {', '.join(map(str, field.dims))}",
            expected=", ".join(dims),
            remedy="check that this is the file meant by the configuration of the dataset",
        )
    return field.transpose(*dims)


def load(field: xr.DataArray, path: Path) -> xr.DataArray:
    """Read what has been opened lazily.

    Raises:
        StpError: the data in the file are damaged.
    """
    try:
        return field.compute(scheduler="synchronous")
    except DAMAGE as error:
        raise StpError(
            f"{path}: {field.name} cannot be read ({error})",
            expected="a complete NetCDF file",
            remedy="fetch it again",
        ) from error
