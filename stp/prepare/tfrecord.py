"""TFRecord files and the examples in them, without TensorFlow.

A record is: length, uint64; masked CRC-32C of these 8 bytes, uint32; the data; masked CRC-32C of
the data, uint32; all little-endian (tensorflow/core/lib/io/record_writer.h). The data are protocol
buffers, ``tf.train.Example`` or ``tf.train.SequenceExample``
(tensorflow/core/example/{example,feature}.proto):

- Example: field 1 is Features. SequenceExample: 1 is Features (the context), 2 FeatureLists.
- Features and FeatureLists: field 1, repeated, is a map entry: 1 the name, 2 the value.
- FeatureList: field 1, repeated, is Feature.
- Feature: one of 1 BytesList, 2 FloatList, 3 Int64List; in each, field 1, repeated, is the values,
  numbers packed or not.

Features are found by their names and only decoded when they are asked for; bytes are views of the
record, not copies.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import google_crc32c
import numpy as np

from stp.core.errors import StpError

_MASK = 0xA282EAD8  # of record_writer.h
_KINDS = {1: "bytes", 2: "floats", 3: "ints"}
_WIRE_VARINT, _WIRE_64, _WIRE_BYTES, _WIRE_32 = 0, 1, 2, 5
REMEDY = "fetch it again"


class Record(NamedTuple):
    """Where a record lies.

    Attributes:
        offset: of its first byte (that of the length) in the file or archive.
        bytes: of its data.
    """

    offset: int
    bytes: int


def records(
    path: Path, name: str | None = None, *, start: int = 0, size: int | None = None
) -> Iterator[Record]:
    """Find all records; only their lengths are read (and checked).

    Args:
        path: of the file, or of an archive that holds it uncompressed.
        name: what to call it in an error; its path unless given.
        start: where it begins in the archive.
        size: of the file in bytes; to the end of `path` unless given.

    Raises:
        StpError: it is cut off, or a length is damaged.
    """
    name = name or str(path)
    with _open(path, name) as file:
        stop = file.seek(0, 2) if size is None else start + size
        offset = start
        while offset < stop:
            file.seek(offset)
            head = file.read(min(12, stop - offset))
            length = _length(head, name, offset - start)
            following = offset + 16 + length
            if following > stop:
                raise _damaged(name, offset - start, f"{following - stop} bytes are missing")
            yield Record(offset, length)
            offset = following


def read_record(path: Path, record: Record, name: str | None = None) -> bytes:
    """The data of one record.

    Raises:
        StpError: it is cut off, or its checksum is not that of its bytes.
    """
    name = name or str(path)
    with _open(path, name) as file:
        file.seek(record.offset)
        content = file.read(16 + record.bytes)
    if len(content) < 16 + record.bytes or _length(content[:12], name, record.offset) != (
        record.bytes
    ):
        raise _damaged(name, record.offset, "it ends too early")
    data = content[12:-4]
    if masked_crc32c(data) != struct.unpack("<I", content[-4:])[0]:
        raise _damaged(name, record.offset, "its checksum is not that of its bytes")
    return data


def masked_crc32c(data: bytes) -> int:
    """The checksum of TFRecord: CRC-32C, rotated right by 15 bits, plus a constant."""
    crc = int(google_crc32c.value(data))
    return ((crc >> 15 | crc << 17) + _MASK) & 0xFFFFFFFF


class Feature:
    """One feature, decoded when asked for.

    Args:
        data: of the protocol buffer.
        name: what to call it in an error.
    """

    def __init__(self, data: memoryview, name: str) -> None:
        self._data, self._name = data, name

    def bytes(self) -> list[memoryview]:
        """The values of a BytesList, views of the record.

        Raises:
            StpError: it is damaged, or holds numbers.
        """
        return [_bytes(value, self._name) for wire, value in self._values("bytes")]

    def floats(self) -> np.ndarray:
        """The values of a FloatList, float32 (n,).

        Raises:
            StpError: it is damaged, or holds something else.
        """
        parts = [_as_bytes(wire, value, self._name) for wire, value in self._values("floats")]
        content = b"".join(parts)
        if len(content) % 4:
            raise _broken(self._name, "numbers that are cut off")
        return np.frombuffer(content, "<f4").astype(np.float32)

    def ints(self) -> np.ndarray:
        """The values of an Int64List, int64 (n,).

        Raises:
            StpError: it is damaged, or holds something else.
        """
        found: list[int] = []
        for wire, value in self._values("ints"):
            if wire == _WIRE_VARINT and isinstance(value, int):
                found.append(value)
                continue
            packed, at = _bytes(value, self._name), 0
            while at < len(packed):
                number, at = _varint(packed, at, self._name)
                found.append(number)
        return np.array(found, np.uint64).astype(np.int64)

    def _values(self, kind: str) -> list[tuple[int, int | memoryview]]:
        found = []
        for field, _, value in _fields(self._data, self._name):
            if _KINDS.get(field) != kind:
                raise StpError(
                    f"{self._name}: a list of {_KINDS.get(field, 'something unknown')}",
                    expected=f"a list of {kind}",
                    remedy=REMEDY,
                )
            content = _bytes(value, self._name)
            found += [(wire, v) for f, wire, v in _fields(content, self._name) if f == 1]
        return found


Features = dict[str, Feature]


def example(data: bytes, name: str) -> Features:
    """The features of a ``tf.train.Example`` by name.

    Args:
        data: of a record.
        name: what to call it in an error.

    Raises:
        StpError: it is no such protocol buffer.
    """
    found: Features = {}
    for field, _, value in _fields(memoryview(data), name):
        if field == 1:
            found |= _features(_bytes(value, name), name)
    return found


def sequence_example(data: bytes, name: str) -> tuple[Features, dict[str, list[Feature]]]:
    """The context and the feature lists of a ``tf.train.SequenceExample`` by name.

    Args:
        data: of a record.
        name: what to call it in an error.

    Raises:
        StpError: it is no such protocol buffer.
    """
    context: Features = {}
    lists: dict[str, list[Feature]] = {}
    for field, _, value in _fields(memoryview(data), name):
        if field == 1:
            context |= _features(_bytes(value, name), name)
        elif field == 2:
            for key, content in _entries(_bytes(value, name), name):
                lists[key] = [
                    Feature(_bytes(one, name), f"{name}: {key}[{i}]")
                    for i, (_, _, one) in enumerate(_fields(content, name))
                ]
    return context, lists


def want(features: Features, key: str, name: str) -> Feature:
    """A feature that must be there.

    Raises:
        StpError: it is not.
    """
    if key not in features:
        raise StpError(
            f"{name}: no feature {key!r} among its {len(features)}",
            expected="the features of the official files",
            remedy=REMEDY,
        )
    return features[key]


def _features(data: memoryview, name: str) -> Features:
    return {key: Feature(value, f"{name}: {key}") for key, value in _entries(data, name)}


def _entries(data: memoryview, name: str) -> Iterator[tuple[str, memoryview]]:
    """The entries of a map<string, message>."""
    for field, _, entry in _fields(data, name):
        if field != 1:
            continue
        parts = {f: _bytes(value, name) for f, _, value in _fields(_bytes(entry, name), name)}
        try:
            yield str(parts.get(1, b""), "utf-8"), parts.get(2, memoryview(b""))
        except UnicodeDecodeError as error:
            raise _broken(name, "a feature whose name is no text") from error


def _fields(data: memoryview, name: str) -> Iterator[tuple[int, int, int | memoryview]]:
    """(field number, wire type, value) of a message, in its order."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at, name)
        field, wire = tag >> 3, tag & 7
        if wire == _WIRE_VARINT:
            value, at = _varint(data, at, name)
            yield field, wire, value
            continue
        if wire == _WIRE_BYTES:
            length, at = _varint(data, at, name)
        elif wire in (_WIRE_64, _WIRE_32):
            length = 8 if wire == _WIRE_64 else 4
        else:
            raise _broken(name, f"wire type {wire}")
        if at + length > len(data):
            raise _broken(name, "a field that is cut off")
        yield field, wire, data[at : at + length]
        at += length


def _varint(data: memoryview, at: int, name: str) -> tuple[int, int]:
    """A number of 7 bits a byte, least first, and where it ends."""
    number = shift = 0
    while at < len(data) and shift < 64:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number & 0xFFFFFFFFFFFFFFFF, at
        shift += 7
    raise _broken(name, "a number that does not end")


def _bytes(value: int | memoryview, name: str) -> memoryview:
    if isinstance(value, int):
        raise _broken(name, "a number where bytes belong")
    return value


def _as_bytes(wire: int, value: int | memoryview, name: str) -> memoryview:
    if wire not in (_WIRE_BYTES, _WIRE_32):
        raise _broken(name, f"floats of wire type {wire}")
    return _bytes(value, name)


def _open(path: Path, name: str) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise StpError(f"{name}: cannot be opened ({error})", remedy=REMEDY) from error


def _length(head: bytes, name: str, offset: int) -> int:
    if len(head) < 12:
        raise _damaged(name, offset, "it ends too early")
    length, crc = struct.unpack("<QI", head)
    if masked_crc32c(head[:8]) != crc:
        raise _damaged(name, offset, "the checksum of its length is wrong")
    return int(length)


def _damaged(name: str, offset: int, how: str) -> StpError:
    return StpError(
        f"{name}: damaged TFRecord at byte {offset}: {how}",
        expected="a complete, uncompressed TFRecord file",
        remedy=REMEDY,
    )


def _broken(name: str, what: str) -> StpError:
    return StpError(
        f"{name}: not a protocol buffer of TensorFlow: {what}",
        expected="tf.train.Example or tf.train.SequenceExample",
        remedy=REMEDY,
    )
