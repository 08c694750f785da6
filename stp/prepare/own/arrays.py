"""Arrays in files: .npy, .npz and HDF5, with axes in any order that is stated.

    axes: NTCHW     letters in the order of the file's axes: N recordings, T time, C channel, H, W

Arrays are read in parts: .npy and plain .npz are mapped into memory, compressed .npz are unpacked
into the state of the job.
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

from stp.core.disk import below
from stp.core.errors import StpError
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
"""The types that are read, and how each is kept; networks see float32 in any case."""
DAMAGE = (
    *(OSError, ValueError, EOFError, KeyError, TypeError, OverflowError, RuntimeError),
    *(zipfile.BadZipFile, zlib.error, SyntaxError, tokenize.TokenError),
)
"""What numpy and zipfile raise of an array file that is none."""


@dataclass(frozen=True, kw_only=True)
class ArrayOptions(Common):
    """Options for arrays.

    Attributes:
        axes: the letters of the axes in their order; N and C may be missing.
        array: name of the array in .npz and HDF5, or a pattern (``train/*``), or a list of these;
            the only one of the file unless set.
        divide_by: values in the dataset's units are those of the file divided by this: 255 makes
            bytes to 0..1.
        missing: a value or values that stand for missing ones beside those that files declare; []
            says that there is none, so that a lone value far from all others is meant.
        fill: replaces missing values (NaN), which are an error unless it is set.
        variables: names of the channels.
        fps: frames per second.
    """

    axes: str
    array: str | list[str] | None = None
    divide_by: PositiveFloat = 1.0
    missing: Any = None
    fill: float | None = None
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
        """The option `array` as a list."""
        if self.array is None:
            return []
        return self.array if isinstance(self.array, list) else [self.array]


class Place(NamedTuple):
    """Where an array lies.

    Attributes:
        file: the raw file.
        array: its name in the file; empty in .npy.
        unpacked: a file that it was unpacked into.
        offset: where its header begins in .npy and .npz.
    """

    file: str
    array: str = ""
    unpacked: str = ""
    offset: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.array}" if self.array else self.file


class Task(NamedTuple):
    """Some frames of one recording in an array."""

    place: Place
    row: int | None
    first: int
    stop: int
    axes: str
    missing: Any
    fill: float | None


def raw_contents(
    raw: RawFiles, options: ArrayOptions, shape: tuple[int, int, int], folder: Path
) -> RawContents:
    """Find the arrays and compare their axes with the dataset's shape.

    Raises:
        StpError: there is none, or one is damaged, or of another shape or type.
    """
    names = files_of(raw.names, "arrays", SUFFIXES)
    if options.variables is not None:
        ok = isinstance(options.variables, list) and len(options.variables) == shape[0]
        require(ok, "variables", options.variables, f"{shape[0]} names, one for each channel")
    recordings, places, item = [], [], 1
    types: dict[str, str] = {}
    for name in names:
        for place in _places(raw, name, options.patterns, folder):
            lengths, dtype = _describe(raw, place, options.axes, shape)
            types.setdefault(STORED[dtype], str(place))
            item = max(item, np.dtype(dtype).itemsize)
            frame = int(np.prod(shape)) * np.dtype(dtype).itemsize
            for row in range(lengths["N"]) if "N" in options.axes else [None]:
                label = str(place) if row is None else f"{place}/{row:05d}"
                read = lengths["T"] * frame
                recordings.append(Recording(label, name, lengths["T"], raw_bytes=read))
                places.append((place, row))
    if len(types) > 1:
        raise StpError(
            "arrays of different types: "
            + ", ".join(f"{place} is {kind}" for kind, place in types.items()),
            expected="one type for all of the dataset",
            remedy="convert them, or make two datasets",
        )

    def task(number: int, first: int, stop: int) -> Task:
        return Task(*places[number], first, stop, options.axes, options.missing, options.fill)

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
        unmarked=range(shape[0]) if options.missing is None and stored.kind in "if" else (),
    )


def _places(raw: RawFiles, name: str, patterns: list[str], folder: Path) -> Iterator[Place]:
    """The arrays of a file that are meant."""
    if name.lower().endswith(NUMPY):
        yield Place(name)
        return
    path = raw.find(name)
    packed = name.lower().endswith(PACKED)
    inside = _names_in_zip(path) if packed else _names_in_hdf5(path)
    chosen = [
        one
        for one in inside
        if not patterns or any(fnmatchcase(one, p.strip("/")) for p in patterns)
    ]
    if not chosen or (not patterns and len(chosen) > 1):
        what = f"no array {' or '.join(patterns)}" if patterns else f"{len(chosen)} arrays"
        raise StpError(
            f"{path}: {what}; it has {', '.join(inside[:20]) or 'none'}",
            expected="the name of one, or a pattern for several, in the option array",
            remedy="set array",
        )
    for array in chosen:
        yield _in_zip(path, name, array, folder) if packed else Place(name, array)


def contents(path: Path) -> dict[str, tuple[tuple[int, ...], str]]:
    """Shape and type of all arrays in a file, by name; nothing of them is read.

    Raises:
        StpError: the file is damaged.
    """
    name = path.name.lower()
    if name.endswith(NUMPY):
        mapped = _mapped(path, 0)
        return {"": (mapped.shape, _kind(mapped.dtype))}
    found = {}
    if name.endswith(PACKED):
        try:
            with zipfile.ZipFile(path) as archive:
                require_zip(path, archive)
                for array in _names_in_zip(path):
                    with archive.open(f"{array}.npy") as file:
                        shape, _, dtype = _header(file)
                    found[array] = (shape, _kind(dtype))
        except DAMAGE as error:
            raise _damaged(path, error) from error
        return found
    try:
        with h5py.File(path, "r") as opened:
            for array in _names_in_hdf5(path):
                dataset = opened[array]
                found[array] = (tuple(dataset.shape or ()), _kind(dataset.dtype))
    except hdf5.DAMAGE as error:
        raise _damaged(path, error) from error
    return found


def _kind(dtype: np.dtype[Any]) -> str:
    return str(dtype.newbyteorder("="))


def _header(file: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether columns come first, and type."""
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


def _require_end(shape: tuple[int, ...], dtype: np.dtype[Any], there: int) -> None:
    """Refuse an array that ends before or after what holds it, which has `there` bytes for it."""
    needed = math.prod(shape) * dtype.itemsize
    if needed != there:
        raise ValueError(f"{there} bytes where an array of {needed} should be, and nothing else")


def _names_in_zip(path: Path) -> list[str]:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except DAMAGE as error:
        raise _damaged(path, error) from error
    found = sorted(name.removesuffix(".npy") for name in names if name.endswith(".npy"))
    twice = next((one for one, after in pairwise(found) if one == after), None)
    if twice is not None:
        raise StpError(
            f"{path}: {twice}.npy is in it twice",
            expected="each array once",
            remedy="write the file again",
        )
    return found


def _names_in_hdf5(path: Path) -> list[str]:
    names: list[str] = []

    def note(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            names.append(name)

    try:
        with h5py.File(path, "r") as file:
            file.visititems(note)
    except hdf5.DAMAGE as error:
        raise _damaged(path, error) from error
    return sorted(names)


def _in_zip(path: Path, name: str, array: str, folder: Path) -> Place:
    """Where an array of a .npz file can be mapped into memory; compressed ones are unpacked."""
    try:
        with zipfile.ZipFile(path) as archive:
            require_zip(path, archive)
            info = archive.getinfo(f"{array}.npy")
            with archive.open(info) as packed:
                shape, _, dtype = _header(packed)
                _require_end(shape, dtype, info.file_size - packed.tell())
            if info.compress_type == zipfile.ZIP_STORED:
                with archive.open(info) as packed:
                    while packed.read(1 << 20):
                        pass  # its checksum is at its end
                with path.open("rb") as file:
                    file.seek(info.header_offset + 26)  # lengths of name and extra field
                    lengths = np.frombuffer(file.read(4), "<u2")
                return Place(name, array, "", info.header_offset + 30 + int(lengths.sum()))
            target = below(folder / name, f"{array}.npy", path)
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(info) as packed, target.open("wb") as file:
                shutil.copyfileobj(packed, file, 1 << 20)
            return Place(name, array, str(target))
    except DAMAGE as error:
        raise _damaged(path, error) from error


def _describe(
    raw: RawFiles, place: Place, axes: str, shape: tuple[int, int, int]
) -> tuple[dict[str, int], str]:
    """Lengths of the axes by letter, and the type.

    Raises:
        StpError: they are not what the configuration says.
    """
    path = raw.find(place.file)
    if place.file.lower().endswith(HDF5):
        with hdf5.open_array(path, place.array, ndim=len(axes), dtypes=tuple(STORED)) as dataset:
            found, dtype = tuple(dataset.shape), dataset.dtype
            _require_plain(path, dataset)
    else:
        mapped = _mapped(Path(place.unpacked) if place.unpacked else path, place.offset)
        found, dtype = mapped.shape, mapped.dtype
    kind = _kind(dtype)
    if len(found) != len(axes) or kind not in STORED:
        raise StpError(
            f"{path}: {place.array or 'the array'} is {kind} of shape {found}",
            expected=f"numbers with the {len(axes)} axes {axes}",
            remedy="change the option axes, or the files",
        )
    lengths = dict(zip(axes, found, strict=True))
    frame = [lengths.get("C", 1), lengths["H"], lengths["W"]]
    if frame != list(shape):
        raise StpError(
            f"{path}: {place.array or 'the array'} of shape {found} with axes {axes} has frames of "
            f"C, H, W = {frame}",
            expected=f"{list(shape)}, the shape of the dataset",
            remedy="change axes (the order of the letters) or shape",
        )
    return lengths, kind


def _mapped(path: Path, offset: int) -> np.ndarray:
    """An array of a .npy or plain .npz file; its values stay on the disk until they are used."""
    try:
        with path.open("rb") as file:
            file.seek(offset)
            shape, in_columns, dtype = _header(file)
            begins = file.tell()
            if not offset:
                _require_end(shape, dtype, path.stat().st_size - begins)
        if 0 in shape:  # which cannot be mapped
            return np.empty(shape, dtype)
        return np.memmap(path, dtype, "r", begins, shape, "F" if in_columns else "C")
    except DAMAGE as error:
        raise _damaged(path, error) from error


def decode(raw: RawFiles, task: Task) -> np.ndarray:
    """Some frames, (T, C, H, W), in the type that is stored.

    Raises:
        StpError: the file is damaged, or values are missing.
    """
    place, path = task.place, raw.find(task.place.file)
    at = {"N": task.row, "T": slice(task.first, task.stop)}
    selection = tuple(at.get(letter, slice(None)) for letter in task.axes)
    chosen, stated = marks_of(task.missing), np.empty(0)
    if place.file.lower().endswith(HDF5):
        with hdf5.open_array(
            path, place.array, ndim=len(task.axes), dtypes=tuple(STORED)
        ) as dataset:
            values = hdf5.read(dataset, selection, path)
            stated = _marks_of_missing(path, dataset)
    else:
        values = _mapped(Path(place.unpacked) if place.unpacked else path, place.offset)[selection]
    left = task.axes.replace("N", "")
    if "C" not in left:
        values, left = values[..., None], f"{left}C"
    values = values.transpose([left.index(letter) for letter in "TCHW"])
    missing = np.isin(values, stated) | np.isin(values, _held(chosen, values.dtype))
    if values.dtype.kind == "f":
        missing |= np.isnan(values)
    if missing.any():
        what = f"{path}: {place.array or 'the array'} has {int(missing.sum())} missing values"
        if task.fill is None:
            raise StpError(
                f"{what} (NaN{''.join(f', {mark:g}' for mark in [*stated, *chosen])}) in frames "
                f"{task.first}..{task.stop - 1}",
                expected="numbers everywhere",
                remedy="set the option fill to the value that stands for them",
            )
        fill = np.array(task.fill).astype(values.dtype)
        if values.dtype.kind != "f" and fill != task.fill:
            raise StpError(
                f"{what}, which the option fill makes {task.fill:g}",
                expected=f"a value that {values.dtype} can hold",
                remedy="set another fill",
            )
        values = np.where(missing, fill, values)
    kind = STORED[_kind(values.dtype)]
    with np.errstate(over="ignore"):  # infinite values are refused when they are written
        return np.ascontiguousarray(values, kind)


def _held(marks: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """Those of some values that a type can hold."""
    with np.errstate(invalid="ignore", over="ignore"):
        held = marks.astype(dtype)
    return held if held.dtype.kind == "f" else held[held == marks]


def _marks_of_missing(path: Path, dataset: h5py.Dataset) -> np.ndarray:
    """The values that stand for missing ones, as far as the type of an array can hold them."""
    try:
        stated = [dataset.attrs.get(key) for key in ("_FillValue", "missing_value")]
        marks = np.concatenate(
            [np.ravel(one) for one in stated if one is not None] or [np.empty(0)]
        )
        if marks.dtype.kind not in "iuf":
            return np.empty(0)
        return _held(marks, dataset.dtype)
    except hdf5.DAMAGE as error:
        raise _damaged(path, error) from error


def _require_plain(path: Path, dataset: h5py.Dataset) -> None:
    """Refuse an array that is packed, or was not written to its end: HDF5 gives zeros for that."""
    try:
        packing = {key: dataset.attrs.get(key) for key in ("scale_factor", "add_offset")}
        all_chunks = chunks = 0
        if dataset.chunks and not _has_own_fill(dataset):
            all_chunks = math.prod(map(math.ceil, np.divide(dataset.shape, dataset.chunks)))
            chunks = dataset.id.get_num_chunks()
    except hdf5.DAMAGE as error:
        raise _damaged(path, error) from error
    if chunks < all_chunks:
        raise StpError(
            f"{path}: {all_chunks - chunks} of {all_chunks} chunks of {dataset.name.strip('/')} "
            "were never written",
            expected="an array that is complete",
            remedy="write the values that are missing, or cut them off",
        )
    packing = {key: value for key, value in packing.items() if value is not None}
    plain = {"scale_factor": 1, "add_offset": 0}
    if any(np.ravel(value).tolist() != [plain[key]] for key, value in packing.items()):
        stated = ", ".join(f"{key} {np.ravel(value).tolist()}" for key, value in packing.items())
        raise StpError(
            f"{path}: {dataset.name.strip('/')} is packed: {stated}",
            expected="the values themselves",
            remedy="unpack them; or use kind: grids, which does, if it is a NetCDF file (.nc)",
        )


def _has_own_fill(dataset: h5py.Dataset) -> bool:
    """Whether its author said what stands where nothing was written."""
    plist = dataset.id.get_create_plist()
    return bool(plist.fill_value_defined() == h5py.h5d.FILL_VALUE_USER_DEFINED)


def _damaged(path: Path, error: BaseException) -> StpError:
    return StpError(
        f"{path}: cannot be read ({error or type(error).__name__})",
        expected="a complete file of plain numbers",
        remedy="replace it, or leave it out of the raw files",
    )
