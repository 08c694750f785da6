"""A predictor is one file: nothing else has to know of it to calibrate, predict and score it."""

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from crowds import line
from stages import Stages

from stp.core.errors import StpError
from stp.options.score import NOTE
from stp.tracks import densities, predictors

DRIFTING = '''
"""People who drift to one side, and are surer of it the closer they are."""

from dataclasses import dataclass

import numpy as np

from stp.tracks.densities import Mixture
from stp.tracks.velocity import filtered_velocity

SEARCH = {"drift": (-1.0, 1.0)}


@dataclass(frozen=True)
class Parameters:
    drift: float = 0.0
    spread: float = 0.3


def predict(scenarios, steps, parameters, obstacles=None, jitter=None):
    velocity = filtered_velocity(scenarios.observed, scenarios.dt) + [0, parameters.drift]
    ahead = np.arange(1, steps + 1)[:, None] * scenarios.dt
    path = scenarios.observed[:, :, -1:] + velocity[:, :, None] * ahead
    if jitter is not None:
        return path + jitter
    there = np.where(np.isfinite(path[..., :1]), 1.0, np.nan)
    wide = (parameters.spread * ahead) ** 2 * there
    return Mixture(there, path[..., None, :], wide[..., None, None] * np.eye(2))
'''
SQUARES = '''
"""People are somewhere in a square around where they were last."""

from dataclasses import dataclass

import numpy as np

from stp.tracks.densities import Grid

SEARCH = {}


@dataclass(frozen=True)
class Parameters:
    cells: int = 40


def predict(scenarios, steps, parameters, obstacles=None, jitter=None):
    side, there = parameters.cells, np.where(scenarios.present, 1.0, np.nan)
    alike = np.full((*scenarios.person.shape, steps, side, side), 1 / side**2)
    origin = scenarios.observed[:, :, -1] - side / 4
    return Grid(origin, 0.5, alike * there[..., None, None, None])
'''


@pytest.fixture
def stages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stages:
    """Two people who turn, and a folder with predictors of our own."""
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "drifting.py").write_text(DRIFTING)
    (folder / "squares.py").write_text(SQUARES)
    monkeypatch.setattr(predictors, "__path__", [*predictors.__path__, str(folder)])
    rows = [line(80, wobble=1), np.add(line(80, (0.4, 0.1), wobble=2), [0, 9])]
    rows = [path + [[0, 0.004 * step**2] for step in range(80)] for path in rows]
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw/hall.ndjson").write_text(
        "\n".join(
            json.dumps(
                {"track": {"f": 6 * step, "p": person, "x": path[step][0], "y": path[step][1]}}
            )
            for step in range(80)
            for person, path in enumerate(rows)
        )
    )
    return Stages(tmp_path / "store", tmp_path / "raw", context=6, horizon=8)


@pytest.fixture
def data(stages) -> Path:
    about = {"format": "trajnetpp", "step": 6, "dt": 0.4, "smooth": 0}
    return stages.prepare(["hall.ndjson"], **about, files=["hall.ndjson"], calibration=0.4)[0]


def test_one_with_a_mixture_is_calibrated_and_scored(stages, data):
    trained, told = stages.calibrate(data, "drifting", trials=12)
    assert told["final_error"] < told["default_final_error"]
    made, _ = stages.predict(data, "drifting", trained)
    assert (made / densities.MIXTURES).is_file()
    names = ("displacement.by_scenario", "position_nlp.mixture", "position_nlp.grid")
    _, told = stages.score(data, made, *names)
    assert np.isfinite(told["values"]["position_nlp.mixture"])
    assert told["values"]["position_nlp.grid"] is None
    # Its samples are jittered, and what it says of probabilities is the same.
    drawn, _ = stages.predict(data, "drifting", trained, predict={"samples": 7})
    names = ("position_nlp.mixture", "position_nlp.kde", "position_nlp.final_gaussian")
    _, several = stages.score(data, drawn, *names, statistic="mean_of_members")
    assert several["values"]["position_nlp.mixture"] == told["values"]["position_nlp.mixture"]
    assert np.isfinite(several["values"]["position_nlp.kde"])


def test_one_with_a_grid_is_scored_by_its_cells(stages, data):
    made, _ = stages.predict(data, "squares")
    assert (made / densities.GRIDS).is_file()
    _, told = stages.score(data, made, "final_displacement.by_scenario", "position_nlp.grid")
    # Nobody leaves the square of 20 m within 3.2 s: each cell has the same density.
    assert told["values"]["position_nlp.grid"] == pytest.approx(np.log(20**2))


@pytest.mark.parametrize("sigma", [0, 1e-4])
def test_paths_that_know_the_truth_have_a_note(stages, data, sigma):
    """Of five samples one, of the first person."""
    path = Path(predictors.__path__[-1]) / "knowing.py"
    known = f"""
    paths = np.stack([path + [0, 0.2 * k] for k in range(5)])
    noise = np.random.default_rng(0).normal(0, {sigma}, scenarios.future[:, 0].shape)
    paths[3, :, 0] = scenarios.future[:, 0] + noise
    return paths
"""
    path.write_text(DRIFTING.split("    if jitter")[0] + known)
    importlib.invalidate_caches()
    sys.modules.pop("stp.tracks.predictors.knowing", None)
    made, told = stages.predict(data, "knowing", predict={"samples": 5})
    scored, _ = stages.score(data, made, "displacement.by_scenario", statistic="mean_of_members")
    note = json.loads((scored / NOTE).read_text())["note"]
    count = told["scenarios"]
    assert f" {count} of {2 * count} " in note and f"({0 if sigma else count} " in note
    assert "sample 0 (frame " in note


@pytest.mark.parametrize("several", [{}, {"predict": {"samples": 100, "jitter": 0.02}}])
def test_honest_paths_have_no_note(stages, data, several):
    for model in ("constant_velocity", "drifting"):
        made, _ = stages.predict(data, model, **several)
        more = {"statistic": "mean_of_members"} if several else {}
        scored, _ = stages.score(data, made, "displacement.by_scenario", **more)
        assert not (scored / NOTE).exists()


@pytest.mark.parametrize("wrong", ["path[:, :, :-1]", "path[:, :1]", "path[..., :1]", "path[0]"])
def test_points_of_another_shape_name_the_file_of_their_predictor(stages, data, wrong):
    """NumPy repeats what has a length of 1, and a step too few would be missing from the scores."""
    path = Path(predictors.__path__[-1]) / "odd.py"
    path.write_text(f"{DRIFTING.split('    if jitter')[0]}    return {wrong}\n")
    importlib.invalidate_caches()
    sys.modules.pop("stp.tracks.predictors.odd", None)
    for stage in (
        lambda: stages.predict(data, "odd"),
        lambda: stages.calibrate(data, "odd", trials=2),
    ):
        with pytest.raises(StpError) as caught:
            stage()
        assert str(path) in caught.value.what
