"""Read arrays of HDF5 files, with errors that name the file."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from stp.core.errors import RawFileError, StpError

# The exception of h5py for a damaged file depends on the damaged part.
DAMAGE = (OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError, OverflowError)


@contextmanager
def open_array(
    path: Path, name: str, *, ndim: int, dtypes: tuple[str, ...]
) -> Iterator[h5py.Dataset]:
    """Context manager: open an array of a file, without reading its values.

    Args:
        path: path of the HDF5 file.
        name: name of the array, e.g. "data" or "env/cam0_video/frames".
        ndim: required number of axes.
        dtypes: accepted NumPy types of either byte order, e.g. ("float64",); "bytes" is text of
            fixed length, and "object" are values of variable length.

    Raises:
        StpError: the file is damaged or lacks the array, or the array has another number of axes or
            type.
    """
    try:
        # Without locks, which some shared file systems do not have: nobody writes to raw files.
        file = h5py.File(path, "r", locking=False)
    except DAMAGE as error:
        raise _damage_error(path, "it", error) from error
    try:
        yield _get(file, path, name, ndim, dtypes)
    finally:
        with suppress(*DAMAGE):  # damage has already been reported
            file.close()


def read(dataset: h5py.Dataset, selection: Any, path: Path) -> np.ndarray:
    """Read a part of an open array: ``dataset[selection]``.

    Raises:
        StpError: the data in the file are damaged, or implausibly large.
    """
    try:
        return np.asarray(dataset[selection])
    except (*DAMAGE, MemoryError) as error:
        raise _damage_error(path, str(dataset.name), error) from error


def _get(
    file: h5py.File, path: Path, name: str, ndim: int, dtypes: tuple[str, ...]
) -> h5py.Dataset:
    check = "check that this is the file meant by the configuration of the dataset"
    try:
        item = file.get(name)
        names = ", ".join(file)
        if not isinstance(item, h5py.Dataset):
            raise StpError(
                f"{path}: no array {name!r}; it has {names or 'nothing'}",
                expected=f"an array {name}",
                remedy=check,
            )
        shape, dtype = item.shape, item.dtype
        is_elsewhere = item.is_virtual or item.external or item.file.filename != file.filename
    except DAMAGE as error:
        raise _damage_error(path, name, error) from error
    if is_elsewhere:
        raise StpError(
            f"{path}: the values of {name} are in other files",
            expected="values in the file itself: others are not locked, and HDF5 reads zeros where "
            "one is missing",
            remedy="copy them into one file",
        )
    kind = "bytes" if dtype.kind == "S" else str(dtype.newbyteorder("="))
    if shape is None or len(shape) != ndim or kind not in dtypes:
        raise StpError(
            f"{path}: {name} is {kind} of shape {shape}",
            expected=f"{' or '.join(dtypes)} with {ndim} axes",
            remedy=check,
        )
    return item


def _damage_error(path: Path, part: str, error: BaseException) -> StpError:
    return RawFileError(path, f"{part} cannot be read as HDF5 ({error})")
