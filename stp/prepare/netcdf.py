"""Read NetCDF files; errors name the file."""

import math
import os
from pathlib import Path
from typing import BinaryIO

import numpy as np
import xarray as xr

from stp.core.errors import RawFileError, StpError

# The exception of xarray or NetCDF for a damaged file depends on the damaged part.
DAMAGE = (
    *(OSError, RuntimeError, ValueError, KeyError, IndexError, TypeError, AttributeError),
    *(ArithmeticError, MemoryError),
)
CLASSIC = {
    b"CDF\x01": (">i4", ">i4"),
    b"CDF\x02": (">i4", ">i8"),
    b"CDF\x05": (">i8", ">i8"),
}
"""First bytes of the classic formats, and the types of their lengths and offsets."""
SIZES = {
    **dict.fromkeys((1, 2, 7), 1),
    **dict.fromkeys((3, 8), 2),
    **dict.fromkeys((4, 5, 9), 4),
    **dict.fromkeys((6, 10, 11), 8),
}
"""Bytes of a value by the number of its type in a classic file."""
NEVER_WRITTEN = 9.969209968386869e36
"""Default fill value of the NetCDF library: NC_FILL_FLOAT, NC_FILL_DOUBLE."""


def open_field(path: Path, variable: str, dims: tuple[str, ...]) -> xr.DataArray:
    """Open a variable of a file without reading its values.

    Args:
        path: path of the file.
        variable: name of the variable.
        dims: names of all dimensions of the variable, in the order that the result has.

    Raises:
        StpError: the file is damaged, or the variable is missing or has other dimensions.
    """
    try:
        require_whole(path)
        dataset = xr.open_dataset(path, engine="netcdf4")
    except DAMAGE as error:
        raise RawFileError(path, f"cannot be read as NetCDF ({error})") from error
    if variable not in dataset.data_vars:
        raise RawFileError(
            path,
            f"no variable {variable!r}; it has {', '.join(map(str, dataset.data_vars))}",
            expected=f"{variable}({', '.join(dims)})",
        )
    field = dataset[variable]
    if set(field.dims) != set(dims):
        raise RawFileError(
            path,
            f"{variable} has dimensions {', '.join(map(str, field.dims))}",
            expected=", ".join(dims),
        )
    return field.transpose(*dims)


def require_whole(path: Path) -> None:
    """Refuse a file of a classic format (CDF-1, CDF-2, CDF-5) that was cut off.

    The NetCDF library reads zeros beyond the end of such a file. The expected size follows from
    the header.

    Raises:
        OSError: the file is cut off, or cannot be read.
    """
    with path.open("rb") as file:
        version = CLASSIC.get(file.read(4))
        if version is None:
            return
        try:
            end = _end(file, *version)
        except (ArithmeticError, IndexError, KeyError, MemoryError, ValueError) as error:
            raise OSError(f"cut off or damaged: its header cannot be read ({error!r})") from error
        size = file.seek(0, os.SEEK_END)
    if size < end:
        raise OSError(f"cut off or damaged: {size} bytes instead of the {end} of its header")


def _end(file: BinaryIO, of_lengths: str, of_places: str) -> int:
    """Offset of the end of the last value of a classic file, from its header after the first 4
    bytes.
    """

    def number(form: str = of_lengths) -> int:
        content = file.read(int(form[2:]))
        if len(content) < int(form[2:]):
            raise ValueError("it ends early")
        return int(np.frombuffer(content, form)[0])

    def skip(length: int) -> None:
        if length < 0:
            raise ValueError(f"a length of {length}")
        file.seek(length + -length % 4, os.SEEK_CUR)

    def entries() -> range:  # entries of a list, after its tag
        number(">i4")
        return range(number())

    def attributes() -> None:
        for _ in entries():
            skip(number())
            itemsize = SIZES[number(">i4")]
            skip(number() * itemsize)

    records, dims = number(), []
    for _ in entries():
        skip(number())
        dims.append(number())
    attributes()
    end, of_a_record = file.tell(), []
    for _ in entries():
        skip(number())
        shape = [dims[number()] for _ in range(number())]
        attributes()
        itemsize = SIZES[number(">i4")]
        number()  # its size, padded, which may be too large for its type
        begin = number(of_places)
        if shape and shape[0] == 0:  # the unlimited dimension
            of_a_record.append((begin, math.prod(shape[1:]) * itemsize))
        else:
            end = max(end, begin + math.prod(shape) * itemsize)
    # A single variable is not padded.
    step = sum(size if len(of_a_record) == 1 else size + -size % 4 for _, size in of_a_record)
    if records > 0:  # a negative number means that records were not counted
        end = max([end, *(begin + (records - 1) * step + size for begin, size in of_a_record)])
    return end


def load(field: xr.DataArray, path: Path) -> xr.DataArray:
    """Read the values of a variable that was opened lazily.

    Args:
        field: variable, from `open_field`.
        path: path of its file, for errors.

    Raises:
        StpError: the file is damaged, or values are outside the valid range of the variable.
    """
    try:
        loaded = field.compute(scheduler="synchronous")
        return loaded.copy(data=as_stated(loaded.to_numpy(), field, path))
    except DAMAGE as error:
        raise RawFileError(path, f"{field.name} cannot be read ({error})") from error


def as_stated(values: np.ndarray, field: xr.DataArray, path: Path) -> np.ndarray:
    """Replace values that were never written to the file by NaN, and check the valid range.

    xarray ignores the default fill values of the NetCDF library and the valid range of a variable.
    The default fill values of integers are kept, since packed files use them as values.

    Args:
        values: values that xarray unpacked, of any shape.
        field: variable of the values, with its attributes.
        path: path of the file, for errors.

    Raises:
        StpError: a value is outside the valid range.
    """
    try:
        low, high = _range(field)
    except (TypeError, ValueError) as error:
        raise StpError(
            f"{path}: the range of {field.name} cannot be read ({error})",
            expected="two numbers in valid_range, or one each in valid_min and valid_max",
            remedy=f"correct it, or remove it: ncatted -a valid_range,{field.name},d,, FILE",
        ) from error
    if values.dtype.kind == "f":
        with np.errstate(over="ignore"):
            wrote, low, high = (values.dtype.type(x) for x in (NEVER_WRITTEN, low, high))
        if (lost := values == wrote).any():
            values = np.where(lost, values.dtype.type(np.nan), values)
    outside = (values < low) | (values > high)
    if outside.any():
        raise StpError(
            f"{path}: {field.name} has {int(outside.sum())} values outside of the range that it "
            f"states, {low:g} to {high:g}, such as {values[outside][0]:g}",
            expected="values in valid_range, or from valid_min to valid_max",
            remedy="declare the code for missing values as missing_value; if the range "
            f"is wrong, correct or remove it: ncatted -a valid_range,{field.name},d,, FILE",
        )
    return values


def _range(field: xr.DataArray) -> tuple[float, float]:
    """Valid range of a variable, extended by half a quantisation step if the variable is packed."""
    attrs, packing = field.attrs, field.encoding
    low, high = attrs.get("valid_range", (attrs.get("valid_min"), attrs.get("valid_max")))
    stored = np.dtype(packing.get("dtype", field.dtype))
    scale, offset = (
        float(np.ravel(packing.get(key, none))[0])
        for key, none in (("scale_factor", 1.0), ("add_offset", 0.0))
    )
    bounds = []
    for limit, none in ((low, -np.inf), (high, np.inf)):
        bound = np.ravel(none if limit is None else limit)[0]
        value = float(bound)
        if packing.get("_Unsigned") == "true" and value < 0:
            value += 2.0 ** (8 * stored.itemsize)
        # A bound of the stored type is a packed value.
        is_packed = bound.dtype.kind in "iu" or bound.dtype == stored or np.isinf(value)
        bounds.append(value * scale + offset if is_packed else value)
    step = abs(scale) / 2 if stored.kind in "iu" else 0.0
    return min(bounds) - step, max(bounds) + step
