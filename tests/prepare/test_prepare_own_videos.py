"""Own videos: what is read is what was written, in one piece or in parts."""

from types import SimpleNamespace

import av
import numpy as np
import own_data as made
import pandas as pd
import pytest

from stp.core.errors import StpError
from stp.data.prepared import Prepared
from stp.inspect.own_files import members_of
from stp.prepare import video
from stp.prepare.opinions import Source
from stp.prepare.own import reader, videos
from stp.prepare.own.reader import run
from stp.prepare.video import decode_grey, open_film
from stp.score.video_folder import Clip, find_clips, read_clip

OPTIONS = {"kind": "videos", "splits": {"by": "file", **made.THIRDS}}


@pytest.fixture
def raw(tmp_path):
    """Four videos of nine frames."""
    for i in range(4):
        levels = [made.level(i, k) for k in range(9)]
        made.video(tmp_path / "raw" / "mine" / f"clip{i}.avi", levels)
    return tmp_path / "raw"


def greys(job, split, **read):
    clips = Prepared(job.out).clips(split)
    values = clips.read(range(len(clips)), **read)
    assert (values == values[..., :1, :1]).all(), "even frames stay even"
    return np.rint(values[:, :, 0, 0, 0] * 255).astype(int)


def test_windows_hold_the_frames_of_their_video(make_job, raw):
    job = make_job("own.reader", [1, 8, 12], OPTIONS)
    extras = run(job)
    assert extras["clips"] == {"train": 6, "val": 3, "test": 3}
    assert extras["clusters"] == {"train": 2, "val": 1, "test": 1}
    data = Prepared(job.out)
    assert data.attrs["fps"] == 12 and data.attrs["units"] == "1"
    for split in ("train", "val", "test"):
        seen = greys(job, split)
        for row, values in zip(data.clips(split).index.itertuples(), seen, strict=True):
            recording, first = int(row.clip[9]), int(row.clip[-6:])
            wanted = [made.level(recording, first + k) for k in range(3)]
            assert np.abs(values - wanted).max() <= 1  # YUV has fewer levels than RGB


def test_colour_stays_colour(make_job, tmp_path):
    path = tmp_path / "raw" / "red.mkv"
    path.parent.mkdir()
    picture = np.zeros((16, 16, 3), np.uint8)
    picture[..., 0] = 200
    with av.open(str(path), "w") as container:
        stream = container.add_stream("ffv1", rate=10)
        stream.height = stream.width = 16
        stream.pix_fmt = "bgr0"
        for _ in range(12):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode(None))
    splits = {"by": "time", "train": 0.5, "val": 0.25, "test": 0.25}
    job = make_job("own.reader", [3, 16, 16], {"kind": "videos", "splits": splits})
    run(job)
    frames = Prepared(job.out).clips("test").read([0])[0, 0]
    np.testing.assert_allclose(frames[:, 3, 3] * 255, [200, 0, 0], atol=1)


@pytest.mark.parametrize(
    ("suffix", "codec", "options"),
    [
        (".mp4", "libx264", {"g": 12, "bf": 3, "qp": 0, "pix_fmt": "yuv444p"}),
        (".avi", "mpeg4", {"g": 12, "qscale": 1, "global_quality": 118, "flags": "+qscale"}),
        (".mkv", "libvpx-vp9", {"g": 12, "lossless": 1}),
    ],
)
def test_parts_of_a_long_video_are_the_frames_of_the_whole(
    make_job, tmp_path, monkeypatch, suffix, codec, options
):
    """Frames between key frames, shown in another order than stored, at every part's edge."""
    levels = [20 + 3 * k for k in range(60)]
    made.video(tmp_path / "raw" / f"long{suffix}", levels, (16, 32), codec, **options)
    splits = {"by": "time", "train": 0.6, "val": 0.2, "test": 0.2}
    settings = {"kind": "videos", "splits": splits, "stride": 1}
    whole = make_job("own.reader", [1, 16, 32], settings)
    run(whole)
    monkeypatch.setattr(reader, "PIECE_BYTES", 7 * 16 * 32)
    jumps = []
    can_seek = videos._can_seek
    monkeypatch.setattr(videos, "_can_seek", lambda *at: jumps.append(can_seek(*at)) or jumps[-1])
    parts = make_job("own.reader", [1, 16, 32], settings)
    extras = run(parts)
    assert extras["pieces"] > 8 and all(jumps) and len(jumps) == extras["pieces"] - 1
    a, b = Prepared(whole.out), Prepared(parts.out)
    frames = a.frames.read(0, 60)
    np.testing.assert_array_equal(frames, b.frames.read(0, 60))
    assert np.abs(frames.mean(axis=(1, 2, 3)) - levels).max() < 3
    pd.testing.assert_frame_equal(a.index, b.index)
    # Without times, frames are counted from the beginning.
    counted = videos.Task(f"long{suffix}", 33, 9, None, None, 1, 16, 32, None)
    raw = reader.RawFiles(parts.inputs["raw"], parts.runtime["raw_roots"])
    np.testing.assert_array_equal(videos.decode(raw, counted).frames, frames[33:42])


IDENTITY = 1 << 30
ORIENTATIONS = {
    "as stored": ([1, 0, 0, 0, 1, 0], lambda shown: shown),
    "quarter turn": ([0, -1, 0, 1, 0, 0], lambda shown: np.rot90(shown, 1)),
    "half turn": ([-1, 0, 0, 0, -1, 0], lambda shown: np.rot90(shown, 2)),
    "three quarters": ([0, 1, 0, -1, 0, 0], lambda shown: np.rot90(shown, 3)),
    "mirrored": ([-1, 0, 0, 0, 1, 0], np.fliplr),
    "upside down": ([1, 0, 0, 0, -1, 0], np.flipud),
    "transposed": ([0, 1, 0, 1, 0, 0], lambda shown: shown.swapaxes(0, 1)),
}
"""What a file says of its frames, and what has to be done to see them right."""


@pytest.mark.parametrize("name", ORIENTATIONS)
def test_every_reader_turns_the_videos_of_telephones(make_job, tmp_path, name):
    """Preparation, rated videos and `stp videos` see the same frames."""
    matrix, turn = ORIENTATIONS[name]
    stored = np.zeros((16, 32), np.uint8)
    stored[:8, :8], stored[:8, 8:] = 240, 120
    path = tmp_path / "raw" / "turned.mp4"
    path.parent.mkdir()
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=10)
        stream.height, stream.width, stream.pix_fmt = 16, 32, "yuv420p"
        stream.set_display_matrix([65536 * value for value in matrix] + [0, 0, IDENTITY])
        for _ in range(12):
            frame = av.VideoFrame.from_ndarray(np.dstack([stored] * 3), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    right = turn(stored)
    assert videos.size(path) == right.shape
    splits = {"by": "time", "train": 0.5, "val": 0.25, "test": 0.25}
    job = make_job("own.reader", [1, *right.shape], {"kind": "videos", "splits": splits})
    run(job)
    prepared = 255 * Prepared(job.out).clips("test").read([0])[0, 0, 0]
    in_folder = 255 * read_clip(find_clips(path.parent)[0])[0].mean(axis=0)
    files = SimpleNamespace(names=["pvqa/True_Videos/turned.mp4"], find=lambda _: path)
    rated = Source(files, "pvqa").video("True_Videos", "turned")[0].mean(axis=-1)
    grey = decode_grey(path, path.name)[0]
    for seen in (prepared, in_folder, rated, grey):
        assert seen.shape == right.shape and np.abs(seen - right.astype(float)).mean() < 6


def test_a_video_is_read_in_one_pass(tmp_path, monkeypatch):
    """Whether it is cut off is known from the packets that are decoded, or left out."""
    path = tmp_path / "a.mkv"
    made.video(path, list(range(20, 60)))
    opened = []
    monkeypatch.setattr(video, "open_film", lambda file: opened.append(file) or open_film(file))
    frames = read_clip(Clip(path), 4, 5)
    assert opened == [path]
    np.testing.assert_allclose(255 * frames.mean(axis=(1, 2, 3)), [20, 25, 30, 35], atol=1.5)
    path.write_bytes(path.read_bytes()[:-300])
    with pytest.raises(StpError, match=r"a\.mkv"):
        read_clip(Clip(path), 4, 5)


def test_a_folder_of_gif_files_is_a_dataset(make_job, tmp_path):
    folder = tmp_path / "raw" / "mine"
    for i in range(4):
        levels = [made.level(i, k) for k in range(9)]
        made.video(folder / f"clip{i}.gif", levels, codec="gif", rate=10, pix_fmt="gray")
    job = make_job("own.reader", [1, 8, 12], OPTIONS)
    assert run(job)["clips"] == {"train": 6, "val": 3, "test": 3}
    clips = Prepared(job.out).clips("test")
    (number,) = set(clips.index["clip"].str.extract(r"clip(\d)")[0].astype(int))
    levels = 255 * clips.read(range(3))[:, :, 0].mean(axis=(2, 3))
    expected = [[made.level(number, 3 * i + k) for k in range(3)] for i in range(3)]
    np.testing.assert_allclose(levels, expected, atol=1.5)
    kind, members = members_of(folder)
    assert kind == "videos" and len(members) == 4
    path = folder / "clip1.gif"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(StpError, match=r"clip1\.gif"):
        run(make_job("own.reader", [1, 8, 12], OPTIONS))


@pytest.mark.parametrize(
    ("crop", "columns"),
    [("centre", slice(4, 20)), ([0, 8, 16, 16], slice(8, 24)), (None, None)],
)
def test_crops(crop, columns):
    from stp.prepare.own.size import fit

    picture = np.arange(16 * 24, dtype=np.uint32).reshape(16, 24, 1).astype(np.uint8)
    found = fit(picture, 16, 16 if columns else 24, crop, "p")
    np.testing.assert_array_equal(found[0], picture[:, columns or slice(None), 0])
    upright = picture.reshape(24, 16, 1)
    np.testing.assert_array_equal(fit(upright, 16, 16, "centre", "p")[0], upright[4:20, :, 0])
    np.testing.assert_array_equal(fit(upright, 24, 16, "centre", "p")[0], upright[..., 0])
    with pytest.raises(StpError, match=r"p.*(.|\n)*16 x 24"):
        fit(picture, 8, 8, [0, 0, 17, 8], "p")


@pytest.mark.parametrize("audio", [False, True])
@pytest.mark.parametrize("kept", [0.97, 0.5])
def test_films_whose_end_is_lost_are_refused(tmp_path, audio, kept):
    """What is left of a Matroska file reads without an error."""
    path = tmp_path / "long.mkv"
    noise = np.random.default_rng(0).integers(0, 256, (12, 32, 48, 3), np.uint8)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("ffv1", rate=12)
        stream.height, stream.width, stream.pix_fmt = 32, 48, "bgr0"
        sound = container.add_stream("pcm_s16le", rate=8000, layout="mono") if audio else None
        for frame in noise:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        if sound:
            silence = np.zeros((1, 24_000), np.int16)  # three seconds; there are pictures for one
            samples = av.AudioFrame.from_ndarray(silence, format="s16", layout="mono")
            samples.sample_rate = 8000
            container.mux(sound.encode(samples))
        container.mux(stream.encode(None))
    assert len(videos.probe(path)[0]) == 12
    # Without the sound, which is written last.
    pictures = path.stat().st_size - (48_000 if audio else 0)
    path.write_bytes(path.read_bytes()[: int(pictures * kept)])
    with pytest.raises(StpError, match=r"long\.mkv: .*\d+ "):
        videos.probe(path)


@pytest.mark.parametrize(
    ("suffix", "codec"),
    [(".mkv", "mpeg4"), (".webm", "libvpx"), (".ts", "mpeg2video"), (".wmv", "wmv2")],
)
def test_no_part_of_a_cut_video_is_taken_for_the_whole(tmp_path, suffix, codec):
    whole = tmp_path / f"a{suffix}"
    made.video(whole, list(range(40, 80)), codec=codec)
    assert len(videos.probe(whole)[0]) == 40
    content = whole.read_bytes()
    for share in (0.3, 0.7, 0.9):
        whole.write_bytes(content[: int(share * len(content))])
        with pytest.raises(StpError, match=rf"a\{suffix}"):
            videos.probe(whole)


def test_a_live_recording_does_not_say_how_long_it_is(tmp_path):
    path = tmp_path / "a.mkv"
    made.video(path, list(range(40, 52)), live=True)
    assert len(videos.probe(path)[0]) == 12


def test_frames_that_were_patched_up_are_refused(make_job, tmp_path):
    """FFmpeg paints over what it lost, and goes on."""
    path = tmp_path / "raw" / "patched.avi"
    path.parent.mkdir()
    noise = np.random.default_rng(0).integers(0, 256, (12, 32, 48, 3), np.uint8)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=12)
        stream.height, stream.width, stream.pix_fmt = 32, 48, "yuv420p"
        for frame in noise:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        container.mux(stream.encode(None))
    content = path.read_bytes()
    inside = content.index(b"00dc", len(content) // 2) + 100  # behind the header of a frame
    path.write_bytes(content[:inside] + bytes(100) + content[inside + 100 :])
    options = {"kind": "videos", "splits": {"by": "time", **made.THIRDS}}
    with pytest.raises(StpError, match=r"patched\.avi: .*frame \d+ "):
        run(make_job("own.reader", [1, 32, 48], options))
    with pytest.raises(StpError, match=r"patched\.avi(.|\n)*frame \d+ "):
        read_clip(Clip(path))


@pytest.mark.parametrize(
    "content",
    [
        "ffconcat version 1.0\nfile other.avi\n",
        "#EXTM3U\n#EXTINF:1,\nother.avi\n#EXT-X-ENDLIST\n",
        "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 9 RTP/AVP 96\n",
    ],
    ids=["list", "playlist", "address"],
)
def test_what_opens_other_files_is_no_film(tmp_path, content):
    made.video(tmp_path / "other.avi", [10, 20])
    listed = tmp_path / "a.mp4"
    listed.write_text(content)
    if content.startswith("ffconcat"):
        with av.open(str(listed)) as container:
            assert len(list(container.decode(video=0))) == 2, "FFmpeg would follow it"
    with pytest.raises(StpError, match=r"a\.mp4"):
        videos.probe(listed)
    with pytest.raises(StpError, match=r"a\.mp4"):
        decode_grey(listed, "a.mp4")


def test_frames_of_two_sizes_are_no_video(tmp_path):
    path = tmp_path / "a.avi"
    made.video_of_two_sizes(path)
    task = videos.Task(path.name, 0, 4, None, None, 1, 16, 24, None)
    with pytest.raises(StpError, match=r"a\.avi: .*frame 2 .*48 x 32"):
        videos.decode(SimpleNamespace(find=lambda _: path), task)
    with pytest.raises(StpError, match=r"a\.avi"):
        decode_grey(path, path.name)
    with pytest.raises(StpError, match=r"a\.avi"):
        read_clip(Clip(path))


def test_a_frame_that_is_larger_than_its_video_says(tmp_path, monkeypatch):
    path = tmp_path / "a.avi"
    made.video_of_two_sizes(path)
    monkeypatch.setenv("STP_LIMITS", "pixels=500")
    task = videos.Task(path.name, 2, 2, None, None, 1, 16, 24, None)
    with pytest.raises(StpError, match=r"a\.avi: 48 x 32: 1,536"):
        videos.decode(SimpleNamespace(find=lambda _: path), task)
    with pytest.raises(StpError, match=r"a\.avi: 48 x 32: 1,536"):
        read_clip(Clip(path))


def test_frames_that_a_video_promises_and_does_not_have(make_job, raw, monkeypatch):
    """Some formats have packets without frames: no window reaches there."""
    probe = videos.probe

    def more(path):
        stamps, rate = probe(path)
        return [*stamps, stamps[-1] + 1, stamps[-1] + 2], rate

    monkeypatch.setattr(videos, "probe", more)
    job = make_job("own.reader", [1, 8, 12], {**OPTIONS, "stride": 1})
    extras = run(job)
    assert extras["clips"] == {"train": 14, "val": 7, "test": 7}  # 9 frames, windows of 3
    assert sorted(extras["frames that do not exist"].values()) == [2, 2, 2, 2]


def test_videos_of_different_speed_have_no_common_one(make_job, raw):
    with av.open(str(raw / "mine" / "clip9.mp4"), "w") as container:
        stream = container.add_stream("mpeg4", rate=30)
        stream.height, stream.width, stream.pix_fmt = 16, 24, "yuv420p"
        for _ in range(9):
            picture = np.zeros((16, 24, 3), np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode(None))
    job = make_job("own.reader", [1, 8, 12], OPTIONS)
    assert run(job)["frames per second"] == [12, 30]
    assert Prepared(job.out).attrs["fps"] is None
    job = make_job("own.reader", [1, 8, 12], {**OPTIONS, "fps": 25})
    run(job)
    assert Prepared(job.out).attrs["fps"] == 25


@pytest.mark.parametrize("suffix", [".mkv", ".mp4"])
def test_frames_at_uneven_times_have_no_rate(make_job, tmp_path, suffix):
    """Frame 5 is shown for as long as three: no lead time is the same number of seconds there."""
    uneven = [0, 1, 2, 3, 4, 5, 8, 9, 10]
    for i in range(4):
        levels = [made.level(i, k) for k in range(9)]
        times = uneven if i == 1 else None
        made.video(tmp_path / "raw" / f"a{i}{suffix}", levels, codec="mpeg4", times=times)
    job = make_job("own.reader", [1, 8, 12], OPTIONS)
    assert run(job)["videos with frames at uneven times"] == [f"a1{suffix}"]
    assert Prepared(job.out).attrs["fps"] is None
    job = make_job("own.reader", [1, 8, 12], {**OPTIONS, "fps": 12})
    run(job)
    assert Prepared(job.out).attrs["fps"] == 12


def test_normalisation_is_that_of_the_training_frames(make_job, raw):
    splits = {
        "by": "list",
        "train": ["clip0.avi", "clip1.avi"],
        "val": ["clip2.*"],
        "test": ["clip3.avi"],
    }
    given = {**OPTIONS, "splits": splits, "normalisation": {"method": "minmax"}}
    job = make_job("own.reader", [1, 8, 12], given)
    run(job)
    constants = Prepared(job.out).attrs["normalisation"]
    low, high = made.level(0, 0) / 255, made.level(1, 8) / 255
    assert constants["offset"] == pytest.approx([low], abs=1.5 / 255)
    assert constants["scale"] == pytest.approx([high - low], abs=3 / 255)
    assert constants["from"] == "train split"


@pytest.mark.sample_bytes
def test_real_videos(make_job, raw_mirror):
    """The brightness of KTH's official videos, as its own reader decodes it."""
    names = ["kth/boxing/person04_boxing_d1_uncomp.avi", "kth/walking/person01_walking_d1.avi"]
    splits = {"by": "time", "train": 0.6, "val": 0.2, "test": 0.2}
    options = {"kind": "videos", "splits": splits}
    job = make_job("own.reader", [1, 120, 160], options, root=raw_mirror, names=names)
    assert run(job)["frames"] == 328 + 555
    data = Prepared(job.out)
    assert data.attrs["fps"] == 25
    whole = np.concatenate([decode_grey(raw_mirror / name, name) for name in names])
    difference = data.frames.read(0, len(whole))[:, 0].astype(int) - whole
    assert np.abs(difference).max() <= 1
