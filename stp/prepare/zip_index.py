"""Read zip archives with millions of files, without keeping their directory in memory.

Python's `zipfile` keeps an object for each file in each process: gigabytes for millions of
pictures. Here, the directory is read once, callers keep only the needed entries, and a file is read
by its offset (APPNOTE.TXT of PKWARE, sections 4.3 and 4.5; with ZIP64, since such archives are
larger than 4 GB).
"""

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from stp.core.errors import RawFileError, StpError

_END, _END64, _LOCATOR64 = b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07"
_CENTRAL, _LOCAL = b"PK\x01\x02", b"PK\x03\x04"
_STORED, _DEFLATED = 0, 8
_BLOCK = 1 << 20
_MOST_BYTES = 1 << 28  # a damaged list may claim any size
_ALL_ONES = 0xFFFFFFFF


class Entry(NamedTuple):
    """Location of a file in the archive.

    Attributes:
        offset: offset of the local header, bytes.
        packed: compressed size, bytes.
        bytes: uncompressed size, bytes.
        crc: CRC-32 of the uncompressed data.
        method: compression method, 0 (stored) or 8 (deflated).
    """

    offset: int
    packed: int
    bytes: int
    crc: int
    method: int


def entries(path: Path) -> Iterator[tuple[str, Entry]]:
    """Yield name and location of every file, in the order of the archive's directory.

    Raises:
        StpError: the file is not a zip archive, or its directory is damaged.
    """
    try:
        with path.open("rb") as file:
            number, size, start = _end(file)
            file.seek(start)
            yield from _central(file, number, size)
    except (OSError, ValueError, OverflowError, struct.error) as error:
        raise _damage_error(path, str(error)) from error


def read_entry(path: Path, entry: Entry, name: str) -> bytes:
    """Read and decompress a file of the archive.

    Args:
        path: path of the archive.
        entry: location of the file, from `entries`.
        name: name of the file, for errors.

    Raises:
        StpError: the file is cut off, damaged or larger than 256 MB, or its compression is not
            supported.
    """
    try:
        if entry.packed > _MOST_BYTES:
            raise ValueError(f"{entry.packed} bytes, at most {_MOST_BYTES} are read at once")
        with path.open("rb") as file:
            file.seek(entry.offset)
            head = file.read(30)
            if head[:4] != _LOCAL:
                raise ValueError("there is no file where the list says")
            name_bytes, extra_bytes = struct.unpack("<HH", head[26:30])
            file.seek(name_bytes + extra_bytes, 1)
            content = file.read(entry.packed)
        if len(content) < entry.packed:
            raise ValueError("cut off")
        if entry.method == _DEFLATED:
            content = zlib.decompressobj(-zlib.MAX_WBITS).decompress(content, entry.bytes + 1)
        elif entry.method != _STORED:
            raise ValueError(f"packed by method {entry.method}, known are 0 and 8")
        if len(content) != entry.bytes or zlib.crc32(content) != entry.crc:
            raise ValueError("its checksum is not that of its bytes")
        return content
    except (OSError, ValueError, OverflowError, struct.error, zlib.error) as error:
        raise _damage_error(path, f"{name}: {error}") from error


def _end(file: BinaryIO) -> tuple[int, int, int]:
    """Number of files, and size and offset of the directory in bytes."""
    length = file.seek(0, 2)
    tail_start = max(0, length - 22 - 65535)  # the comment at the end has up to 65535 bytes
    file.seek(tail_start)
    tail = file.read()
    at = tail.rfind(_END)
    if at < 0 or len(tail) < at + 22:
        raise ValueError("it does not end as a zip archive ends")
    number, size, start = struct.unpack("<HII", tail[at + 10 : at + 20])
    if at >= 20 and tail[at - 20 : at - 16] == _LOCATOR64:
        (end64,) = struct.unpack("<Q", tail[at - 12 : at - 4])
        file.seek(end64)
        record = file.read(56)
        if record[:4] != _END64:
            raise ValueError("its ZIP64 end is not where it should be")
        number, size, start = struct.unpack("<QQQ", record[32:56])
    if start + size > length:
        raise ValueError("its list lies beyond its end")
    return number, size, start


def _central(file: BinaryIO, number: int, size: int) -> Iterator[tuple[str, Entry]]:
    buffer, at, left = b"", 0, size

    def need(count: int) -> None:
        nonlocal buffer, at, left
        while len(buffer) - at < count:
            block = file.read(min(_BLOCK, left))
            if not block:
                raise ValueError("its list is cut off")
            left -= len(block)
            buffer, at = buffer[at:] + block, 0

    for _ in range(number):
        need(46)
        if buffer[at : at + 4] != _CENTRAL:
            raise ValueError("its list is damaged")
        method, _, _, crc, packed, plain = struct.unpack("<HHHIII", buffer[at + 10 : at + 28])
        name_bytes, extra_bytes, comment = struct.unpack("<HHH", buffer[at + 28 : at + 34])
        (offset,) = struct.unpack("<I", buffer[at + 42 : at + 46])
        flags = struct.unpack("<H", buffer[at + 8 : at + 10])[0]
        need(46 + name_bytes + extra_bytes + comment)
        name = buffer[at + 46 : at + 46 + name_bytes]
        extra = buffer[at + 46 + name_bytes : at + 46 + name_bytes + extra_bytes]
        at += 46 + name_bytes + extra_bytes + comment
        plain, packed, offset = _read_zip64(extra, plain, packed, offset)
        # Bit 11: the name is UTF-8; else it is in the first IBM character set.
        text = name.decode("utf-8" if flags & 0x800 else "cp437")
        if not text.endswith("/"):
            yield text, Entry(offset, packed, plain, crc, method)


def _read_zip64(extra: bytes, plain: int, packed: int, offset: int) -> tuple[int, int, int]:
    """The sizes and the offset that do not fit into 32 bits, from the ZIP64 field."""
    values = [plain, packed, offset]
    if _ALL_ONES not in values:
        return plain, packed, offset
    at = 0
    while at + 4 <= len(extra):
        kind, count = struct.unpack("<HH", extra[at : at + 4])
        if kind == 1:
            content, used = extra[at + 4 : at + 4 + count], 0
            for i, value in enumerate(values):
                if value == _ALL_ONES:
                    (values[i],) = struct.unpack("<Q", content[used : used + 8])
                    used += 8
            break
        at += 4 + count
    return values[0], values[1], values[2]


def _damage_error(path: Path, how: str) -> StpError:
    return RawFileError(path, f"damaged archive ({how})")
