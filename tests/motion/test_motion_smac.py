"""SMAC3 as the search of a calibration."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from crowds import crowd

from stp.errors import StpError
from stp.job import Interrupted
from stp.motion import calibrate, searches
from stp.motion.predictors import social_force
from stp.train.calibration_options import CalibrationOptions

TRUE = social_force.Parameters(strength=700.0, range=0.8)
FIRST = {"trials": 6, "seed": 3, "search": "smac"}


@pytest.fixture(scope="module")
def people():
    """People who move exactly by social forces that are stronger than the default ones."""
    scenarios = crowd(scenes=6, people=4)
    return replace(scenarios, future=social_force.predict(scenarios, 6, TRUE))


def test_it_is_interrupted_goes_on_and_finds_the_same(people, tmp_path):
    pytest.importorskip("smac")
    whole = calibrate.calibrate(social_force, people, None, **FIRST, folder=tmp_path / "whole")
    assert whole.tried[0]["final_error"] == whole.default_error
    assert whole.error < whole.default_error
    seen: list[int] = []
    with pytest.raises(Interrupted, match="3 of 6"):
        calibrate.calibrate(
            social_force, people, None, **FIRST, folder=tmp_path / "twice",
            report=lambda what, done, total: seen.append(done), interrupted=lambda: len(seen) >= 3,
        )  # fmt: skip
    path = tmp_path / "twice" / searches.Smac.TRIED
    path.write_text(path.read_text() + '[{"contact": 1')  # as a crash leaves it
    assert whole == calibrate.calibrate(
        social_force, people, None, **FIRST, folder=tmp_path / "twice"
    )


def test_trials_of_another_search_are_refused(tmp_path: Path):
    pytest.importorskip("smac")
    (tmp_path / searches.Smac.TRIED).write_text('[{"a": 0.25}, 1.0]\n')
    with pytest.raises(StpError, match="asks for something else"):
        searches.Smac({"a": (0.0, 1.0)}, {"a": 0.5}, seed=0, folder=tmp_path, trials=3)


def test_without_it_there_is_one_clear_error(people, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "smac", None)
    with pytest.raises(StpError, match="SMAC3 is not installed") as refused:
        calibrate.calibrate(social_force, people, None, **FIRST, folder=tmp_path)
    assert "pip install 'stp[smac]'" in str(refused.value)


def test_searches_are_named():
    assert CalibrationOptions.from_recipe({"search": "smac"}).search == "smac"
    with pytest.raises(StpError, match="optuna or smac"):
        CalibrationOptions.from_recipe({"search": "random"})
