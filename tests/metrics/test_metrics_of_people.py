"""Metrics of predicted positions of people, against loops over scenarios, people and steps."""

import numpy as np
import pytest
from conventions import convention


@pytest.fixture
def frames() -> tuple[np.ndarray, np.ndarray]:
    """Five predictions (4, 5, 6, 2, 1, 3) and what happened (4, 6, 2, 1, 3); a place is empty."""
    random = np.random.default_rng(0)
    truth = random.normal(0, 3, (4, 6, 2, 1, 3))
    drawn = truth[:, None] + random.normal(0, 3, (4, 5, 6, 2, 1, 3))
    truth[1, ..., 2], drawn[1, ..., 2] = np.nan, np.nan
    return drawn, truth


def errors_of(drawn: np.ndarray, truth: np.ndarray, scenario: int) -> list[np.ndarray]:
    """Distances (samples, steps) of each person who is there."""
    return [
        np.array(
            [
                [np.hypot(*(drawn[scenario, k, t, :, 0, n] - truth[scenario, t, :, 0, n]))
                 for t in range(6)]
                for k in range(5)
            ]
        )
        for n in range(3)
        if np.isfinite(truth[scenario, 0, 0, 0, n])
    ]  # fmt: skip


def test_displacement_is_a_mean_over_people_at_each_step(frames):
    drawn, truth = frames
    actual = convention("displacement.by_scenario").statistics(drawn[:, 0], truth)
    last = convention("final_displacement.by_scenario").statistics(drawn[:, 0], truth)
    for scenario in range(4):
        each = np.mean([errors[0] for errors in errors_of(drawn, truth, scenario)], axis=0)
        assert actual[scenario, 0] == pytest.approx(each)
        assert last[scenario, 0] == pytest.approx(each[-1:])


def test_the_best_of_several_is_chosen_at_each_step_or_for_all_of_them(frames):
    drawn, truth = frames
    pointwise = convention("top_k_displacement.pointwise").statistics(drawn, truth)
    trajectory = convention("top_k_displacement.trajectory").statistics(drawn, truth)
    for scenario in range(4):
        each = errors_of(drawn, truth, scenario)
        at_each_step = np.mean([errors.min(axis=0) for errors in each], axis=0)
        assert pointwise[scenario, 0] == pytest.approx(at_each_step)
        whole = np.mean([errors[errors.mean(axis=1).argmin()] for errors in each], axis=0)
        assert trajectory[scenario, 0] == pytest.approx(whole)


def test_a_person_is_missed_whose_every_sample_ends_two_metres_away(frames):
    drawn, truth = frames
    actual = convention("miss_rate.two_metres").statistics(drawn, truth)
    for scenario in range(4):
        missed = [errors[:, -1].min() > 2 for errors in errors_of(drawn, truth, scenario)]
        assert actual[scenario, 0, 0] == pytest.approx(np.mean(missed))
    assert 0 < actual.mean() < 1


def moved(path: np.ndarray, x: float, y: float = 0.0) -> np.ndarray:
    """A path (steps, 2) elsewhere."""
    return path + np.array([x, y])


def paths(*people: np.ndarray) -> np.ndarray:
    """Positions (steps, 2) of people as predictions (1, 1, steps, 2, 1, people)."""
    return np.stack(people, axis=-1)[None, None, :, :, None, :]


def test_two_who_meet_collide_and_who_walks_beside_them_does_not():
    along = np.arange(7)[:, None] * np.array([1.0, 0.0])
    predicted = paths(along, moved(along[::-1], 0, 0.2), moved(along, 0, 3))
    actual = convention("collision_rate.half_metre").statistics(predicted, predicted[:, 0])
    assert actual.tolist() == [[[pytest.approx(2 / 3)]]]


def test_a_collision_needs_less_than_half_a_metre_in_the_same_sample_and_step():
    still = np.zeros((3, 2))
    for away, share in ((0.49, 1.0), (0.5, 0.0), (0.51, 0.0)):
        predicted = paths(still, moved(still, away))
        assert (
            convention("collision_rate.half_metre").statistics(predicted, predicted[:, 0]).item()
            == share
        )
    # Where one was before, the other one is later.
    along = np.arange(3)[:, None] * np.array([1.0, 0.0])
    predicted = paths(along, moved(along, 1))
    assert (
        convention("collision_rate.half_metre").statistics(predicted, predicted[:, 0]).item() == 0
    )
    # In one of two samples.
    apart = np.concatenate([paths(still, moved(still, 0.1)), paths(still, moved(still, 9))], axis=1)
    assert convention("collision_rate.half_metre").statistics(apart, apart[:, 0]).item() == 0.5


def test_who_is_not_there_neither_collides_nor_counts():
    still = np.zeros((3, 2))
    observed = paths(still, moved(still, 0.1), moved(still, 5))[:, 0].copy()
    predicted = paths(still, moved(still, 0.1), moved(still, 5))
    observed[..., 2], predicted[..., 2] = np.nan, np.nan
    assert convention("collision_rate.half_metre").statistics(predicted, observed).item() == 1
