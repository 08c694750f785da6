"""Read the IDX format of the MNIST pictures: a big-endian header, then the pixels."""

import gzip
import struct
import zlib
from pathlib import Path

import numpy as np

from stp.core.errors import RawFileError

PICTURES = 0x00000803  # unsigned bytes, three dimensions


def read_pictures(path: Path) -> np.ndarray:
    """Read a gzip-compressed IDX file of pictures.

    Returns:
        pictures, uint8 (N, height, width).

    Raises:
        StpError: the file is cut off, has another format, or has the wrong size.
    """
    try:
        with gzip.open(path, "rb") as file:
            content = file.read()
    except (EOFError, zlib.error, OSError) as error:
        problem = f"damaged or cut off ({error})"
        raise RawFileError(path, problem) from error
    if len(content) < 16:
        raise RawFileError(path, f"{len(content)} bytes", expected="an IDX file of pictures")
    magic, count, height, width = struct.unpack(">IIII", content[:16])
    if magic != PICTURES:
        raise RawFileError(
            path,
            f"not an IDX file of pictures; it starts with {magic}",
            expected=f"{PICTURES} (idx3, not the labels, idx1), then count, height and width",
        )
    if len(content) != 16 + count * height * width:
        raise RawFileError(
            path,
            f"{len(content) - 16} bytes of pictures",
            expected=f"{count} x {height} x {width} = {count * height * width} bytes",
        )
    return np.frombuffer(content, np.uint8, offset=16).reshape(count, height, width)
