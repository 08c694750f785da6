"""Models whose forecasts are no forecasts of the frames are refused before anything is learnt."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
from moving_bar import CONTEXT, HORIZON, SIDE, job, recipe, write_data

import stp.models
from stp.core.errors import StpError
from stp.train.run import run

OWN = """
import torch.nn.functional as F
from torch import nn

from stp.models.model import ForecastModel


class Model(ForecastModel):
    def __init__(self, shape, context, horizon):
        super().__init__(context)
        self.layer = nn.Conv2d(shape[0], shape[0], 1)

    def whole(self, frames, horizon):
        return self.layer(frames[:, -1])[:, None].repeat(1, horizon, 1, 1, 1)

    def forward(self, frames, horizon):
        found = self.whole(frames, horizon)
        return {forward}

    def outputs(self, clips, step):
        found = self.whole(clips[:, :-1], clips.shape[1] - 1)
        return {outputs}, clips[:, 1:]

    def loss(self, clips, step):
        found = self.whole(clips[:, :-1], clips.shape[1] - 1)
        return F.mse_loss({loss}, clips[:, 1:])
"""
WRONG = {
    "found.mean((-2, -1), keepdim=True)": lambda b, t: (b, t, 3, 1, 1),
    "found[:, :, :1]": lambda b, t: (b, t, 1, SIDE, SIDE),
    "found[:, 1:]": lambda b, t: (b, t - 1, 3, SIDE, SIDE),
    "found[:, :1]": lambda b, t: (b, 1, 3, SIDE, SIDE),
    "found[:1]": lambda b, t: (1, t, 3, SIDE, SIDE),
}
STEPS = CONTEXT + HORIZON - 1


@pytest.fixture
def data(tmp_path: Path) -> Path:
    frames = np.random.default_rng(0).integers(0, 255, (38, 3, SIDE, SIDE)).astype(np.uint8)
    return write_data(tmp_path / "data", frames=frames)


@pytest.fixture
def own(tmp_path, monkeypatch):
    """own(forward=..., outputs=..., loss=...) -> the file of a model that returns these."""
    monkeypatch.setattr(stp.models, "__path__", [*stp.models.__path__, str(tmp_path)])

    def write(**changes: str) -> Path:
        path = tmp_path / "own_shape.py"
        lines = {"forward": "found", "outputs": "found", "loss": "found", **changes}
        path.write_text(OWN.format(**lines))
        importlib.invalidate_caches()
        return path

    yield write
    sys.modules.pop("stp.models.own_shape", None)


def train(tmp_path, data, path, **options):
    what = {**recipe(**options), "model": path.stem, "options": {}, "shape": [3, SIDE, SIDE]}
    return run(job(tmp_path, data, what))


@pytest.mark.parametrize("wrong", WRONG)
def test_a_forecast_of_another_shape_ends_a_training_before_its_first_step(
    tmp_path, data, own, wrong
):
    path = own(forward=wrong)
    with pytest.raises(StpError) as caught:
        train(tmp_path, data, path)
    assert str(path) in caught.value.what
    assert str(WRONG[wrong](2, HORIZON)) in caught.value.what
    assert str((2, HORIZON, 3, SIDE, SIDE)) in caught.value.expected
    assert not list(tmp_path.rglob("training.pt"))


def test_what_is_no_tensor_is_no_forecast(tmp_path, data, own):
    path = own(forward="(found, found)")
    with pytest.raises(StpError) as caught:
        train(tmp_path, data, path)
    assert str(path) in caught.value.what and "tuple" in caught.value.what


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("loss", ["mse", "l1", "huber", {"spectral": {"weight": 0.1}}])
def test_what_a_named_loss_compares_has_one_shape(tmp_path, data, own, wrong, loss):
    path = own(outputs=wrong)
    with pytest.raises(StpError) as caught:
        train(tmp_path, data, path, loss=loss)
    assert str(path) in caught.value.what and "outputs()" in caught.value.what
    assert str(WRONG[wrong](4, STEPS)) in caught.value.what
    assert str((4, STEPS, 3, SIDE, SIDE)) in caught.value.expected


def test_a_loss_of_ones_own_repeats_no_values(tmp_path, data, own):
    path = own(loss="found.mean((-2, -1), keepdim=True)")
    with pytest.raises(StpError) as caught:
        train(tmp_path, data, path)
    assert str(path) in caught.value.what and "loss()" in caught.value.what


def test_a_model_of_ones_own_is_trained_where_all_fits(tmp_path, data, own):
    assert train(tmp_path, data, own(), epochs=1)["steps"] == 5
