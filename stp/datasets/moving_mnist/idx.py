"""The IDX format of the MNIST pictures: big-endian header, then the bytes."""

import gzip
import struct
import zlib
from pathlib import Path

import numpy as np

from stp.core.errors import StpError

PICTURES = 0x00000803  # unsigned bytes, three dimensions
REMEDY = "fetch the file again; a download may have been cut off"


def read_pictures(path: Path) -> np.ndarray:
    """Read a gzip-compressed IDX file of pictures.

    Returns:
        uint8 (N, height, width).

    Raises:
        StpError: the file is cut off, is something else, or has a wrong size.
    """
    try:
        with gzip.open(path, "rb") as file:
            content = file.read()
    except (EOFError, zlib.error, OSError) as error:
        raise StpError(
            f"{path}: damaged or cut off ({error})",
            expected="a complete gzip file",
            remedy=REMEDY,
        ) from error
    if len(content) < 16 or (magic := struct.unpack(">I", content[:4])[0]) != PICTURES:
        found = f"starts with {magic}" if len(content) >= 16 else f"has only {len(content)} bytes"
        raise StpError(
            f"{path}: not an IDX file of pictures; it {found}",
            expected=f"the number {PICTURES}, then count, height and width",
            remedy="check that it holds pictures (idx3), not labels (idx1)",
        )
    count, height, width = struct.unpack(">III", content[4:16])
    if len(content) != 16 + count * height * width:
        raise StpError(
            f"{path}: {len(content) - 16} bytes of pictures",
            expected=f"{count} x {height} x {width} = {count * height * width} bytes",
            remedy=REMEDY,
        )
    return np.frombuffer(content, np.uint8, offset=16).reshape(count, height, width)
