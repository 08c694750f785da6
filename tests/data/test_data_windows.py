"""Windows fit into their sequence, and the rules give the numbers that papers state."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stp.data.windows import blocks, starts, starts_from_the_end


def test_the_last_window_may_end_with_the_last_frame():
    # Frames 0..9, windows of 4: starts 0, 3 and 6 (6 + 4 = 10); 7 would also fit but is no step.
    assert starts(0, 10, 4, 3).tolist() == [0, 3, 6]
    assert starts(0, 4, 4, 1).tolist() == [0]
    assert starts(0, 3, 4, 1).tolist() == []


@given(st.integers(0, 50), st.integers(0, 200), st.integers(1, 40), st.integers(1, 30))
def test_windows_lie_inside_and_are_as_many_as_fit(first, frames, span, stride):
    at = starts(first, first + frames, span, stride)
    assert all(first <= s and s + span <= first + frames for s in at)
    assert len(at) == (0 if frames < span else (frames - span) // stride + 1)
    assert (np.diff(at) == stride).all()


def test_from_the_end_with_a_cut():
    # Numbers 1..7 and 11..15, windows of 3, stride 3: 13-15; 12 and 11 end no uncut window of
    # three; then 5-7 and 2-4. The first number is left over.
    numbers = [1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 14, 15]
    at = starts_from_the_end(numbers, 3, 3)
    assert [numbers[i] for i in at] == [2, 5, 13]


@given(
    st.lists(st.tuples(st.integers(1, 30), st.integers(1, 3)), min_size=1, max_size=5),
    st.integers(1, 12),
    st.integers(1, 10),
)
def test_from_the_end_never_crosses_a_cut(runs, span, stride):
    numbers: list[int] = []
    for length, gap in runs:
        begin = (numbers[-1] if numbers else 0) + 1 + gap
        numbers += range(begin, begin + length)
    at = starts_from_the_end(numbers, span, stride)
    for i in at:
        window = numbers[i : i + span]
        assert window == list(range(window[0], window[0] + span))
    assert (np.diff(at) >= stride).all()
    if max(length for length, _ in runs) >= span + stride - 1:
        assert len(at) > 0


@given(st.integers(1, 60), st.integers(1, 20), st.integers(1, 9))
def test_both_rules_find_equally_many_windows_in_one_run(frames, span, stride):
    one_run = starts_from_the_end(range(5, 5 + frames), span, stride)
    assert len(one_run) == len(starts(0, frames, span, stride))


def test_blocks_of_starts():
    assert blocks(np.array([0, 59, 60, 119, 120]), 60).tolist() == [0, 0, 1, 1, 2]
