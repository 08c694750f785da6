"""KTH from small videos made here, and the published numbers of windows."""

import io

import av
import numpy as np
import pandas as pd
import pytest

from stp.core.errors import StpError
from stp.data.prepared import Prepared
from stp.datasets.kth.reader import KthOptions, assign_splits, cut_windows, read_sequences, run
from stp.prepare.resize import bilinear
from stp.prepare.video import decode_grey

SPLITS = {"by": "person", "train": [1], "val": [2], "test": [3]}
STRIDES = [
    {
        "actions": ["boxing", "handclapping", "handwaving", "walking"],
        **{"train": 3, "val": 2, "test": 1},
    },
    {"actions": ["jogging", "running"], "train": 1, "val": 1, "test": 1},
]
OPTIONS = {"splits": SPLITS, "strides": STRIDES}


def avi(luma):
    """An uncompressed video whose brightness plane is `luma`, uint8 (T, H, W)."""
    file = io.BytesIO()
    with av.open(file, "w", format="avi") as container:
        stream = container.add_stream("rawvideo", rate=25)
        stream.height, stream.width = luma.shape[1:]
        stream.pix_fmt = "yuv420p"
        for picture in luma:
            grey = np.full((luma.shape[1] // 2, luma.shape[2]), 128, np.uint8)
            frame = av.VideoFrame.from_ndarray(np.concatenate([picture, grey]), format="yuv420p")
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return file.getvalue()


def luma(frames, person):
    """Frame n (from 1) of person p is grey, 16 + n + 50 p."""
    return np.full((frames, 8, 10), 16 + 50 * person, np.uint8) + np.arange(
        1, frames + 1, dtype=np.uint8
    ).reshape(-1, 1, 1)


def grey(number, person):
    # 16..235 is stretched to 0..255
    return round((number + 50 * person) * 255 / 219)


def write_videos(root, annotation):
    (root / "kth" / "walking").mkdir(parents=True)
    (root / "kth" / "00sequences.txt").write_text(annotation)
    for person in (1, 2, 3):
        name = f"person{person:02d}_walking_d1{'_uncomp' if person > 1 else ''}.avi"
        (root / "kth" / "walking" / name).write_bytes(avi(luma(12, person)))


ANNOTATION = """
person01_walking_d1\t\tframes\t1-4, 6-9
person02_walking_d1\tframes\t2-6
person03_walking_d1\tframes\t1-2, 3-5, 8-12
person04_walking_d1\t*missing*
"""


@pytest.fixture
def raw(tmp_path):
    write_videos(tmp_path / "raw", ANNOTATION)
    return tmp_path / "raw" / "kth"


def test_windows_of_annotated_frames(make_job, raw):
    job = make_job("kth", [1, 8, 10], OPTIONS)
    extras = run(job)
    index = pd.read_parquet(job.out / "index.parquet")
    # Windows of 3. Person 1: frames 1-4 and 6-9, stride 3 from the end: 7-9; then 6 ends no
    # uncut window, 4 does: 2-4. Person 2: frames 2-6, stride 2: 4-6, 2-4. Person 3: 1-5 is one
    # stretch, stride 1: 3 windows; 8-12: 3 more.
    found = index.groupby("split", sort=False)["clip"].apply(list).to_dict()
    assert found["train"] == [
        "person01_walking_d1/000-frame-0002",
        "person01_walking_d1/001-frame-0007",
    ]
    assert [c[-1] for c in found["val"]] == ["2", "4"]
    assert [c[-4:] for c in found["test"]] == ["0001", "0002", "0003", "0008", "0009", "0010"]
    assert extras["clusters"] == {"train": 1, "val": 1, "test": 1}
    test = Prepared(job.out).clips("test").read(range(6))
    first = [round(float(v) * 255) for v in test[:, 0, 0, 0, 0]]
    assert first == [grey(n, 3) for n in (1, 2, 3, 8, 9, 10)]
    assert [round(float(v) * 255) for v in test[3, :, 0, 4, 4]] == [grey(n, 3) for n in (8, 9, 10)]


def test_splits_by_sequence(make_job, raw):
    splits = {"by": "sequence", "train": [0], "val": [1], "test": [2]}
    (raw / "00sequences.txt").write_text("person03_walking_d1 frames 1-4, 5-8, 9-12")
    job = make_job("kth", [1, 8, 10], {**OPTIONS, "splits": splits})
    extras = run(job)
    # strides 3, 2, 1 in four frames with windows of 3: 1, 1 and 2 windows
    assert extras["clips"] == {"train": 1, "val": 1, "test": 2}
    test = Prepared(job.out).clips("test").read([0])
    assert round(float(test[0, 0, 0, 0, 0]) * 255) == grey(9, 3)


def test_a_video_shorter_than_its_annotation(make_job, raw):
    (raw / "walking" / "person03_walking_d1_uncomp.avi").write_bytes(avi(luma(10, 3)))
    job = make_job("kth", [1, 8, 10], OPTIONS)
    extras = run(job)
    # of the windows from 8-12 only 8-10 is left
    assert extras["clips"]["test"] == 4
    assert extras["videos shorter than annotated"] == {"person03_walking_d1": 10}
    last = Prepared(job.out).clips("test").read([3])
    assert round(float(last[0, 2, 0, 0, 0]) * 255) == grey(10, 3)


def test_a_video_without_any_annotated_frame(make_job, raw):
    (raw / "00sequences.txt").write_text(ANNOTATION.replace("2-6", "40-60"))
    with pytest.raises(StpError, match=r"person02_walking_d1: .*12 (.|\n)*40\.\.60"):
        run(make_job("kth", [1, 8, 10], OPTIONS))


def test_a_split_whose_videos_are_all_missing(make_job, raw):
    (raw / "walking" / "person02_walking_d1_uncomp.avi").unlink()
    with pytest.raises(StpError, match="val"):
        run(make_job("kth", [1, 8, 10], {**OPTIONS, "require_all": False}))


def test_an_annotation_file_without_annotations(make_job, raw):
    (raw / "00sequences.txt").write_text("not found")
    with pytest.raises(StpError, match=r"00sequences\.txt"):
        run(make_job("kth", [1, 8, 10], OPTIONS))


def test_brightness_is_stretched_as_in_a_conversion_to_rgb():
    levels = np.arange(16, 236, dtype=np.uint8).reshape(1, 10, 22)
    file = avi(levels)
    decoded = decode_grey(io.BytesIO(file), "levels")
    with av.open(io.BytesIO(file)) as container:
        frame = next(container.decode(container.streams.video[0]))
        np.testing.assert_array_equal(decoded[0], frame.to_ndarray(format="gray"))
    assert decoded.min() == 0 and decoded.max() == 255


@pytest.mark.parametrize(("old", "new"), [((120, 160), (128, 128)), ((5, 7), (8, 3))])
def test_resizing_equals_that_of_torch(old, new):
    torch = pytest.importorskip("torch")
    frames = np.random.default_rng(0).integers(0, 256, (3, *old), np.uint8)
    expected = torch.nn.functional.interpolate(
        torch.from_numpy(frames)[None].double(),
        size=new,
        mode="bilinear",
        align_corners=False,
        antialias=False,
    )[0].numpy()
    # half a grey level of rounding
    assert np.abs(bilinear(frames, *new) - expected).max() <= 0.5 + 1e-3


@pytest.mark.sample_bytes
def test_published_numbers_of_windows(raw_mirror):
    """PredBench: strides 20/10/30 and 3; recounted from the annotation file alone.

    Windows of 20 frames: 10,713 for training, 6,086 for the test; of 40: 7,381 and 4,043.
    """
    sequences = read_sequences((raw_mirror / "kth" / "00sequences.txt").read_text())
    assert len(sequences) == 600
    assert [v for v, ranges in sequences.items() if not ranges] == ["person13_handclapping_d3"]
    options = KthOptions()
    parts = assign_splits(sequences, options.splits)
    for span, train, test in ((20, 10713, 6086), (40, 7381, 4043)):
        splits = pd.Series(
            [clip.split for clip in cut_windows(parts, options, span)]
        ).value_counts()
        assert (splits["train"], splits["test"]) == (train, test)


@pytest.mark.sample_bytes
def test_real_videos(make_job, raw_mirror):
    names = [
        "kth/00sequences.txt",
        "kth/boxing/person04_boxing_d1_uncomp.avi",
        "kth/handwaving/person01_handwaving_d1_uncomp.avi",
        "kth/walking/person01_walking_d1.avi",
    ]
    # The last annotated frame is the last frame of the video.
    for name, frames in zip(names[1:], (328, 468, 555), strict=True):
        assert decode_grey(raw_mirror / name, name).shape == (frames, 120, 160)
    options = {
        "splits": {"by": "sequence", "train": [0, 1], "val": [2], "test": [3]},
        "require_all": False,
    }
    job = make_job(
        "kth", [1, 128, 128], options, context=10, horizon=10, root=raw_mirror, names=names
    )
    extras = run(job)
    assert extras["videos"] == 3 and extras["videos shorter than annotated"] == {}
    assert extras["clusters"] == {"train": 3, "val": 3, "test": 3}
    clips = Prepared(job.out).clips("test")
    frames = clips.read(range(len(clips)))
    assert 0.3 < frames.mean() < 0.8
    # People move a little from frame to frame: far less than between random pictures.
    assert 0 < np.abs(np.diff(frames, axis=1)).mean() < 0.02
