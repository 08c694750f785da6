"""Rows of arrays written by ``stp.data.zarr_write``, read by mapping shards into memory.

A shard file holds its inner chunks one after the other, followed by an index of (offset, bytes)
pairs, two little-endian u64 per chunk, and a CRC-32C of that index (Zarr v3 specification,
"sharding_indexed" codec). Without compression, and with only the first axis divided, the rows of a
shard are therefore one contiguous block, which the operating system can map. No Zarr code runs, so
processes may be forked at any time.

Each `MappedRows` compares a chunk with its checksum (``stp.data.chunk_sums``) at its first access,
so a store of any size opens at once.
"""

import contextlib
from pathlib import Path
from typing import Any

import numpy as np

from stp.core.errors import ArtefactError, StpError
from stp.core.json_files import read_json
from stp.data import chunk_sums
from stp.data.receipt_checksums import check_recorded


class MappedRows:
    """The rows (first axis) of one Zarr array, read by memory mapping.

    Args:
        folder: folder of the array inside its group, e.g. ``frames.zarr/frames``.

    Raises:
        StpError: the array is missing or incomplete, or cannot be memory-mapped (`is_mapped`).
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        meta = read_metadata(self.folder, "array")
        self.shape: tuple[int, ...] = tuple(meta["shape"])
        self.dims: tuple[str, ...] = tuple(meta.get("dimension_names") or ())
        if not is_mapped(meta):
            raise ArtefactError(
                self.folder,
                "the array is stored in another layout",
                expected="uncompressed shards, divided along the first axis only",
            )
        self.dtype = np.dtype(meta["data_type"])
        self._shard_rows = meta["chunk_grid"]["configuration"]["chunk_shape"][0]
        self._chunk_rows = meta["codecs"][0]["configuration"]["chunk_shape"][0]
        self._row_bytes = int(np.prod(self.shape[1:], dtype=np.int64)) * self.dtype.itemsize
        self._check_files()
        self._maps: list[np.ndarray] | None = None
        self._sums: np.ndarray | None = None
        self._unchecked = bytearray()

    def __len__(self) -> int:
        return self.shape[0]

    def read(self, start: int, stop: int) -> np.ndarray:
        """Read consecutive rows, and verify their checksums at the first access.

        Args:
            start: index of the first row, from 0.
            stop: index after the last row.

        Returns:
            the rows, (stop - start, ...). If they lie in one file, this is a read-only view of the
            file rather than a copy.

        Raises:
            IndexError: the range is outside the array.
            StpError: the data differ from their checksums.
        """
        if not 0 <= start <= stop <= len(self):
            raise IndexError(f"rows {start}:{stop} of {len(self)} in {self.folder}")
        if self._maps is None:
            self._open()
        assert self._maps is not None
        chunks = start // self._chunk_rows, -(-stop // self._chunk_rows)
        if self._unchecked.find(1, *chunks) >= 0:
            self._check_chunks(*chunks)
        first, last = start // self._shard_rows, max(start, stop - 1) // self._shard_rows
        if first == last and start < stop:
            base = first * self._shard_rows
            return self._maps[first][start - base : stop - base]
        pieces = [
            self._maps[i][max(0, start - i * self._shard_rows) : stop - i * self._shard_rows]
            for i in range(first, last + 1)
            if start < stop
        ]
        return np.concatenate(pieces) if pieces else np.empty((0, *self.shape[1:]), self.dtype)

    def seal(self) -> None:
        """Compute the checksums of all chunks, and write them to the array's file ``crc32c``."""
        self._maps = [self._map(i) for i in range(self._shard_count())]
        sums = [chunk_sums.crc32c(self._chunk(i)) for i in range(self._chunk_count())]
        np.array(sums, "<u4").tofile(self.folder / chunk_sums.NAME)

    def _open(self) -> None:
        self._maps = [self._map(i) for i in range(self._shard_count())]
        self._sums = chunk_sums.read(self.folder)
        # Checksums are written when the artefact is finished; its own job may read it earlier.
        if self._sums is None:
            return
        if len(self._sums) != self._chunk_count():
            raise ArtefactError(
                self.folder / chunk_sums.NAME,
                f"{len(self._sums)} checksums",
                expected=f"{self._chunk_count()}, one for each chunk",
            )
        self._unchecked = bytearray(b"\1" * self._chunk_count())

    def _check_chunks(self, first: int, end: int) -> None:
        assert self._sums is not None
        for i in range(first, end):
            if not self._unchecked[i]:
                continue
            if chunk_sums.crc32c(self._chunk(i)) != self._sums[i]:
                row = i * self._chunk_rows
                last = min(row + self._chunk_rows, len(self)) - 1
                raise StpError(
                    f"{self._shard_file(row // self._shard_rows)}: rows {row}..{last} are damaged",
                    expected=f"the checksum (CRC-32C) in {self.folder / chunk_sums.NAME}",
                    remedy=f"delete the artefact and run again: rm -r {self.folder.parent.parent}; "
                    "`stp store verify` looks for more of this kind",
                )
            self._unchecked[i] = 0

    def _chunk_count(self) -> int:
        return -(-len(self) // self._chunk_rows)

    def _chunk(self, i: int) -> np.ndarray:
        """The rows of a chunk, which lies in one shard."""
        assert self._maps is not None
        start = i * self._chunk_rows
        shard, row = divmod(start, self._shard_rows)
        return self._maps[shard][row : row + self._chunk_rows]

    def _shard_count(self) -> int:
        return -(-len(self) // self._shard_rows)

    def _shard_file(self, i: int) -> Path:
        return self.folder.joinpath("c", str(i), *["0"] * (len(self.shape) - 1))

    def _check_files(self) -> None:
        # Zarr reads a missing shard as zeros.
        slots = self._shard_rows // self._chunk_rows
        index_bytes = slots * 16 + 4
        chunk_bytes = self._chunk_rows * self._row_bytes
        for i in range(self._shard_count()):
            rows = min(len(self) - i * self._shard_rows, self._shard_rows)
            chunks = -(-rows // self._chunk_rows)
            path = self._shard_file(i)
            expected = chunks * chunk_bytes + index_bytes
            size = path.stat().st_size if path.is_file() else None
            if size != expected:
                raise ArtefactError(
                    path,
                    "missing" if size is None else f"{size} bytes",
                    expected=f"{expected} bytes",
                )
            with path.open("rb") as file:
                file.seek(-index_bytes, 2)
                index = np.frombuffer(file.read(slots * 16), "<u8").reshape(slots, 2)[:chunks]
            in_order = np.arange(chunks, dtype=np.uint64) * np.uint64(chunk_bytes)
            if (index[:, 0] != in_order).any() or (index[:, 1] != chunk_bytes).any():
                raise ArtefactError(
                    path,
                    "the shard's index is damaged or its chunks are out of order",
                    expected=f"{chunks} chunks of {chunk_bytes} bytes, one after the other",
                )

    def _map(self, i: int) -> np.ndarray:
        rows = min(len(self) - i * self._shard_rows, self._shard_rows)
        return np.memmap(self._shard_file(i), self.dtype, "r", 0, (rows, *self.shape[1:]))

    def __getstate__(self) -> dict[str, Any]:
        # A pickled mapping would be a copy of all rows: other processes open the files again.
        return {**self.__dict__, "_maps": None, "_sums": None, "_unchecked": bytearray()}


def is_mapped(meta: dict[str, Any]) -> bool:
    """Whether the rows of an array can be memory-mapped, as those of `stp.data.zarr_write` can.

    They can if the array is uncompressed, in shards, and if its chunks divide only the first axis.

    Args:
        meta: content of the array's ``zarr.json``.
    """
    codec = meta["codecs"][0]
    inner = codec.get("configuration", {}).get("chunk_shape", ())
    return (
        codec["name"] == "sharding_indexed"
        and [inside["name"] for inside in codec["configuration"]["codecs"]] == ["bytes"]
        and list(inner[1:]) == [max(1, n) for n in meta["shape"][1:]]
    )


def read_metadata(folder: Path, kind: str) -> dict[str, Any]:
    """Read ``zarr.json``, the metadata of a Zarr group or array.

    Args:
        folder: folder of the group or array.
        kind: expected kind, "group" or "array".

    Raises:
        StpError: the file is missing or damaged, or describes something else.
    """
    path = folder / "zarr.json"
    check_recorded(path)
    meta = read_json(path, dict, f"the metadata of a Zarr v3 {kind}")
    if meta.get("zarr_format") != 3 or meta.get("node_type") != kind:
        raise ArtefactError(path, f"not a Zarr v3 {kind}", expected=f"node_type {kind}")
    return meta


def seal_arrays(folder: Path) -> None:
    """Write checksums of the chunks of all arrays in a folder that can be memory-mapped.

    These are uncompressed arrays whose chunks divide only the first axis (`is_mapped`). The
    checksums of an array are stored in its file ``crc32c``. Other arrays are skipped: they are
    small, and jobs check their files as a whole.

    Args:
        folder: folder of an artefact, with Zarr groups such as ``frames.zarr``.
    """
    for array in sorted(folder.glob("*.zarr/*/zarr.json")):
        with contextlib.suppress(StpError):  # arrays with another layout
            MappedRows(array.parent).seal()
