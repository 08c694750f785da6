"""The renderer against a slow one, and its independence of order, batch and epoch."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stp.data.moving_digits import render

DIGITS = np.random.default_rng(5).integers(0, 256, (11, 28, 28), np.uint8)


def slow(
    digits, row, *, seed, epoch, length, size=64, n_digits=2, step=0.1, directions=None, stream=0
):
    """One clip, one digit and one frame at a time, with NumPy's public generator."""
    bits = np.random.Philox(
        key=np.array([seed, stream], np.uint64), counter=np.array([0, 0, row, epoch], np.uint64)
    )
    generator = np.random.Generator(bits)
    clip = np.zeros((length, 1, size, size), np.uint8)
    for _ in range(n_digits):
        chosen, x, y, turn = generator.random(4)
        if directions is not None:
            turn = math.floor(turn * directions) / directions
        digit = digits[int(chosen * len(digits))]
        height, width = digit.shape
        speed_x, speed_y = math.cos(turn * 2 * math.pi), math.sin(turn * 2 * math.pi)
        for t in range(length):
            x += speed_x * step
            y += speed_y * step
            if x <= 0 or x >= 1:
                x, speed_x = min(max(x, 0.0), 1.0), -speed_x
            if y <= 0 or y >= 1:
                y, speed_y = min(max(y, 0.0), 1.0), -speed_y
            top, left = int(y * (size - height)), int(x * (size - width))
            place = clip[t, 0, top : top + height, left : left + width]
            place[...] = np.maximum(place, digit)
    return clip


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 2**63),
    epoch=st.integers(0, 1000),
    rows=st.lists(st.integers(0, 2**40), min_size=1, max_size=5),
    length=st.integers(1, 30),
    size=st.integers(28, 80),
    n_digits=st.integers(1, 3),
    step=st.floats(0.01, 0.9),
    directions=st.none() | st.integers(1, 8),
    stream=st.integers(0, 2),
)
def test_equal_to_the_slow_renderer_bit_by_bit(rows, **options):
    clips = render(DIGITS, np.array(rows), **options)
    for clip, row in zip(clips, rows, strict=True):
        np.testing.assert_array_equal(clip, slow(DIGITS, row, **options))


def test_a_clip_depends_on_its_own_number_only():
    together = render(DIGITS, np.arange(40), seed=1, epoch=3, length=20)
    one_by_one = [render(DIGITS, np.array([i]), seed=1, epoch=3, length=20)[0] for i in range(40)]
    backwards = render(DIGITS, np.arange(40)[::-1], seed=1, epoch=3, length=20)
    np.testing.assert_array_equal(together, one_by_one)
    np.testing.assert_array_equal(together, backwards[::-1])


@pytest.mark.parametrize("other", [{"seed": 2}, {"epoch": 4}, {"stream": 1}])
def test_other_seeds_epochs_and_streams_give_other_clips(other):
    options = {"seed": 1, "epoch": 3, "length": 5}
    a = render(DIGITS, np.arange(20), **options)
    b = render(DIGITS, np.arange(20), **{**options, **other})
    assert (a != b).reshape(20, -1).any(1).all()


def test_a_longer_clip_starts_with_the_shorter_one():
    short = render(DIGITS, np.arange(3), seed=1, epoch=0, length=20)
    long = render(DIGITS, np.arange(3), seed=1, epoch=0, length=40)
    np.testing.assert_array_equal(long[:, :20], short)


def test_four_directions_are_those_along_the_edges():
    # a white digit of 16 x 16 on 32 x 32: the free canvas is 16 pixels, a step just one pixel
    white = np.full((1, 16, 16), 255, np.uint8)
    options = {"seed": 0, "epoch": 0, "length": 20, "size": 32, "n_digits": 1}
    clips = render(white, np.arange(40), step=1 / 16, directions=4, **options)[:, :, 0]
    top = (clips.max(3) == 255).argmax(2)
    left = (clips.max(2) == 255).argmax(2)
    moved = np.abs(np.diff(top)), np.abs(np.diff(left))
    assert (np.minimum(*moved) == 0).all()  # along one axis only
    assert np.maximum(*moved).max() == 1
    assert np.maximum(*moved).mean() > 0.9  # it stops where it turns round
    assert {clip.any() for clip in moved[0]} == {True, False}


def test_digits_move_by_the_step_and_stay_inside():
    # One white digit of 4 x 4 on 40 x 40: the free canvas is 36 pixels, a step 3.6 pixels long, and
    # rounding down moves either end by less than one pixel along each axis.
    white = np.full((1, 4, 4), 255, np.uint8)
    options = {"seed": 0, "epoch": 0, "length": 50, "size": 40, "n_digits": 1}
    clips = render(white, np.arange(30), **options)[:, :, 0]
    assert (clips.reshape(30, 50, -1) == 255).sum(-1).tolist() == [[16] * 50] * 30
    top = (clips.max(3) == 255).argmax(2)
    left = (clips.max(2) == 255).argmax(2)
    moved = np.hypot(np.diff(top), np.diff(left))
    assert moved.max() < 3.6 + math.sqrt(2)
    assert {top.min(), left.min()} == {0} and {top.max(), left.max()} == {36}
