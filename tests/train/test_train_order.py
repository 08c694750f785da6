"""Random numbers that depend on seed, purpose and number alone; batches that depend on nothing."""

import numpy as np
import pytest

from stp.data.prepared import Prepared
from stp.models.normalisation import Normalisation
from stp.train.batches import read_batches
from stp.train.order import EPOCH_ORDER, STEP, draw, epoch_order, spread


def test_numbers_never_change():
    # Written down once: Philox4x64 with counter (0, 0, 0, number) and key (seed, purpose).
    assert draw(0, STEP, 0).tolist() == [15_023_647_771_317_767_168]
    assert epoch_order(np.arange(8), 42, 3).tolist() == [6, 1, 0, 2, 4, 3, 5, 7]


def test_seed_purpose_and_number_all_matter():
    drawn = [draw(0, STEP, 0), draw(1, STEP, 0), draw(0, EPOCH_ORDER, 0), draw(0, STEP, 1)]
    assert len({int(value[0]) for value in drawn}) == 4


def test_an_epoch_reads_every_row_once():
    rows = np.arange(0, 40, 2)
    first, second = epoch_order(rows, 0, 0), epoch_order(rows, 0, 1)
    assert sorted(first) == sorted(second) == rows.tolist()
    assert first.tolist() != second.tolist()


@pytest.mark.parametrize(
    ("clips", "most", "expected"),
    [(10, 5, [0, 2, 4, 6, 8]), (10, 3, [0, 3, 6]), (3, 8, [0, 1, 2]), (4, None, [0, 1, 2, 3])],
)
def test_fewer_clips_are_spread_over_the_split(clips, most, expected):
    assert spread(clips, most).tolist() == expected


def test_batches_read_ahead_are_those_read_one_by_one(data):
    clips = Prepared(data).clips("train")
    rows = np.array([7, 3, 21, 0, 11, 12, 2])
    seen, places = [], set()
    for part, frames in read_batches(
        clips, rows, 2, length=4, normalisation=Normalisation(0.5, 0.25)
    ):
        expected = (clips.read(part, length=4) - 0.5) / 0.25
        np.testing.assert_array_equal(frames, expected)
        seen.append(part.tolist())
        places.add(frames.data_ptr())
    assert seen == [[7, 3], [21, 0], [11, 12], [2]]
    assert len(places) == 2, "new memory for each batch costs more than the reading"


def test_no_rows_give_no_batches(data):
    clips = Prepared(data).clips("train")
    rows = np.array([], np.int64)
    assert not list(read_batches(clips, rows, 2, length=4, normalisation=Normalisation()))
