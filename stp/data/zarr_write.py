"""Writing of the few, large arrays that stages hand to each other.

Everything is Zarr v3 without compression, in shards: a store stays below about twenty files, any
tool that knows Zarr can read it, and the bytes of a shard lie in row order, so that
``stp.data.zarr_rows`` can map them into memory. Reading 20-frame windows that way is about twenty
times faster than going through the Zarr library.
"""

import math
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import google_crc32c
import numpy as np
import zarr
from numpy.typing import DTypeLike


def create_group(path: Path | str, attrs: Mapping[str, Any]) -> zarr.Group:
    """Create a new Zarr v3 group.

    Args:
        path: folder to create, e.g. ``.../frames.zarr``; must not exist.
        attrs: group attributes; JSON values only.
    """
    return zarr.create_group(str(path), attributes=dict(attrs), zarr_format=3)


def create_array(
    group: zarr.Group,
    name: str,
    shape: tuple[int, ...],
    dtype: DTypeLike,
    dims: tuple[str, ...],
    chunk: tuple[int, ...],
    *,
    max_files: int = 16,
) -> zarr.Array[Any]:
    """Create an empty array that is sharded along its first axis.

    Args:
        group: where the array is put.
        name: its name.
        shape: its shape; every length is known beforehand.
        dtype: any NumPy type.
        dims: one dimension name per axis, as xarray shows them. Within a group a name has one
            length.
        chunk: what one read needs. Where all axes but the first are whole, the array can be read
            with ``stp.data.zarr_rows``.
        max_files: at most this many shards.

    Returns:
        The array. Write to it in multiples of ``array.shards[0]`` rows (or with
        `SequentialWriter`): a shard that is written in pieces is read and written again each time.
    """
    chunk = tuple(max(1, min(c, n)) for c, n in zip(chunk, shape, strict=True))
    chunks_in_all = -(-shape[0] // chunk[0])
    chunks_per_shard = max(1, -(-chunks_in_all // max_files))
    whole = tuple(max(1, -(-n // c)) * c for n, c in zip(shape[1:], chunk[1:], strict=True))
    return group.create_array(
        name,
        shape=shape,
        dtype=np.dtype(dtype),
        chunks=chunk,
        shards=(chunks_per_shard * chunk[0], *whole),
        compressors=None,
        filters=None,
        fill_value=0,
        dimension_names=dims,
        # Chunks of zeros must be in the file as well, or rows would not lie where expected.
        config={"write_empty_chunks": True},
    )


class RowWriter:
    """Writes rows of an array made by `create_array` at any place, in any order, from any process.

    Where every chunk of a shard will lie is known beforehand. So the files are created whole, with
    their indices, and rows are put straight where they belong: no shard is ever held in memory.
    Until all rows are written the others are zero.

    Args:
        array: all axes but the first must be whole in a chunk.
        create: make the shard files; other processes then open them with ``create=False``.
    """

    def __init__(self, array: zarr.Array[Any], *, create: bool = True) -> None:
        assert array.shards is not None and array.chunks[1:] == tuple(
            max(1, n) for n in array.shape[1:]
        ), (array.shards, array.chunks, array.shape)
        self.array = array
        self._row_bytes = math.prod(array.shape[1:]) * array.dtype.itemsize
        self._shard_rows = array.shards[0]
        folder = Path(str(array.store_path).removeprefix("file://"))
        count = -(-array.shape[0] // self._shard_rows)
        tail = ["0"] * (len(array.shape) - 1)
        self._paths = [folder.joinpath("c", str(i), *tail) for i in range(count)]
        if create:
            for i, path in enumerate(self._paths):
                self._create(path, min(array.shape[0] - i * self._shard_rows, self._shard_rows))
        self._files = [os.open(path, os.O_WRONLY) for path in self._paths]

    def write(self, start: int, rows: np.ndarray) -> None:
        """Put rows, shape (any number, *array.shape[1:]), at ``start`` and the places after it."""
        stop = start + len(rows)
        assert rows.shape[1:] == self.array.shape[1:], (rows.shape, self.array.shape)
        assert 0 <= start <= stop <= self.array.shape[0], (start, stop, self.array.shape)
        values = np.ascontiguousarray(rows, self.array.dtype)
        while start < stop:
            shard, row = divmod(start, self._shard_rows)
            n = min(stop - start, self._shard_rows - row)
            part = values[len(values) - (stop - start) :][:n].data.cast("B")
            position = row * self._row_bytes
            while len(part):  # the system may write less than it is asked to
                written = os.pwrite(self._files[shard], part, position)
                part, position = part[written:], position + written
            start += n

    def close(self) -> None:
        """Close the files."""
        while self._files:
            os.close(self._files.pop())

    def _create(self, path: Path, rows: int) -> None:
        chunks, slots = -(-rows // self.array.chunks[0]), self._shard_rows // self.array.chunks[0]
        chunk_bytes = self.array.chunks[0] * self._row_bytes
        index = np.full((slots, 2), 2**64 - 1, "<u8")  # what the specification says of no chunk
        index[:chunks, 0] = np.arange(chunks, dtype=np.uint64) * np.uint64(chunk_bytes)
        index[:chunks, 1] = chunk_bytes
        content = index.tobytes()
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            file.truncate(chunks * chunk_bytes)
            file.seek(chunks * chunk_bytes)
            file.write(content + struct.pack("<I", google_crc32c.value(content)))

    def __enter__(self) -> "RowWriter":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class SequentialWriter:
    """Fills an array from its first row to its last.

    Use it as a context manager, or call `close` at the end.
    """

    def __init__(self, array: zarr.Array[Any]) -> None:
        self.array = array
        self.written = 0
        self._rows = RowWriter(array)

    def append(self, rows: np.ndarray) -> None:
        """Add rows, shape (any number, *array.shape[1:])."""
        self._rows.write(self.written, rows)
        self.written += len(rows)

    def close(self) -> None:
        """Close the files; every row of the array must have been appended by now."""
        self._rows.close()
        assert self.written == self.array.shape[0], (self.written, self.array.shape)

    def __enter__(self) -> "SequentialWriter":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
        else:
            self._rows.close()
