"""Read a submission, a folder with predictions that were made elsewhere.

It has `windows.json`, `index.csv`, and predictions in one of several forms.
"""

import json
import zipfile
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import pandas as pd
import zarr
from pydantic import (
    BaseModel,
    ConfigDict,
    NonNegativeInt,
    PositiveInt,
    ValidationError,
    field_validator,
    model_validator,
)

from stp.core.disk import require_regular
from stp.core.errors import FileError, suggest_name
from stp.core.json_files import read_json
from stp.core.limits import require_zip
from stp.data.zarr_codecs import check_codecs
from stp.external.evaluation import Evaluation
from stp.external.windows import DESCRIPTION, INDEX, VERSION
from stp.plan.setting import current_name, setting_of
from stp.predict.windows import windows_checksum
from stp.prepare.own.arrays import DAMAGE

SAMPLE = "sample"
"""Name of the array of sample numbers beside predictions."""
FORMS = ("predictions.zarr", "predictions.npz", "predictions.npy", "predictions")
ZARR_DAMAGE = (*DAMAGE, AttributeError, MemoryError, SystemError)
"""Errors that Zarr raises for a damaged store."""
AGAIN = "copy or write it again"
EXPORT_AGAIN = "export the windows again (`stp external windows`), and predict those"


class _ChannelValues(BaseModel):
    model_config = ConfigDict(strict=True)

    low: list[float]
    high: list[float]
    mean: list[float]
    std: list[float]


class _Description(BaseModel):
    """The keys of `windows.json` that this module reads; other keys are for human readers."""

    model_config = ConfigDict(strict=True)

    format: Literal[1]
    shape: tuple[PositiveInt, PositiveInt, PositiveInt]
    context: NonNegativeInt
    horizon: PositiveInt
    samples: PositiveInt
    units: str
    values: _ChannelValues
    data: dict[str, Any]
    evaluation: Evaluation
    index_sha256: str
    variables: list[str] | None = None
    normalisation: dict[str, Any] | None = None

    @field_validator("evaluation")
    @classmethod
    def _check_setting(cls, evaluation: Evaluation) -> Evaluation:
        setting_of(evaluation.setting)
        return evaluation._replace(setting=current_name(evaluation.setting))

    @model_validator(mode="after")
    def _check_channels(self) -> "_Description":
        channels = self.shape[0]
        lists = {f"values.{key}": value for key, value in self.values}
        lists["variables"] = self.variables or [""] * channels
        for name, values in lists.items():
            if len(values) != channels:
                raise ValueError(f"{name} has {len(values)} entries for {channels} channels")
        for key in {"offset", "scale"} & set(self.normalisation or {}):
            values = np.asarray((self.normalisation or {})[key])
            if values.dtype.kind not in "if" or values.size not in (1, channels):
                raise ValueError(f"normalisation.{key} is not a number for each channel")
        return self


class ExportedWindows(NamedTuple):
    """The windows (context frames of samples) that a submission was made from.

    Attributes:
        evaluation: the planned test to which the windows belong: datasets, subset and horizon.
        description: content of `windows.json`.
        clips: name of the clip of each sample.
        checksums: checksum of the context frames of each sample, by which it is verified that the
            windows are those of the prepared data (`stp.predict.windows.window_checksum`).
        order: index of the sample in each row of `index.csv`, whose rows may be in any order.
    """

    evaluation: Evaluation
    description: dict[str, Any]
    clips: list[str]
    checksums: list[str]
    order: list[int]

    def name(self, sample: int) -> str:
        """Text with the index and clip of a sample, for messages."""
        return f"sample {sample} ({self.clips[sample]})"


def read_windows(folder: Path) -> ExportedWindows:
    """Read which windows (clips to forecast) a submission has predictions for.

    Args:
        folder: folder of the submission.

    Raises:
        StpError: a file is missing or damaged, a sample is missing or repeated, or the index does
            not match `windows.json`.
    """
    path = require_regular(folder / DESCRIPTION)
    expected = f"the file that `stp external windows` wrote beside the windows, of format {VERSION}"
    remedy = "copy it into the folder, as it was; or export the windows again"
    description: dict[str, Any] = read_json(path, dict, expected, remedy)
    try:
        # As JSON, which has lists for tuples.
        checked = _Description.model_validate_json(json.dumps(description))
    except ValidationError as error:
        problem = error.errors()[0]
        key = ".".join(map(str, problem["loc"])) or "the whole file"
        raise FileError(
            path, f"{key}: {problem['msg']}", expected=expected, remedy=remedy
        ) from None
    index = _read_index(require_regular(folder / INDEX))
    order = index["sample"].tolist()
    names = dict(zip(order, index["clip"], strict=True))
    require_complete(folder / INDEX, order, checked.samples, names)
    by_sample = index.sort_values("sample")
    clips, checksums = by_sample["clip"].tolist(), by_sample["window"].tolist()
    if windows_checksum(zip(clips, checksums, strict=True)) != checked.index_sha256:
        raise FileError(
            folder / INDEX,
            f"not the index of {path}",
            remedy="copy both files from one export; rows may be in another order",
        )
    return ExportedWindows(checked.evaluation, description, clips, checksums, order)


def _read_index(path: Path) -> pd.DataFrame:
    try:
        index = pd.read_csv(path, dtype=str, keep_default_na=False)
        table = index[["sample", "clip", "window"]].astype({"sample": np.int64})
    except (OSError, ValueError, KeyError) as error:
        problem = "missing" if isinstance(error, FileNotFoundError) else str(error)
        expected = "the table that `stp external windows` wrote, in the order of the predictions"
        raise FileError(path, problem, expected=expected) from error
    return table


def require_complete(where: Path, samples: list[int], count: int, clips: Mapping[int, str]) -> None:
    """Require that a submission has every sample exactly once.

    Args:
        where: file or folder, for messages.
        samples: indices of samples in any order.
        count: required number of samples.
        clips: names of the clips of samples; may be empty.

    Raises:
        StpError: a sample is missing, unknown or repeated; the message names the first.
    """

    def name(sample: int) -> str:
        return f"sample {sample} ({clips[sample]})" if sample in clips else f"sample {sample}"

    expected = f"each of the samples 0 to {count - 1} once"
    if missing := sorted(set(range(count)) - set(samples)):
        more = f", and {len(missing) - 1} more" if len(missing) > 1 else ""
        remedy = "predict each window of index.csv"
        raise FileError(
            where, f"{name(missing[0])} is missing{more}", expected=expected, remedy=remedy
        )
    known: set[int] = set()
    for row, sample in enumerate(samples):
        if sample in known or not 0 <= sample < count:
            problem = "repeated" if sample in known else "unknown"
            raise FileError(where, f"row {row} is {name(sample)}, {problem}", expected=expected)
        known.add(sample)


class Source(Protocol):
    """Stored predictions, read a few rows at a time.

    Attributes:
        path: path of the file or folder, for messages.
        shape: shape of the array, (rows, [member,] lead, channel, y, x).
        dtype: stored type.
        samples: index of the sample of each row; None if the predictions do not state it, so that
            their rows are in the order of `index.csv`.
        dims: names of the dimensions, e.g. ``("sample", "lead", "channel", "y", "x")``; empty if
            the file does not name them.
        coordinates: arrays beside the predictions, by name, with the coordinates of an axis, e.g.
            ``lat``.
    """

    path: Path
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    samples: list[int] | None
    dims: tuple[str, ...]
    coordinates: Mapping[str, np.ndarray]

    def read(self, rows: list[int]) -> np.ndarray:
        """Read n rows by index, (n, [member,] lead, channel, y, x)."""


class ArraySource:
    """Predictions in one array: a memory-mapped .npy or .npz file, or (`ZarrSource`) a Zarr array.

    The attributes are those of `Source`. ``dims`` is empty, since NumPy files do not name
    dimensions; `ZarrSource` sets it.

    Args:
        path: path of the file or folder, for messages.
        array: the array, (rows, [member,] lead, channel, y, x).
        beside: further arrays of the file, by name: coordinates, and ``sample`` (index of the
            sample of each row); None for none.
    """

    dims: tuple[str, ...] = ()

    def __init__(
        self, path: Path, array: Any, beside: Mapping[str, np.ndarray] | None = None
    ) -> None:
        self.path, self._array = path, array
        self.shape, self.dtype = tuple(array.shape), np.dtype(array.dtype)
        self.coordinates: Mapping[str, np.ndarray] = beside or {}
        samples = self.coordinates.get(SAMPLE)
        self.samples = None if samples is None else _sample_indices(path, samples)

    def read(self, rows: list[int]) -> np.ndarray:
        """Read rows by index; consecutive rows are read at once."""
        if rows == list(range(rows[0], rows[-1] + 1)):
            return np.asarray(self._array[rows[0] : rows[-1] + 1])
        return np.stack([np.asarray(self._array[row]) for row in rows])


class FileSource:
    """Predictions in one .npy file for each sample, named by the index or the clip of the sample.

    The attributes are those of `Source`. ``dims`` is empty: .npy files do not name dimensions.

    Args:
        folder: folder of the files, ``predictions`` in the folder of the submission.
        windows: windows that were predicted.

    Raises:
        StpError: a file is missing, repeated or damaged.
    """

    dims: tuple[str, ...] = ()

    def __init__(self, folder: Path, windows: ExportedWindows) -> None:
        self.path, self._windows = folder, windows
        self.coordinates: Mapping[str, np.ndarray] = {}
        clips = windows.clips
        sample_of = {clip: sample for sample, clip in enumerate(clips)}
        self._files: dict[int, Path] = {}
        for path in map(require_regular, sorted(folder.rglob("*.npy"))):
            name = path.relative_to(folder).as_posix().removesuffix(".npy")
            samples = {int(name)} if name.isdecimal() else set()
            samples |= {sample_of[name]} if name in sample_of else set()
            for sample in sorted(samples):
                other = self._files.setdefault(sample, path)
                if len(samples) > 1 or other != path:
                    also = f"or {max(samples)}" if len(samples) > 1 else f"as is {other.name}"
                    raise FileError(
                        path,
                        f"sample {sample}, {also}",
                        expected="one file for each sample, by its number or its clip",
                    )
        require_complete(folder, sorted(self._files), len(clips), dict(enumerate(clips)))
        first = self._load(0)
        self.shape, self.dtype = (len(clips), *first.shape), first.dtype
        self.samples: list[int] | None = list(range(len(clips)))

    def read(self, rows: list[int]) -> np.ndarray:
        """Read the predictions of samples, given by their indices."""
        return np.stack([self._load(row) for row in rows])

    def _load(self, sample: int) -> np.ndarray:
        path = require_regular(self._files[sample])
        try:
            values = np.load(path, allow_pickle=False)
        except DAMAGE as error:
            problem = f"{self._windows.name(sample)} cannot be read ({error})"
            raise FileError(path, problem, remedy=AGAIN) from error
        shape = getattr(self, "shape", (0, *values.shape))[1:]
        if values.shape != shape:
            problem = f"{self._windows.name(sample)} has shape {values.shape}"
            raise FileError(path, problem, expected=f"{shape}, as sample 0")
        return np.asarray(values)


def open_source(
    folder: Path, windows: ExportedWindows, spool: Path, coordinates: Collection[str] = ()
) -> Source:
    """Open the predictions of a submission.

    Args:
        folder: folder of the submission.
        windows: windows that were predicted.
        spool: folder for unpacked files.
        coordinates: names of the arrays of coordinates along the axes of the predictions to read,
            e.g. ``{"lead", "lat", "latitude"}``. Names that the file lacks are ignored; .npy files
            have none of them.

    Raises:
        StpError: predictions are missing, damaged, or present in several forms.
    """
    forms = [name for name in FORMS if (folder / name).exists()]
    if len(forms) != 1:
        raise FileError(
            folder, " and ".join(forms) or "no predictions", expected=f"one of {', '.join(FORMS)}"
        )
    path = require_regular(folder / forms[0])
    if path.suffix == ".zarr":
        return _zarr_source(path, {SAMPLE, *coordinates})
    if path.suffix == ".npy":
        return ArraySource(path, _map(path, path))
    if path.suffix == ".npz":
        return _npz_source(path, spool, {SAMPLE, *coordinates})
    return FileSource(path, windows)


def _npz_source(path: Path, spool: Path, beside: set[str]) -> Source:
    try:
        with zipfile.ZipFile(path) as archive:
            require_zip(path, archive)
            names = archive.namelist()
            if len(set(names)) < len(names):
                twice = next(name for name in names if names.count(name) > 1)
                raise FileError(path, f"{twice} is repeated", remedy=AGAIN)
            if "predictions.npy" not in names:
                raise _no_array(path, [name.removesuffix(".npy") for name in names])
            # An unpacked file can be mapped, and read a part at a time.
            archive.extract("predictions.npy", spool)
            arrays = {}
            for name in sorted(beside & {name.removesuffix(".npy") for name in names}):
                with archive.open(f"{name}.npy") as member:
                    arrays[name] = np.lib.format.read_array(member, allow_pickle=False)  # type: ignore[no-untyped-call, unused-ignore]
    except (*DAMAGE, MemoryError) as error:
        raise FileError(path, f"cannot be read ({error})", remedy=AGAIN) from error
    return ArraySource(path, _map(spool / "predictions.npy", path), arrays)


def _no_array(path: Path, arrays: Iterable[str]) -> FileError:
    return FileError(
        path, "no array called predictions", remedy=suggest_name("predictions", arrays)
    )


def _map(path: Path, original: Path) -> np.ndarray:
    try:
        return np.asanyarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except DAMAGE as error:
        raise FileError(original, f"cannot be read ({error})", remedy=AGAIN) from error


class ZarrSource(ArraySource):
    """Predictions in a Zarr array, with a check for chunks that are missing in the store.

    Zarr reads missing chunks as fill values, such as zeros. The attributes are those of `Source`.
    ``dims`` has the names that Zarr 3 or xarray wrote.

    Args:
        path: path of the store, for messages.
        array: the array, (rows, [member,] lead, channel, y, x).
        beside: further arrays of the store, by name: coordinates, and ``sample`` (index of the
            sample of each row).
    """

    def __init__(
        self, path: Path, array: zarr.Array[Any], beside: Mapping[str, np.ndarray]
    ) -> None:
        super().__init__(path, array, beside)
        self.dims = _dims(array)
        self.is_whole = array.nchunks_initialized >= array.nchunks
        self._fill = array.fill_value

    def holes(self, values: np.ndarray) -> np.ndarray:
        """Find samples that have a frame of fill values only, as from missing chunks.

        Args:
            values: predictions of n samples, (n, [member,] lead, channel, y, x).

        Returns:
            whether each sample has such a frame, bool (n,); always False if no chunk is missing.
        """
        if self.is_whole:
            return np.zeros(len(values), bool)
        pictures = (values == self._fill).reshape(len(values), -1, *values.shape[-2:])
        return np.asarray(pictures.all(axis=(-1, -2)).any(axis=1))


def _dims(array: zarr.Array[Any]) -> tuple[str, ...]:
    """Names of the dimensions, as Zarr 3 or xarray write them; empty if one lacks a name."""
    names = getattr(array.metadata, "dimension_names", None) or array.attrs.get("_ARRAY_DIMENSIONS")
    return tuple(map(str, names)) if isinstance(names, list | tuple) and all(names) else ()


def _zarr_source(path: Path, beside: set[str]) -> Source:
    check_codecs(path)
    try:
        stored = zarr.open(str(path), mode="r", use_consolidated=False)
        array, arrays = stored, {}
        if isinstance(stored, zarr.Group):
            if "predictions" not in stored:
                raise _no_array(path, stored.array_keys())
            array = stored["predictions"]
            arrays = {
                name: np.asarray(stored[name][...])  # type: ignore[index]
                for name in sorted(beside & set(stored.array_keys()))
            }
        if not isinstance(array, zarr.Array):
            raise ValueError("predictions is a group")
        return ZarrSource(path, array, arrays)
    except ZARR_DAMAGE as error:
        raise FileError(path, f"cannot be read ({error})", remedy=AGAIN) from error


def _sample_indices(path: Path, samples: Any) -> list[int]:
    values = np.asarray(samples)
    if values.ndim != 1 or values.dtype.kind not in "iu":
        raise FileError(
            path,
            f"array sample is {values.dtype} of shape {values.shape}",
            expected="one whole number for each row of predictions",
        )
    return [int(value) for value in values]


def check_form(source: Source, windows: ExportedWindows) -> int:
    """Require predictions of the shape and type that the evaluation needs.

    Args:
        source: the predictions.
        windows: windows that were predicted.

    Returns:
        number of members (forecasts of one sample).

    Raises:
        StpError: shape or type is wrong; the message names the likely mistake.
    """
    description = windows.description
    channels, height, width = description["shape"]
    leads, count = description["horizon"], description["samples"]
    of_sample = (leads, channels, height, width)
    shape, path = source.shape, source.path
    remedy = "write sample, lead, channel, y, x"
    if len(shape) in (5, 6) and shape[-4:] == of_sample:
        if shape[0] != count:
            raise FileError(
                path,
                f"{shape[0]} samples, and no array `sample` that says which windows they are of",
                expected=f"{count}, one for each row of index.csv, in its order",
                remedy="predict each window once",
            )
        if source.dtype.kind != "f":
            raise FileError(
                path,
                f"numbers are {source.dtype}",
                expected=f"floating point numbers in units {description['units']!r}",
                remedy="divide by 255, if they are 0..255" if source.dtype == np.uint8 else "",
            )
        return shape[1] if len(shape) == 6 else 1
    tail = shape[-4:]
    if len(shape) >= 5 and tail == (leads, height, width, channels):
        remedy = "channels are last: np.moveaxis(predictions, -1, -3)"
    elif len(shape) >= 5 and tail == (channels, leads, height, width):
        remedy = "leads come before channels: np.swapaxes(predictions, -4, -3)"
    elif shape[:2] == (leads, count) and shape[-3:] == of_sample[1:]:
        remedy = "lead times come before samples: np.swapaxes(predictions, 0, 1)"
    elif channels == 1 and shape[-3:] == (leads, height, width):
        remedy = "the axis of the only channel is missing: predictions[..., None, :, :]"
    elif len(shape) >= 5 and tail[1:] == of_sample[1:]:
        remedy = f"predict {leads} lead times, no context frames among them"
    raise FileError(
        path,
        f"predictions have shape {shape}, {windows.name(windows.order[0])} {shape[1:]}",
        expected=f"({count}, {', '.join(map(str, of_sample))}): sample, lead, channel, y, x; or "
        "with members after the samples",
        remedy=remedy,
    )
