"""Shared clusters and overlaps in time, against a slow comparison of every pair of clips."""

import numpy as np
import pandas as pd

from stp.inspect.leakage import Shared, compare, report

COLUMNS = ["split", "start", "stride", "length", "cluster"]


def index(*rows):
    return pd.DataFrame(rows, columns=COLUMNS)


def slowly(table, split, against):
    """Every clip with every other one."""
    later, earlier = table[table["split"] == split], table[table["split"] == against]
    same = overlapping = 0
    for _, a in later.iterrows():
        mates = [b for _, b in earlier.iterrows() if b["cluster"] == a["cluster"]]
        same += bool(mates)
        frames = range(a["start"], a["start"] + (a["length"] - 1) * a["stride"] + 1)
        overlapping += any(
            b["start"] <= frames[-1] and b["start"] + (b["length"] - 1) * b["stride"] >= frames[0]
            for b in mates
        )
    shared = set(later["cluster"]) & set(earlier["cluster"])
    return Shared(
        split, against, len(later), same, overlapping, later["cluster"].nunique(), len(shared)
    )


def test_clips_that_touch_in_one_frame_overlap_and_neighbours_do_not():
    # 8 frames at interval 5 cover 36: 100..135
    table = index(
        ("train", 100, 5, 8, "video"),
        ("test", 135, 5, 8, "video"),
        ("test", 136, 5, 8, "video"),
        ("test", 65, 5, 8, "video"),
        ("test", 64, 5, 8, "video"),
        ("test", 110, 1, 2, "another video"),
    )
    assert compare(table, "test", "train") == Shared("test", "train", 5, 4, 2, 2, 1)


def test_a_long_clip_reaches_behind_shorter_ones_that_start_later():
    table = index(("train", 0, 1, 100, "v"), ("train", 10, 1, 2, "v"), ("test", 50, 1, 5, "v"))
    assert compare(table, "test", "train").overlapping == 1


def test_random_clips_as_compared_one_by_one():
    draw = np.random.default_rng(3)
    for _ in range(30):
        n = int(draw.integers(2, 40))
        table = pd.DataFrame(
            {
                "split": draw.choice(["train", "val", "test"], n),
                "start": draw.integers(0, 30, n),
                "stride": draw.integers(1, 4, n),
                "length": draw.integers(1, 5, n),
                "cluster": draw.choice(list("abc"), n),
            }
        )
        for pair in (("test", "train"), ("val", "train"), ("test", "val")):
            assert compare(table, *pair) == slowly(table, *pair)


def test_each_split_is_compared_with_what_was_seen_before_it():
    splits = ("train", "val", "test", "far", "strict", "strict-train", "strict-val")
    found = report(index(*((split, 0, 1, 2, split) for split in splits)))
    assert [(one.split, one.against) for one in found] == [
        ("val", "train"),
        ("test", "train"),
        ("test", "val"),
        ("far", "train"),
        ("far", "val"),
        ("strict", "strict-train"),
        ("strict", "strict-val"),
        ("strict-val", "strict-train"),
    ]
    assert all(one.same_cluster == one.overlapping == one.shared_clusters == 0 for one in found)


def test_nothing_to_compare():
    assert report(index()) == []
    assert report(index(("train", 0, 1, 2, "v"))) == []
    assert report(index(("test", 0, 1, 2, "v"), ("train", 9, 1, 2, "w")))[0].clips == 1
