"""Decoding, resizing and cropping of pictures, against Pillow, numpy and torch."""

import hashlib
import io
import json
import struct
import zlib

import numpy as np
import pytest
from PIL import ExifTags, Image

from stp.core.errors import StpError
from stp.data.raw_files import RawFiles
from stp.fetch.film_write import encode_picture
from stp.prepare.members import Member
from stp.prepare.pictures import (
    centre_crop,
    decode_picture,
    lanczos,
    read_pictures,
    resize_and_crop,
)

COLOUR = np.random.default_rng(0).integers(0, 256, (6, 9, 3), np.uint8)


def test_a_png_is_decoded_exactly():
    np.testing.assert_array_equal(decode_picture(encode_picture(COLOUR), "a.png", "RGB"), COLOUR)


def test_a_jpeg_is_decoded_as_pillow_does():
    smooth = np.add.outer(np.arange(16) * 9, np.arange(24) * 3).astype(np.uint8)
    content = encode_picture(np.stack([smooth, smooth // 2, 255 - smooth], -1), "JPEG")
    expected = np.asarray(Image.open(io.BytesIO(content)))
    np.testing.assert_array_equal(decode_picture(content, "a.jpg", "RGB"), expected)


def test_grey_and_colour_are_converted():
    grey = COLOUR[..., 0]
    found = decode_picture(encode_picture(grey), "a.png", "RGB")
    np.testing.assert_array_equal(found, np.repeat(grey[..., None], 3, -1))
    np.testing.assert_array_equal(decode_picture(encode_picture(grey), "a.png", "L")[..., 0], grey)
    luma = decode_picture(encode_picture(COLOUR), "a.png", "L")
    assert luma.shape == (6, 9, 1)
    expected = COLOUR @ np.array([0.299, 0.587, 0.114])  # ITU-R 601
    assert np.abs(luma[..., 0] - expected).max() <= 1


def test_pictures_of_two_colours_and_grey_ones_that_are_opaque():
    black = Image.fromarray(COLOUR[..., 0] < 128)
    grey = Image.merge("LA", [Image.fromarray(COLOUR[..., 0]), Image.new("L", (9, 6), 255)])
    for picture, wanted in ((black, np.asarray(black) * 255), (grey, COLOUR[..., 0])):
        file = io.BytesIO()
        picture.save(file, "PNG")
        found = decode_picture(file.getvalue(), "a.png", "L")[..., 0]
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_pictures_are_turned_as_they_say(kind):
    smooth = np.add.outer(np.arange(16) * 9, np.arange(24) * 3).astype(np.uint8)
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6  # a quarter turn with the clock shows it upright
    upright = decode_picture(encode_picture(smooth, kind), "a", "L")[..., 0]
    turned = decode_picture(encode_picture(smooth, kind, exif=exif), "a", "L")[..., 0]
    np.testing.assert_array_equal(turned, np.rot90(upright, -1))


def deep(colour):
    """A PNG of 16 bits a channel, uint16 (H, W, 3); Pillow writes none."""
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in colour)
    height, width, _ = colour.shape
    header = struct.pack(">IIBBBBB", width, height, 16, 2, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(of)) + name + of + struct.pack(">I", zlib.crc32(name + of))
        for name, of in chunks
    )


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not a picture",
        encode_picture(COLOUR)[:60],
        encode_picture(COLOUR)[:-14],
        encode_picture(COLOUR, "JPEG")[:300],
        encode_picture(COLOUR, "BMP"),
        encode_picture(COLOUR).replace(b"IHDR\0\0\0\x09", b"IHDR\0\xff\xff\x09"),
    ],
    ids=[
        *("empty", "text", "cut png", "png without its end", "cut jpeg", "bmp", "huge"),
    ],
)
def test_what_is_no_good_picture_is_refused(content):
    with pytest.raises(StpError, match=r"here/a\.png"):
        decode_picture(content, "here/a.png", "RGB")


@pytest.mark.parametrize(
    "content",
    [
        encode_picture(COLOUR[..., 0].astype(np.uint16) * 256),
        deep(COLOUR.astype(np.uint16) * 16),
    ],
    ids=["grey", "colour"],
)
def test_pictures_of_16_bits_are_to_be_converted(content):
    with pytest.raises(StpError, match=r"here/a\.png: .*16"):
        decode_picture(content, "here/a.png", "RGB")


def test_the_middle_is_cut_out():
    frames = np.arange(4 * 7).reshape(1, 4, 7)
    np.testing.assert_array_equal(centre_crop(frames, 2, 3), frames[:, 1:3, 2:5])
    # 3.5 columns are left on one side: rounded to the even 4, as Python and mmcv round
    assert centre_crop(np.arange(11)[None, None], 1, 4)[0, 0, 0] == 4
    with pytest.raises(StpError, match=r"7 x 4 .*8 x 2"):
        centre_crop(frames, 2, 8)


def test_resizing_before_the_crop_equals_that_of_torch():
    torch = pytest.importorskip("torch")
    picture = np.random.default_rng(2).integers(0, 256, (37, 124, 3), np.uint8)
    expected = torch.nn.functional.interpolate(
        torch.from_numpy(picture).permute(2, 0, 1)[None].double(),
        size=(12, 42),
        mode="bilinear",
        align_corners=False,
        antialias=False,
    )[0].numpy()[:, :, 13:29]
    found = resize_and_crop(picture, (12, 42), (12, 16))
    assert found.shape == (3, 12, 16) and found.dtype == np.uint8
    assert np.abs(found - expected).max() <= 0.5 + 1e-3  # half a grey level of rounding


def test_a_video_is_its_pictures_in_order_and_all_as_large(tmp_path):
    files = {"b.png": COLOUR, "a.png": COLOUR[::-1], "small.png": COLOUR[:-1]}
    held = {}
    for name, values in files.items():
        content = encode_picture(values)
        (tmp_path / name).write_bytes(content)
        held[name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    lock = tmp_path / "lock.json"
    lock.write_text(json.dumps({"files": held}))
    raw = RawFiles(lock, [tmp_path])
    members = [Member(name, bytes=one["bytes"]) for name, one in held.items()]
    found = read_pictures(raw, members[:2], lambda picture: picture.transpose(2, 0, 1))
    np.testing.assert_array_equal(found, np.stack([COLOUR, COLOUR[::-1]]).transpose(0, 3, 1, 2))
    with pytest.raises(StpError, match=r"small\.png: 9 x 5(.|\n)*9 x 6.*b\.png"):
        read_pictures(raw, members, lambda picture: picture)


def lanczos_weights(old, new):
    """(new, old): the windowed sinc with three lobes, stretched by the factor of the reduction."""
    scale = old / new
    x = (np.arange(old) + 0.5 - (np.arange(new)[:, None] + 0.5) * scale) / scale
    weights = np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0)
    return weights / weights.sum(1, keepdims=True)


def test_lanczos_is_the_windowed_sinc():
    frame = np.random.default_rng(3).integers(0, 256, (3, 40, 60), np.uint8)
    expected = lanczos_weights(40, 8) @ frame @ lanczos_weights(60, 10).T
    found = lanczos(frame, 8, 10)
    assert found.shape == (3, 8, 10) and found.dtype == np.uint8
    assert np.abs(found - expected).max() <= 1.01  # rounded after each axis
    grey = lanczos(frame[:1], 8, 10)
    np.testing.assert_array_equal(grey, found[:1])


@pytest.mark.sample_bytes
def test_real_pictures(raw_mirror):
    kitti = raw_mirror / "kitti"
    grey = (kitti / "odometry_seq1" / "image_0" / "000000.png").read_bytes()
    assert decode_picture(grey, "grey", "L").shape == (370, 1226, 1)
    colour = (kitti / "object" / "image_2" / "000008.png").read_bytes()
    assert decode_picture(colour, "colour", "RGB").shape == (375, 1242, 3)
