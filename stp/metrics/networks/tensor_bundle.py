"""Read TensorFlow checkpoints without TensorFlow.

A checkpoint consists of an index file, ``NAME.index``, and data files with the values of tensors,
``NAME.data-00000-of-00001`` (tensorflow/core/util/tensor_bundle). The index is a table in the
format of LevelDB: blocks of entries with prefix-compressed keys, an index of the blocks, and a
footer of 48 bytes. An entry is a protocol buffer with type, shape, data file, offset and CRC-32C of
a tensor (tensorflow/core/protobuf/tensor_bundle.proto). All checksums are verified.
"""

import math
import struct
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format
from google.protobuf.message import DecodeError

from stp.core.errors import StpError
from stp.data.crc32c import masked_crc32c

FOOTER = 48
MAGIC = 0xDB4775248B80FB57
RAW, SNAPPY = 0, 1
TRAILER = 5
"""Number of bytes after a block: kind of compression, and checksum."""

DTYPES = {
    1: "<f4", 2: "<f8", 3: "<i4", 4: "u1", 5: "<i2", 6: "i1", 9: "<i8", 10: "?", 17: "<u2",
    19: "<f2", 22: "<u4", 23: "<u8",
}  # fmt: skip
"""Types of numbers by their code in tensorflow/core/framework/types.proto."""
STRINGS = 7
"""Type of texts, such as the graph of objects in newer checkpoints, which are left out."""

SCHEMA = """
name: "tensorflow/tensor_bundle.proto" package: "tensorflow" syntax: "proto3"
message_type { name: "Dim"
  field { name: "size" number: 1 label: LABEL_OPTIONAL type: TYPE_INT64 } }
message_type { name: "Shape"
  field { name: "dim" number: 2 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: "Dim" } }
message_type { name: "Header"
  field { name: "num_shards" number: 1 label: LABEL_OPTIONAL type: TYPE_INT32 }
  field { name: "endianness" number: 2 label: LABEL_OPTIONAL type: TYPE_INT32 } }
message_type { name: "Entry"
  field { name: "dtype" number: 1 label: LABEL_OPTIONAL type: TYPE_INT32 }
  field { name: "shape" number: 2 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: "Shape" }
  field { name: "shard_id" number: 3 label: LABEL_OPTIONAL type: TYPE_INT32 }
  field { name: "offset" number: 4 label: LABEL_OPTIONAL type: TYPE_INT64 }
  field { name: "size" number: 5 label: LABEL_OPTIONAL type: TYPE_INT64 }
  field { name: "crc32c" number: 6 label: LABEL_OPTIONAL type: TYPE_FIXED32 }
  field { name: "slices" number: 7 label: LABEL_REPEATED type: TYPE_BYTES } }
"""
"""The fields of the messages that are used here, as a FileDescriptorProto in text."""


class Tensor(NamedTuple):
    """Location of a tensor in the data files of a TensorFlow checkpoint, from its index file.

    Attributes:
        dtype: NumPy dtype of the tensor.
        shape: shape of the tensor.
        shard: index of the data file, from 0.
        offset: position of the first byte in the data file.
        size: number of bytes.
        crc32c: masked CRC-32C of the bytes.
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    shard: int
    offset: int
    size: int
    crc32c: int


def is_bundle(path: Path) -> bool:
    """Whether a path is that of a TensorFlow checkpoint: ``NAME.index`` or ``NAME.data-...``."""
    return path.suffix == ".index" or path.suffix.startswith(".data-")


def read_bundle(path: Path) -> dict[str, np.ndarray]:
    """Read all numeric tensors of a TensorFlow checkpoint (a "tensor bundle").

    Args:
        path: path of the index file, or of a data file beside it.

    Returns:
        arrays by name, in the order of the names.

    Raises:
        StpError: a file is missing or damaged, or its format is not supported.
    """
    index = path.with_suffix(".index")
    tensors, shards = read_index(index)
    files = [index.with_suffix(f".data-{i:05d}-of-{shards:05d}") for i in range(shards)]
    return {name: _read_tensor(files[entry.shard], name, entry) for name, entry in tensors.items()}


def read_index(path: Path) -> tuple[dict[str, Tensor], int]:
    """Read where the tensors of a TensorFlow checkpoint are, from its index file.

    A TensorFlow checkpoint is a "tensor bundle": an index file, and data files with the values.

    Args:
        path: path of the index file, ``NAME.index``.

    Returns:
        locations of the numeric tensors by name, and the number of data files.

    Raises:
        StpError: the file is missing or damaged, or its format is not supported.
    """
    data = _read(path)
    if len(data) < FOOTER or struct.unpack("<Q", data[-8:])[0] != MAGIC:
        raise _damage_error(path, "its end is not that of a checkpoint's index")
    try:
        # Offset and size of an unneeded index, and of the index of the blocks.
        offset, size = _decode_varints(data[-FOOTER:], 4)[2:]
        entries = {
            key: value
            for _, handle in _entries(_block(path, data, offset, size), path)
            for key, value in _entries(_block(path, data, *_decode_varints(handle, 2)), path)
        }
        header = _messages()["Header"].FromString(entries.pop(b"", b""))
        tensors = {
            key.decode(): _tensor(path, key.decode(), _messages()["Entry"].FromString(value))
            for key, value in entries.items()
        }
    except (IndexError, DecodeError, UnicodeDecodeError, pa.ArrowInvalid, OSError) as error:
        raise _damage_error(path, str(error) or "a number goes beyond its end") from error
    if header.num_shards < 1 or header.endianness:
        raise _damage_error(
            path, f"{header.num_shards} files, bytes in order {header.endianness}: not understood"
        )
    present = {name: entry for name, entry in tensors.items() if entry is not None}
    for name, entry in present.items():
        if not 0 <= entry.shard < header.num_shards:
            raise _damage_error(path, f"{name} is in file {entry.shard} of {header.num_shards}")
    return present, header.num_shards


def _tensor(path: Path, name: str, entry: Any) -> Tensor | None:
    """Parse the index entry of a tensor; None for a tensor of strings."""
    if entry.dtype == STRINGS:
        return None
    if entry.dtype not in DTYPES or entry.slices:
        reason = f"type {entry.dtype}" if entry.dtype not in DTYPES else "kept in slices"
        raise StpError(
            f"{path}: the tensor {name} is {reason}",
            expected="whole tensors of numbers",
            remedy="save it again with tf.train.Saver, unpartitioned, as float32",
        )
    dtype = np.dtype(DTYPES[entry.dtype])
    shape = tuple(dim.size for dim in entry.shape.dim)
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != entry.size:
        raise _damage_error(path, f"{name} of shape {list(shape)} has {entry.size} bytes")
    return Tensor(dtype, shape, entry.shard_id, entry.offset, entry.size, entry.crc32c)


def _read_tensor(path: Path, name: str, entry: Tensor) -> np.ndarray:
    try:
        with path.open("rb") as file:
            file.seek(entry.offset)
            data = file.read(entry.size)
    except (OSError, ValueError) as error:
        raise _read_error(path, error) from error
    if len(data) != entry.size:
        raise _damage_error(path, f"{name}: {len(data)} of {entry.size} bytes")
    if masked_crc32c(data) != entry.crc32c:
        raise _damage_error(path, f"{name}: its checksum is not that of its bytes")
    return np.frombuffer(data, entry.dtype).reshape(entry.shape).copy()


def _decode_varint(data: bytes, at: int) -> tuple[int, int]:
    """Decode a variable-length integer (varint) of a protocol buffer.

    Returns:
        the number, and the position after the number.

    Raises:
        IndexError: the data end, or the number has more than 64 bits.
    """
    value = 0
    for shift in range(0, 70, 7):
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
    raise IndexError("a number of more than 64 bits")


def _decode_varints(data: bytes, count: int) -> list[int]:
    """Decode the first ``count`` variable-length integers."""
    numbers, at = [], 0
    for _ in range(count):
        value, at = _decode_varint(data, at)
        numbers.append(value)
    return numbers


def _block(path: Path, data: bytes, offset: int, size: int) -> bytes:
    """Read and decompress the content of a block."""
    block, end = data[offset : offset + size], data[offset + size : offset + size + TRAILER]
    if len(block) != size or len(end) != TRAILER:
        raise _damage_error(path, f"the block at byte {offset} goes beyond its end")
    if masked_crc32c(block + end[:1]) != struct.unpack("<I", end[1:])[0]:
        raise _damage_error(path, f"the block at byte {offset} has another checksum than its bytes")
    if end[0] == SNAPPY:
        length, _ = _decode_varint(block, 0)
        if length > 64 * len(block) + 64:
            raise _damage_error(path, f"the block at byte {offset} unpacks to {length} bytes")
        return bytes(pa.Codec("snappy").decompress(block, length, asbytes=True))
    if end[0] != RAW:
        raise _damage_error(path, f"the block at byte {offset} is compressed in an unknown way")
    return block


def _entries(block: bytes, path: Path) -> Iterator[tuple[bytes, bytes]]:
    """Yield keys and values of a block; stored keys omit the prefix shared with the last key."""
    (restarts,) = struct.unpack("<I", block[-4:].rjust(4, b"\0"))
    end, at, key = len(block) - 4 * (restarts + 1), 0, b""
    if end < 0:
        raise _damage_error(path, "a block has no entries")
    while at < end:
        shared, at = _decode_varint(block, at)
        own, at = _decode_varint(block, at)
        size, at = _decode_varint(block, at)
        if shared > len(key) or at + own + size > end:
            raise _damage_error(path, "an entry goes beyond its block")
        key = key[:shared] + block[at : at + own]
        yield key, block[at + own : at + own + size]
        at += own + size


@cache
def _messages() -> dict[str, Any]:
    """Protocol buffer classes by message name, made from `SCHEMA`."""
    file = descriptor_pb2.FileDescriptorProto()
    text_format.Parse(SCHEMA, file)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        kind: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"tensorflow.{kind}"))
        for kind in ("Header", "Entry")
    }


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise _read_error(path, error) from error


def _read_error(path: Path, error: Exception) -> StpError:
    return StpError(
        f"{path}: cannot be read ({error})",
        expected="NAME.index and NAME.data-00000-of-00001 of a checkpoint beside each other",
        remedy="put both there",
    )


def _damage_error(path: Path, how: str) -> StpError:
    return StpError(
        f"{path}: damaged checkpoint: {how}",
        expected="a checkpoint of TensorFlow (version 2 of the format)",
        remedy="get its files again",
    )
