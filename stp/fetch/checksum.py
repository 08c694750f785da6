"""Checksums of raw files, read in blocks."""

import gzip
import hashlib
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from stp.errors import StpError

_BLOCK = 1 << 20


class Checksum(NamedTuple):
    """What identifies the bytes of a file: their number and their SHA-256 (hexadecimal)."""

    bytes: int
    sha256: str

    def __str__(self) -> str:
        return f"{self.bytes} bytes, sha256 {self.sha256}"


def checksum(path: Path, advance: Callable[[int], None] = lambda count: None) -> Checksum:
    """Size and SHA-256 of a file.

    Args:
        advance: called with the number of bytes of every block, for progress.

    Raises:
        StpError: the file cannot be read.
    """
    digest, size = hashlib.sha256(), 0
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
                size += len(block)
                advance(len(block))
    except OSError as error:
        raise StpError(
            f"cannot read {path}: {error.strerror or error}",
            expected="a readable file",
            remedy="correct its permissions, or remove it so that it is fetched again",
        ) from error
    return Checksum(size, digest.hexdigest())


def md5_uncompressed(path: Path) -> str:
    """MD5 (hexadecimal) of the decompressed content of a gzip file.

    The header of a gzip file holds a time, so equal content can come in different files; some
    publishers therefore state the MD5 of the content only.

    Raises:
        StpError: the file is cut short or damaged.
    """
    digest = hashlib.md5(usedforsecurity=False)
    try:
        with gzip.open(path) as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        what = "is cut short" if isinstance(error, EOFError) else f"is damaged ({error})"
        raise StpError(
            f"{path} {what}",
            expected="a complete gzip file",
            remedy="remove it and fetch it again",
        ) from error
    return digest.hexdigest()
