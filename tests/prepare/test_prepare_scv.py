"""StarCraft videos from small TFRecord files made here, and from the recorded fixture."""

import shutil

import numpy as np
import pytest
from damage import content

from stp.core.errors import StpError
from stp.data.prepared import Prepared
from stp.datasets.scv.reader import count, run
from stp.fetch.film_write import encode_picture
from stp.fetch.tfrecord_write import sequence_example, write_records
from stp.plan.checked_config import CONFIG_FOLDER, read_yaml
from stp.prepare.planned_counts import Lists

SIZE = 4
OPTIONS = {
    **{"raw_size": SIZE, "least": 2, "most": 9},
    "videos": {"train": 3, "val": 1, "test": 2},
}
JOB = ("scv", [3, SIZE, SIZE], OPTIONS)
FOLDER = f"scv/Brawl_{SIZE}x{SIZE}_png"
LENGTHS = {"train-00000-of-00002": [5, 2], "train-00001-of-00002": [4]}
LENGTHS |= {"valid-00000-of-00001": [6], "test-00000-of-00001": [3, 7]}


def png(value, size=SIZE):
    """One colour, (value, 2 value, 3): channels can be told apart."""
    return encode_picture(np.full((size, size, 3), (value, 2 * value, 3), np.uint8))


def record(number, frames, **changes):
    """A video whose frame t has the value 10 * number + t."""
    context = {"n_steps": np.array([frames]), "screen_size": np.array([SIZE, SIZE])}
    pictures = [[png(10 * number + t)] for t in range(frames)]
    return sequence_example({**context, **changes}, {"rgb_screen": pictures})


@pytest.fixture
def raw(tmp_path):
    number = 0
    for name, lengths in LENGTHS.items():
        made = []
        for length in lengths:
            made.append(record(number, length))
            number += 1
        write_records(tmp_path / "raw" / FOLDER / f"{name}.tfrecords", made)
    return tmp_path / "raw"


def replace(raw, *made):
    write_records(raw / FOLDER / "test-00000-of-00001.tfrecords", made)


def test_videos_become_clips_that_start_at_their_first_frame(make_job, raw):
    job = make_job(*JOB, context=2, horizon=1)
    extras = run(job)
    assert extras["clips"] == {"train": 2, "val": 1, "test": 2}
    assert extras["videos shorter than 3 frames"] == 1
    data = Prepared(job.out)
    frames, index = content(job)
    assert len(frames) == 5 + 4 + 6 + 3 + 7
    found = {r.clip: frames[r.start : r.start + r.length] for r in index.itertuples()}
    first = {"train-00000/0000": 0, "train-00001/0000": 2, "valid-00000/0000": 3}
    first |= {"test-00000/0000": 4, "test-00000/0001": 5}
    lengths = {"train-00000/0000": 5, "train-00001/0000": 4}  # an epoch chooses a window of them
    for clip, number in first.items():
        expected = [10 * number + t for t in range(lengths.get(clip, 3))]
        assert found[clip][:, 0, 0, 0].tolist() == expected
        assert found[clip][:, 1, 2, 3].tolist() == [2 * value for value in expected]
    assert set(found) == set(first)
    assert data.attrs["random_windows"] == {"train": 0}


def test_frames_can_be_made_smaller(make_job, raw):
    job = make_job("scv", [3, 2, 2], OPTIONS)
    run(job)
    assert Prepared(job.out).frames.shape[1:] == (3, 2, 2)


def test_the_first_test_videos_alone_can_be_used(make_job, raw):
    job = make_job("scv", [3, SIZE, SIZE], {**OPTIONS, "test": 1})
    assert run(job)["clips"] == {"train": 2, "val": 1, "test": 1}
    assert content(job)[1]["clip"].tolist()[-1] == "test-00000/0000"


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (record(4, 3, n_steps=np.array([4])), r"test-00000/0000: 3 (.|\n)*\[4\].*n_steps"),
        (record(4, 1), r"test-00000/0000: 1 (.|\n)*2 to 9"),
        (record(4, 10), r"test-00000/0000: 10 (.|\n)*2 to 9"),
        (record(4, 3, screen_size=np.array([4, 5])), r"test-00000/0000: .*\[4, 5\]"),
        (sequence_example({}), "rgb_screen"),
        (sequence_example({}, {"rgb_screen": [[png(1)]] * 3}), "n_steps"),
    ],
)
def test_a_record_that_is_not_as_it_should_be_is_named(make_job, raw, made, message):
    replace(raw, made, record(5, 7))
    with pytest.raises(StpError, match=message):
        run(make_job(*JOB))


@pytest.mark.parametrize(
    ("pictures", "message"),
    [
        ([[png(1)], [png(2, 5)], [png(3)]], "frame 1 .*5 x 5(.|\n)*4 x 4"),
        ([[png(1)], [], [png(3)]], "0 .*frame 1"),
        ([[png(1)], [png(2)[:-9]], [png(3)]], "frame 1"),
    ],
)
def test_a_picture_that_is_not_as_it_should_be_is_named(make_job, raw, pictures, message):
    context = {"n_steps": np.array([3]), "screen_size": np.array([SIZE, SIZE])}
    replace(raw, record(4, 3), sequence_example(context, {"rgb_screen": pictures}))
    with pytest.raises(StpError, match=f"test-00000/0001: {message}"):
        run(make_job(*JOB))


def test_files_without_videos_and_two_sets(make_job, raw):
    path = raw / FOLDER / "train-00000-of-00002.tfrecords"
    path.write_bytes(b"")
    with pytest.raises(StpError, match=r"1 .*train(.|\n)* 3"):
        run(make_job(*JOB))
    shutil.copytree(raw / FOLDER, raw / FOLDER.replace("Brawl", "Other"))
    with pytest.raises(StpError, match="2 "):
        run(make_job(*JOB))


@pytest.mark.parametrize(
    ("name", "horizon", "numbers"),
    [
        ("cms", 14, {"train": 10_000, "val": 2_000, "test": 2_000}),
        ("rtwm", 30, {"train": 10_000, "val": 2_000, "test": 2_000}),
        ("mutb", 14, {}),
        ("brawl", 14, {}),
    ],
)
def test_published_numbers_follow_unless_videos_may_be_too_short(name, horizon, numbers):
    for size in (64, 128):
        declared = read_yaml(CONFIG_FOLDER / "datasets" / f"scv_{name}_{size}.yaml")
        assert declared["horizon"] == horizon
        options = {"options": declared["prepare"], "context": 2, "horizon": horizon}
        assert count(options, Lists([])).numbers == numbers
        files = declared["releases"]["official"]["files"]
        assert len(files) == len({file["sha256"] for file in files}) == 12


def test_all_sets_together_are_as_large_as_stated():
    paths = CONFIG_FOLDER.glob("datasets/scv_*.yaml")
    files = [file for path in paths for file in read_yaml(path)["releases"]["official"]["files"]]
    assert len(files) == 96
    assert sum(file["bytes"] for file in files) == pytest.approx(83.35e9, rel=1e-3)


@pytest.mark.sample_bytes
@pytest.mark.parametrize(("size", "file"), [(64, "test"), (128, "128_test")])
def test_the_recorded_fixture(make_job, raw_mirror, tmp_path, size, file):
    """Its format is the official one, its pictures are noise."""
    source = raw_mirror / "scv_format_fixture" / f"{file}.tfrecords"
    folder = tmp_path / "fixture" / f"Brawl_{size}x{size}_png"
    folder.mkdir(parents=True)
    for split in ("train", "valid", "test"):
        shutil.copy(source, folder / f"{split}-00000-of-00001.tfrecords")
    options = {"raw_size": size, "videos": {"train": 1, "val": 1, "test": 1}}
    job = make_job("scv", [3, size, size], options, horizon=14, root=tmp_path / "fixture")
    assert run(job)["clips"] == {"train": 1, "val": 1, "test": 1}
    frames, index = content(job)
    assert frames.shape == (60, 3, size, size)
    assert index["length"].tolist() == [20, 16, 16]
    assert frames.std() > 50 and (frames[:20] == frames[20:40]).all()
