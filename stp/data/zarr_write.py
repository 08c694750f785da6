"""Writing of the few, large arrays that stages hand to each other.

Everything is Zarr v3 without compression, in shards: a store stays below about twenty files, any
tool that knows Zarr can read it, and the bytes of a shard lie in row order, so that
``stp.data.zarr_rows`` can map them into memory. Reading 20-frame windows that way is about twenty
times faster than going through the Zarr library.
"""

from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import zarr


def create_group(path: Path | str, attrs: dict[str, Any]) -> zarr.Group:
    """Create a new Zarr v3 group.

    Args:
        path: folder to create, e.g. ``.../frames.zarr``; must not exist.
        attrs: group attributes; JSON values only.
    """
    return zarr.create_group(str(path), attributes=attrs, zarr_format=3)


def create_array(
    group: zarr.Group,
    name: str,
    shape: tuple[int, ...],
    dtype: Any,
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


class SequentialWriter:
    """Fills an array from its first row to its last, one whole shard at a time.

    Use it as a context manager, or call `close` at the end.
    """

    def __init__(self, array: zarr.Array[Any]) -> None:
        rows = array.shards[0] if array.shards else array.chunks[0]
        self.array = array
        self.written = 0
        self._buffer = np.empty((min(rows, max(array.shape[0], 1)), *array.shape[1:]), array.dtype)
        self._filled = 0

    def append(self, rows: np.ndarray) -> None:
        """Add rows, shape (any number, *array.shape[1:])."""
        assert rows.shape[1:] == self.array.shape[1:], (rows.shape, self.array.shape)
        while len(rows):
            n = min(len(rows), len(self._buffer) - self._filled)
            self._buffer[self._filled : self._filled + n] = rows[:n]
            self._filled += n
            rows = rows[n:]
            if self._filled == len(self._buffer):
                self._flush()

    def close(self) -> None:
        """Write what is left; every row of the array must have been appended by now."""
        self._flush()
        assert self.written == self.array.shape[0], (self.written, self.array.shape)

    def _flush(self) -> None:
        if self._filled:
            end = self.written + self._filled
            self.array[self.written : end] = self._buffer[: self._filled]
            self.written, self._filled = end, 0

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
