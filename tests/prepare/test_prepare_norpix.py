"""Norpix .seq files, written here byte by byte, with both kinds of footers."""

import io
import struct

import numpy as np
import pytest

from stp.core.errors import StpError
from stp.datasets.caltech.norpix import find_frames, read_header, read_jpeg
from stp.fetch.film_write import encode_picture


def jpeg(grey, height=8, width=16):
    return encode_picture(np.full((height, width, 3), grey, np.uint8), "JPEG", quality=95)


def seq(pictures, *, padding=8, frames=None, height=8, width=16, kind=102, step=33_333, times=None):
    """A file as Piotr Dollar's toolbox writes it."""
    head = struct.pack("<I", 0xFEED)
    head += "Norpix seq".encode("utf-16-le").ljust(24, b"\0")
    head += struct.pack("<ii", 3, 1024)
    head += b"\0" * 512
    frames = len(pictures) if frames is None else frames
    head += struct.pack("<9I", width, height, 24, 8, width * height * 3, kind, frames, 0, 0)
    head += struct.pack("<d", 30.0)
    content = head.ljust(1024, b"\0")
    for n, picture in enumerate(pictures):
        time = times[n] if times else 1_213_000_000_999_000 + n * step
        content += struct.pack("<I", len(picture) + 4) + picture
        content += struct.pack("<IHH", time // 10**6, time // 1000 % 1000, time % 1000)
        content += b"\0" * padding
    return content


PICTURES = [jpeg(grey) for grey in (10, 90, 250, 40)]


def frames_of(content):
    file = io.BytesIO(content)
    return find_frames(file, "V000.seq", read_header(file, "V000.seq"))


def test_the_header_lies_where_the_format_says():
    content = seq(PICTURES)
    assert content[:4] == b"\xed\xfe\0\0" and content[4:8] == b"N\0o\0"
    header = read_header(io.BytesIO(content), "V000.seq")
    assert header == (16, 8, 4, 30.0)
    assert read_header(io.BytesIO(seq(PICTURES, kind=201)), "V000.seq") == header
    changed = bytearray(content)
    struct.pack_into("<2I", changed, 548, 640, 480)
    struct.pack_into("<I", changed, 572, 1840)
    struct.pack_into("<d", changed, 584, 29.97)
    assert read_header(io.BytesIO(bytes(changed)), "V000.seq") == (640, 480, 1840, 29.97)


@pytest.mark.parametrize("padding", [0, 8])
@pytest.mark.parametrize("frames", [None, 0])  # 0: the recorder did not write their number
@pytest.mark.parametrize("pictures", [PICTURES, PICTURES[:1]])
def test_frames_with_both_kinds_of_footers(padding, frames, pictures):
    content = seq(pictures, padding=padding, frames=frames)
    found = frames_of(content)
    times = [0, 33_333, 66_666, 99_999][: len(pictures)]
    assert [f.time - 1_213_000_000_999_000 for f in found] == times
    offset = 1024
    for frame, picture in zip(found, pictures, strict=True):
        assert (frame.offset, frame.bytes) == (offset + 4, len(picture))
        offset += 4 + len(picture) + 8 + padding
    file = io.BytesIO(content)
    for frame, picture in reversed([*zip(found, pictures, strict=True)]):
        assert read_jpeg(file, "V000.seq", frame) == picture


def test_only_lengths_and_times_are_read():
    class Counting(io.BytesIO):
        total = 0

        def read(self, size=-1):
            content = super().read(size)
            self.total += len(content)
            return content

    large = [jpeg(n, 64, 64) for n in range(50)]
    file = Counting(seq(large, height=64, width=64))
    find_frames(file, "V000.seq", read_header(file, "V000.seq"))
    assert file.total < 1024 + 50 * 20 < len(file.getvalue()) / 10


def damaged(change):
    content = bytearray(seq(PICTURES))
    change(content)
    return bytes(content)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "0 .*1024"),
        (seq(PICTURES)[:500], "500 "),
        (b"\0" * 2000, ""),
        (damaged(lambda c: c.__setitem__(4, 0)), ""),
        (seq(PICTURES, kind=100), ".*100 .*102"),
        (seq(PICTURES)[:-20], ".* 3 of 4"),
        (seq(PICTURES)[:1400], r".*\d"),
        (seq(PICTURES, frames=5), ".*4 of 5 "),
        (damaged(lambda c: struct.pack_into("<I", c, 1024, 3)), ".*frame 0"),
        (damaged(lambda c: struct.pack_into("<I", c, 1024, 1 << 31)), ""),
        (damaged(lambda c: struct.pack_into("<I", c, 1024, 99)), ".*frame 1"),
        (seq(PICTURES[:2]) + b"more", ""),
    ],
)
def test_damage_is_one_clear_error(content, message):
    if content.endswith(b"more"):
        content = content[:572] + struct.pack("<I", 0) + content[576:]
    with pytest.raises(StpError, match=rf"V000\.seq: {message}"):
        frames_of(content)
