"""The masked CRC-32C of TensorFlow's record files and checkpoints."""

import google_crc32c

_MASK = 0xA282EAD8  # from tensorflow/core/lib/hash/crc32c.h


def masked_crc32c(data: bytes) -> int:
    """CRC-32C of data as TensorFlow stores it: rotated right by 15 bits, plus a constant."""
    crc = int(google_crc32c.value(data))
    return ((crc >> 15 | crc << 17) + _MASK) & 0xFFFFFFFF
