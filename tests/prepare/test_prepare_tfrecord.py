"""TFRecord files and protocol buffers, from bytes that are written out here."""

import io
import struct

import numpy as np
import pytest
from PIL import Image

from stp.core.errors import StpError
from stp.data.crc32c import masked_crc32c
from stp.fetch import tfrecord_write
from stp.prepare.tfrecord import (
    Record,
    example,
    read_record,
    records,
    required_feature,
    sequence_example,
)


def crc32c(data):
    """CRC-32C bit by bit (polynomial 0x1EDC6F41, reflected)."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return struct.pack("<I", (((crc >> 15) | (crc << 17) & 0xFFFFFFFF) + 0xA282EAD8) % 2**32)


def framed(*contents):
    file = b""
    for data in contents:
        length = struct.pack("<Q", len(data))
        file += length + masked(length) + data + masked(data)
    return file


def message(number, content):
    """A field of wire type 2, short enough for lengths of one byte."""
    assert number < 16 and len(content) < 128
    return bytes([number << 3 | 2, len(content)]) + content


def entry(key, feature):
    return message(1, message(1, key) + message(2, feature))


FEATURES = (
    entry(b"a", message(1, message(1, b"xy") + message(1, b"")))
    + entry(b"f", message(2, message(1, struct.pack("<2f", 1, -2))))
    + entry(b"g", message(2, b"\x0d" + struct.pack("<f", 0.5) + b"\x0d" + struct.pack("<f", 4)))
    + entry(b"i", message(3, message(1, b"\x03" + b"\xff" * 9 + b"\x01")))
    + entry(b"j", message(3, b"\x08\xac\x02\x08\x00"))
    + entry(b"none", b"")
)


def test_checksums_are_those_of_the_standard():
    assert crc32c(b"123456789") == 0xE3069283  # the check value of CRC-32C
    for data in (b"", b"123456789", bytes(range(256))):
        assert struct.pack("<I", masked_crc32c(data)) == masked(data)


def test_features_of_an_example():
    features = example(message(1, FEATURES), "e")
    assert [bytes(v) for v in features["a"].bytes()] == [b"xy", b""]
    np.testing.assert_array_equal(features["f"].floats(), [1, -2])
    np.testing.assert_array_equal(features["g"].floats(), [0.5, 4])
    assert features["f"].floats().dtype == np.float32
    np.testing.assert_array_equal(features["i"].ints(), [3, -1])
    np.testing.assert_array_equal(features["j"].ints(), [300, 0])
    assert features["j"].ints().dtype == np.int64
    assert features["none"].bytes() == [] and features["none"].floats().size == 0


def test_unknown_fields_are_passed_over():
    extra = b"\x78\x05" + message(14, b"zz") + b"\x79" + bytes(8) + b"\x7d" + bytes(4)
    features = example(extra + message(1, FEATURES + extra), "e")
    assert set(features) == {"a", "f", "g", "i", "j", "none"}


def test_context_and_lists_of_a_sequence_example():
    one, two = (message(1, message(1, value)) for value in (b"first", b"second"))
    content = message(1, FEATURES) + message(2, entry(b"list", message(1, one) + message(1, two)))
    context, lists = sequence_example(content, "s")
    assert set(context) == {"a", "f", "g", "i", "j", "none"}
    assert [bytes(f.bytes()[0]) for f in lists["list"]] == [b"first", b"second"]


@pytest.mark.parametrize(
    "content",
    [
        b"\x0a\x05ab",  # a field that is cut off
        b"\x0b",  # a wire type of proto2 without its end
        b"\xff" * 11,  # a number that does not end
        b"\x0a\xff",
        message(1, message(1, message(1, b"\xff\xfe"))),  # a name that is no text
    ],
)
def test_what_is_no_example(content):
    with pytest.raises(StpError, match=r"here: .*Example"):
        example(content, "here")
    with pytest.raises(StpError, match=r"here: .*SequenceExample"):
        sequence_example(content, "here")


def test_features_of_another_kind():
    features = example(message(1, FEATURES), "e")
    with pytest.raises(StpError, match=r"e: a: .*bytes_list"):
        features["a"].ints()
    with pytest.raises(StpError, match=r"e: f: .*float_list"):
        features["f"].bytes()
    with pytest.raises(StpError, match=r"'b' .*6"):
        required_feature(features, "b", "e")
    with pytest.raises(StpError, match=r"e: .*Example"):
        example(message(1, entry(b"f", message(2, message(1, b"abc")))), "e")


def test_records_are_found_and_read_by_their_offsets(tmp_path):
    contents = [b"", b"one", bytes(1000)]
    path = tmp_path / "x.tfrecord"
    path.write_bytes(b"before" + framed(*contents) + b"after, which is no record")
    size = len(framed(*contents))
    found = list(records(path, start=6, size=size))
    assert [record.bytes for record in found] == [0, 3, 1000]
    assert found[0] == Record(6, 0)
    assert [read_record(path, record) for record in found] == contents


@pytest.mark.parametrize("cut", [1, 5, 11, 12, 20, -1])
def test_a_file_that_is_cut_off(tmp_path, cut):
    path = tmp_path / "x.tfrecord"
    path.write_bytes(framed(b"0123456789", b"last")[:cut])
    with pytest.raises(StpError, match=r"x\.tfrecord: .* \d+"):
        for record in records(path):
            read_record(path, record)


@pytest.mark.parametrize("at", [0, 9, 12, 20, -1])
def test_every_flipped_byte_is_noticed(tmp_path, at):
    content = bytearray(framed(b"0123456789"))
    content[at] ^= 4
    path = tmp_path / "x.tfrecord"
    path.write_bytes(content)
    with pytest.raises(StpError, match=r"x\.tfrecord: .* 0"):
        for record in records(path):
            read_record(path, record)


def test_a_record_of_another_file(tmp_path):
    path = tmp_path / "x.tfrecord"
    path.write_bytes(framed(b"0123456789"))
    with pytest.raises(StpError, match=r"x\.tfrecord"):
        read_record(path, Record(0, 4))
    with pytest.raises(StpError, match=r"x\.tfrecord: .*1000"):
        read_record(path, Record(1000, 4))
    with pytest.raises(StpError, match=r"missing\.tfrecord"):
        next(records(tmp_path / "missing.tfrecord"))


def test_what_our_generators_write_is_the_format(tmp_path):
    tfrecord_write.write_records(tmp_path / "x", [b"0123456789", b""])
    assert (tmp_path / "x").read_bytes() == framed(b"0123456789", b"")
    features = {
        "a": [b"xy", b""],
        "f": np.array([1, -2], np.float32),
        "i": np.array([3, -1]),
    }
    expected = (
        entry(b"a", message(1, message(1, b"xy") + message(1, b"")))
        + entry(b"f", message(2, message(1, struct.pack("<2f", 1, -2))))
        + entry(b"i", message(3, message(1, b"\x03" + b"\xff" * 9 + b"\x01")))
    )
    assert tfrecord_write.example(features) == message(1, expected)
    assert tfrecord_write.sequence_example(features) == message(1, expected)


@pytest.mark.sample_bytes
def test_a_file_of_real_starcraft_videos(raw_mirror):
    path = raw_mirror / "scv_format_fixture" / "test.tfrecords"
    found = list(records(path))
    context, lists = sequence_example(read_record(path, found[0]), "scv")
    assert {"n_steps", "screen_size"} < set(context)
    assert context["screen_size"].ints().tolist() == [64, 64]
    assert set(lists) == {"rgb_screen"}
    pictures = [bytes(feature.bytes()[0]) for feature in lists["rgb_screen"]]
    with Image.open(io.BytesIO(pictures[0])) as picture:
        assert (picture.format, picture.size, picture.mode) == ("PNG", (64, 64), "RGB")


@pytest.mark.sample_bytes
def test_a_file_of_real_episodes(raw_mirror):
    folder = raw_mirror / "bridgedata/rlds/bridge_dataset/1.0.0"
    path = folder / "bridge_dataset-train.tfrecord-00000-of-00001"
    found = list(records(path))
    assert len(found) == 25
    # dataset_info.json counts the bytes of the data
    assert sum(record.bytes for record in found) == 3474742
    features = example(read_record(path, found[7]), "e")
    assert features["steps/observation/state"].floats().shape == (70,)
    assert features["steps/language_embedding"].floats().shape == (5120,)
    assert features["steps/is_first"].ints().tolist() == [1] + 9 * [0]
