"""BAIR from small TFRecord files made here, and from the recorded fixture."""

import tracemalloc
import zipfile

import numpy as np
import pytest

from stp.core.errors import StpError
from stp.data.prepared import Prepared
from stp.data.raw_files import RawFiles
from stp.datasets.bair.reader import BairOptions, count, decode_trajectory, run, trajectories_of
from stp.fetch.tfrecord_write import sequence_example, write_records
from stp.plan.checked_config import CONFIG_FOLDER, read_yaml
from stp.prepare.planned_counts import Lists

SIZE, FRAMES = 4, 7
OPTIONS = {
    **{"frames": FRAMES, "raw_size": SIZE, "val": 2},
    "trajectories": {"train": 5, "test": 2},
}
JOB = ("bair", [3, SIZE, SIZE], OPTIONS)
TRAIN = "softmotion30_44k/train"


def frame(number, t):
    """Frame t of trajectory n, (H, W, 3): every value is different in some trajectory or time."""
    pixels = np.arange(SIZE * SIZE * 3, dtype=np.uint8).reshape(SIZE, SIZE, 3)
    return pixels + np.uint8(10 * number + t)


def record(number, frames=FRAMES, skip=()):
    features = {}
    for t in range(frames):
        features[f"{t}/image_main/encoded"] = [frame(number, t).tobytes()]
        features[f"{t}/image_aux1/encoded"] = [bytes(SIZE * SIZE * 3)]
        features[f"{t}/action"] = np.zeros(4, np.float32)
    return sequence_example({k: v for k, v in features.items() if k not in skip})


def write_files(root, folder=""):
    top = root / folder / "softmotion30_44k"
    # 10 comes after 2, as numbers, not as texts
    write_records(top / "train" / "traj_10_to_12.tfrecords", [record(n) for n in (2, 3, 4)])
    write_records(top / "train" / "traj_2_to_9.tfrecords", [record(n) for n in (0, 1)])
    write_records(top / "test" / "traj_0_to_255.tfrecords", [record(n) for n in (5, 6)])
    return root


@pytest.fixture
def raw(tmp_path):
    return write_files(tmp_path / "raw", "bair")


def first_values(job):
    """{name of the clip: its first pixel, over time}."""
    data = Prepared(job.out)
    frames = data.frames.read(0, len(data.frames))[:, 0, 0, 0]
    return {row.clip: frames[row.start : row.start + row.length] for row in data.index.itertuples()}


def test_trajectories_become_clips(make_job, raw):
    job = make_job(*JOB, context=2, horizon=2)
    extras = run(job)
    assert extras["clips"] == {"train": 3, "val": 2, "test": 2}
    assert extras["clusters"] == extras["clips"]
    data = Prepared(job.out)
    assert len(data.frames) == 7 * FRAMES
    numbers = {
        "train/traj_2_to_9/000": 0,
        "train/traj_2_to_9/001": 1,
        "train/traj_10_to_12/000": 2,
        "train/traj_10_to_12/001": 3,
        "train/traj_10_to_12/002": 4,
        "test/traj_0_to_255/000": 5,
        "test/traj_0_to_255/001": 6,
    }
    found = first_values(job)
    assert set(found) == set(numbers)
    for row in data.index.itertuples():
        n = numbers[row.clip]
        if row.split == "train":  # the whole trajectory: a window is drawn in each epoch
            assert found[row.clip].tolist() == [10 * n + t for t in range(FRAMES)]
        else:  # 4 of 7 frames: offset (7 - 4 + 1) // 2 = 2
            assert found[row.clip].tolist() == [10 * n + t for t in (2, 3, 4, 5)]
    assert data.attrs["random_windows"] == {"train": 0}
    # colours are not mixed up: channel c of pixel (y, x) is (4 y + x) * 3 + c
    whole = data.frames.read(0, 1)[0]  # test files come first
    np.testing.assert_array_equal(whole, frame(5, 0).transpose(2, 0, 1))
    test = data.clips("test").read([0])
    np.testing.assert_array_equal(
        np.rint(test[0, 0] * 255), frame(5, 2).transpose(2, 0, 1).astype(float)
    )


def test_a_record_is_never_read_with_its_file(make_job, raw, tmp_path):
    """Large files are read in parts: what is read at once is one record."""
    top = tmp_path / "large" / "softmotion30_44k"
    write_records(top / "train" / "traj_0_to_255.tfrecords", [record(1)] * 400)
    write_records(top / "test" / "traj_0_to_255.tfrecords", [record(1)])
    size = (top / "train" / "traj_0_to_255.tfrecords").stat().st_size
    options = {**OPTIONS, "trajectories": {"train": 400, "test": 1}}
    job = make_job("bair", [3, SIZE, SIZE], options, root=tmp_path / "large")
    raw_files = RawFiles(job.inputs["raw"], job.runtime["raw_roots"])
    raw_files.find("softmotion30_44k/train/traj_0_to_255.tfrecords")  # hashes it
    tracemalloc.start()
    found = trajectories_of(raw_files)
    decode_trajectory(raw_files, (found[0], BairOptions(**options), SIZE, SIZE))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found) == 401 and size > 400_000
    assert peak < size / 2


def rewrite(raw, records):
    write_records(raw / "bair" / TRAIN / "traj_2_to_9.tfrecords", records)


NO_VALUES = sequence_example({f"{t}/image_main/encoded": [] for t in range(FRAMES)})


@pytest.mark.parametrize(
    ("second", "options", "named"),
    [
        (record(1, skip=("3/image_main/encoded",)), {}, "traj_2_to_9/001: .*3/image_main/encoded"),
        (record(1, frames=FRAMES + 1), {}, "traj_2_to_9/001: more than 7 frames"),
        (NO_VALUES, {}, "traj_2_to_9/001: 0/image_main/encoded"),
        (record(1), {"raw_size": 5}, "image_main/encoded"),
    ],
)
def test_frames_that_are_missing_or_of_another_size_or_number(
    make_job, raw, second, options, named
):
    rewrite(raw, [record(0), second])
    with pytest.raises(StpError, match=named):
        run(make_job("bair", [3, SIZE, SIZE], {**OPTIONS, **options}))


def test_trajectories_that_are_missing(make_job, raw):
    rewrite(raw, [record(0)])
    with pytest.raises(StpError, match=r"^4 "):
        run(make_job(*JOB))
    options = {**OPTIONS, "trajectories": None}
    assert run(make_job("bair", [3, SIZE, SIZE], options))["clips"]["train"] == 2
    with pytest.raises(StpError, match=r"^4 "):
        run(make_job("bair", [3, SIZE, SIZE], {**options, "val": 4}))


def test_zip_archives_are_refused(make_job, raw):
    with zipfile.ZipFile(raw / "x.zip", "w") as archive:
        archive.writestr("softmotion30_44k/train/traj_0_to_1.tfrecords", b"")
    with pytest.raises(StpError, match=r"x\.zip"):
        run(make_job(*JOB))


def test_published_numbers_follow_from_the_rule():
    declared = read_yaml(CONFIG_FOLDER / "datasets" / "bair.yaml")
    recipe = {"options": declared.get("prepare", {}), "context": 2, "horizon": 10}
    assert count(recipe, Lists([])).numbers == declared["counts"]["published"]
    options = {"options": {"trajectories": None}}
    assert set(count({**recipe, **options}, Lists([])).unknown) == {"train", "val", "test"}


@pytest.mark.sample_bytes
def test_the_recorded_fixture(make_job, raw_mirror, tmp_path):
    """Its format is the official one, its pictures are of one colour each."""
    folder = raw_mirror / "bair_format_fixture" / "softmotion30_44k"
    train = (folder / "train" / "traj_1792_to_2047.tfrecords").read_bytes()
    test = (folder / "test" / "traj_0_to_255.tfrecords").read_bytes()
    root = tmp_path / "fixture"
    for name, file in (("train/traj_1792_to_2047", train + test), ("test/traj_0_to_255", test)):
        path = root / "softmotion30_44k" / f"{name}.tfrecords"
        path.parent.mkdir(parents=True)
        path.write_bytes(file)
    options = {"val": 1, "trajectories": {"train": 2, "test": 1}}
    job = make_job("bair", [3, 64, 64], options, horizon=10, root=root)
    assert run(job)["clips"] == {"train": 1, "val": 1, "test": 1}
    data = Prepared(job.out)
    frames = data.frames.read(0, len(data.frames))
    assert frames.shape == (90, 3, 64, 64)
    assert (frames == frames[:, :, :1, :1]).all()
    # The same record is in both files; its pictures are in them as they are.
    np.testing.assert_array_equal(frames[:30], frames[60:])
    for frame in frames[:30]:
        assert frame[:, 0, 0].tobytes() * 64 * 64 in test
