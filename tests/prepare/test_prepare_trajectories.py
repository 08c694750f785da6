"""Clips of trajectories: whole ones to train on, the middle of others."""

from stp.prepare.output import Clip
from stp.prepare.trajectories import centre, clip_of


def test_training_sees_all_frames_and_tests_the_middle():
    assert clip_of("train", "a", 10, 9, 3, "c") == Clip("train", "a", 10, 1, 9, "c")
    for frames, first in ((3, 10), (4, 11), (9, 13), (10, 14)):
        assert clip_of("test", "a", 10, frames, 3, "c") == Clip("test", "a", first, 1, 3, "c")
    assert centre(30, 12) == 9  # the official offset
