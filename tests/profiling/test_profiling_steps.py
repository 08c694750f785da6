"""Training steps that are measured are those that `stp train` does."""

import pytest
import torch
from test_profiling_size import CONVNET
from torch import nn

from stp.models.compute import set_up_compute
from stp.models.create import create
from stp.options.train import TrainOptions
from stp.profiling.steps import training_step
from stp.train.factories import put_channels_last

CLIMAX = {
    "model": "climax",
    "options": {"patch": 2, "width": 16, "depth": 1, "heads": 2, "leads": [3]},
    "shape": [2, 4, 8],
    "context": 1,
    "horizon": 3,
}


def stepping(recipe, **options):
    with set_up_compute("cpu", 1, "float32") as compute:
        return training_step(recipe, TrainOptions(**options), compute, 2)


def test_a_step_moves_the_weights_as_the_options_say():
    """Adam's first step is as long as the learning rate, for each weight that has a gradient."""
    model, step = stepping(CONVNET, lr=0.25)
    before = [weights.detach().clone() for weights in model.parameters()]
    assert step().isfinite()
    longest = max(
        (now - then).abs().max().item()
        for now, then in zip(model.parameters(), before, strict=True)
    )
    assert longest == pytest.approx(0.25, rel=1e-3)


def test_steps_are_compiled_and_laid_out_as_the_options_say(monkeypatch):
    compiled = []
    monkeypatch.setattr(nn.Module, "compile", lambda module: compiled.append(module))
    plain, _ = stepping(CONVNET)
    assert not compiled
    changed, _ = stepping(CONVNET, compiled=True, channels_last=True)
    assert compiled
    last = torch.channels_last
    filters = {
        made: [weights for weights in network.parameters() if weights.dim() == 4]
        for made, network in (("plain", plain), ("changed", changed))
    }
    assert all(weights.is_contiguous(memory_format=last) for weights in filters["changed"])
    assert not all(weights.is_contiguous(memory_format=last) for weights in filters["plain"])


def test_a_network_that_is_told_lead_times_sees_one_frame_of_the_future(monkeypatch):
    model, seen = create(CLIMAX), {}
    original = model.loss

    def look(clips, number, leads):
        seen.update(shape=tuple(clips.shape), leads=leads.tolist())
        return original(clips, number, leads)

    model.loss = look
    monkeypatch.setattr("stp.profiling.steps.create", lambda _: model)
    _, step = stepping(CLIMAX)
    assert step().isfinite()
    assert seen == {"shape": (2, 2, 2, 4, 8), "leads": [3, 3]}


def test_filters_of_three_dimensions_have_no_channels_last():
    """SAVP's, E3D-LSTM's and FNO's: the option left them unable to train."""
    model = nn.Sequential(nn.Conv3d(3, 4, 2), nn.Flatten(1, 2), nn.Conv2d(4, 2, 3))
    before = [weights.detach().clone() for weights in model.parameters()]
    put_channels_last(model)
    assert model[0].weight.is_contiguous()
    assert model[2].weight.is_contiguous(memory_format=torch.channels_last)
    assert not model[2].weight.is_contiguous()
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), before, strict=True))
