"""Sizes of sets: bias, extrapolation and what N hides, on Gaussians of known distance."""

import numpy as np
import pytest

from stp.core.errors import StpError
from stp.metrics import frechet
from stp.score import sample_size
from stp.score.sample_size import (
    distances_between,
    distances_within,
    extrapolate,
    resolution,
    why_no_line,
)

D = 6
SHIFT, SCALE = 0.3, 1.2
# Both Gaussians have diagonal covariances, 1 and SCALE^2: D (SHIFT^2 + (SCALE - 1)^2).
KNOWN = D * (SHIFT**2 + (SCALE - 1) ** 2)


def drawn(number: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(number)
    x, y = random.standard_normal((2, n, D))
    return x, SHIFT + SCALE * y


def test_subsets_of_one_set_are_apart_by_about_one_over_n() -> None:
    x, _ = drawn(0, 480)
    found = distances_within(x, [15, 60, 240], frechet.distance, tries=50)
    assert [one.n for one in found] == [15, 60, 240] and {one.tries for one in found} == {50}
    small, middle, large = found
    assert small.mean > 3 * middle.mean > 9 * large.mean > 0
    # 1 / N: what is four times larger has about a quarter
    assert small.mean / large.mean == pytest.approx(16, rel=0.25)
    assert small.standard_error == pytest.approx(small.deviation / np.sqrt(50))


def test_subsets_share_no_sample() -> None:
    numbers = np.arange(20.0)[:, None]

    def distance(a: np.ndarray, b: np.ndarray) -> float:
        assert len(np.unique(np.concatenate([a, b]))) == 20
        return float(a.mean())

    (found,) = distances_within(numbers, [10], distance, tries=7, seed=3)
    assert found == distances_within(numbers, [10], distance, tries=7, seed=3)[0]
    assert found.mean != distances_within(numbers, [10], distance, tries=7, seed=4)[0].mean
    with pytest.raises(StpError, match="11 of 20"):
        distances_within(numbers, [11], distance)


def test_at_infinite_n_the_distance_is_the_known_one() -> None:
    """Of 30 pairs of sets the mean is right, and errors are as large as they say."""
    found = [extrapolate(*drawn(number, 120), frechet.distance, tries=5) for number in range(30)]
    plain = [frechet.distance(*drawn(number, 120)) for number in range(30)]
    off = np.array([one.value for one in found]) - KNOWN
    bias = np.mean(plain) - KNOWN
    chance = off.std(ddof=1) / np.sqrt(30)
    assert bias > 5 * chance and abs(off.mean()) < min(3 * chance, bias / 2)
    said = np.sqrt(np.mean([one.standard_error**2 for one in found]))
    assert 0.6 < said / off.std(ddof=1) < 1.8
    assert found[0].sizes == (60, 69, 80, 96, 120) and found[0].slope > 0


def test_more_features_than_samples_allow_no_line() -> None:
    assert not why_no_line(1024, 400) and "1000" in why_no_line(256, 400)
    with pytest.raises(StpError, match=r"10 .*6 "):
        extrapolate(*drawn(0, 10), frechet.distance)


def test_what_n_hides() -> None:
    x, y = drawn(1, 200)
    z = np.random.default_rng(9).standard_normal((200, D))
    assert not resolution(x, y, frechet.distance).is_hidden
    assert resolution(x, z, frechet.distance).is_hidden
    assert resolution(x[:8], y[:8], frechet.distance).is_hidden  # the same difference, too few
    same = sample_size.AtSize(8, 1.0, 0.1, 0.25, 20)
    for mean, is_hidden in ((1.0, True), (1.5, True), (1.51, False)):
        other = sample_size.AtSize(8, mean, 0.1, 0.25, 20)
        assert sample_size.Resolution(8, same, other).is_hidden == is_hidden


def test_of_all_samples_there_is_one_subset() -> None:
    x, y = drawn(2, 40)
    half, whole = distances_between(x, y, [20, 40], frechet.distance, tries=3)
    assert (half.tries, whole.tries) == (3, 1) and np.isnan(whole.deviation)
    assert whole.mean == pytest.approx(frechet.distance(x, y))
    assert sample_size.TRIES == 50
