"""The CVAE learns from people what constant velocity cannot know, and predicts what it says."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from stp.core.errors import StpError
from stp.core.job import Interrupted
from stp.options.calibrate import FittingOptions
from stp.tracks import errors
from stp.tracks.predictors import constant_velocity, trajectory_cvae
from stp.tracks.scenarios import Scenarios
from stp.train import learning

OWN = trajectory_cvae.Parameters(hidden=16, latents=3, mirrored=False)
RECIPE = {"train_subset": "atlas-paper"}
OPTIONS = FittingOptions(steps=160, batch_size=40, lr=0.01)


def crossing(scenes: int, seed: int) -> Scenarios:
    """Two people whose ways cross: whoever has the other on the right turns to the right."""
    random = np.random.default_rng(seed)
    angle = random.uniform(0, 2 * np.pi, scenes)
    speed = random.uniform(0.8, 1.6, scenes)
    ahead = np.stack([np.cos(angle), np.sin(angle)], -1)[:, None] * speed[:, None, None]
    right = np.stack([ahead[..., 1], -ahead[..., 0]], -1)
    steps = np.arange(14)[:, None] * 0.4
    turning = 0.25 * np.maximum(0, steps - 5 * 0.4) ** 2
    # The one who gives way, and the one on the right, who walks to the left across the way.
    gives = ahead * steps + right * turning
    goes = 1.2 * ahead + 1.5 * right - right * steps * 0.4
    path = np.stack([gives, goes], axis=1) + random.normal(0, 0.01, (scenes, 2, 14, 2))
    return Scenarios(
        np.arange(scenes), np.tile([4, 7], (scenes, 1)), path[:, :, :6], path[:, :, 6:],
        np.arange(scenes), 0.4, scenes,
    )  # fmt: skip


def fit(folder: Path, people: Scenarios, seed: int = 0, **more) -> learning.Learned:
    about = {"seed": seed, "recipe": {"seed": seed, **RECIPE}, "folder": folder}
    return learning.learn(
        lambda: trajectory_cvae.network(OWN, people.dt),
        trajectory_cvae.Objective(OWN),
        people,
        **{**about, "options": OPTIONS, **more},
    )


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> trajectory_cvae.Trained:
    folder = tmp_path_factory.mktemp("cvae")
    learned = fit(folder, crossing(60, seed=0))
    torch.save({"weights": learned.weights, "dt": 0.4}, folder / "model.pt")
    return trajectory_cvae.load(folder / "model.pt", OWN)


def final_error(predicted: np.ndarray, people: Scenarios) -> float:
    found = errors.fde(errors.displacement(predicted, people.future))
    return float(errors.by_scenario(found).mean())


def test_it_foresees_turns_that_constant_velocity_cannot(trained):
    people = crossing(40, seed=1)
    found = trajectory_cvae.predict(people, 8, trained)
    still = np.repeat(people.observed[:, :, -1:], 8, axis=2)
    plain = constant_velocity.Parameters(uncertainty=0.3)
    straight = constant_velocity.predict(people, 8, plain)
    own = final_error(found.point(), people)
    assert own < 0.5 * final_error(straight.point(), people)
    assert own < 0.2 * final_error(still, people)
    assert found.log_density(people.future).mean() > straight.log_density(people.future).mean()


def test_who_has_nobody_near_is_not_turned_by_somebody_far_away(trained):
    """The radius is that of attention."""
    people = crossing(5, seed=2)
    away = people.observed.copy()
    away[:, 1] += 50
    farther = replace(people, observed=away)
    farthest = replace(people, observed=away + np.array([0, 9])[None, :, None, None])
    first, second = (
        trajectory_cvae.predict(s, 8, trained).means[:, 0] for s in (farther, farthest)
    )
    np.testing.assert_allclose(first, second, atol=1e-5)
    near = trajectory_cvae.predict(people, 8, trained).means[:, 0]
    assert np.abs(near - first).max() > 0.2


def test_samples_are_of_the_mixture(trained):
    people = crossing(3, seed=3)
    found = trajectory_cvae.predict(people, 8, trained)
    drawn = trajectory_cvae.draw(people, 8, trained, None, 3000, 0)
    weights = found.weights[..., None]
    mean = (weights * found.means).sum(axis=-2)
    second = found.covariances + np.einsum("...a,...b->...ab", found.means, found.means)
    covariance = (weights[..., None] * second).sum(axis=-3) - np.einsum(
        "...a,...b->...ab", mean, mean
    )
    np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=0.06)
    away = drawn - mean
    known = np.einsum("k...a,k...b->...ab", away, away) / len(drawn)
    np.testing.assert_allclose(known, covariance, rtol=0.15, atol=0.01)
    alone = next(people.batches(1))
    again = trajectory_cvae.draw(alone, 8, trained, None, 3000, 0)
    np.testing.assert_allclose(drawn[:, :1], again, atol=1e-5)


def test_an_interrupted_training_goes_on_and_ends_the_same(tmp_path):
    people = crossing(20, seed=4)
    options = replace(OPTIONS, steps=12, validate_every=5)

    def run(folder: str, stop_at: int | None = None) -> learning.Learned:
        asked: list[int] = []
        return fit(
            tmp_path / folder, people, seed=1, recipe=RECIPE, options=options,
            interrupted=lambda: asked.append(0) or len(asked) == stop_at,
        )  # fmt: skip

    whole = run("whole")
    with pytest.raises(Interrupted, match="7 of 12"):
        run("twice", stop_at=8)
    later = run("twice")
    assert later.history == whole.history and later.facts == whole.facts
    assert all(torch.equal(later.weights[name], value) for name, value in whole.weights.items())
    other = fit(tmp_path / "other", people, seed=2, recipe=RECIPE, options=options)
    assert other.history != whole.history


def test_the_last_fifth_of_episodes_is_kept_for_validation():
    people = replace(crossing(12, seed=5), episode=np.repeat(np.arange(6), 2))
    learnt, validated = learning.split(people, "atlas-paper")
    assert validated.tolist() == [10, 11] and learnt.tolist() == list(range(10))
    many = replace(crossing(20, seed=5), episode=np.arange(20))
    assert learning.split(many, "atlas-paper")[1].tolist() == [16, 17, 18, 19]
    alone = replace(people, episode=np.zeros(12))
    assert learning.split(alone, "atlas-paper")[1].size == 0


def test_nobody_is_in_training_and_validation_except_as_the_released_code_has_it():
    people = replace(crossing(12, seed=5), episode=np.repeat(np.arange(6), 2))
    for scene in range(12):
        people.person[scene] = np.where(people.present[scene], 100 * scene + people.person[0], -1)
    people.person[3] = people.person[11]
    assert learning.split(people, "atlas-paper")[0].tolist() == list(range(10))
    learnt, validated = learning.split(people, "strict")
    assert validated.tolist() == [10, 11] and 3 not in learnt and len(learnt) == 9
    people.person[:] = people.person[0]
    learnt, validated = learning.split(people, "strict")
    assert len(learnt) == 12 and not len(validated)


def test_turning_people_turns_what_is_predicted(trained):
    people = crossing(4, seed=6)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    turned = replace(
        people, observed=people.observed @ turn.T + 7, future=people.future @ turn.T + 7
    )
    before, after = (trajectory_cvae.predict(s, 8, trained) for s in (people, turned))
    np.testing.assert_allclose(after.means, before.means @ turn.T + 7, atol=1e-4)
    np.testing.assert_allclose(after.covariances, turn @ before.covariances @ turn.T, atol=1e-4)
    drawn, others = (trajectory_cvae.draw(s, 8, trained, None, 2, 0) for s in (people, turned))
    np.testing.assert_allclose(others, drawn @ turn.T + 7, atol=1e-4)


def test_mirrored_people_are_as_far_from_each_other_as_before():
    rows = trajectory_cvae.tensors(crossing(6, seed=6), 3.0)
    varied = trajectory_cvae.Objective(trajectory_cvae.Parameters()).augment
    mirrored = varied(rows, np.random.default_rng(0))
    sides = mirrored["apart"][..., 1].sum(dim=1) / rows["apart"][..., 1].sum(dim=1)
    assert set(sides[rows["near"].any(dim=1)].tolist()) == {-1.0, 1.0}
    for name, value in rows.items():
        torch.testing.assert_close(
            mirrored[name].abs() if value.is_floating_point() else value,
            value.abs() if value.is_floating_point() else value,
        )
        if value.is_floating_point():
            assert torch.equal(mirrored[name][..., 0], value[..., 0]), name


def test_its_size_and_weights_of_another(trained, tmp_path):
    network = trajectory_cvae.Cvae(trajectory_cvae.Parameters(), 0.4)
    assert sum(value.numel() for value in network.parameters()) == 21_559
    torch.save({"weights": network.state_dict(), "dt": 0.4}, tmp_path / "model.pt")
    with pytest.raises(StpError, match=r"model\.pt"):
        trajectory_cvae.load(tmp_path / "model.pt", OWN)
    with pytest.raises(StpError, match="scenario"):
        fit(tmp_path, replace(crossing(2, seed=0), start=np.empty(0)))
