"""ChaosBench's networks: layers, feedback, equations, published errors."""

import pytest
import torch
from model_cases import make
from torch import nn

from stp.models import halving
from stp.models.create import create

NETWORKS = ("lagged_ae", "resnet", "unet", "fno", "vae")


@pytest.mark.parametrize("name", NETWORKS)
def test_sides_too_short_for_all_halvings(name):
    model, clip = make(name, (1, 3, 5), 1, 1), torch.randn(2, 4, 1, 3, 5)
    forecast = model(clip[:, :1], 3)
    assert forecast.shape == (2, 3, 1, 3, 5) and forecast.isfinite().all()
    loss = model.train().loss(clip, 0)
    loss.backward()
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    assert loss.isfinite() and all(g.isfinite().all() for g in gradients)


@pytest.mark.parametrize("name", NETWORKS)
def test_forecasts_are_fed_back_and_changes_are_added(name):
    model, frames = make(name, (2, 8, 8), 1, 1), torch.randn(1, 1, 2, 8, 8)
    forecast = model(frames, 3)
    if name != "vae":  # whose later codes are drawn anew
        torch.testing.assert_close(model(forecast[:, :1], 2), forecast[:, 1:])
    changes = make(name, (2, 8, 8), 1, 1, predicts="change")(frames, 1)
    torch.testing.assert_close(changes - frames, forecast[:, :1], atol=1e-6, rtol=1e-5)


def test_every_layer_of_the_resnet_50_has_the_sides_of_the_release():
    recipe = {"shape": [60, 121, 240], "context": 1, "horizon": 1}
    sides = []
    with torch.device("meta"):
        model = create({"model": "resnet", "options": {}, **recipe})
        for block in model.encoder.blocks:
            block.register_forward_hook(lambda _, __, out: sides.append(tuple(out.shape[1:])))
        assert model(torch.zeros(1, 1, 60, 121, 240), 1).shape == (1, 1, 60, 121, 240)
    assert list(dict.fromkeys(sides)) == [
        (256, 31, 60),
        (512, 16, 30),
        (1024, 8, 15),
        (2048, 4, 8),
    ]


def test_maxima_of_slices_are_max_pooling():
    x = torch.randn(2, 3, 7, 10)
    assert torch.equal(halving.halve(x), nn.functional.max_pool2d(x, 2))
    pooled = nn.functional.max_pool2d(x, 3, stride=2, padding=1)
    assert torch.equal(halving.halve_overlapping(x), pooled)


def test_an_fno_sees_the_lowest_modes_alone_far_away():
    """Waves of more than `modes` cycles pass through its spectral layers as nothing."""
    layer = make("fno", (1, 16, 32), 1, 1).layers[0].spectral
    along = torch.arange(32) * 2 * torch.pi / 32
    long, short = torch.cos(along).expand(1, 8, 16, 32), torch.cos(5 * along).expand(1, 8, 16, 32)
    assert layer(long).abs().max() > 1e-3
    assert layer(short).abs().max() < 1e-6


def test_the_released_fno_moves_values_to_other_places():
    """The same values, of which the published permutation leaves only a few where they belong."""
    right, scrambled = (
        make("fno", (3, 6, 8), 1, 1),
        make("fno", (3, 6, 8), 1, 1, output="scrambled"),
    )
    frames = torch.randn(1, 1, 3, 6, 8)
    one, other = right(frames, 1)[0, 0], scrambled(frames, 1)[0, 0]
    assert torch.equal(one.flatten().sort().values, other.flatten().sort().values)
    assert torch.equal(other, one.permute(2, 0, 1).reshape(3, 6, 8))
    assert (one == other).double().mean() < 0.1


def test_codes_as_released_say_less_than_their_noise():
    """Means within -1..1, variances from 1: the divergence of a code has no other bound."""
    bounded, free = make("vae", (2, 8, 8), 1, 1), make("vae", (2, 8, 8), 1, 1, bounded=False)
    for model in (bounded, free):
        nn.init.constant_(model.log_variance.bias, -5.0)
    frames = torch.randn(3, 2, 8, 8)
    _, lower = bounded._draw_next_frame(frames, torch.zeros_like)
    _, higher = free._draw_next_frame(frames, torch.zeros_like)
    assert (lower <= 4 * 0.5).all() and (higher > 4 * 0.5).all()
