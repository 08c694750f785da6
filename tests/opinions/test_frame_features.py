"""MCS, RFD and SSA against loops that follow the equations literally."""

import numpy as np
import pytest

from stp.metrics import frame_features as features
from stp.opinions.dependence import correlation_of_distances, dissimilarity, distance_correlation


def by_loops(maps: np.ndarray, context: int) -> np.ndarray:
    """Equations of section 4.1, a location at a time."""
    frames, height, width, channels = maps.shape
    reference = maps[context - 1]
    actual = np.empty((frames, channels))
    for n in range(frames):
        moved = np.empty_like(reference)
        for i in range(height):
            for j in range(width):
                p, best = reference[i, j], -2.0
                for k in range(height):
                    for m in range(width):
                        q = maps[n, k, m]
                        similar = p @ q / (np.linalg.norm(p) * np.linalg.norm(q) + 1e-15)
                        if similar > best:
                            best, moved[i, j] = similar, q
        for c in range(channels):
            f, g = reference[..., c].ravel(), moved[..., c].ravel()
            actual[n, c] = f @ g / (np.linalg.norm(f) * np.linalg.norm(g) + 1e-15)
    return actual


@pytest.fixture
def maps() -> np.ndarray:
    """ReLU maps of six frames, with a location and a channel that are zero."""
    drawn = np.random.default_rng(0).normal(size=(6, 4, 5, 7)).clip(0)
    drawn[:, 0, 0], drawn[..., 3] = 0, 0
    return drawn


def test_vectorised_similarities_are_those_of_a_loop_over_locations(maps: np.ndarray):
    expected = by_loops(maps, 3)
    np.testing.assert_allclose(
        features.motion_compensated_similarity(maps, 3, "released"), expected, atol=1e-12
    )
    np.testing.assert_allclose(
        features.motion_compensated_similarity(maps, 3, "written"), expected[3:], atol=1e-12
    )


def test_the_last_observed_frame_is_like_itself_and_motion_is_compensated(maps: np.ndarray):
    maps[:, 0, 0] = 0.5  # a location of zeros has no direction to be matched by
    maps[..., 3] = 0
    maps[4] = np.roll(maps[2], 1, axis=1)  # everything moved, nothing changed
    actual = features.motion_compensated_similarity(maps, 3, "released")
    lives = np.arange(7) != 3
    np.testing.assert_allclose(actual[[2, 4]][:, lives], 1)
    assert actual[5][lives].max() < 0.99
    assert (actual[:, 3] == 0).all()


def test_one_product_does_far_less_work_than_a_loop(monkeypatch: pytest.MonkeyPatch):
    """Counted, not timed: numpy is called a fixed number of times per frame."""
    calls = 0
    norm = np.linalg.norm

    def counted(*args: object, **kwargs: object) -> np.ndarray:
        nonlocal calls
        calls += 1
        return norm(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(np.linalg, "norm", counted)
    for side in (2, 8):
        calls = 0
        features.motion_compensated_similarity(np.ones((5, side, side, 3)), 2, "released")
        assert calls == 2 + 2 * 5


def test_differences_are_rescaled_together_or_by_channel():
    video = np.zeros((3, 2, 2, 2), np.uint8)
    video[1, ..., 0], video[2, ..., 0] = 100, 50  # differences 100 and -50
    video[1, 0, 0, 1] = 10  # and 10, -10
    together = features.rescaled_differences(video, "released")
    assert together.shape == (2, 2, 2, 2)
    assert together[0, 0, 0].tolist() == [255, int(60 / 150 * 255)]
    assert together[1, 0, 0].tolist() == [0, int(40 / 150 * 255)]
    apart = features.rescaled_differences(video, "written")
    assert apart[0, 0, 0].tolist() == [255, 255]
    assert apart[1, 0, 0].tolist() == [0, 0]
    assert not features.rescaled_differences(np.full((3, 2, 2, 1), 7, np.uint8), "released").any()


def test_the_released_form_has_zeros_for_the_first_frame(maps: np.ndarray):
    written = features.of_differences(maps, "written")
    np.testing.assert_allclose(written, maps.mean(axis=(1, 2)))
    released = features.of_differences(maps, "released")
    assert (released[0] == 0).all() and np.array_equal(released[1:], written)


def test_dependence_of_features():
    x = np.random.default_rng(1).normal(size=(400, 3))
    y = np.random.default_rng(2).normal(size=(400, 3))
    assert correlation_of_distances(x, 2 * x[:, ::-1] + 1) == pytest.approx(1)
    assert distance_correlation(x, 2 * x[:, ::-1] + 1) == pytest.approx(1)
    assert abs(correlation_of_distances(x, y)) < 0.05
    assert distance_correlation(x, y) < 0.2  # its bias is positive
    assert dissimilarity(np.array([1.0, 0]), np.array([1.0, 1])) == pytest.approx(1 - 0.5**0.5)
