"""Checksums of the chunks of arrays that are mapped into memory.

A file ``crc32c`` in the folder of an array holds the CRC-32C (Castagnoli) of the rows of each
chunk, little-endian u32, in the order of the chunks. It lies beside the shards and not, like the
codec of that name, inside them: there it would tear the rows apart, and they could not be mapped.
Readers of Zarr ignore it; ``stp.data.zarr_rows`` compares each chunk with it on first touch.
"""

from pathlib import Path

import google_crc32c
import numpy as np

NAME = "crc32c"


def of(rows: np.ndarray) -> int:
    """CRC-32C of an array's bytes; it must be contiguous."""
    value: int = google_crc32c.value(rows.reshape(-1).view(np.uint8))
    return value


def read(folder: Path) -> np.ndarray | None:
    """The checksums of an array's chunks, uint32 (chunks,); None if it has none."""
    try:
        return np.fromfile(folder / NAME, "<u4")
    except FileNotFoundError:
        return None
