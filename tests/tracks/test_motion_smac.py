"""SMAC3 as the search of a calibration."""

import contextlib
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from crowds import crowd

from stp.core.errors import StpError
from stp.core.job import Interrupted
from stp.options.calibrate import CalibrationOptions
from stp.tracks.predictors import social_force
from stp.tracks.scenarios import Scenarios
from stp.train import calibrate, searches

TRUE = social_force.Parameters(strength=700.0, range=0.8)
FIRST = {"trials": 6, "seed": 0, "search": "smac"}


@pytest.fixture(scope="module")
def people() -> Scenarios:
    return pushed()


def pushed() -> Scenarios:
    """People who move exactly by social forces that are stronger than the default ones."""
    scenarios = crowd(scenes=6, people=4)
    return replace(scenarios, future=social_force.predict(scenarios, 6, TRUE))


@pytest.mark.long(part="learning")
def test_it_is_interrupted_goes_on_in_another_process_and_finds_the_same(people, tmp_path):
    """Each with hashes of its own, on which the order of sets depends."""
    pytest.importorskip("smac", reason="smac is not installed: pip install smac")
    whole = calibrate.calibrate(social_force, people, None, **FIRST, folder=tmp_path / "whole")
    assert whole.tried[0]["final_error"] == whole.default_error
    assert whole.error < whole.default_error
    assert go_on(tmp_path / "twice", hashes=1, trials=3) == whole.tried[:3]
    path = tmp_path / "twice" / searches.Smac.TRIED
    path.write_text(path.read_text() + '[{"contact": 1')  # as a crash leaves it
    assert go_on(tmp_path / "twice", hashes=2) == whole.tried
    assert whole == calibrate.calibrate(
        social_force, people, None, **FIRST, folder=tmp_path / "twice"
    )


def go_on(folder: Path, hashes: int, trials: int | None = None) -> list[dict[str, float]]:
    """Begin or continue a search in a process of its own; what was tried up to then."""
    environment = {**os.environ, "PYTHONHASHSEED": str(hashes)}
    command = [sys.executable, __file__, str(folder), str(trials or FIRST["trials"])]
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def test_trials_of_another_search_are_refused(tmp_path: Path):
    pytest.importorskip("smac", reason="smac is not installed: pip install smac")
    (tmp_path / searches.Smac.TRIED).write_text('[{"a": 0.25}, 1.0]\n')
    with pytest.raises(StpError, match=r"smac\.jsonl"):
        searches.Smac({"a": (0.0, 1.0)}, {"a": 0.5}, seed=0, folder=tmp_path, trials=3)


def test_without_it_there_is_one_clear_error(people, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "smac", None)
    with pytest.raises(StpError, match=r"stp\[smac\]"):
        calibrate.calibrate(social_force, people, None, **FIRST, folder=tmp_path)


def test_searches_are_named():
    assert CalibrationOptions.from_recipe({"search": "smac"}).search == "smac"
    with pytest.raises(StpError, match=r"optuna.*smac"):
        CalibrationOptions.from_recipe({"search": "random"})


if __name__ == "__main__":  # see go_on
    where, count = Path(sys.argv[1]), int(sys.argv[2])
    with contextlib.suppress(Interrupted):
        calibrate.calibrate(
            social_force, pushed(), None, **FIRST, folder=where,
            interrupted=lambda: len(searches._lines(where / searches.Smac.TRIED)) >= count,
        )  # fmt: skip
    tried = searches._lines(where / searches.Smac.TRIED)
    print(json.dumps([{**given, "final_error": error} for given, error in tried]))
