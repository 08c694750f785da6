"""Write the large arrays that stages exchange.

They are Zarr v3 without compression, in shards: a store has fewer than about twenty files, any Zarr
reader can open it, and the data of a shard are in row order, so that ``stp.data.zarr_rows`` can map
them into memory. Windows of 20 frames are read about twenty times faster than by the Zarr library.
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
        path: new folder, e.g. ``.../frames.zarr``.
        attrs: attributes of the group, JSON values.
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
        group: group of the array.
        name: name of the array.
        shape: shape of the array.
        dtype: NumPy type.
        dims: name of each axis; within a group, axes of one name have one length.
        chunk: shape of a chunk, the smallest part that can be read. ``stp.data.zarr_rows`` reads
            arrays whose chunks are divided along the first axis only.
        max_files: maximum number of shards.

    Returns:
        the array. Write to it in multiples of ``array.shards[0]`` rows or with `SequentialWriter`,
        since each partial write reads and writes the whole shard.
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
        # Without the chunks of zeros, rows would lie elsewhere than expected.
        config={"write_empty_chunks": True},
    )


class RowWriter:
    """Writes rows of an array made by `create_array`, in any order and from any process.

    The position of every chunk in its shard is known beforehand. So files are created as a whole,
    with their indices, and rows are written in place, without a shard in memory. Rows that have not
    been written are zero.

    Args:
        array: array whose chunks are divided along the first axis only.
        create: whether to create the shard files; False in further processes.
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
        """Write rows, shape (n, *array.shape[1:]), at ``start``..start+n-1."""
        stop = start + len(rows)
        assert rows.shape[1:] == self.array.shape[1:], (rows.shape, self.array.shape)
        assert 0 <= start <= stop <= self.array.shape[0], (start, stop, self.array.shape)
        values = np.ascontiguousarray(rows, self.array.dtype)
        while start < stop:
            shard, row = divmod(start, self._shard_rows)
            n = min(stop - start, self._shard_rows - row)
            part = values[len(values) - (stop - start) :][:n].data.cast("B")
            position = row * self._row_bytes
            while len(part):  # a write may be partial
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
        index = np.full((slots, 2), 2**64 - 1, "<u8")  # mark of an absent chunk
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
    """Context manager that writes the rows of an array in order, from the first to the last.

    For example::

        with SequentialWriter(array) as writer:
            for rows in batches:
                writer.append(rows)

    All rows have to be appended before the end of the block.

    Args:
        array: array made by `create_array`, divided into chunks along the first axis only.
    """

    def __init__(self, array: zarr.Array[Any]) -> None:
        self.array = array
        self.written = 0
        self._rows = RowWriter(array)

    def append(self, rows: np.ndarray) -> None:
        """Add rows, shape (n, *array.shape[1:])."""
        self._rows.write(self.written, rows)
        self.written += len(rows)

    def close(self) -> None:
        """Close the files, after all rows of the array have been appended."""
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
