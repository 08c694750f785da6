"""Human3.6M from small pictures made here, and the published lists of clips."""

from collections import Counter

import numpy as np
import pytest

from stp.core.errors import StpError
from stp.data.prepared import Prepared
from stp.datasets.human36m.reader import (
    Listed,
    frames_by_video,
    locate_clips,
    read_lists,
    run,
)
from stp.fetch.film_write import encode_picture
from stp.prepare.planned_counts import Lists

SHAPE = [3, 6, 5]
WALK, SIT, EAT = "S1_Walking.54138969", "S8_Sitting_1.60457274", "S9_Eating.55011271"
LISTS = {
    "train": [(WALK, 1), (WALK, 21), (SIT, 6)],
    "val": [(SIT, 16)],
    "test": [(EAT, 11), (WALK, 11)],
}
FRAMES = {WALK: range(1, 37, 5), SIT: range(1, 40, 5), EAT: range(1, 40, 5)}
# The generated pictures have one colour each: red grows with the number of the frame.
RED = {WALK: 10, SIT: 70, EAT: 130}


def jpeg(video, number):
    picture = np.full((8, 7, 3), (RED[video] + number, 40, 200), np.uint8)
    return encode_picture(picture, "JPEG", quality=100, subsampling=0)


def names(frames=FRAMES):
    return [(video, n) for video in frames for n in frames[video]]


def write_lists(root, lists):
    folder = root / "predbench_annotations/human"
    folder.mkdir(parents=True, exist_ok=True)
    for split, clips in lists.items():
        lines = [f"images/{video}_,{start},{start + 70}\n" for video, start in clips]
        (folder / f"human_{split}.txt").write_text("".join(lines))


@pytest.fixture
def raw(tmp_path):
    """Pictures of three videos as files, and lists of clips of 2 + 1 frames."""
    root = tmp_path / "raw"
    (root / "human36m/images").mkdir(parents=True)
    for video, number in names():
        path = root / f"human36m/images/{video}_{number:06d}.jpg"
        path.write_bytes(jpeg(video, number))
    write_lists(root, LISTS)
    return root


def reds(clips):
    """The red of each frame of each clip, 0..255, where all pixels agree."""
    frames = clips.read(range(len(clips)))
    assert np.ptp(frames[:, :, 0], axis=(-1, -2)).max() < 3 / 255
    return np.rint(frames[:, :, 0].mean(axis=(-1, -2)) * 255).astype(int)


def test_clips_have_the_listed_frames(make_job, raw):
    job = make_job("human36m", SHAPE, {}, root=raw)
    extras = run(job)
    assert extras["clips"] == {
        **{"train": 3, "val": 1, "test": 2},
        **{"strict-train": 3, "strict-val": 2, "strict": 1},
    }
    data = Prepared(job.out)
    # WALK 1..31, SIT 6..26, EAT 11..21, every fifth
    assert len(data.frames) == extras["frames"] == 7 + 5 + 3
    assert data.attrs["fps"] == 10
    for split, clips in LISTS.items():
        found = data.clips(split)
        expected = [[RED[v] + start + 5 * i for i in range(3)] for v, start in clips]
        np.testing.assert_allclose(reds(found), expected, atol=2)
        # Four cameras film one performance.
        assert found.index["cluster"].tolist() == [video.split(".")[0] for video, _ in clips]
        assert found.index["clip"].tolist() == [f"{v}/frame-{s:06d}" for v, s in clips]
    other = data.clips("test").read([0])[0]
    np.testing.assert_allclose(other[:, 1:].mean(axis=(0, 2, 3)) * 255, [40, 200], atol=2)


def test_strict_splits_share_no_actor(make_job, raw):
    job = make_job("human36m", SHAPE, {}, root=raw)
    run(job)
    index = Prepared(job.out).index
    actors = {
        split: set(rows["clip"].str.split("_").str[0]) for split, rows in index.groupby("split")
    }
    assert actors["strict-train"] == {"S1"}
    assert actors["strict-val"] == {"S8"}
    assert actors["strict"] == {"S9"}


def test_clips_between_the_others_and_gaps_do_not_matter(make_job, raw):
    """Starts with other remainders than 1 lie elsewhere in the store; what is missing in between is
    not stored."""
    for n in (*range(3, 60, 5), *range(61, 80, 5)):
        (raw / f"human36m/images/{WALK}_{n:06d}.jpg").write_bytes(jpeg(WALK, n))
    lists = {**LISTS, "train": [(WALK, 1), (WALK, 3), (WALK, 66), (WALK, 8), (WALK, 11)]}
    lists["test"] = LISTS["test"][:1]
    write_lists(raw, lists)
    job = make_job("human36m", SHAPE, {}, root=raw)
    run(job)
    clips = Prepared(job.out).clips("train")
    expected = [[RED[v] + start + 5 * i for i in range(3)] for v, start in lists["train"]]
    np.testing.assert_allclose(reds(clips), expected, atol=2)
    assert set(clips.index["stride"]) == {1}
    stored = frames_by_video([Listed("train", WALK, start) for _, start in lists["train"]], 3)
    assert stored[WALK] == [1, 6, 11, 16, 21, 66, 71, 76, 3, 8, 13, 18]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("S1_Walking.54138969_,1\n", r"human_val\.txt, line 2: 'S1_Walking"),
        ("images/S1_Walking.54138969_,71,1\n", r"human_val\.txt, line 2"),
        (f"images/{WALK}_,1,5\n", r"human_val\.txt, line 2"),
        (f"images/{WALK}_,1,71\n", f"{WALK}_,1 .*train"),
        (f"images/{SIT}_,16,86\n", f"{SIT}_,16 .*val"),
        (f"images/{WALK}_,61,131\n", f"3 of 18 .*{WALK}_000061.jpg"),
    ],
)
def test_lists_that_are_wrong(make_job, raw, line, message):
    path = raw / "predbench_annotations/human/human_val.txt"
    path.write_text(path.read_text() + line)
    with pytest.raises(StpError, match=message):
        run(make_job("human36m", SHAPE, {}, root=raw))


@pytest.mark.sample_bytes
@pytest.mark.long(part="kinds")
def test_published_numbers_of_clips(raw_mirror):
    """PredBench, Table 1; and what its lists were found to be like."""
    recipe = {"context": 4, "horizon": 4, "options": {}}
    listed = read_lists(Lists([raw_mirror]), recipe)
    clips = locate_clips(listed, 8)
    assert Counter(clip.split for clip in clips) == {
        **{"train": 66063, "val": 7341, "test": 8582},
        **{"strict-train": 50751, "strict-val": 10024, "strict": 21211},
    }
    stored = frames_by_video(listed, 8)
    assert len(stored) == 838
    of_test = {clip.cluster for clip in clips if clip.split == "test"}
    assert len(of_test) == 210 and "S11_Directions_1" in of_test
    assert sum(map(len, stored.values())) == 412444
    for numbers in stored.values():
        # Every fifth frame, from the first that a clip needs to the last.
        assert numbers == list(range(numbers[0], numbers[-1] + 1, 5))
        assert numbers[0] % 5 == 1
    by_split = {
        split: {(c.start + i) for c in clips if c.split == split for i in range(8)}
        for split in ("train", "strict-train", "strict-val", "strict")
    }
    leaking = sum(
        any(c.start + i in by_split["train"] for i in range(8)) for c in clips if c.split == "test"
    )
    assert leaking == 8235
    assert not by_split["strict"] & (by_split["strict-train"] | by_split["strict-val"])
    assert not by_split["strict-train"] & by_split["strict-val"]
