"""Read TFRecord files, and the examples in them, without TensorFlow.

A record consists of its length, uint64; masked CRC-32C of these 8 bytes, uint32; the data; masked
CRC-32C of the data, uint32; all little-endian (tensorflow/core/lib/io/record_writer.h). The data
are protocol buffers, ``tf.train.Example`` or ``tf.train.SequenceExample``
(tensorflow/core/example/{example,feature}.proto).
"""

import struct
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format
from google.protobuf.message import DecodeError

from stp.core.errors import RawFileError, StpError
from stp.data.crc32c import masked_crc32c

SCHEMA = """
name: "tensorflow/example.proto" package: "tensorflow" syntax: "proto3"
message_type { name: "BytesList"
  field { name: "value" number: 1 label: LABEL_REPEATED type: TYPE_BYTES } }
message_type { name: "FloatList"
  field { name: "value" number: 1 label: LABEL_REPEATED type: TYPE_FLOAT } }
message_type { name: "Int64List"
  field { name: "value" number: 1 label: LABEL_REPEATED type: TYPE_INT64 } }
message_type { name: "Feature"
  oneof_decl { name: "kind" }
  field { name: "bytes_list" number: 1 type: TYPE_MESSAGE type_name: "BytesList" oneof_index: 0 }
  field { name: "float_list" number: 2 type: TYPE_MESSAGE type_name: "FloatList" oneof_index: 0 }
  field { name: "int64_list" number: 3 type: TYPE_MESSAGE type_name: "Int64List" oneof_index: 0 } }
message_type { name: "Features"
  field { name: "feature" number: 1 label: LABEL_REPEATED
          type: TYPE_MESSAGE type_name: "FeatureEntry" }
  nested_type { name: "FeatureEntry" options { map_entry: true }
    field { name: "key" number: 1 type: TYPE_STRING }
    field { name: "value" number: 2 type: TYPE_MESSAGE type_name: "Feature" } } }
message_type { name: "FeatureList"
  field { name: "feature" number: 1 label: LABEL_REPEATED
          type: TYPE_MESSAGE type_name: "Feature" } }
message_type { name: "FeatureLists"
  field { name: "feature_list" number: 1 label: LABEL_REPEATED
          type: TYPE_MESSAGE type_name: "FeatureListEntry" }
  nested_type { name: "FeatureListEntry" options { map_entry: true }
    field { name: "key" number: 1 type: TYPE_STRING }
    field { name: "value" number: 2 type: TYPE_MESSAGE type_name: "FeatureList" } } }
message_type { name: "Example"
  field { name: "features" number: 1 type: TYPE_MESSAGE type_name: "Features" } }
message_type { name: "SequenceExample"
  field { name: "context" number: 1 type: TYPE_MESSAGE type_name: "Features" }
  field { name: "feature_lists" number: 2 type: TYPE_MESSAGE type_name: "FeatureLists" } }
"""
"""The messages, as a FileDescriptorProto in text."""


class Record(NamedTuple):
    """Location of a record in a TFRecord file, or in an archive that contains the file.

    Attributes:
        offset: number of bytes of the file or archive before the record. A record begins with its
            length, and its data come after this.
        bytes: size of the data, bytes.
    """

    offset: int
    bytes: int


def records(
    path: Path, name: str | None = None, *, start: int = 0, size: int | None = None
) -> Iterator[Record]:
    """Find all records; only their lengths are read and checked.

    Args:
        path: path of the file, or of an archive that contains the file uncompressed.
        name: name of the file, for errors; `path` by default.
        start: offset of the file in the archive.
        size: size of the file, bytes; by default, to the end of `path`.

    Raises:
        StpError: the file is cut off, or a length is damaged.
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
                raise _damage_error(name, offset - start, f"{following - stop} bytes are missing")
            yield Record(offset, length)
            offset = following


def read_record(path: Path, record: Record, name: str | None = None) -> bytes:
    """Read the data of one record.

    Args:
        path: path of the file, or of an archive that contains the file uncompressed.
        record: offset and size of the record, from `records`.
        name: name of the file, for errors; `path` by default.

    Raises:
        StpError: the record is cut off, or its checksum does not match.
    """
    name = name or str(path)
    with _open(path, name) as file:
        file.seek(record.offset)
        content = file.read(16 + record.bytes)
    if len(content) < 16 + record.bytes or _length(content[:12], name, record.offset) != (
        record.bytes
    ):
        raise _damage_error(name, record.offset, "it ends too early")
    data = content[12:-4]
    if masked_crc32c(data) != struct.unpack("<I", content[-4:])[0]:
        raise _damage_error(name, record.offset, "its checksum does not match")
    return data


class Feature:
    """One feature (named list of values) of an example in a TFRecord file.

    Args:
        message: ``tf.train.Feature``.
        name: name of the feature, for errors.
    """

    def __init__(self, message: Any, name: str) -> None:
        self._message, self._name = message, name

    def bytes(self) -> list[bytes]:
        """The values of a BytesList.

        Raises:
            StpError: the feature contains numbers.
        """
        return list(self._values("bytes_list"))

    def floats(self) -> np.ndarray:
        """The values of a FloatList, a float32 array of one axis.

        Raises:
            StpError: the feature contains values of another type.
        """
        return np.array(self._values("float_list"), np.float32)

    def ints(self) -> np.ndarray:
        """The values of an Int64List, an int64 array of one axis.

        Raises:
            StpError: the feature contains values of another type.
        """
        return np.array(self._values("int64_list"), np.int64)

    def _values(self, kind: str) -> Any:
        held = self._message.WhichOneof("kind")
        if held not in (None, kind):
            raise RawFileError(self._name, f"a {held}", expected=f"a {kind}")
        return getattr(self._message, kind).value


Features = dict[str, Feature]


def example(data: bytes, name: str) -> Features:
    """Decode a ``tf.train.Example``: its features by name.

    Args:
        data: data of a record.
        name: name of the record, for errors.

    Raises:
        StpError: the data are not an Example.
    """
    return _features(_parse_message("Example", data, name).features, name)


def sequence_example(data: bytes, name: str) -> tuple[Features, dict[str, list[Feature]]]:
    """Decode a ``tf.train.SequenceExample``: features of a whole sequence, and of each step.

    Args:
        data: data of a record.
        name: name of the record, for errors.

    Returns:
        the features of the whole sequence by name; and, by name, the feature at every step.

    Raises:
        StpError: the data are not a SequenceExample.
    """
    message = _parse_message("SequenceExample", data, name)
    lists = {
        key: [Feature(each, f"{name}: {key}[{i}]") for i, each in enumerate(values.feature)]
        for key, values in message.feature_lists.feature_list.items()
    }
    return _features(message.context, name), lists


def required_feature(features: Features, key: str, name: str) -> Feature:
    """Return a certain feature of an example, or raise an error if it is missing.

    Args:
        features: features by name, from `example` or `sequence_example`.
        key: name of the feature to return.
        name: name of the record, for errors.

    Raises:
        StpError: the feature is missing.
    """
    if key not in features:
        raise RawFileError(
            name,
            f"no feature {key!r} among its {len(features)}",
            expected="the features of the official files",
        )
    return features[key]


def _features(features: Any, name: str) -> Features:
    return {key: Feature(value, f"{name}: {key}") for key, value in features.feature.items()}


def _parse_message(kind: str, data: bytes, name: str) -> Any:
    try:
        return _messages()[kind].FromString(data)
    except DecodeError as error:
        raise RawFileError(
            name,
            f"not a tf.train.{kind} ({error})",
            expected="tf.train.Example or tf.train.SequenceExample",
        ) from error


@cache
def _messages() -> dict[str, Any]:
    """The classes of the messages by name, made from `SCHEMA`."""
    file = descriptor_pb2.FileDescriptorProto()
    text_format.Parse(SCHEMA, file)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        kind: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"tensorflow.{kind}"))
        for kind in ("Example", "SequenceExample")
    }


def _open(path: Path, name: str) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise RawFileError(name, f"cannot be opened ({error})") from error


def _length(head: bytes, name: str, offset: int) -> int:
    if len(head) < 12:
        raise _damage_error(name, offset, "it ends too early")
    length, crc = struct.unpack("<QI", head)
    if masked_crc32c(head[:8]) != crc:
        raise _damage_error(name, offset, "the checksum of its length is wrong")
    return int(length)


def _damage_error(name: str, offset: int, how: str) -> StpError:
    return RawFileError(
        name,
        f"damaged TFRecord at byte {offset}: {how}",
        expected="a complete, uncompressed TFRecord file",
    )
