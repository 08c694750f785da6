"""Write TFRecord files: framing, and the protocol buffers Example and SequenceExample.

stp/prepare/tfrecord.py describes the format. Its code is not used here, so that reader and writer
are independent.
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import google_crc32c
import numpy as np

Values = Sequence[bytes] | np.ndarray
"""Values of a feature: byte strings, or float32 or int64 numbers."""


def write_records(path: Path, records: Iterable[bytes]) -> None:
    """Write a TFRecord file with the given data of its records."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for data in records:
            length = struct.pack("<Q", len(data))
            file.write(length + _crc(length) + data + _crc(data))


def example(features: Mapping[str, Values]) -> bytes:
    """Encode features by name (byte strings or numbers) as a ``tf.train.Example``."""
    return _field(1, _features(features))


def sequence_example(
    context: Mapping[str, Values], lists: Mapping[str, Sequence[Values]] | None = None
) -> bytes:
    """Encode features as a ``tf.train.SequenceExample``.

    Args:
        context: features of the whole sequence by name, each byte strings or numbers.
        lists: for each feature by name, its values at every step of the sequence.
    """
    entries = b"".join(
        _field(
            1,
            _field(1, key.encode())
            + _field(2, b"".join(_field(1, _feature(values)) for values in steps)),
        )
        for key, steps in (lists or {}).items()
    )
    return _field(1, _features(context)) + (_field(2, entries) if entries else b"")


def _features(features: Mapping[str, Values]) -> bytes:
    return b"".join(
        _field(1, _field(1, key.encode()) + _field(2, _feature(values)))
        for key, values in features.items()
    )


def _feature(values: Values) -> bytes:
    if isinstance(values, np.ndarray) and values.dtype == np.float32:
        return _field(2, _field(1, values.astype("<f4").tobytes()))
    if isinstance(values, np.ndarray):
        return _field(3, _field(1, b"".join(_varint(int(v) % 2**64) for v in values)))
    return _field(1, b"".join(_field(1, value) for value in values))


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    groups = []
    while number > 0x7F:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*groups, number])


def _crc(data: bytes) -> bytes:
    crc = int(google_crc32c.value(data))
    rotated = (crc >> 15 | crc << 17) & 0xFFFFFFFF
    return struct.pack("<I", (rotated + 0xA282EAD8) % 2**32)
