"""Write exported windows as Zarr, npz or MP4, a part at a time.

A window has the context frames that a model is given and, if exported, the frames to predict.
Shape letters: n samples, T frames, C channels, H height, W width.
"""

import zipfile
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
import zarr

from stp.data.zarr_write import SequentialWriter, create_array, create_group

FORMATS = ("zarr", "npz", "mp4")
CONTEXT = ("sample", "time", "channel", "y", "x")
TRUTH = ("sample", "lead", "channel", "y", "x")


class Coordinate:
    """Coordinates of one or several axes of exported windows, such as latitudes.

    Args:
        dims: names of the axes of ``values``, such as ``("y",)``.
        values: coordinates, numbers or text, with one dimension for each name in ``dims``.
        attrs: attributes such as units.
    """

    def __init__(self, dims: tuple[str, ...], values: np.ndarray, attrs: Mapping[str, Any]) -> None:
        self.is_text = values.dtype.kind not in "biufM"
        if self.is_text:  # text of fixed length needs no pickle
            values = np.array([str(text) for text in values.ravel()]).reshape(values.shape)
        self.values = values
        self.dims, self.attrs = dims, dict(attrs)


class Writer(Protocol):
    """Writer of exported frames: append samples in order, a few at a time, then close it."""

    def append(self, name: str, frames: np.ndarray) -> None:
        """Append the frames of further samples to an array.

        Args:
            name: name of the array: ``context`` or ``truth``.
            frames: frames of n samples, (n, T, C, H, W) with T frames and C channels each.
        """

    def close(self) -> None:
        """Complete and close the files."""


class NpyWriter:
    """Writer of one .npy file of float32, from its first row to its last.

    Args:
        path: path of the new file.
        shape: shape of the whole array, (rows, ...).
    """

    def __init__(self, path: Path, shape: tuple[int, ...]) -> None:
        self.file: BinaryIO = path.open("wb")
        header = {"descr": "<f4", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(self.file, header)  # type: ignore[no-untyped-call, unused-ignore]

    def append(self, rows: np.ndarray) -> None:
        """Append rows of the array.

        Args:
            rows: n rows, (n, ...); the other axes are those of the whole array.
        """
        self.file.write(np.ascontiguousarray(rows, "<f4").data)

    def close(self) -> None:
        """Close the file."""
        self.file.close()


class ZarrWindows:
    """Writer of ``windows.zarr``: arrays ``context`` and, if exported, ``truth``.

    Args:
        folder: folder of the export.
        shapes: shape of each array, (samples, T, C, H, W), by name: ``context``, ``truth``.
        coordinates: coordinates of the windows, by name.
        attrs: attributes of the store; ``units`` are also those of both arrays.
    """

    def __init__(
        self,
        folder: Path,
        shapes: Mapping[str, tuple[int, ...]],
        coordinates: Mapping[str, Coordinate],
        attrs: dict[str, Any],
    ) -> None:
        group = create_group(folder / "windows.zarr", attrs)
        for name, coordinate in coordinates.items():
            _write_coordinate(group, name, coordinate)
        dims = {"context": CONTEXT, "truth": TRUTH}
        self._writers = {}
        for name, shape in shapes.items():
            array = create_array(group, name, shape, np.float32, dims[name], (1, *shape[1:]))
            array.attrs["units"] = attrs["units"]
            self._writers[name] = SequentialWriter(array)

    def append(self, name: str, frames: np.ndarray) -> None:
        """Append the frames of further samples to an array.

        Args:
            name: name of the array: ``context`` or ``truth``.
            frames: frames of n samples, (n, T, C, H, W).
        """
        self._writers[name].append(frames)

    def close(self) -> None:
        """Complete and close the arrays ``context`` and ``truth``."""
        for writer in self._writers.values():
            writer.close()


class NpzWindows:
    """Writer of ``windows.npz``: arrays ``context`` and, if exported, ``truth``, uncompressed.

    Args:
        folder: folder of the export.
        shapes: shape of each array, (samples, T, C, H, W), by name: ``context``, ``truth``.
        coordinates: coordinates of the windows, by name, which become further arrays of the file.
        attrs: ignored, since the format has no attributes.
    """

    def __init__(
        self,
        folder: Path,
        shapes: Mapping[str, tuple[int, ...]],
        coordinates: Mapping[str, Coordinate],
        attrs: dict[str, Any],
    ) -> None:
        self.folder, self.coordinates = folder, coordinates
        # A zip file is written one member after the other: each array waits in a file of its own.
        self._writers = {name: NpyWriter(self._spool(name), s) for name, s in shapes.items()}

    def append(self, name: str, frames: np.ndarray) -> None:
        """Append the frames of further samples to an array.

        Args:
            name: name of the array: ``context`` or ``truth``.
            frames: frames of n samples, (n, T, C, H, W).
        """
        self._writers[name].append(frames)

    def close(self) -> None:
        """Move the arrays and their coordinates into ``windows.npz``."""
        with zipfile.ZipFile(self.folder / "windows.npz", "w", zipfile.ZIP_STORED) as archive:
            for name, writer in self._writers.items():
                writer.close()
                archive.write(self._spool(name), f"{name}.npy")
                self._spool(name).unlink()
            for name, coordinate in self.coordinates.items():
                with archive.open(f"{name}.npy", "w") as member:
                    np.lib.format.write_array(member, coordinate.values, allow_pickle=False)  # type: ignore[no-untyped-call, unused-ignore]

    def _spool(self, name: str) -> Path:
        return self.folder / f"{name}.npy"


class Mp4Windows:
    """Writer of ``context/000000.mp4``, ... and, if exported, ``truth/``: a video per sample.

    Values are rounded to 8 bits and colours converted (yuv444p, otherwise lossless), so decoded
    values differ by up to about 3/255.

    Args:
        folder: folder of the export.
        shapes: shape of each array, (samples, T, C, H, W), by name: ``context``, ``truth``. Only
            the names are used.
        rate: frames per second of the videos.
    """

    def __init__(
        self, folder: Path, shapes: Mapping[str, tuple[int, ...]], rate: Fraction = Fraction(10)
    ) -> None:
        self.folder, self.rate = folder, rate
        self._written = dict.fromkeys(shapes, 0)
        for name in shapes:
            (folder / name).mkdir()

    def append(self, name: str, frames: np.ndarray) -> None:
        """Write a video for each of n further samples.

        Args:
            name: name of the folder: ``context`` or ``truth``.
            frames: frames of the samples, brightness or colours from 0 to 1, (n, T, C, H, W).
        """
        for clip in frames:
            path = self.folder / name / f"{self._written[name]:06d}.mp4"
            _encode(path, np.rint(np.clip(clip, 0, 1) * 255).astype(np.uint8), self.rate)
            self._written[name] += 1

    def close(self) -> None:
        """Do nothing: all files are closed already."""


def _encode(path: Path, clip: np.ndarray, rate: Fraction) -> None:
    """Write uint8 frames (T, 1 or 3, H, W) as H.264."""
    import av

    pictures = np.moveaxis(np.broadcast_to(clip, (len(clip), 3, *clip.shape[2:])), 1, -1)
    with av.open(str(path), "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=rate)
        stream.height, stream.width = clip.shape[2:]
        stream.pix_fmt = "yuv444p"
        stream.options = {"qp": "0"}
        for picture in pictures:
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(picture), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


def _write_coordinate(group: zarr.Group, name: str, coordinate: Coordinate) -> None:
    shape, dims = coordinate.values.shape, coordinate.dims
    if coordinate.is_text:
        array = group.create_array(
            name, shape=shape, dtype="str", chunks=shape, dimension_names=dims
        )
    else:
        array = create_array(group, name, shape, coordinate.values.dtype, dims, shape)
    array[...] = coordinate.values
    array.attrs.update(coordinate.attrs)
