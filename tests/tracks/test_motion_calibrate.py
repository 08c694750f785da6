"""Calibration finds what is there to find, and goes on after an interruption."""

from dataclasses import replace

import numpy as np
import pytest
from crowds import crowd

from stp.core.errors import StpError
from stp.core.job import Interrupted
from stp.tracks.predictors import constant_velocity, social_force
from stp.train import calibrate

TRUE = social_force.Parameters(strength=700.0, range=0.8)


@pytest.fixture(scope="module")
def people():
    """People who move exactly by social forces that are stronger than the default ones."""
    scenarios = crowd(scenes=8, people=5)
    return replace(scenarios, future=social_force.predict(scenarios, 6, TRUE))


def test_it_comes_closer_than_the_default(people, tmp_path):
    found = calibrate.calibrate(social_force, people, None, trials=40, seed=0, folder=tmp_path)
    assert found.trials == 40
    assert found.error < 0.7 * found.default_error
    again = calibrate.final_error(social_force, people, found.parameters, None)
    assert again == pytest.approx(found.error)


def test_an_interrupted_search_goes_on_and_finds_the_same(people, tmp_path):
    whole = calibrate.calibrate(
        social_force, people, None, trials=15, seed=3, folder=tmp_path / "whole"
    )
    seen = []
    about = {"trials": 15, "seed": 3, "folder": tmp_path / "twice"}
    with pytest.raises(Interrupted, match="7 of 15"):
        calibrate.calibrate(
            social_force, people, None, **about,
            report=lambda what, done, total: seen.append(done), interrupted=lambda: len(seen) >= 7,
        )  # fmt: skip
    assert calibrate.calibrate(social_force, people, None, **about) == whole


@pytest.mark.parametrize("done", [0, 11])
def test_a_search_that_was_killed_goes_on_and_tries_the_same(people, tmp_path, done):
    """While it computed the error of the default parameters, which come first, or of later ones,
    which are no longer drawn at random."""
    whole = calibrate.calibrate(
        social_force, people, None, trials=14, seed=3, folder=tmp_path / "whole"
    )
    about = {"seed": 3, "folder": tmp_path / "killed"}
    if done:
        calibrate.calibrate(social_force, people, None, trials=done, **about)

    class KilledError(Exception):
        pass

    def kill(*_):
        raise KilledError

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KilledError):
        patch.setattr(calibrate, "final_error", kill)
        calibrate.calibrate(social_force, people, None, trials=14, **about)
    assert calibrate.calibrate(social_force, people, None, trials=14, **about) == whole


def test_searches_of_two_seeds_have_nothing_in_common_but_the_default(people, tmp_path):
    tried = [
        calibrate.calibrate(
            social_force, people, None, trials=6, seed=seed, folder=tmp_path / str(seed)
        ).tried
        for seed in (0, 1)
    ]
    assert tried[0][0] == tried[1][0]
    assert not any(one in tried[1] for one in tried[0][1:])


def test_more_trials_go_on_from_fewer(people, tmp_path):
    few = calibrate.calibrate(social_force, people, None, trials=5, seed=1, folder=tmp_path)
    more = calibrate.calibrate(social_force, people, None, trials=12, seed=1, folder=tmp_path)
    assert more.error <= few.error and more.trials == 12
    assert few == calibrate.calibrate(social_force, people, None, trials=5, seed=1, folder=tmp_path)


def test_nothing_to_calibrate_and_nobody_to_calibrate_on(people, tmp_path):
    with pytest.raises(StpError, match="calibrate"):
        calibrate.calibrate(constant_velocity, people, None, trials=3, seed=0, folder=tmp_path)
    nobody = next(people.batches(8))
    nobody = replace(nobody, start=np.empty(0))
    with pytest.raises(StpError, match="scenario"):
        calibrate.calibrate(social_force, nobody, None, trials=3, seed=0, folder=tmp_path)
