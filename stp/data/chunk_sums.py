"""Checksums of the chunks of arrays that are mapped into memory.

The file ``crc32c`` in the folder of an array holds the CRC-32C (Castagnoli) of the rows of each
chunk, little-endian u32, in the order of the chunks. Zarr's own codec ``crc32c`` is not used,
because it writes checksums between the rows of a shard, which could then not be mapped. Zarr
readers ignore the file; ``stp.data.zarr_rows`` compares each chunk with it at its first access.
"""

from pathlib import Path

import google_crc32c
import numpy as np

NAME = "crc32c"


def crc32c(rows: np.ndarray) -> int:
    """Compute the CRC-32C of the bytes of a contiguous array."""
    value: int = google_crc32c.value(rows.reshape(-1).view(np.uint8))
    return value


def read(folder: Path) -> np.ndarray | None:
    """Read the checksums of an array's chunks, uint32 (chunks,); None if their file is missing."""
    try:
        return np.fromfile(folder / NAME, "<u4")
    except FileNotFoundError:
        return None
