"""Own folders of pictures: order, gaps, sizes, bad files."""

import numpy as np
import own_data as made
import pytest
from PIL import Image

from stp.core.errors import StpError
from stp.data.prepared import Prepared
from stp.prepare.own.pictures import in_order
from stp.prepare.own.reader import run

OPTIONS = {"kind": "pictures", "splits": {"by": "file", **made.THIRDS}, "fps": 5}
SHAPE = [1, 16, 24]


@pytest.fixture
def raw(tmp_path):
    """Four folders of 11 pictures: 8.png is before 10.png, and a few are no PNG."""
    for i in range(4):
        for k in range(11):
            suffix = "png" if i else "jpg"
            made.picture(tmp_path / "raw" / "mine" / f"s{i}" / f"f{k}.{suffix}", made.level(i, k))
    return tmp_path / "raw"


def test_frames_are_in_the_order_of_their_numbers(make_job, raw):
    (raw / "mine" / "s0" / "._f3.jpg").write_bytes(b"what a Macintosh leaves")
    job = make_job("own.reader", SHAPE, {**OPTIONS, "stride": 4})
    extras = run(job)
    assert extras["clips"] == {"train": 6, "val": 3, "test": 3} and extras["sequences"] == 4
    data = Prepared(job.out)
    assert data.attrs["fps"] == 5
    for split in ("train", "val", "test"):
        clips = data.clips(split)
        seen = np.rint(clips.read(range(len(clips)))[:, :, 0, 4, 4] * 255)
        for row, values in zip(clips.index.itertuples(), seen, strict=True):
            first = int(row.clip[-6:])
            assert list(values) == [made.level(int(row.clip[6]), first + k) for k in range(3)]
            assert row.cluster == row.clip[:7]


def test_pictures_that_reach_only_1_are_no_brightness(make_job, tmp_path):
    mask = np.tri(16, 24, dtype=np.uint8)
    for i in range(4):
        for k in range(11):
            made.picture(tmp_path / "raw" / f"s{i}" / f"{k}.png", mask)
    with pytest.raises(StpError, match="1 of 255"):
        run(make_job("own.reader", SHAPE, OPTIONS))


def test_colour_and_resizing(make_job, raw):
    picture = np.zeros((16, 24, 3), np.uint8)
    picture[..., 2] = 90
    for i in range(4):
        for k in range(11):
            made.picture(raw / "colour" / f"s{i}" / f"{k}.png", picture)
    splits = {"by": "list", "train": ["colour/s0"], "val": ["colour/s1"], "test": ["colour/s[23]"]}
    job = make_job("own.reader", [3, 8, 8], {**OPTIONS, "splits": splits})
    extras = run(job)
    frame = Prepared(job.out).clips("test").read([0])[0, 0] * 255
    np.testing.assert_allclose(frame[:, 5, 5], [0, 0, 90], atol=1e-4)
    assert extras["sequences in no split"] == [f"mine/s{i}" for i in range(4)]


def test_a_gap_is_an_error_or_a_cut_or_meant(make_job, raw):
    (raw / "mine" / "s1" / "f5.png").unlink()
    with pytest.raises(StpError, match=r"s1/f4\.png, mine/s1/f6\.png: .*2"):
        run(make_job("own.reader", SHAPE, OPTIONS))
    clips = {}
    for gaps in ("cut", "ignore"):
        job = make_job("own.reader", SHAPE, {**OPTIONS, "gaps": gaps, "stride": 1})
        run(job)
        clips[gaps] = [c for c in Prepared(job.out).index["clip"] if "/s1/" in c]
    # 5 + 5 frames have 3 + 3 windows of 3; 10 frames have 8
    assert [len(clips["cut"]), len(clips["ignore"])] == [6, 8]
    assert not {"mine/s1/frame-000003", "mine/s1/frame-000004"} & set(clips["cut"])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("f11.png", b"no picture at all", r"f11\.png"),
        ("cover.jpg", made.picture_bytes(7), r"cover\.jpg"),
        ("g10.png", made.picture_bytes(7), r"g10\.png"),
    ],
)
def test_bad_pictures(make_job, raw, name, content, message):
    (raw / "mine" / "s0" / name).write_bytes(content)
    with pytest.raises(StpError, match=message):
        run(make_job("own.reader", SHAPE, OPTIONS))


def test_numbers_of_any_length_are_in_order():
    names = [f"a/{10**30 + k}.png" for k in (2, 0, 1)]
    assert in_order(names, "error") == ([names[1], names[2], names[0]], [])


def test_times_with_decimals_are_no_frame_numbers():
    """Their last digits alone would be another order."""
    with pytest.raises(StpError, match=r"a/1\.9\.png .*a/2\.1\.png"):
        in_order(["a/1.9.png", "a/2.1.png"], "ignore")
    names = ["a/shot_v1.0001.png", "a/shot_v1.0002.png"]
    assert in_order(names, "error") == (names, [])


def test_times_of_several_days_are_no_frame_numbers():
    """Sorted by their last number alone, the morning of the second day would come first."""
    names = [f"a/2024010{1 + h // 24}_{h % 24:02d}0000.png" for h in range(12, 36)]
    with pytest.raises(StpError, match=r"20240101_120000\.png .*20240102_000000\.png"):
        in_order(names, "ignore")
    assert in_order(names[:12], "error") == (names[:12], [])
    names = ["a/x1_001.png", "a/y0_002.png"]  # other names, in which numbers mean other things
    assert in_order(names, "error") == (names, [])


def test_transparent_pixels_and_animations_are_refused(make_job, raw):
    path = raw / "mine" / "s2" / "f7.png"
    opaque = np.full((16, 24, 4), 255, np.uint8)
    made.picture(path, opaque)
    run(make_job("own.reader", SHAPE, OPTIONS))
    opaque[3, 4, 3] = 0
    made.picture(path, opaque)
    with pytest.raises(StpError, match=r"f7\.png"):
        run(make_job("own.reader", SHAPE, OPTIONS))
    frames = [Image.new("L", (24, 16), level) for level in (10, 20)]
    frames[0].save(path, save_all=True, append_images=frames[1:])
    with pytest.raises(StpError, match=r"f7\.png"):
        run(make_job("own.reader", SHAPE, OPTIONS))


def test_pictures_of_different_sizes(make_job, raw):
    made.picture(raw / "mine" / "s2" / "f7.png", 9, (16, 25))
    with pytest.raises(StpError, match=r"s2/f7\.png: 16 x 25(.|\n)*16 x 24"):
        run(make_job("own.reader", SHAPE, OPTIONS))
