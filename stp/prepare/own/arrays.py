"""Read arrays in .npy, .npz and HDF5 files, with axes in any order.

    axes: NTCHW     letters in the order of the file's axes: N recordings, T time, C channel, H, W

Arrays are read in parts: .npy and uncompressed .npz files are mapped into memory, compressed .npz
files are unpacked into the state folder of the job.
"""

import math
import shutil
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
from pydantic import PositiveFloat

from stp.core.disk import safe_join
from stp.core.errors import RawFileError, StpError
from stp.core.limits import require_zip
from stp.core.options import require
from stp.data.raw_files import RawFiles
from stp.prepare import hdf5
from stp.prepare.own.far_values import marks_of
from stp.prepare.own.options import Common, RawContents, Recording, files_of

NUMPY, PACKED, HDF5 = (".npy",), (".npz",), (".h5", ".hdf5", ".hdf", ".he5")
SUFFIXES = (*NUMPY, *PACKED, *HDF5)
AXES = "NTCHW"
STORED = {
    "bool": "uint8",
    **{name: name for name in ("uint8", "int8", "uint16", "int16", "float32")},
    **dict.fromkeys(("float16", "float64", "int32", "uint32", "int64", "uint64"), "float32"),
}
"""Type of stored frames, by type of the array in the raw file; networks see float32."""
DAMAGE = (
    *(OSError, ValueError, EOFError, KeyError, TypeError, OverflowError, RuntimeError),
    *(zipfile.BadZipFile, zlib.error, SyntaxError, tokenize.TokenError),
)
"""Exceptions of NumPy and zipfile for damaged files."""


@dataclass(frozen=True, kw_only=True)
class ArrayOptions(Common):
    """Options of the reader of the user's arrays (.npy, .npz, .h5 and others).

    Attributes:
        axes: letters of the file's axes in their order, such as ``NTHWC`` or ``THW``. N stands for
            recordings, T for time, C for channels, H for rows and W for columns. T, H and W are
            required; without N, an array is one recording, and without C, it has one channel.
        array: name of the array in .npz and HDF5 files, or a pattern (``train/*``), or a list of
            these; by default, the only array of the file.
        divide_by: divisor of the values of the file: 255 maps uint8 to 0..1.
        missing: code for missing values, such as -9999, or a list of codes, besides those that
            files declare. [] states that there are none, so that a single value far from all others
            is accepted.
        fill: number that replaces missing values (NaN), or a list of one for each channel; by
            default, missing values are an error.
        variables: names of the channels.
        fps: frames per second.
    """

    axes: str
    array: str | list[str] | None = None
    divide_by: PositiveFloat = 1.0
    missing: Any = None
    fill: float | list[float] | None = None
    variables: list[str] | None = None
    fps: PositiveFloat | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        ok = set("THW") <= set(self.axes) <= set(AXES)
        ok = ok and len(set(self.axes)) == len(self.axes)
        require(ok, "axes", self.axes, "the letters T, H, W, perhaps N and C, in any order")
        marks_of(self.missing)

    @property
    def patterns(self) -> list[str]:
        """Names of arrays, and patterns of such names, that select arrays inside a file.

        They are the option `array` as a list; empty without the option.
        """
        if self.array is None:
            return []
        return self.array if isinstance(self.array, list) else [self.array]


class Location(NamedTuple):
    """Location of an array of the user: a file, and for some formats a name in it.

    Attributes:
        file: the raw file.
        array: name in the file; empty for .npy.
        unpacked: path of the unpacked array; empty if it is read from the raw file.
        offset: offset of the header in .npy and .npz files, bytes.
    """

    file: str
    array: str = ""
    unpacked: str = ""
    offset: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.array}" if self.array else self.file


class Task(NamedTuple):
    """Some frames of a recording, which are read at once.

    Attributes:
        location: the array.
        row: index of the recording along the axis N; None for arrays without this axis.
        first, stop: indices along the axis T of the first frame, and of the frame after the last.
        axes: letters of the axes in their order, such as ``NTHW``.
        missing: code for missing values, such as -9999, or a list of codes, besides those that the
            file declares; None or [] for no further codes.
        fill: value that replaces missing values, or one for each channel; None if missing values
            are errors.
    """

    location: Location
    row: int | None
    first: int
    stop: int
    axes: str
    missing: Any
    fill: float | list[float] | None


def raw_contents(
    raw: RawFiles, options: ArrayOptions, shape: tuple[int, int, int], folder: Path
) -> RawContents:
    """Find the arrays in the raw files, and describe the recordings in them.

    Args:
        raw: the raw files.
        options: options of the reader.
        shape: required number of channels, height and width of frames.
        folder: folder into which compressed arrays are unpacked.

    Raises:
        StpError: there are no arrays, or an array is damaged or has an unexpected shape or type.
    """
    names = files_of(raw.names, "arrays", SUFFIXES)
    if options.variables is not None:
        ok = isinstance(options.variables, list) and len(options.variables) == shape[0]
        require(ok, "variables", options.variables, f"{shape[0]} names, one for each channel")
    recordings, rows, item = [], [], 1
    types: dict[str, str] = {}
    for name in names:
        for location in _locations(raw, name, options.patterns, folder):
            lengths, dtype = _describe(raw, location, options.axes, shape)
            types.setdefault(STORED[dtype], str(location))
            item = max(item, np.dtype(dtype).itemsize)
            frame = int(np.prod(shape)) * np.dtype(dtype).itemsize
            for row in range(lengths["N"]) if "N" in options.axes else [None]:
                label = str(location) if row is None else f"{location}/{row:05d}"
                size = lengths["T"] * frame
                recordings.append(Recording(label, name, lengths["T"], raw_bytes=size))
                rows.append((location, row))
    if len(types) > 1:
        raise StpError(
            "arrays of different types: "
            + ", ".join(f"{location} is {dtype}" for dtype, location in types.items()),
            remedy="convert them, or declare two datasets",
        )

    def task(number: int, first: int, stop: int) -> Task:
        return Task(*rows[number], first, stop, options.axes, options.missing, options.fill)

    stored = np.dtype(next(iter(types)))
    return RawContents(
        recordings,
        task,
        decode,
        stored,
        int(np.prod(shape)) * max(item, stored.itemsize),
        {
            "stored_scale": 1 / options.divide_by,
            "variables": options.variables,
            "fps": options.fps,
        },
        unmarked=range(shape[0]) if options.missing is None and stored != np.uint8 else (),
    )


def _locations(raw: RawFiles, name: str, patterns: list[str], folder: Path) -> Iterator[Location]:
    """Locations of the arrays of a file that the option `array` selects."""
    if name.lower().endswith(NUMPY):
        yield Location(name)
        return
    path = raw.find(name)
    packed = name.lower().endswith(PACKED)
    inside = _names_in_zip(path) if packed else _names_in_hdf5(path)
    chosen = [
        array
        for array in inside
        if not patterns or any(fnmatchcase(array, p.strip("/")) for p in patterns)
    ]
    if not chosen or (not patterns and len(chosen) > 1):
        problem = f"no array {' or '.join(patterns)}" if patterns else f"{len(chosen)} arrays"
        raise RawFileError(
            path,
            f"{problem}; it has {', '.join(inside[:20]) or 'none'}",
            expected="the name of an array, or a pattern for several, in the option array",
            remedy="set array",
        )
    for array in chosen:
        yield _in_zip(path, name, array, folder) if packed else Location(name, array)


def contents(path: Path) -> dict[str, tuple[tuple[int, ...], str]]:
    """Look up the shape and type of all arrays in a file, without reading their values.

    Args:
        path: path of a .npy, .npz or HDF5 file.

    Returns:
        shape and type, such as ``((10, 64, 64), "uint8")``, by name of the array; the name is empty
        in a .npy file.

    Raises:
        StpError: the file is damaged.
    """
    name = path.name.lower()
    if name.endswith(NUMPY):
        mapped = _map_array(path, 0)
        return {"": (mapped.shape, _kind(mapped.dtype))}
    arrays = {}
    if name.endswith(PACKED):
        try:
            with zipfile.ZipFile(path) as archive:
                require_zip(path, archive)
                for array in _names_in_zip(path):
                    with archive.open(f"{array}.npy") as file:
                        shape, _, dtype = _header(file)
                    arrays[array] = (shape, _kind(dtype))
        except DAMAGE as error:
            raise _damage_error(path, error) from error
        return arrays
    try:
        with h5py.File(path, "r") as opened:
            for array in _names_in_hdf5(path):
                dataset = opened[array]
                arrays[array] = (tuple(dataset.shape or ()), _kind(dataset.dtype))
    except hdf5.DAMAGE as error:
        raise _damage_error(path, error) from error
    return arrays


def _kind(dtype: np.dtype[Any]) -> str:
    return str(dtype.newbyteorder("="))


def _header(file: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether values are in Fortran order, and type."""
    version = np.lib.format.read_magic(file)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if read is None:
        raise ValueError(f"version {version} of the format")
    shape, in_columns, dtype = read(file)
    if dtype.hasobject:
        raise ValueError("Python objects")
    return shape, in_columns, dtype


def _require_size(shape: tuple[int, ...], dtype: np.dtype[Any], size: int) -> None:
    """Check that an array has exactly `size` bytes."""
    expected = math.prod(shape) * dtype.itemsize
    if expected != size:
        raise ValueError(f"{size} bytes of values instead of {expected}")


def _names_in_zip(path: Path) -> list[str]:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except DAMAGE as error:
        raise _damage_error(path, error) from error
    arrays = sorted(name.removesuffix(".npy") for name in names if name.endswith(".npy"))
    twice = next((name for name, after in pairwise(arrays) if name == after), None)
    if twice is not None:
        raise RawFileError(
            path,
            f"holds two arrays called {twice}",
            remedy="write the file again",
        )
    return arrays


def _names_in_hdf5(path: Path) -> list[str]:
    names: list[str] = []

    def note(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            names.append(name)

    try:
        with h5py.File(path, "r") as file:
            file.visititems(note)
    except hdf5.DAMAGE as error:
        raise _damage_error(path, error) from error
    return sorted(names)


def _in_zip(path: Path, name: str, array: str, folder: Path) -> Location:
    """Locate an array of a .npz file for mapping it into memory; compressed ones are unpacked."""
    try:
        with zipfile.ZipFile(path) as archive:
            require_zip(path, archive)
            info = archive.getinfo(f"{array}.npy")
            with archive.open(info) as packed:
                shape, _, dtype = _header(packed)
                _require_size(shape, dtype, info.file_size - packed.tell())
            if info.compress_type == zipfile.ZIP_STORED:
                with archive.open(info) as packed:
                    while packed.read(1 << 20):
                        pass  # its checksum is at its end
                with path.open("rb") as file:
                    file.seek(info.header_offset + 26)  # lengths of name and extra field
                    lengths = np.frombuffer(file.read(4), "<u2")
                return Location(name, array, "", info.header_offset + 30 + int(lengths.sum()))
            target = safe_join(folder / name, f"{array}.npy", path)
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(info) as packed, target.open("wb") as file:
                shutil.copyfileobj(packed, file, 1 << 20)
            return Location(name, array, str(target))
    except DAMAGE as error:
        raise _damage_error(path, error) from error


def _describe(
    raw: RawFiles, location: Location, axes: str, shape: tuple[int, int, int]
) -> tuple[dict[str, int], str]:
    """Lengths of the axes by letter, and the type.

    Raises:
        StpError: the axes differ from the configuration.
    """
    path = raw.find(location.file)
    if location.file.lower().endswith(HDF5):
        with hdf5.open_array(path, location.array, ndim=len(axes), dtypes=tuple(STORED)) as dataset:
            sizes, dtype = tuple(dataset.shape), dataset.dtype
            _require_plain(path, dataset)
    else:
        mapped = _map_array(Path(location.unpacked) if location.unpacked else path, location.offset)
        sizes, dtype = mapped.shape, mapped.dtype
    kind = _kind(dtype)
    if len(sizes) != len(axes) or kind not in STORED:
        raise RawFileError(
            path,
            f"{location.array or 'the array'} is {kind} of shape {sizes}",
            expected=f"numbers with the {len(axes)} axes {axes}",
            remedy="change the option axes, or the files",
        )
    if 0 in sizes:
        raise RawFileError(
            path,
            f"{location.array or 'the array'} of shape {sizes} is empty",
            expected="at least one frame",
            remedy="replace it, or leave it out of the raw files",
        )
    lengths = dict(zip(axes, sizes, strict=True))
    frame = [lengths.get("C", 1), lengths["H"], lengths["W"]]
    if frame != list(shape):
        raise RawFileError(
            path,
            f"{location.array or 'the array'} of shape {sizes} with axes {axes} has frames with "
            f"C, H, W = {frame}",
            expected=f"{list(shape)}, the shape of the dataset",
            remedy="change axes (the order of the letters) or shape",
        )
    return lengths, kind


def _map_array(path: Path, offset: int) -> np.ndarray:
    """Map an array of a .npy or uncompressed .npz file into memory."""
    try:
        with path.open("rb") as file:
            file.seek(offset)
            shape, in_columns, dtype = _header(file)
            begins = file.tell()
            if not offset:
                _require_size(shape, dtype, path.stat().st_size - begins)
        if 0 in shape:  # empty arrays cannot be mapped
            return np.empty(shape, dtype)
        return np.memmap(path, dtype, "r", begins, shape, "F" if in_columns else "C")
    except DAMAGE as error:
        raise _damage_error(path, error) from error


def decode(raw: RawFiles, task: Task) -> np.ndarray:
    """Read some frames of a recording, in the type that will be stored.

    Args:
        raw: the raw files.
        task: which frames to read, and how.

    Returns:
        frames, (T, C, H, W); missing values are replaced by ``task.fill``.

    Raises:
        StpError: the file is damaged; values are missing and ``task.fill`` is None; or the type of
            the array cannot hold the fill.
    """
    location, path = task.location, raw.find(task.location.file)
    at = {"N": task.row, "T": slice(task.first, task.stop)}
    selection = tuple(at.get(letter, slice(None)) for letter in task.axes)
    chosen, stated = marks_of(task.missing), np.empty(0)
    if location.file.lower().endswith(HDF5):
        with hdf5.open_array(
            path, location.array, ndim=len(task.axes), dtypes=tuple(STORED)
        ) as dataset:
            values = hdf5.read(dataset, selection, path)
            stated = _codes_of_missing(path, dataset)
    else:
        file = Path(location.unpacked) if location.unpacked else path
        values = _map_array(file, location.offset)[selection]
    axes = task.axes.replace("N", "")
    if "C" not in axes:
        values, axes = values[..., None], f"{axes}C"
    values = values.transpose([axes.index(letter) for letter in "TCHW"])
    missing = np.isin(values, stated) | np.isin(values, _representable_codes(chosen, values.dtype))
    if values.dtype.kind == "f":
        missing |= np.isnan(values)
    if missing.any():
        problem = f"{location.array or 'the array'} has {int(missing.sum())} missing values"
        if task.fill is None:
            codes = "".join(f", {code:g}" for code in [*stated, *chosen])
            raise RawFileError(
                path,
                f"{problem} (NaN{codes}) in frames {task.first}..{task.stop - 1}",
                remedy="set the option fill to the value that replaces them",
            )
        stated_fill = np.reshape(np.asarray(task.fill), (-1, 1, 1))
        fill = stated_fill.astype(values.dtype)
        if values.dtype.kind != "f" and (fill != stated_fill).any():
            raise RawFileError(
                path,
                f"{problem}, and the option fill is {task.fill}",
                expected=f"a value that {values.dtype} can hold",
                remedy="set another fill",
            )
        values = np.where(missing, fill, values)
    kind = STORED[_kind(values.dtype)]
    with np.errstate(over="ignore"):  # infinite values are refused when they are written
        return np.ascontiguousarray(values, kind)


def _representable_codes(codes: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """The values that a type can represent, converted to this type."""
    with np.errstate(invalid="ignore", over="ignore"):
        held = codes.astype(dtype)
    return held if held.dtype.kind == "f" else held[held == codes]


def _codes_of_missing(path: Path, dataset: h5py.Dataset) -> np.ndarray:
    """The declared codes for missing values that the type of an array can represent."""
    try:
        stated = [dataset.attrs.get(key) for key in ("_FillValue", "missing_value")]
        codes = np.concatenate(
            [np.ravel(value) for value in stated if value is not None] or [np.empty(0)]
        )
        if codes.dtype.kind not in "iuf":
            return np.empty(0)
        return _representable_codes(codes, dataset.dtype)
    except hdf5.DAMAGE as error:
        raise _damage_error(path, error) from error


def _require_plain(path: Path, dataset: h5py.Dataset) -> None:
    """Refuse an array that is packed or incomplete: HDF5 reads missing chunks as zeros."""
    try:
        packing = {key: dataset.attrs.get(key) for key in ("scale_factor", "add_offset")}
        all_chunks = chunks = 0
        if dataset.chunks and not _has_own_fill(dataset):
            all_chunks = math.prod(map(math.ceil, np.divide(dataset.shape, dataset.chunks)))
            chunks = dataset.id.get_num_chunks()
    except hdf5.DAMAGE as error:
        raise _damage_error(path, error) from error
    if chunks < all_chunks:
        raise RawFileError(
            path,
            f"{all_chunks - chunks} of {all_chunks} chunks of {dataset.name.strip('/')} were never "
            "written",
            remedy="write the missing values, or shorten the array",
        )
    packing = {key: value for key, value in packing.items() if value is not None}
    plain = {"scale_factor": 1, "add_offset": 0}
    if any(np.ravel(value).tolist() != [plain[key]] for key, value in packing.items()):
        stated = ", ".join(f"{key} {np.ravel(value).tolist()}" for key, value in packing.items())
        raise RawFileError(
            path,
            f"{dataset.name.strip('/')} is packed: {stated}",
            remedy="unpack them; for a NetCDF file (.nc), kind: grids does so",
        )


def _has_own_fill(dataset: h5py.Dataset) -> bool:
    """Whether the file declares a fill value for data that were never written."""
    plist = dataset.id.get_create_plist()
    return bool(plist.fill_value_defined() == h5py.h5d.FILL_VALUE_USER_DEFINED)


def _damage_error(path: Path, error: BaseException) -> StpError:
    return RawFileError(
        path,
        f"cannot be read ({error or type(error).__name__})",
        expected="a complete file of plain numbers",
        remedy="replace it, or leave it out of the raw files",
    )
